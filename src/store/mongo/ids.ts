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

/**
 * The next id of a sequence. One atomic increment, never part of a transaction: creations don't wait for each other,
 * and an id is spent even if its record isn't written in the end.
 *
 * @throws CONFLICT when the sequence has reached its end
 */
export async function nextId({ collections, options }: Database, sequence: IdSequence): Promise<bigint> {
  const counter = await collections.counters.findOneAndUpdate(
    { _id: sequence, value: { $lt: MOST_ID } },
    { $inc: { value: 1n } },
    { ...options, returnDocument: 'after', projection: { value: 1 } },
  );
  if (counter?.value === undefined) throw new AppError('CONFLICT', 'There are no ids left to assign.');
  return counter.value;
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
