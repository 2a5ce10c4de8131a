import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AnyBulkWriteOperation, Document, Filter } from 'mongodb';
import { unavailable } from '../../errors.ts';
import { together } from './batches.ts';
import type { Database } from './database.ts';
import { isDuplicateKey, LostRace } from './errors.ts';
import { type CollectionPlan, DATE, type Key, STRING, shape } from './plan.ts';
import type { Unit } from './units.ts';

/**
 * A pet names its category, an incomplete order its pet. Nobody who refers to a parent writes the parent, so that no
 * instance can hold up another one. Instead:
 *
 * - Who is going to refer to a parent takes a *hold* on it (H), then looks whether it exists (V), writes the child (I),
 *   and gives the hold back when it is known what came of that (R). If H meets a deleter, nothing is written.
 * - Who is going to delete a parent marks it as *closing* (M), waits until the holds that M met are given back, looks for
 *   children (C), and deletes (D) if there are none; else it opens the parent again (Z).
 *
 * H and M are atomic updates of one document, so that one of them is first. If it is H, then M meets the hold, and C comes
 * after R and with it after I: it sees the child. If it is M, then H meets the mark, unless that was removed, which is after D;
 * then V comes after D too and finds no parent.
 *
 * Whoever dies leaves a hold or a mark behind, which counts for a while only, by the clock of the server: a hold for
 * `HOLD_LIFE`, much longer than I can come after H; a mark for `MARK_LIFE`, and D carries a condition that lets the server
 * refuse it before that is over. `test/store/mongo/holds.model.test.ts` goes through all the ways in which this can run.
 */
interface HoldDocument {
  /** The parent: `categories/7`. */
  _id: string;
  /** When each hold was taken. */
  holders?: Record<string, Date>;
  closing?: { by: string; at: Date };
  /** When anything was last taken. */
  at?: Date;
}

export const holdsPlan: CollectionPlan = {
  name: 'holds',
  schema: shape({
    _id: STRING,
    'holders?': { bsonType: 'object', additionalProperties: DATE },
    'closing?': shape({ by: STRING, at: DATE }),
    'at?': DATE,
  }),
  // What dead instances have left; nothing of it counts any more.
  indexes: [{ key: { at: 1 }, expireAfterSeconds: 600 }],
};

/** How a parent is deleted. */
export interface Deletion {
  /** The collection of its children, and what those have in common that keep it. */
  referrers: string;
  filter: Document;
  /** Deletes it under a further condition, in the unit. @returns whether it was there as it was read */
  remove(condition: { $expr?: Document }): Promise<boolean>;
}

/** All in milliseconds. How long one hold serves all that this instance writes under the parent. */
const HOLD_USE = 1_000;
const HOLD_LIFE = 60_000;
/** How long a deleter waits for the holds of others. */
const DELETER_TIMEOUT = 1_500;
/** Until when after M the server takes D; and until when the mark counts. Between the two lies what the clocks of servers may differ. */
const DELETE_WITHIN = 2_000;
const MARK_LIFE = 3_500;
/** A transaction with D in it must be committed earlier, since the server can't refuse a late commit. */
const COMMIT_WITHIN = 1_500;
const PAUSE = 40;

type HoldState = 'held' | 'closing' | 'missing';

/** A hold of this instance. */
interface Hold {
  id: string;
  /** How many writes rely on it. */
  uses: number;
  /** Serves no further write. */
  over: boolean;
  state: Promise<HoldState>;
  /** Told when the last write that relied on it is done. */
  onUnused: (() => void)[];
}

export type Holds = ReturnType<typeof holdsOf>;

