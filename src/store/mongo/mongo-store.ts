import type { MongoClient } from 'mongodb';
import { isUnavailable } from '../../foundation/errors.ts';
import { type AnyDeclaration, blockersOf } from '../../foundation/record.ts';
import type { Engine, EngineTransaction, RowWrites } from '../engine.ts';
import { storeOver } from '../rules.ts';
import type { Store } from '../store.ts';
import { connectTo, type Database, type MongoOptions } from './database.ts';
import { mongoEvents } from './events.ts';
import { countersOf, idsOf, prepareIds } from './ids.ts';
import { prepareLayout } from './layout.ts';
import { objectsOf } from './objects.ts';
import { readsOf } from './reads.ts';
import { rowsOf } from './rows.ts';
import { type Commands, createTransactions } from './transactions.ts';
import { mongoUsage } from './usage.ts';

export type { MongoOptions } from './database.ts';

/** The MongoDB store and its client. */
export interface MongoStore extends Store {
  /** For imports, and for tests to monitor commands and inspect documents. */
  readonly client: MongoClient;
}

/**
 * Opens the store and creates whatever the database lacks. It opens even if the database is unreachable: calls then
 * throw UNAVAILABLE until it responds and is prepared.
 *
 * @throws Error if the URI is invalid, or the database refuses access, is standalone, too old or of another layout
 */
export async function openMongoStore(settings: MongoOptions): Promise<MongoStore> {
  const { records } = settings;
  const database: Database = connectTo(settings, async (hello) => {
    await prepareLayout(database, settings, hello, settings.role);
    await prepareIds(database, records);
  });
  try {
    await database.execute(() => Promise.resolve());
  } catch (error) {
    if (!isUnavailable(error)) {
      await database.client.close();
      throw error;
    }
  }
  const store = storeOver(engineOver(database, records), records);
  return { ...store, client: database.client };
}

function engineOver(database: Database, declarations: readonly AnyDeclaration[]): Engine {
  const { client, db, options, execute } = database;
  const { run, close } = createTransactions(database);
  const nextIds = idsOf(database);
  const parents = new Set(declarations.filter((record) => blockersOf(declarations, record).length > 0));

  const inTransaction = (commands: Commands): EngineTransaction => {
    const opened: RowWrites[] = [];
    return {
      rows: (record) =>
        (opened[record.index] ??= rowsOf(database, record, commands, nextIds, parents.has(record))),
      objects: (kind) => objectsOf(database, kind, commands),
    };
  };

  return {
    engine: 'mongodb',
    isExclusive: false,
    reads: (record) => readsOf(database, record),
    objects: (kind) => objectsOf(database, kind),
    ...mongoUsage(database),
    ...mongoEvents(database, declarations),
    transaction: (work, how) =>
      execute(() =>
        run(async (commands) => {
          if (how !== 'single') await commands.begin();
          return await work(inTransaction(commands));
        }),
      ),
    filling: (_record, _rows, work) => work(() => false),
    lastIds: () =>
      execute(async () => {
        const counters = await countersOf(db).find({}, options).toArray();
        return Object.fromEntries(counters.map(({ _id, value }) => [_id, String(value)]));
      }),
    now: () => execute(async () => (await db.admin().command({ hello: 1 })).localTime.getTime()),
    ping: () =>
      execute(async () => {
        await db.command({ ping: 1 });
      }),
    async close() {
      close();
      await client.close();
    },
  };
}
