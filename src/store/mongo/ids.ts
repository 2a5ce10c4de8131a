import { MAX_INT64 } from '../../foundation/integers.ts';
import type { AnyRecord } from '../../foundation/record.ts';
import { idsExhausted } from '../conflicts.ts';
import { type CollectionDefinition, type Key, objectSchema, STRING } from './collection.ts';
import type { Database } from './database.ts';
import { isDuplicateKey } from './errors.ts';

export interface CounterDocument {
  /** A sequence (`orders`) or a reserved id (`orders/0000000000000000042`). */
  _id: string;
  /**
   * For a sequence: the last id assigned. For a reservation: set once the record with this id has been
   * deleted.
   */
  value?: Key;
}

export const countersCollection: CollectionDefinition = {
  name: 'counters',
  schema: objectSchema({ _id: STRING, 'value?': { bsonType: 'long', minimum: 0 } }),
  indexes: [],
};

/** A caller waiting for an id. */
interface Waiting {
  resolve(id: bigint): void;
  reject(error: unknown): void;
}

export type IdSequences = ReturnType<typeof createIdSequences>;

/**
 * Assigns each id once. The atomic increment is never part of a transaction, so that creations do not wait
 * for each other's commit. An id is used up even if its record is not written.
 */
export function createIdSequences(database: Database) {
  const { db, options } = database;
  const counters = db.collection<CounterDocument>(countersCollection.name);
  /** By collection name. */
  const sequences = new Map<string, Sequence>();

  /** @returns the last id of a block; null if too few are left */
  function take(name: string) {
    return async (size: bigint): Promise<bigint | null> => {
      const counter = await counters.findOneAndUpdate(
        { _id: name, value: { $lte: MAX_INT64 - size } },
        { $inc: { value: size } },
        { ...options, returnDocument: 'after', projection: { value: 1 } },
      );
      return counter?.value ?? null;
    };
  }

  return {
    /**
     * The next id of a sequence.
     *
     * @throws CONFLICT at the end of the sequence
     */
    next(name: string): Promise<bigint> {
      let sequence = sequences.get(name);
      if (!sequence) {
        sequence = new Sequence(take(name));
        sequences.set(name, sequence);
      }
      return sequence.next();
    },

    /** Moves a sequence past this id, unless it is already. */
    async skipTo(name: string, last: bigint): Promise<void> {
      await counters.updateOne({ _id: name }, { $max: { value: last } }, options);
    },

    /** Creates missing sequences for these collections. */
    async prepare(records: readonly AnyRecord[]): Promise<void> {
      const found = await counters
        .find({ _id: { $in: records.map(({ plural }) => plural) } }, options)
        .toArray();
      for (const { plural: name, choosesId } of records) {
        if (found.some(({ _id }) => _id === name)) continue;
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

/**
 * All instances increment one document per sequence. To keep it from becoming a hot spot, an instance has at
 * most one increment in progress, which takes a block of ids for all callers that are waiting.
 */
class Sequence {
  readonly #take: (size: bigint) => Promise<bigint | null>;
  #waiting: Waiting[] = [];
  #busy = false;

  constructor(take: (size: bigint) => Promise<bigint | null>) {
    this.#take = take;
  }

  next(): Promise<bigint> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      if (this.#busy) return;
      this.#busy = true;
      // Callers in the same turn of the event loop share the block.
      setImmediate(() => void this.#serve());
    });
  }

  async #serve(): Promise<void> {
    while (this.#waiting.length > 0) {
      const served = this.#waiting;
      this.#waiting = [];
      try {
        await this.#serveBlock(served);
      } catch (error) {
        // Callers that arrived since would wait for the same unavailable database and continue after they
        // have timed out.
        for (const { reject } of [...served, ...this.#waiting.splice(0)]) reject(error);
      }
    }
    this.#busy = false;
  }

  async #serveBlock(served: readonly Waiting[]): Promise<void> {
    const last = await this.#take(BigInt(served.length));
    if (last !== null) {
      let id = last - BigInt(served.length);
      for (const { resolve } of served) resolve(++id);
      return;
    }
    // Near the end of the sequence there may be too few ids for all of them.
    for (const { resolve, reject } of served) {
      const id = await this.#take(1n);
      if (id === null) reject(idsExhausted());
      else resolve(id);
    }
  }
}
