import { AppError } from '../../errors.ts';
import { type CollectionDefinition, type Key, objectSchema, STRING } from './collection.ts';
import type { Database } from './database.ts';
import { isDuplicateKey } from './errors.ts';
import { MAX_ID } from './keys.ts';

export interface CounterDocument {
  /** A sequence (`orders`), or one reserved order id (`orders/0000000000000000042`). */
  _id: string;
  /** Of a sequence: the last id that was handed out. Of a reservation: there once an order of this id was deleted. */
  value?: Key;
}

export const countersCollection: CollectionDefinition = {
  name: 'counters',
  schema: objectSchema({ _id: STRING, 'value?': { bsonType: 'long', minimum: 0 } }),
  indexes: [],
};

/** Somebody who waits for an id. */
interface Waiting {
  resolve(id: bigint): void;
  reject(error: unknown): void;
}

export type IdSequences = ReturnType<typeof createIdSequences>;

/**
 * Assigns ids, each once. An atomic increment, never part of a transaction: creations don't wait for each other's commit,
 * and an id is spent even if its record isn't written in the end.
 */
export function createIdSequences(database: Database) {
  const { db, options } = database;
  const counters = db.collection<CounterDocument>(countersCollection.name);
  /** By the name of their collection. */
  const sequences = new Map<string, Sequence>();

  /** @returns the last of a block of ids; null if there are not as many */
  function take(name: string) {
    return async (size: bigint): Promise<bigint | null> => {
      const counter = await counters.findOneAndUpdate(
        { _id: name, value: { $lte: MAX_ID - size } },
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
     * @throws CONFLICT when the sequence has reached its end
     */
    next(name: string): Promise<bigint> {
      let sequence = sequences.get(name);
      if (!sequence) {
        sequence = new Sequence(take(name));
        sequences.set(name, sequence);
      }
      return sequence.next();
    },

    /** Lets a sequence go on after this id, unless it is further on already. */
    async skipTo(name: string, last: bigint): Promise<void> {
      await counters.updateOne({ _id: name }, { $max: { value: last } }, options);
    },

    /** Makes the sequences of these collections that are missing. */
    async prepare(all: readonly { name: string; choosesIds: boolean }[]): Promise<void> {
      const found = await counters.find({ _id: { $in: all.map(({ name }) => name) } }, options).toArray();
      for (const { name, choosesIds } of all) {
        if (found.some(({ _id }) => _id === name)) continue;
        // Starts after the highest id there is, which is 0 unless somebody filled the collection by other means. Where clients choose
        // ids, any may be there already, the highest included; the sequence skips those that are taken.
        const last = choosesIds
          ? null
          : await db
              .collection<{ _id: Key }>(name)
              .findOne({}, { ...options, sort: { _id: -1 }, projection: { _id: 1 } });
        const value = last && last._id <= MAX_ID ? last._id : 0n;
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
 * All creations of all instances increment one document a sequence. So that it can't become hot, an instance has one
 * increment under way at a time, and that one takes a block of ids for all that came to wait in the meantime.
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
      // Whoever else comes in this turn of the event loop takes from the same block.
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
        // Those who came since would only wait for the same database, and then go on after they were given up.
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
    // Near the end of the sequence a few are left for some of them.
    for (const { resolve, reject } of served) {
      const id = await this.#take(1n);
      if (id === null) reject(new AppError('CONFLICT', 'There are no ids left to assign.'));
      else resolve(id);
    }
  }
}
