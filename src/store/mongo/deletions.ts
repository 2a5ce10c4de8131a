import { setTimeout as sleep } from 'node:timers/promises';
import type { Document } from 'mongodb';
import type { Key } from './collection.ts';
import type { Database } from './database.ts';
import { WriteConflict } from './errors.ts';
import { HOLD_TTL, type HoldDocuments, type Mark } from './hold-documents.ts';
import type { InstanceHolds } from './instance-holds.ts';
import type { Unit } from './units.ts';

/** How a parent is deleted. */
export interface Deletion {
  /** Where its children are, and what those have in common that keep it. */
  referrers: string;
  filter: Document;
  /** Deletes it under a further condition, in the unit. @returns whether it was there as it was read */
  remove(condition: { $expr?: Document }): Promise<boolean>;
}

/** All in milliseconds. How long a deleter waits for the holds of others. */
const DELETER_TIMEOUT = 1_500;
/** Until when after M the server takes D. Between that and the life of a mark lies what the clocks of servers may differ. */
const DELETE_WITHIN = 2_000;
/** A transaction with D in it must be committed earlier, since the server can't refuse a late commit. */
const COMMIT_WITHIN = 1_500;
const PAUSE = 40;

/** Deletes parents that nothing refers to; the letters are those of `holds.ts`. */
export function createDeletions({ db, options }: Database, documents: HoldDocuments, taken: InstanceHolds) {
  let supportsNow = false;

  /** M. @throws WriteConflict while another deleter is at it */
  async function close(name: string): Promise<Mark> {
    const mark = await documents.mark(name, taken.newId());
    if (mark) return mark;
    const other = await documents.markOf(name);
    // Its deleter is dead, or too late.
    if (other?.isExpired) await documents.removeMark(name, other.by);
    else if (other) await sleep(PAUSE);
    throw new WriteConflict();
  }

  /** Waits until the holds are given back that counted at M, but not for ever. @returns whether they are */
  async function awaitRelease(name: string, { holders, at: markedAt }: Mark): Promise<boolean> {
    const others = new Set<string>();
    const own: Promise<void>[] = [];
    for (const [id, at] of Object.entries(holders)) {
      if (markedAt.getTime() - at.getTime() >= HOLD_TTL) continue;
      if (taken.isOwn(id)) own.push(taken.whenUnused(name, id));
      else others.add(id);
    }
    if (own.length > 0) {
      const late = sleep(DELETER_TIMEOUT, 'late', { ref: false });
      if ((await Promise.race([Promise.all(own), late])) === 'late') return false;
    }
    for (const deadline = performance.now() + DELETER_TIMEOUT; others.size > 0; ) {
      if (performance.now() > deadline) return false;
      await sleep(PAUSE);
      const left = await documents.holdersOf(name);
      for (const id of others) if (!left[id]) others.delete(id);
    }
    return true;
  }

  /** C. What the transaction itself has written is looked at inside of it, all else as it is now. */
  async function isReferenced({ referrers, filter }: Deletion, unit: Unit): Promise<boolean> {
    const own: Key[] = [];
    for (const name of unit.session ? unit.written : []) {
      const [collection, key] = name.split('/') as [string, string];
      if (collection === referrers) own.push(BigInt(key));
    }
    const children = db.collection<{ _id: Key }>(referrers);
    const one = { projection: { _id: 1 } };
    const others = own.length > 0 ? { ...filter, _id: { $nin: own } } : filter;
    if (await children.findOne(others, { ...options, ...one })) return true;
    if (own.length === 0) return false;
    return (await children.findOne({ ...filter, _id: { $in: own } }, { ...unit.options, ...one })) !== null;
  }

  return {
    /**
     * Looks whether the server's conditions know the time, as those of MongoDB do. With servers that only speak its protocol, a
     * deletion is not sent too late, but might still arrive too late.
     */
    async prepare(): Promise<void> {
      const isPast = { $expr: { $gt: ['$$NOW', new Date(0)] } };
      supportsNow =
        (await db.collection<{ _id: string }>('layout').findOne({ _id: 'layout', ...isPast })) !== null;
    },

    /**
     * Deletes a parent that nothing refers to.
     *
     * @returns false if something refers to it, or is about to
     */
    async deleteUnreferenced(kind: string, key: Key, unit: Unit, parent: Deletion): Promise<boolean> {
      const name = `${kind}/${key}`;
      if (await isReferenced(parent, unit)) return false;
      const sentAt = performance.now();
      const mark = await close(name);
      const reopen = () => documents.removeMark(name, mark.by).catch(() => {});
      if (unit.session) {
        unit.deadline = Math.min(unit.deadline, sentAt + COMMIT_WITHIN);
        unit.onSettled.push(reopen);
      }
      unit.written.add(name);
      let isKnown = true;
      try {
        if (!(await awaitRelease(name, mark)) || (await isReferenced(parent, unit))) return false;
        if (performance.now() > sentAt + DELETE_WITHIN) throw new WriteConflict();
        const until = new Date(mark.at.getTime() + DELETE_WITHIN);
        isKnown = false;
        const removed = await parent.remove(supportsNow ? { $expr: { $lt: ['$$NOW', until] } } : {});
        isKnown = true;
        if (!removed) throw new WriteConflict();
        return true;
      } finally {
        // Where D has no answer, the mark stays as long as the server may still carry it out.
        if (!unit.session && isKnown) await reopen();
      }
    },
  };
}
