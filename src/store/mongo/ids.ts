import { MAX_INT64 } from '../../foundation/integers.ts';
import type { AnyRecord } from '../../foundation/record.ts';
import { idsExhausted } from '../conflicts.ts';
import { gather } from './batching.ts';
import { type CollectionDefinition, type Key, objectSchema, STRING } from './collection.ts';
import type { Database } from './database.ts';
import { isDuplicateKey } from './errors.ts';

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

export type IdSequences = ReturnType<typeof createIdSequences>;

/**
 * Assigns each id once. The atomic increment is never part of a transaction, so that creations do not wait for each
 * other's commit. An id is used up even if its record is not written. All instances increment one document for each
 * sequence; to keep it from becoming a hot spot, an instance takes a block of ids for all callers that are waiting.
 */
export function createIdSequences(database: Database) {
  const { db, options } = database;
  const counters = db.collection<CounterDocument>(countersCollection.name);

  /** @returns the last id of a block; null if too few are left */
  async function take(name: string, size: bigint): Promise<bigint | null> {
    const counter = await counters.findOneAndUpdate(
      { _id: name, value: { $lte: MAX_INT64 - size } },
      { $inc: { value: size } },
      { ...options, returnDocument: 'after', projection: { value: 1 } },
    );
    return counter?.value ?? null;
  }

  const takeFor = gather<undefined, bigint | null>(async (name, callers) => {
    const size = BigInt(callers.length);
    const last = await take(name, size);
    if (last !== null) return callers.map((_, i) => last - size + BigInt(i + 1));
    // Near the end of the sequence there may be too few ids for all of them.
    const ids: (bigint | null)[] = [];
    for (const _ of callers) ids.push(await take(name, 1n));
    return ids;
  });

  return {
    /**
     * The next id of a sequence.
     *
     * @param name of the collection
     * @throws CONFLICT at the end of the sequence
     */
    async next(name: string): Promise<bigint> {
      const id = await takeFor(name, undefined);
      if (id === null) throw idsExhausted();
      return id;
    },

    /** Moves a sequence past this id, unless it is already. */
    async skipTo(name: string, last: bigint): Promise<void> {
      await counters.updateOne({ _id: name }, { $max: { value: last } }, options);
    },

    /** Creates missing sequences for these collections. */
    async prepare(records: readonly AnyRecord[]): Promise<void> {
      const existing = await counters
        .find({ _id: { $in: records.map(({ plural }) => plural) } }, options)
        .toArray();
      for (const { plural: name, choosesId } of records) {
        if (existing.some(({ _id }) => _id === name)) continue;
        // Start after the highest existing id, which is 0 unless the collection was filled by other means.
        // Where clients choose ids, the highest may be in use already, so start at 0 and skip used ids.
        const last = choosesId
          ? null
          : await db
              .collection<{ _id: Key }>(name)
              .findOne({}, { ...options, sort: { _id: -1 }, projection: { _id: 1 } });
        const value = last && last._id <= MAX_INT64 ? last._id : 0n;
        try {
          await counters.updateOne({ _id: name }, { $setOnInsert: { value } }, { ...options, upsert: true });
        } catch (error) {
          if (!isDuplicateKey(error)) throw error;
        }
      }
    },
  };
}
