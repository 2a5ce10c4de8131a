import type { MongoClient } from 'mongodb';
import type { PetstoreWrites, Store } from '../store.ts';
import { mongoApiKeys } from './api-keys.ts';
import { mongoCategories } from './category.ts';
import { connectTo, type Database, type MongoOptions } from './database.ts';
import { isUnavailable } from './errors.ts';
import { mongoEvents } from './events.ts';
import { holdsOf } from './holds.ts';
import { mongoIdempotency } from './idempotency.ts';
import { idsOf } from './ids.ts';
import { prepareLayout } from './layout.ts';
import { mongoOrders } from './order.ts';
import { mongoPets } from './pet.ts';
import { type RunUnit, unitsOf } from './units.ts';
import { mongoUsage } from './usage.ts';

export type { MongoOptions } from './database.ts';

/** The store in MongoDB, and its connection. */
export interface MongoStore extends Store {
  readonly engine: 'mongodb';
  /** For command monitoring and for looking at documents in tests. */
  readonly client: MongoClient;
}

/**
 * Opens the store in the database that the URI names, and creates what is missing in it. If the database is away, the
 * store opens nevertheless: its calls are UNAVAILABLE until the database answers, and the first one after that finds
 * it prepared.
 *
 * @throws if the URI is wrong, or the database refuses (credentials, rights, another version)
 */
export async function openMongoStore(settings: MongoOptions): Promise<MongoStore> {
  const database: Database = connectTo(settings, async (hello) => {
    const changed = await prepareLayout(database, hello);
    await ids.prepare();
    await holds.prepare();
    return changed;
  });
  const ids = idsOf(database);
  const holds = holdsOf(database);
  try {
    await database.answer(() => Promise.resolve());
  } catch (error) {
    if (!isAway(error)) {
      await database.client.close();
      throw error;
    }
  }
  const units = unitsOf(database);
  const category = mongoCategories(database, ids, holds);
  const pet = mongoPets(database, ids, holds);
  const order = mongoOrders(database, ids, holds);
  const writes = (run: RunUnit) =>
    ({ ...category.writes(run), ...pet.writes(run), ...order.writes(run) }) satisfies PetstoreWrites;
  const { once } = mongoIdempotency(database, units, writes);
  const { stopFollowing, ...events } = mongoEvents(database);
  return {
    engine: 'mongodb',
    client: database.client,
    ...answered(database, category.reads),
    ...answered(database, pet.reads),
    ...answered(database, order.reads),
    ...answered(database, writes(units.run)),
    ...answered(database, mongoApiKeys(database)),
    ...answered(database, mongoUsage(database)),
    eventPage: (request) => database.answer(async () => events.eventPage(request)),
    followEvents: (follower) => database.answer(async () => events.followEvents(follower)),
    once: (call, work) => database.answer(() => once(call, work)),
    hasTransactions: () => database.answer(() => Promise.resolve(database.transactions)),
    transaction: (work) =>
      database.answer(() => units.runTogether(async (unit) => work(writes((write) => write(unit))))),
    ping: () =>
      database.answer(async () => {
        await database.db.command({ ping: 1 });
      }),
    async close() {
      stopFollowing();
      await holds.close();
      await database.client.close();
    },
  };
}

const isAway = (error: unknown): boolean =>
  isUnavailable(error) || (error as { code?: unknown }).code === 'UNAVAILABLE';

type Methods = Record<string, (...args: never[]) => Promise<unknown>>;

/** The same methods, each within `answer`. */
function answered<M extends Methods>(database: Database, methods: M): M {
  return Object.fromEntries(
    Object.entries(methods).map(([name, method]) => [
      name,
      (...args: never[]) => database.answer(() => method(...args)),
    ]),
  ) as M;
}
