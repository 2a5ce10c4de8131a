import type { MongoClient } from 'mongodb';
import { merged } from '../slices.ts';
import type { Store, Transaction } from '../store.ts';
import { mongoApiKeys } from './api-keys.ts';
import { connectTo, type Database, type MongoOptions } from './database.ts';
import type { Methods, MongoDomain } from './domain.ts';
import { DOMAINS } from './domains.ts';
import { isUnavailable } from './errors.ts';
import { mongoEvents } from './events.ts';
import { createHolds } from './holds.ts';
import { mongoIdempotency } from './idempotency.ts';
import { createIdSequences } from './ids.ts';
import { prepareLayout } from './layout.ts';
import { createUnitRunners, type RunUnit, type Unit } from './units.ts';
import { mongoUsage } from './usage.ts';

export type { MongoOptions } from './database.ts';

/** The MongoDB store and its client. */
export interface MongoStore extends Store {
  readonly engine: 'mongodb';
  /** For command monitoring and inspecting documents in tests. */
  readonly client: MongoClient;
}

/** The sequences from which ids are assigned. */
const SEQUENCES = (DOMAINS as readonly MongoDomain[]).map(({ definition, choosesIds = false }) => ({
  name: definition.name,
  choosesIds,
}));

/**
 * Opens the store and creates whatever is missing in the database. If the database is away, the store opens
 * anyway. Its calls are UNAVAILABLE until the database responds, and the first one after that prepares it.
 *
 * @throws if the URI is invalid or the database refuses access (credentials, privileges, version)
 */
export async function openMongoStore(settings: MongoOptions): Promise<MongoStore> {
  const database: Database = connectTo(settings, async (hello) => {
    const changed = await prepareLayout(database, hello, settings.onMigrated ?? (() => {}));
    await ids.prepare(SEQUENCES);
    await holds.prepare();
    return changed;
  });
  const ids = createIdSequences(database);
  const holds = createHolds(database);
  try {
    await database.execute(() => Promise.resolve());
  } catch (error) {
    if (!isAway(error)) {
      await database.client.close();
      throw error;
    }
  }
  const units = createUnitRunners(database);
  const domains = DOMAINS.map(({ open }) => open({ database, ids, holds }));
  const reads = (transaction?: Unit) => merged(domains.map((domain) => domain.reads(transaction)));
  const writes = (run: RunUnit) => merged(domains.map((domain) => domain.writes(run)));
  const within = (unit: Unit): Transaction => ({
    ...reads(unit),
    ...writes((write) => write(unit)),
    isSynchronous: false,
  });
  const alone: Transaction = { ...reads(), ...writes(units.run), isSynchronous: false };
  const { once } = mongoIdempotency(database, units, { within, alone });
  const { stopFollowing, ...events } = mongoEvents(database);
  return {
    engine: 'mongodb',
    client: database.client,
    ...executed(database, reads()),
    ...executed(database, writes(units.run)),
    ...executed(database, mongoApiKeys(database)),
    ...executed(database, mongoUsage(database)),
    eventPage: (request) => database.execute(async () => events.eventPage(request)),
    followEvents: (follower) => database.execute(async () => events.followEvents(follower)),
    once: (call, work) => database.execute(() => once(call, work)),
    hasTransactions: () => database.execute(() => Promise.resolve(database.transactions)),
    transaction: (work) => database.execute(() => units.runTogether(async (unit) => work(within(unit)))),
    ping: () =>
      database.execute(async () => {
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

/** Wraps methods in `execute`. */
function executed<M extends Methods>(database: Database, methods: M): M {
  return Object.fromEntries(
    Object.entries(methods).map(([name, method]) => [
      name,
      (...args: never[]) => database.execute(() => method(...args)),
    ]),
  ) as M;
}
