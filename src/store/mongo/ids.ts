import { AppError } from '../../errors.ts';
import type { Id } from '../store.ts';
import type { Database } from './database.ts';
import { isDuplicateKey } from './faults.ts';

/** The collections whose ids are assigned in sequence. */
export const IDS_OF = ['pets', 'categories', 'orders'] as const;
export type IdSequence = (typeof IDS_OF)[number];

export const MOST_ID = 2n ** 63n - 1n;

export const keyOf = (id: Id): bigint => BigInt(id);
export const idOf = (key: bigint | number): Id => String(key);

/** How many reserved or taken ids one look can pass over. */
const RUN = 1000;

/** Somebody who waits for an id. */
interface Waiting {
  resolve(id: bigint): void;
  reject(fault: unknown): void;
}

/** The sequences of one process on one database. */
const sequences = new WeakMap<Database, Map<IdSequence, Sequence>>();

/**
 * The next id of a sequence. An atomic increment, never part of a transaction: creations don't wait for each other's
 * commit, and an id is spent even if its record isn't written in the end.
 *
 * @throws CONFLICT when the sequence has reached its end
 */
export function nextId(database: Database, name: IdSequence): Promise<bigint> {
  const own = sequences.get(database) ?? new Map<IdSequence, Sequence>();
  const sequence = own.get(name) ?? new Sequence(database, name);
  sequences.set(database, own.set(name, sequence));
  return sequence.next();
}

/**
 * All creations of all instances increment one document a sequence. So that it can't become hot, an instance has one
 * increment under way at a time, and that one takes a block of ids for all that came to wait in the meantime.
 */
class Sequence {
  readonly #database: Database;
  readonly #name: IdSequence;
  #waiting: Waiting[] = [];
  #busy = false;

  constructor(database: Database, name: IdSequence) {
    this.#database = database;
    this.#name = name;
  }

  next(): Promise<bigint> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      if (!this.#busy) void this.#serve();
    });
  }

  async #serve(): Promise<void> {
    this.#busy = true;
    while (this.#waiting.length > 0) {
      const served = this.#waiting;
      this.#waiting = [];
      try {
        await this.#serveBlock(served);
      } catch (fault) {
        // Those who came since would only wait for the same database, and then go on after they were given up.
        for (const { reject } of [...served, ...this.#waiting.splice(0)]) reject(fault);
      }
    }
    this.#busy = false;
  }

  async #serveBlock(served: readonly Waiting[]): Promise<void> {
    const last = await this.#take(served.length);
    if (last !== null) {
      let id = last - BigInt(served.length);
      for (const { resolve } of served) resolve(++id);
      return;
    }
    // Near the end of the sequence a few are left for some of them.
    for (const { resolve, reject } of served) {
      const id = await this.#take(1);
      if (id === null) reject(new AppError('CONFLICT', 'There are no ids left to assign.'));
      else resolve(id);
    }
  }

  /** @returns the last of a block of ids; null if there are not as many */
  async #take(size: number): Promise<bigint | null> {
    const { collections, options } = this.#database;
    const counter = await collections.counters.findOneAndUpdate(
      { _id: this.#name, value: { $lte: MOST_ID - BigInt(size) } },
      { $inc: { value: BigInt(size) } },
      { ...options, returnDocument: 'after', projection: { value: 1 } },
    );
    return counter?.value ?? null;
  }
}

/** The next order id that is neither reserved nor taken at the moment. Check again with `isReserved` after its use. */
export async function nextOrderId(database: Database): Promise<bigint> {
  for (;;) {
    const key = await nextId(database, 'orders');
    const lastUsed = await endOfRun(database, key);
    if (lastUsed === undefined) return key;
    // Passes over the whole run of used ids at once; $max because another instance may be further on.
    await database.collections.counters.updateOne(
      { _id: 'orders' },
      { $max: { value: lastUsed } },
      database.options,
    );
  }
}

/** The last of the ids in a row, from this one on, that are reserved or taken; undefined if this one is free. */
async function endOfRun({ collections, options }: Database, key: bigint): Promise<bigint | undefined> {
  const [reserved, taken] = await Promise.all([
    collections.counters.findOne({ _id: reservation(key) }, { ...options, projection: { _id: 1 } }),
    collections.orders.findOne({ _id: key }, { ...options, projection: { _id: 1 } }),
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
  for (const { _id } of await collections.counters
    .find({ _id: { $gte: reservation(key), $lte: reservation(MOST_ID) } }, range)
    .toArray()) {
    used.add(_id);
  }
  for (const { _id } of await collections.orders.find({ _id: { $gte: key } }, range).toArray()) {
    used.add(reservation(BigInt(_id)));
  }
  let last = key;
  while (last < MOST_ID && used.has(reservation(last + 1n))) last += 1n;
  return last;
}

/**
 * Keeps a chosen order id out of the sequence for good, even when its order is deleted later. Must be in the database
 * before the order is: whoever assigns the same id at the same time then finds either the order (a duplicate key) or,
 * if that was deleted again meanwhile, the reservation.
 */
export async function reserveOrderId({ collections, options }: Database, key: bigint): Promise<void> {
  try {
    await collections.counters.insertOne({ _id: reservation(key) }, options);
  } catch (fault) {
    if (!isDuplicateKey(fault)) throw fault;
  }
}

/** Whether a client has ever chosen this order id. */
export async function isReserved({ collections, options }: Database, key: bigint): Promise<boolean> {
  const found = await collections.counters.findOne(
    { _id: reservation(key) },
    { ...options, projection: { _id: 1 } },
  );
  return found !== null;
}

/** Padded, so that reservations sort by their number. */
const reservation = (key: bigint): string => `orders/${String(key).padStart(19, '0')}`;
