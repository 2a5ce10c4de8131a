import type { Db } from 'mongodb';
import { MAX_INT64, randomStep } from '../../foundation/id.ts';
import type { AnyDeclaration } from '../../foundation/record.ts';
import { idsExhausted } from '../conflicts.ts';
import { oneCommandAtATime } from './batching.ts';
import type { Key } from './codec.ts';
import type { Database } from './database.ts';
import { ignoreDuplicate } from './driver-errors.ts';

/** The collection with the last assigned id of each kind of record, by plural. */
export const countersOf = (db: Db) => db.collection<{ _id: string; value: Key }>('counters');

/** Creates missing counters. */
export async function prepareIds(
  { db, options }: Database,
  declarations: readonly AnyDeclaration[],
): Promise<void> {
  const counters = countersOf(db);
  for (const { plural: _id } of declarations)
    await counters
      .updateOne({ _id }, { $setOnInsert: { value: 0n } }, { ...options, upsert: true })
      .catch(ignoreDuplicate);
}

/** The number of steps, each twice as far as the one before, that lead through all ids. */
const STEPS = 63;

/** A function that assigns the next unused ids of a kind. @throws CONFLICT at the end of the sequence */
export type NextIds = (declaration: AnyDeclaration, count: number) => Promise<Key[]>;

/**
 * Assigns each id of a collection once. The atomic increment is never part of a transaction, so creations don't wait
 * for each other's commit, and an id is used up even if its record is not written. All instances increment one document
 * per kind; to keep it from becoming a hot spot, an instance takes a block of ids for all waiting callers.
 */
export function idsOf({ db, options, timeoutMs }: Database): NextIds {
  const counters = countersOf(db);

  /** Takes a block of ids for each caller. @returns the first id of each block */
  const assign = oneCommandAtATime<number, Key | null>(async (_id, counts) => {
    const size = BigInt(counts.reduce((sum, count) => sum + count, 0));
    const counter = await counters.findOneAndUpdate(
      { _id, value: { $lte: MAX_INT64 - size } },
      { $inc: { value: size } },
      { ...options, returnDocument: 'after' },
    );
    let next = counter && counter.value - size + 1n;
    return counts.map((count) => {
      const first = next;
      next &&= next + BigInt(count);
      return first;
    });
  }, timeoutMs);

  /** Those of some ids that are used. */
  async function usedOf(name: string, keys: Key[]): Promise<Set<Key>> {
    const cursor = db
      .collection<{ _id: Key }>(name)
      .find({ _id: { $in: keys } }, { ...options, projection: { _id: 1 }, batchSize: keys.length + 1 });
    return new Set((await cursor.toArray()).map(({ _id }) => _id));
  }

  return async ({ plural: name, choosesId }, count) => {
    const free: Key[] = [];
    while (free.length < count) {
      const needed = count - free.length;
      const first = await assign(name, needed);
      if (first === null) throw idsExhausted();
      const block = Array.from({ length: needed }, (_, n) => first + BigInt(n));
      const used = choosesId ? await usedOf(name, block) : new Set();
      const unused = block.filter((key) => !used.has(key));
      free.push(...unused);
      if (unused.length > 0) continue;
      // A million may follow. What is skipped is never assigned.
      let key = block.at(-1)!;
      const ahead = Array.from({ length: STEPS }, (_, n) => (key += randomStep(2n ** BigInt(n))));
      const taken = await usedOf(
        name,
        ahead.filter((key) => key <= MAX_INT64),
      );
      const value = ahead[ahead.findIndex((key) => !taken.has(key)) - 1];
      // $max, because another instance may be further ahead.
      if (value) await counters.updateOne({ _id: name }, { $max: { value } }, options);
    }
    return free;
  };
}
