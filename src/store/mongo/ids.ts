import { MAX_INT64 } from '../../foundation/integers.ts';
import type { AnyRecord } from '../../foundation/record.ts';
import { idsExhausted } from '../conflicts.ts';
import { gather } from './batching.ts';
import { type CollectionDefinition, exists, type Key, objectSchema, STRING } from './collection.ts';
import type { Database } from './database.ts';
import { ignoreDuplicate } from './errors.ts';

export interface CounterDocument {
  /** A sequence (`orders`) or a reserved id (`orders/0000000000000000042`). */
  _id: string;
  /** For a sequence: the last id assigned. For a reservation: set once the record with this id has been deleted. */
  value?: Key;
}

export const countersCollection: CollectionDefinition = {
  name: 'counters',
  schema: objectSchema({ _id: STRING, 'value?': { bsonType: 'long', minimum: 0 } }),
  indexes: [],
};

/** The id of the document that reserves an id, padded so that they sort numerically. */
export const reservationOf = (name: string, key: Key): string => `${name}/${String(key).padStart(19, '0')}`;

/** Creates missing sequences. */
export async function prepareIds({ db, options }: Database, records: readonly AnyRecord[]): Promise<void> {
  const counters = db.collection<CounterDocument>(countersCollection.name);
  const names = records.map(({ plural }) => plural);
  const present = await counters.find({ _id: { $in: names } }, options).toArray();
  for (const { plural: _id, choosesId } of records) {
    if (present.some((counter) => counter._id === _id)) continue;
    // Start after the highest existing id, which is 0 unless the collection was filled by other means.
    // Where clients choose ids, the highest may be in use already, so start at 0 and skip used ids.
    const sort = { _id: -1 } as const;
    const last = choosesId ? null : await db.collection<{ _id: Key }>(_id).findOne({}, { ...options, sort });
    const value = last && last._id <= MAX_INT64 ? last._id : 0n;
    await counters
      .updateOne({ _id }, { $setOnInsert: { value } }, { ...options, upsert: true })
      .catch(ignoreDuplicate);
  }
}

/** Used ids to skip per query. */
const MAX_RUN_LENGTH = 1_000;

export type Ids = ReturnType<typeof createIds>;

/**
 * Assigns each id of a collection once. The atomic increment is never part of a transaction, so that creations do not
 * wait for each other's commit. An id is used up even if its record is not written. All instances increment one
 * document for each sequence; to keep it from becoming a hot spot, an instance takes a block of ids for all callers
 * that are waiting.
 *
 * Where clients may choose ids, all that are or were in use are skipped, including those of deleted records.
 */
export function createIds({ db, options, timeoutMs }: Database, { plural: name, choosesId }: AnyRecord) {
  const counters = db.collection<CounterDocument>(countersCollection.name);
  const records = db.collection<{ _id: Key }>(name);
  const reservation = (key: Key): string => reservationOf(name, key);

  /** @returns the last id of a block; null if too few are left */
  async function take(size: bigint): Promise<Key | null> {
    const counter = await counters.findOneAndUpdate(
      { _id: name, value: { $lte: MAX_INT64 - size } },
      { $inc: { value: size } },
      { ...options, returnDocument: 'after', projection: { value: 1 } },
    );
    return counter?.value ?? null;
  }

  const assign = gather<void, Key | null>(async (_name, callers) => {
    const size = BigInt(callers.length);
    const last = await take(size);
    if (last !== null) return callers.map((_, i) => last - size + BigInt(i + 1));
    // Near the end of the sequence there may be too few ids for all of them.
    const ids: (Key | null)[] = [];
    for (const _ of callers) ids.push(await take(1n));
    return ids;
  }, timeoutMs);

  /** The last of the consecutive used ids starting at this one; undefined if this one is free. */
  async function endOfRun(key: Key): Promise<Key | undefined> {
    const isUsed = await Promise.all([
      exists(counters, { _id: reservation(key) }, options),
      exists(records, { _id: key }, options),
    ]);
    if (!isUsed.includes(true)) return undefined;
    const run = { ...options, projection: { _id: 1 }, sort: { _id: 1 }, limit: MAX_RUN_LENGTH } as const;
    const range = { ...run, batchSize: MAX_RUN_LENGTH + 1 };
    const reserved = { $gte: reservation(key), $lte: reservation(MAX_INT64) };
    const used = new Set<string>();
    for (const { _id } of await counters.find({ _id: reserved }, range).toArray()) used.add(_id);
    for (const { _id } of await records.find({ _id: { $gte: key } }, range).toArray())
      used.add(reservation(_id));
    let last = key;
    while (last < MAX_INT64 && used.has(reservation(last + 1n))) last += 1n;
    return last;
  }

  return {
    /**
     * The next id, which is neither reserved nor in use.
     *
     * @throws CONFLICT at the end of the sequence
     */
    async next(): Promise<Key> {
      for (;;) {
        const key = await assign(name);
        if (key === null) throw idsExhausted();
        const lastUsed = choosesId ? await endOfRun(key) : undefined;
        if (lastUsed === undefined) return key;
        // Skip all consecutive used ids at once. $max, because another instance may be further ahead.
        await counters.updateOne({ _id: name }, { $max: { value: lastUsed } }, options);
      }
    },

    /**
     * Permanently excludes a chosen id from the sequence, even after its record is deleted. Must be stored
     * before the record: a concurrent assignment of the same id then finds either the record (duplicate key)
     * or, if it has been deleted again, the note about that on the reservation.
     */
    async reserve(key: Key): Promise<void> {
      await counters.insertOne({ _id: reservation(key) }, options).catch(ignoreDuplicate);
    },

    /** Notes on the reservation, if there is one, that the record was deleted. Must precede the deletion. */
    async noteDeletion(key: Key): Promise<void> {
      if (choosesId) await counters.updateOne({ _id: reservation(key) }, { $set: { value: key } }, options);
    },

    /** Whether an id has been chosen and its record deleted again since it was assigned. */
    wasUsed: async (key: Key): Promise<boolean> =>
      choosesId && (await exists(counters, { _id: reservation(key), value: { $exists: true } }, options)),
  };
}
