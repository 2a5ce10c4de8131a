import type { MongoClient } from 'mongodb';
import type { AnyRecord } from '../../foundation/record.ts';
import type { Engine, EngineTransaction, Reads } from '../engine.ts';
import { storeOver } from '../rules.ts';
import type { Store } from '../store.ts';
import { shared } from './batching.ts';
import { connectTo, type Database, type MongoOptions } from './database.ts';
import { mongoEvents } from './events.ts';
import { createIds, prepareIds } from './ids.ts';
import { prepareLayout, refuseUnfinishedImport } from './layout.ts';
import { objectsOf } from './objects.ts';
import { RecordReads } from './reads.ts';
import { createLocks, MongoRows } from './rows.ts';
import { type Attempt, createTransactions } from './transactions.ts';
import { mongoUsage } from './usage.ts';

export type { MongoOptions } from './database.ts';

/** The MongoDB store and its client. */
export interface MongoStore extends Store {
  readonly engine: 'mongodb';
  /** For command monitoring and inspecting documents in tests. */
  readonly client: MongoClient;
}

/**
 * Opens the store and creates whatever is missing in the database. If the database is unreachable, the store opens
 * anyway. Its calls are UNAVAILABLE until the database responds, and the first one after that prepares it.
 *
 * @throws if the URI is invalid, or the database refuses access (credentials, privileges), is a standalone server, too
 *   old or of another layout
 */
export async function openMongoStore(settings: MongoOptions): Promise<MongoStore> {
  const { records } = settings;
  const database: Database = connectTo(settings, async (hello) => {
    await prepareLayout(database, records, hello);
    if (!settings.isImport) await refuseUnfinishedImport(database);
    await prepareIds(database, records);
  });
  try {
    await database.execute(() => Promise.resolve());
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'UNAVAILABLE') {
      await database.client.close();
      throw error;
    }
  }
  const store = storeOver(engineOver(database, records), records);
  return { ...store, engine: 'mongodb', client: database.client };
}

function engineOver(database: Database, records: readonly AnyRecord[]): Engine {
  const { client, db, execute } = database;
  const { run, close } = createTransactions(database);
  const [ids, locks] = [createIds(database), createLocks(database)];
  const { followEvents, ...events } = mongoEvents(database, records);

  const within = (attempt: Attempt): EngineTransaction => {
    const opened: MongoRows[] = [];
    return {
      rows(record) {
        opened[record.index] ??= new MongoRows(database, record, attempt, ids, locks);
        return opened[record.index]!;
      },
      objects: (kind) => objectsOf(database, kind, attempt),
    };
  };

  return {
    engine: 'mongodb',
    isExclusive: false,
    reads(record) {
      const { cached, ...reads } = new RecordReads(database, record);
      const { pages, ...others } = executed(database, reads);
      const once = shared(([lists, page]: Parameters<Reads['pages']>) => pages(lists, page));
      return { ...others, cached, pages: (...request) => once(request) };
    },
    objects: (kind) => executed(database, objectsOf(database, kind) as unknown as Methods) as never,
    ...executed(database, mongoUsage(database)),
    ...executed(database, events),
    followEvents,
    transaction: (work, several = false) =>
      execute(() =>
        run(async (attempt) => {
          if (several) await attempt.begin();
          return await work(within(attempt));
        }),
      ),
    now: () => execute(async () => (await db.admin().command({ hello: 1 })).localTime.getTime()),
    ping: () =>
      execute(async () => {
        await db.command({ ping: 1 });
      }),
    async close() {
      await close();
      await client.close();
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
