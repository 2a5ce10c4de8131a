import type { MongoClient } from 'mongodb';
import type { AnyRecord } from '../../foundation/record.ts';
import type { Store, Transaction } from '../store.ts';
import type { Table } from '../table.ts';
import { mongoApiKeys } from './api-keys.ts';
import { type Attempt, createAttempts, type RunAttempts } from './attempts.ts';
import { connectTo, type Database, type MongoOptions } from './database.ts';
import { mongoEvents } from './events.ts';
import { createFolding } from './folding.ts';
import { createHoldDocuments } from './hold-documents.ts';
import { createHolds } from './holds.ts';
import { mongoIdempotency } from './idempotency.ts';
import { prepareIds } from './ids.ts';
import { prepareLayout, refuseUnfinishedImport } from './layout.ts';
import { MongoTable } from './table.ts';
import { mongoDocuments } from './trusted-documents.ts';
import { mongoUsage } from './usage.ts';
import { mongoUsageHistory } from './usage-history.ts';
import { mongoWebhooks } from './webhooks.ts';

export type { MongoOptions } from './database.ts';

/** The MongoDB store and its client. */
export interface MongoStore extends Store {
  readonly engine: 'mongodb';
  /** For command monitoring and inspecting documents in tests. */
  readonly client: MongoClient;
}

/**
 * Opens the store and creates whatever is missing in the database. If the database is away, the store opens
 * anyway. Its calls are UNAVAILABLE until the database responds, and the first one after that prepares it.
 *
 * @throws if the URI is invalid or the database refuses access (credentials, privileges, version)
 */
export async function openMongoStore(settings: MongoOptions): Promise<MongoStore> {
  const { records } = settings;
  const database: Database = connectTo(settings, async (hello) => {
    const changed = await prepareLayout(database, records, hello, settings.onMigrated ?? (() => {}));
    await refuseUnfinishedImport(database);
    await prepareIds(database, records);
    await prepareNames();
    return changed;
  });
  const holds = createHolds(database, createHoldDocuments(database));
  const { folding, prepare: prepareNames } = createFolding(database, records);
  try {
    await database.execute(() => Promise.resolve());
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'UNAVAILABLE') {
      await database.client.close();
      throw error;
    }
  }
  const attempts = createAttempts(database);
  const context = { database, holds, folding, records };
  const all: MongoTable[] = [];
  /** By record. */
  const executing: Table<AnyRecord>[] = [];
  for (const record of records) {
    const table = new MongoTable(context, record);
    all[record.index] = table;
    const { cached, ...reads } = table.reads();
    const methods = { ...reads, ...table.writes(attempts.run) } as unknown as Methods;
    executing[record.index] = { ...executed(database, methods), cached } as unknown as Table<AnyRecord>;
  }
  const { stopFollowing, requireLog, ...events } = mongoEvents(database, records);
  const { reads: webhookStore, writes: webhookWrites } = mongoWebhooks(database, requireLog);
  /** What an idempotent call or a transaction works with. @param attempt the transaction, if there is one */
  const access = (attempt?: Attempt): Transaction => {
    const opened: Table<AnyRecord>[] = [];
    const run: RunAttempts = attempt ? (write) => write(attempt) : attempts.run;
    return {
      table({ index }) {
        const table = all[index]!;
        opened[index] ??= { ...table.reads(attempt), ...table.writes(run) };
        return opened[index] as Table<never>;
      },
      webhookWrites: webhookWrites(run),
    };
  };
  const once = mongoIdempotency(database, attempts, { within: access, alone: access() });

  return {
    engine: 'mongodb',
    client: database.client,
    table: ({ index }) => executing[index] as Table<never>,
    ...executed(database, mongoApiKeys(database)),
    ...executed(database, mongoUsage(database)),
    ...executed(database, mongoUsageHistory(database)),
    ...executed(database, mongoDocuments(database)),
    webhookWrites: executed(database, webhookWrites(attempts.run)),
    ...executed(database, webhookStore),
    ...executed(database, events),
    once: (call, work) => database.execute(() => once(call, work)),
    hasTransactions: () => database.execute(() => Promise.resolve(database.transactions)),
    transaction: (work) =>
      database.execute(() => attempts.runTogether(async (attempt) => work(access(attempt)))),
    ping: () =>
      database.execute(async () => {
        await database.db.command({ ping: 1 });
      }),
    async close() {
      stopFollowing();
      folding.stop();
      await holds.close();
      await database.client.close();
    },
  };
}

type Methods = Record<string, (...args: never[]) => Promise<unknown>>;

/** Wraps methods in `execute`. */
function executed<M extends Methods>(database: Database, methods: M): M {
  return Object.fromEntries(
    Object.entries(methods).map(([name, method]) => [
      name,
      (...args: never[]) => database.execute(() => method(...args)),
    ]),
  ) as M;
}
