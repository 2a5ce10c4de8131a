import { AppError } from '../../errors.ts';
import type { Database } from './database.ts';
import { isDuplicateKey } from './errors.ts';
import { MAX_ID } from './keys.ts';
import { type CollectionPlan, type Key, STRING, shape } from './plan.ts';

interface CounterDocument {
  /** A sequence (`orders`), or one reserved order id (`orders/0000000000000000042`). */
  _id: string;
  /** Of a sequence: the last id that was handed out. Of a reservation: there once an order of this id was deleted. */
  value?: Key;
}

export const countersPlan: CollectionPlan = {
  name: 'counters',
  schema: shape({ _id: STRING, 'value?': { bsonType: 'long', minimum: 0 } }),
  indexes: [],
};

/** The collections whose ids are assigned in sequence. */
const SEQUENCES = ['pets', 'categories', 'orders'] as const;
type IdSequence = (typeof SEQUENCES)[number];

/** How many reserved or taken ids one look can pass over. */
const RUN = 1000;

/** Somebody who waits for an id. */
interface Waiting {
  resolve(id: bigint): void;
  reject(error: unknown): void;
}

export type Ids = ReturnType<typeof idsOf>;

/**
 * Assigns ids, each once. An atomic increment, never part of a transaction: creations don't wait for each other's commit,
 * and an id is spent even if its record isn't written in the end.
 */
export function idsOf(database: Database) {
  const { db, options } = database;
  const counters = db.collection<CounterDocument>(countersPlan.name);
  const orders = db.collection<{ _id: Key }>('orders');
  const sequences: Record<IdSequence, Sequence> = {
    pets: new Sequence(take('pets')),
    categories: new Sequence(take('categories')),
    orders: new Sequence(take('orders')),
  };

  /** @returns the last of a block of ids; null if there are not as many */
  function take(name: IdSequence) {
    return async (size: bigint): Promise<bigint | null> => {
      const counter = await counters.findOneAndUpdate(
        { _id: name, value: { $lte: MAX_ID - size } },
        { $inc: { value: size } },
        { ...options, returnDocument: 'after', projection: { value: 1 } },
      );
      return counter?.value ?? null;
    };
  }

  /** The last of the ids in a row, from this one on, that are reserved or taken; undefined if this one is free. */
  async function endOfRun(key: bigint): Promise<bigint | undefined> {
    const [reserved, taken] = await Promise.all([
      isReserved(key),
      orders.findOne({ _id: key }, { ...options, projection: { _id: 1 } }),
    ]);
    if (!reserved && !taken) return undefined;
    const used = new Set<string>();
    const range = {
      ...options,
      projection: { _id: 1 },
      sort: { _id: 1 },
      limit: RUN,
      batchSize: RUN + 1,
    } as const;
    for (const { _id } of await counters
      .find({ _id: { $gte: reservation(key), $lte: reservation(MAX_ID) } }, range)
      .toArray()) {
      used.add(_id);
    }
    for (const { _id } of await orders.find({ _id: { $gte: key } }, range).toArray()) {
      used.add(reservation(BigInt(_id)));
    }
    let last = key;
    while (last < MAX_ID && used.has(reservation(last + 1n))) last += 1n;
    return last;
  }

  /** Whether a client has ever chosen this order id. */
  async function isReserved(key: bigint): Promise<boolean> {
    const found = await counters.findOne({ _id: reservation(key) }, { ...options, projection: { _id: 1 } });
    return found !== null;
  }

  return {
    /**
     * The next id of a sequence.
     *
     * @throws CONFLICT when the sequence has reached its end
     */
    next: (name: IdSequence): Promise<bigint> => sequences[name].next(),

    /** The next order id that is neither reserved nor taken at the moment. */
    async nextOrder(): Promise<bigint> {
      for (;;) {
        const key = await sequences.orders.next();
        const lastUsed = await endOfRun(key);
        if (lastUsed === undefined) return key;
        // Passes over the whole run of used ids at once; $max because another instance may be further on.
        await counters.updateOne({ _id: 'orders' }, { $max: { value: lastUsed } }, options);
      }
    },

    /**
     * Keeps a chosen order id out of the sequence for good, even when its order is deleted later. Must be in the database
     * before the order is: whoever assigns the same id at the same time then finds either the order (a duplicate key) or,
     * if that was deleted again meanwhile, the note of that on the reservation.
     */
    async reserveOrder(key: bigint): Promise<void> {
      try {
        await counters.insertOne({ _id: reservation(key) }, options);
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
      }
    },

    /** Notes on the reservation, if the id has one, that its order was deleted. Goes before the deletion. */
    async noteDeletion(key: bigint): Promise<void> {
      await counters.updateOne({ _id: reservation(key) }, { $set: { value: key } }, options);
    },

    /** Whether an id that was free when it was assigned has been chosen since, and its order deleted again. */
    async wasUsed(key: bigint): Promise<boolean> {
      const filter = { _id: reservation(key), value: { $exists: true } };
      return (await counters.findOne(filter, { ...options, projection: { _id: 1 } })) !== null;
    },

    /** Makes the sequences that are missing. */
    async prepare(): Promise<void> {
      const found = await counters.find({ _id: { $in: [...SEQUENCES] } }, options).toArray();
      for (const name of SEQUENCES) {
        if (found.some(({ _id }) => _id === name)) continue;
        // Starts after the highest id there is, which is 0 unless somebody filled the collection by other means. Orders may have
        // any id already, the highest included; their sequence skips those that are taken.
        const last =
          name === 'orders'
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

/** Padded, so that reservations sort by their number. */
const reservation = (key: bigint): string => `orders/${String(key).padStart(19, '0')}`;
