import type { MongoClient } from 'mongodb';
import type { Store } from '../store.ts';
import { mongoApiKeys } from './api-keys.ts';
import { connectTo, type Database, type MongoOptions } from './database.ts';
import { mongoEvents } from './events.ts';
import { isUnavailable } from './faults.ts';
import { once } from './once.ts';
import { mongoReads } from './reads.ts';
import { mongoUsage } from './usage.ts';
import { mongoWrites } from './writes.ts';

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
 * @throws if the URI is wrong, or the database refuses (credentials, rights)
 */
export async function openMongoStore(options: MongoOptions): Promise<MongoStore> {
  const database = connectTo(options);
  try {
    await database.answer(() => Promise.resolve());
  } catch (fault) {
    if (!isAway(fault)) {
      await database.client.close();
      throw fault;
    }
  }
  const { stopFollowing, ...events } = mongoEvents(database);
  return {
    engine: 'mongodb',
    client: database.client,
    ...answered(database, mongoReads(database)),
    ...answered(database, mongoWrites(database, database.run)),
    ...answered(database, mongoApiKeys(database)),
    ...answered(database, mongoUsage(database)),
    eventPage: (request) => database.answer(async () => events.eventPage(request)),
    followEvents: (follower) => database.answer(async () => events.followEvents(follower)),
    once: (call, work) => database.answer(() => once(database, call, work)),
    hasTransactions: () => database.answer(() => Promise.resolve(database.transactions)),
    transaction: (work) =>
      database.answer(() =>
        database.run(async (unit) => work(mongoWrites(database, (write) => write(unit)))),
      ),
    ping: () =>
      database.answer(async () => {
        await database.db.command({ ping: 1 });
      }),
    async close() {
      stopFollowing();
      await database.client.close();
    },
  };
}

const isAway = (fault: unknown): boolean =>
  isUnavailable(fault) || (fault as { code?: unknown }).code === 'UNAVAILABLE';

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