/** The holds of this instance, and its way to delete what others hold. */
export function holdsOf(database: Database) {
  const { db, options, timeoutMs } = database;
  const documents = db.collection<HoldDocument>(holdsPlan.name);
  const instance = randomBytes(6).toString('hex');
  /** By parent, those that serve further writes. */
  const holds = new Map<string, Hold>();
  /** By id, those that writes rely on or may still rely on. */
  const relied = new Map<string, Hold>();
  let taken = 0;
  let knowsTime = false;

  /** By collection, looks whether it has a document with this key. */
  const existences = new Map<string, (key: Key) => Promise<boolean>>();

  function isThere(kind: string, key: Key): Promise<boolean> {
    let look = existences.get(kind);
    if (!look) {
      look = existence(kind);
      existences.set(kind, look);
    }
    return look(key);
  }

  function existence(kind: string) {
    return together<Key, boolean>(async (keys) => {
      const found = await db
        .collection<{ _id: Key }>(kind)
        .find({ _id: { $in: [...new Set(keys)] } }, { ...options, projection: { _id: 1 }, batchSize: 1_001 })
        .toArray();
      const there = new Set(found.map(({ _id }) => String(_id)));
      return keys.map((key) => there.has(String(key)));
    });
  }

  /** Updates the document of a parent, which is made if it is not there. @returns it as it is then */
  async function touch(
    filter: Filter<HoldDocument> & { _id: string },
    update: Document,
  ): Promise<HoldDocument> {
    for (const deadline = performance.now() + timeoutMs; ; ) {
      try {
        const touched = await documents.findOneAndUpdate(
          filter,
          { ...update, $currentDate: { ...update.$currentDate, at: true } },
          { ...options, upsert: true, returnDocument: 'after' },
        );
        if (touched) return touched;
      } catch (error) {
        // Somebody else made it at the same moment, or the filter asks for more than the _id.
        if (!isDuplicateKey(error) || Object.keys(filter).length > 1) throw error;
      }
      if (performance.now() > deadline) throw new LostRace();
    }
  }

  const emptied = { holders: { $in: [{}, null] }, closing: { $exists: false } } as Filter<HoldDocument>;
  /** Removes holds and marks, and the documents that have nothing left in them. */
  const remove = together<[string, AnyBulkWriteOperation<HoldDocument>], void>(async (all) => {
    const names = [...new Set(all.map(([name]) => name))];
    await documents.bulkWrite(
      [
        ...all.map(([, operation]) => operation),
        { deleteMany: { filter: { _id: { $in: names }, ...emptied } } },
      ],
      options,
    );
    return all.map(() => undefined);
  });

  /** R. A hold that stays because the database is away counts for a while only. */
  const giveBack = (name: string, { id }: Hold): Promise<void> =>
    remove([
      name,
      { updateOne: { filter: { _id: name }, update: { $unset: { [`holders.${id}`]: true } } as Document } },
    ]).catch(() => {});

  /** H and V. */
  async function stateOf(name: string, id: string, kind: string, key: Key): Promise<HoldState> {
    const update = { $currentDate: { [`holders.${id}`]: true } };
    const { holders, closing } = await touch({ _id: name }, update);
    const now = holders![id]!.getTime();
    if (closing && now - closing.at.getTime() < MARK_LIFE) return 'closing';
    return (await isThere(kind, key)) ? 'held' : 'missing';
  }

  function take(name: string, kind: string, key: Key): Hold {
    taken += 1;
    const id = `${instance}${taken}`;
    const hold: Hold = { id, uses: 0, over: false, state: stateOf(name, id, kind, key), onUnused: [] };
    holds.set(name, hold);
    relied.set(hold.id, hold);
    setTimeout(() => end(name, hold), HOLD_USE).unref();
    hold.state.then(
      (state) => state !== 'held' && end(name, hold),
      () => end(name, hold),
    );
    return hold;
  }

  /** Lets nobody else rely on the hold, and gives it back as soon as nobody does. */
  function end(name: string, hold: Hold): void {
    if (hold.over) return;
    hold.over = true;
    if (holds.get(name) === hold) holds.delete(name);
    if (hold.uses === 0) settle(name, hold);
    // A write whose outcome is unknown relies on it for good, so it is never given back.
    else setTimeout(() => relied.delete(hold.id), HOLD_LIFE).unref();
  }

  function leave(name: string, hold: Hold): void {
    hold.uses -= 1;
    if (hold.uses === 0 && hold.over) settle(name, hold);
  }

  function settle(name: string, hold: Hold): void {
    relied.delete(hold.id);
    for (const tell of hold.onUnused) tell();
    void giveBack(name, hold);
  }

  /** M. @throws LostRace while another deleter is at it */
  async function close(name: string): Promise<{ by: string; at: Date; holders: Record<string, Date> }> {
    const by = `${instance}${++taken}`;
    const mark = { $set: { 'closing.by': by }, $currentDate: { 'closing.at': true } };
    try {
      const { closing, holders = {} } = await touch(
        { _id: name, closing: { $exists: false } } as never,
        mark,
      );
      return { ...closing!, holders };
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
    const { closing: other, at } = await touch({ _id: name }, {});
    if (other && at!.getTime() - other.at.getTime() >= MARK_LIFE) {
      // Its deleter is dead, or too late.
      await remove([name, reopening(name, other.by)]);
    } else if (other) await sleep(PAUSE);
    throw new LostRace();
  }

  const reopening = (name: string, by: string): AnyBulkWriteOperation<HoldDocument> => ({
    updateOne: {
      filter: { _id: name, 'closing.by': by } as never,
      update: { $unset: { closing: true } } as Document,
    },
  });

  /** Waits until the holds are given back that counted at M, but not for ever. @returns whether they are */
  async function released(name: string, holders: Record<string, Date>, markedAt: Date): Promise<boolean> {
    const others = new Set<string>();
    const own: Promise<void>[] = [];
    for (const [id, at] of Object.entries(holders)) {
      if (markedAt.getTime() - at.getTime() >= HOLD_LIFE) continue;
      const hold = relied.get(id);
      if (!id.startsWith(instance)) others.add(id);
      else if (hold) own.push(unused(name, hold));
    }
    if (own.length > 0) {
      const late = sleep(DELETER_TIMEOUT, 'late', { ref: false });
      if ((await Promise.race([Promise.all(own), late])) === 'late') return false;
    }
    for (const deadline = performance.now() + DELETER_TIMEOUT; others.size > 0; ) {
      if (performance.now() > deadline) return false;
      await sleep(PAUSE);
      const found = await documents.findOne({ _id: name }, { ...options, projection: { holders: 1 } });
      for (const id of others) if (!found?.holders?.[id]) others.delete(id);
    }
    return true;
  }

  function unused(name: string, hold: Hold): Promise<void> {
    end(name, hold);
    return hold.uses === 0 ? Promise.resolve() : new Promise((resolve) => hold.onUnused.push(resolve));
  }

  /** C. What the transaction itself has written is looked at inside of it, all else as it is now. */
  async function isReferred({ referrers, filter }: Deletion, unit: Unit): Promise<boolean> {
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
      knowsTime =
        (await db.collection<{ _id: string }>('layout').findOne({ _id: 'layout', ...isPast })) !== null;
    },

    /**
     * Keeps a parent from being deleted until the unit is over.
     *
     * @returns whether there is such a parent
     */
    async hold(kind: string, key: Key, unit: Unit): Promise<boolean> {
      const name = `${kind}/${key}`;
      // Nobody but this transaction knows it yet, or knows yet that it is gone.
      if (unit.written.has(name)) {
        const own = db.collection<{ _id: Key }>(kind);
        return (await own.findOne({ _id: key }, { ...unit.options, projection: { _id: 1 } })) !== null;
      }
      for (;;) {
        const hold = holds.get(name) ?? take(name, kind, key);
        hold.uses += 1;
        let state: Awaited<Hold['state']> | undefined;
        try {
          state = await hold.state;
        } finally {
          if (state !== 'held') leave(name, hold);
        }
        if (state === 'held') {
          unit.afterwards.push(() => leave(name, hold));
          // Nothing is written when the call has been given up, nor when the hold may be over.
          if (performance.now() > unit.deadline) throw unavailable();
          return true;
        }
        if (state === 'missing') return false;
        if (performance.now() > unit.deadline) throw unavailable();
        await sleep(PAUSE);
      }
    },

    /**
     * Deletes a parent that nothing refers to.
     *
     * @returns false if something refers to it, or is about to
     */
    async deleteUnreferred(kind: string, key: Key, unit: Unit, parent: Deletion): Promise<boolean> {
      const name = `${kind}/${key}`;
      if (await isReferred(parent, unit)) return false;
      const sentAt = performance.now();
      const { by, at, holders } = await close(name);
      const reopen = () => remove([name, reopening(name, by)]).catch(() => {});
      if (unit.session) {
        unit.deadline = Math.min(unit.deadline, sentAt + COMMIT_WITHIN);
        unit.afterwards.push(reopen);
      }
      unit.written.add(name);
      let isKnown = true;
      try {
        if (!(await released(name, holders, at)) || (await isReferred(parent, unit))) return false;
        if (performance.now() > sentAt + DELETE_WITHIN) throw new LostRace();
        const until = new Date(at.getTime() + DELETE_WITHIN);
        isKnown = false;
        const removed = await parent.remove(knowsTime ? { $expr: { $lt: ['$$NOW', until] } } : {});
        isKnown = true;
        if (!removed) throw new LostRace();
        return true;
      } finally {
        // Where D has no answer, the mark stays as long as the server may still carry it out.
        if (!unit.session && isKnown) await reopen();
      }
    },

    /** Gives back all holds that nothing relies on. */
    async close(): Promise<void> {
      const unused = [...holds].filter(([, { uses }]) => uses === 0);
      for (const [, hold] of holds) hold.over = true;
      holds.clear();
      await Promise.all(unused.map(([name, hold]) => giveBack(name, hold)));
    },
  };
}
