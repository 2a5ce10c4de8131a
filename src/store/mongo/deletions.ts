import { setTimeout as sleep } from 'node:timers/promises';
import type { Document } from 'mongodb';
import type { Attempt } from './attempts.ts';
import type { Key } from './collection.ts';
import type { Database } from './database.ts';
import { WriteConflict } from './errors.ts';
import { HOLD_TTL, type HoldDocuments, type Mark } from './hold-documents.ts';
import type { InstanceHolds } from './instance-holds.ts';

/** How to delete a parent. */
export interface Deletion {
  /** The collections of its children, each with a filter for those that hold off the deletion. */
  referrers: readonly { collection: string; filter: Document }[];
  /** Deletes the parent under an additional condition. @returns whether it was still there unchanged */
  remove(condition: { $expr: Document }): Promise<boolean>;
}

/** How long a deleter waits for the holds of others, in milliseconds. */
const DELETER_TIMEOUT = 1_500;
/**
 * How long after M the server accepts D. The difference to the TTL of a mark allows for clock differences
 * between servers.
 */
const DELETE_WITHIN = 2_000;
/** A transaction with D must be committed earlier, because the server cannot refuse a late commit. */
const COMMIT_WITHIN = 1_500;
const PAUSE = 40;

/** Deletes parents without references. The letters refer to `holds.ts`. */
export function createDeletions({ db, options }: Database, documents: HoldDocuments, taken: InstanceHolds) {
  /** M. @throws WriteConflict while another deleter is active */
  async function close(name: string): Promise<Mark> {
    const mark = await documents.mark(name, taken.newId());
    if (mark) return mark;
    const other = await documents.markOf(name);
    // Its deleter is dead or too late.
    if (other?.isExpired) await documents.removeMark(name, other.by);
    else if (other) await sleep(PAUSE);
    throw new WriteConflict();
  }

  /** Waits, up to a limit, until the holds seen by M are released. @returns whether they are */
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

  /** C. @returns the index of the first referrer with a child */
  async function findReferrer({ referrers }: Deletion, attempt: Attempt): Promise<number | undefined> {
    for (const [i, { collection, filter }] of referrers.entries())
      if (await isReferenced(collection, filter, attempt)) return i;
    return undefined;
  }

  /** Reads the transaction's own writes inside it and everything else outside it, as of now. */
  async function isReferenced(referrer: string, filter: Document, attempt: Attempt): Promise<boolean> {
    const own: Key[] = [];
    for (const name of attempt.session ? attempt.written : []) {
      const [collection, key] = name.split('/') as [string, string];
      if (collection === referrer) own.push(BigInt(key));
    }
    const children = db.collection<{ _id: Key }>(referrer);
    const one = { projection: { _id: 1 } };
    const others = own.length > 0 ? { ...filter, _id: { $nin: own } } : filter;
    if (await children.findOne(others, { ...options, ...one })) return true;
    if (own.length === 0) return false;
    return (
      (await children.findOne({ ...filter, _id: { $in: own } }, { ...attempt.options, ...one })) !== null
    );
  }

  return {
    /**
     * Deletes a parent that nothing refers to.
     *
     * @returns undefined if it was deleted; otherwise the index of a referrer that refers to it or is about to
     */
    async deleteUnreferenced(
      kind: string,
      key: Key,
      attempt: Attempt,
      parent: Deletion,
    ): Promise<number | undefined> {
      const name = `${kind}/${key}`;
      const referrer = await findReferrer(parent, attempt);
      if (referrer !== undefined) return referrer;
      const sentAt = performance.now();
      const mark = await close(name);
      const reopen = () => documents.removeMark(name, mark.by).catch(() => {});
      if (attempt.session) {
        attempt.deadline = Math.min(attempt.deadline, sentAt + COMMIT_WITHIN);
        attempt.onSettled.push(reopen);
      }
      attempt.written.add(name);
      let isKnown = true;
      try {
        if (!(await awaitRelease(name, mark))) return 0;
        const late = await findReferrer(parent, attempt);
        if (late !== undefined) return late;
        if (performance.now() > sentAt + DELETE_WITHIN) throw new WriteConflict();
        const until = mark.at.getTime() + DELETE_WITHIN;
        isKnown = false;
        const removed = await parent.remove({ $expr: { $lt: [{ $toLong: '$$NOW' }, until] } });
        isKnown = true;
        if (!removed) throw new WriteConflict();
        return undefined;
      } finally {
        // If D got no response, the mark stays until the server can no longer carry it out.
        if (!attempt.session && isKnown) await reopen();
      }
    },
  };
}
