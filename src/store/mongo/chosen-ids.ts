import { MAX_INT64 } from '../../foundation/integers.ts';
import type { Key } from './collection.ts';
import type { Database } from './database.ts';
import { isDuplicateKey } from './errors.ts';
import { type CounterDocument, countersCollection, type IdSequences } from './ids.ts';

/** Used ids to skip per query. */
const MAX_RUN_LENGTH = 1000;

/** The id of the document that reserves an id, padded so that they sort numerically. */
export const reservationOf = (name: string, key: bigint): string =>
  `${name}/${String(key).padStart(19, '0')}`;

export type ChosenIds = ReturnType<typeof createChosenIds>;

/**
 * Assigns the ids of a collection whose clients may choose them. Skips all that are or were in use, including
 * those of deleted records.
 *
 * @param name of the collection
 */
export function createChosenIds({ db, options }: Database, ids: IdSequences, name: string) {
  const counters = db.collection<CounterDocument>(countersCollection.name);
  const records = db.collection<{ _id: Key }>(name);
  const idOnly = { ...options, projection: { _id: 1 } } as const;

  const reservation = (key: bigint): string => reservationOf(name, key);

  /** The last of the consecutive used ids starting at this one; undefined if this one is free. */
  async function endOfRun(key: bigint): Promise<bigint | undefined> {
    const [reserved, taken] = await Promise.all([isReserved(key), records.findOne({ _id: key }, idOnly)]);
    if (!reserved && !taken) return undefined;
    const used = new Set<string>();
    const range = {
      ...idOnly,
      sort: { _id: 1 },
      limit: MAX_RUN_LENGTH,
      batchSize: MAX_RUN_LENGTH + 1,
    } as const;
    const within = { $gte: reservation(key), $lte: reservation(MAX_INT64) };
    for (const { _id } of await counters.find({ _id: within }, range).toArray()) used.add(_id);
    for (const { _id } of await records.find({ _id: { $gte: key } }, range).toArray())
      used.add(reservation(BigInt(_id)));
    let last = key;
    while (last < MAX_INT64 && used.has(reservation(last + 1n))) last += 1n;
    return last;
  }

  /** Whether there is a reservation of this id. @param condition besides */
  const isReserved = async (key: bigint, condition: object = {}): Promise<boolean> =>
    (await counters.findOne({ _id: reservation(key), ...condition }, idOnly)) !== null;

  return {
    /** The next id that is neither reserved nor in use. */
    async next(): Promise<bigint> {
      for (;;) {
        const key = await ids.next(name);
        const lastUsed = await endOfRun(key);
        if (lastUsed === undefined) return key;
        // Skip all consecutive used ids at once. $max, because another instance may be further ahead.
        await ids.skipTo(name, lastUsed);
      }
    },

    /**
     * Permanently excludes a chosen id from the sequence, even after its record is deleted. Must be stored
     * before the record: a concurrent assignment of the same id then finds either the record (duplicate key)
     * or, if it has been deleted again, the note about that on the reservation.
     */
    async reserve(key: bigint): Promise<void> {
      try {
        await counters.insertOne({ _id: reservation(key) }, options);
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
      }
    },

    /** Notes on the reservation, if there is one, that the record was deleted. Must precede the deletion. */
    async noteDeletion(key: bigint): Promise<void> {
      await counters.updateOne({ _id: reservation(key) }, { $set: { value: key } }, options);
    },

    /** Whether an id has been chosen and its record deleted again since it was assigned. */
    wasUsed: (key: bigint): Promise<boolean> => isReserved(key, { value: { $exists: true } }),
  };
}
