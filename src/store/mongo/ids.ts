import type { Db } from 'mongodb';
import { MAX_INT64 } from '../../foundation/id.ts';
import type { AnyRecord } from '../../foundation/record.ts';
import { idsExhausted } from '../conflicts.ts';
import { gather } from './batching.ts';
import type { Key } from './codec.ts';
import type { Database } from './database.ts';
import { ignoreDuplicate } from './errors.ts';

/** The last id assigned of each kind of record (`orders`). */
export const countersOf = (db: Db) => db.collection<{ _id: string; value: Key }>('counters');

/** Creates missing counters. */
export async function prepareIds({ db, options }: Database, records: readonly AnyRecord[]): Promise<void> {
  const counters = countersOf(db);
  for (const { plural: _id } of records)
    await counters
      .updateOne({ _id }, { $setOnInsert: { value: 0n } }, { ...options, upsert: true })
      .catch(ignoreDuplicate);
}

/** Ids in use that are read per query to find a free one. */
const MAX_RUN_LENGTH = 1_000;

/** The next id of a kind that is not in use. @throws CONFLICT at the end of the sequence */
export type NextId = (record: AnyRecord) => Promise<Key>;

/**
 * Assigns each id of a collection once. The atomic increment is never part of a transaction, so that creations do not
 * wait for each other's commit. An id is used up even if its record is not written. All instances increment one
 * document for each kind; to keep it from becoming a hot spot, an instance takes a block of ids for all callers
 * that are waiting.
 */
export function idsOf({ db, options, timeoutMs }: Database): NextId {
  const counters = countersOf(db);

  const assign = gather<void, Key | null>(async (_id, callers) => {
    const size = BigInt(callers.length);
    const counter = await counters.findOneAndUpdate(
      { _id, value: { $lte: MAX_INT64 - size } },
      { $inc: { value: size } },
      { ...options, returnDocument: 'after' },
    );
    return callers.map((_, i) => counter && counter.value - size + BigInt(i + 1));
  }, timeoutMs);

  /** The last of the consecutive ids in use that start with this one; undefined if this one is free. */
  async function endOfRun(name: string, key: Key): Promise<Key | undefined> {
    const used = await db
      .collection<{ _id: Key }>(name)
      .find(
        { _id: { $gte: key } },
        { ...options, projection: { _id: 1 }, sort: { _id: 1 }, limit: MAX_RUN_LENGTH },
      )
      .toArray();
    const end = used.findIndex(({ _id }, i) => _id !== key + BigInt(i));
    return end === 0 ? undefined : used.at(end < 0 ? -1 : end - 1)?._id;
  }

  return async ({ plural: name, choosesId }) => {
    for (;;) {
      const key = await assign(name);
      if (key === null) throw idsExhausted();
      const lastUsed = choosesId ? await endOfRun(name, key) : undefined;
      if (lastUsed === undefined) return key;
      // Skip all consecutive ids in use at once. $max, because another instance may be further ahead.
      await counters.updateOne({ _id: name }, { $max: { value: lastUsed } }, options);
    }
  };
}
