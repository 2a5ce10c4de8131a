import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { api } from '../../src/api.ts';
import type { Api } from '../../src/domains/create-api.ts';
import { NOW } from '../../src/store/events.ts';
import { openDatabase } from '../../src/store/sqlite/connection.ts';
import { openSqliteStore, type SqliteOptions } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import { dropDatabase, mongoUri } from './mongo.ts';

/** An empty store for one test or file. */
export interface OpenedStore {
  store: Store;
  /** Closes the store and reopens it on the same data, as a restart does. */
  reopen(): Promise<Store>;
  /** Moves the write-ahead log of the embedded store to its file. @throws Error if somebody reads an older state */
  checkpoint?: () => void;
  /** Closes the store and deletes its data. */
  close(): Promise<void>;
}

export interface Engine {
  name: 'sqlite' | 'mongodb';
  /** @param clock milliseconds since 1970; not needed for MongoDB */
  open(clock?: () => number, options?: EngineOptions): Promise<OpenedStore>;
}

/** Options that only one of the engines has. */
export type EngineOptions = Pick<SqliteOptions, 'cacheBytes'> & { served?: Api };

const sqlite: Engine = {
  name: 'sqlite',
  async open(now, { served = api, ...options } = {}) {
    const home = mkdtempSync(join(tmpdir(), 'petstore-'));
    const file = join(home, 'petstore.db');
    const open = () => openSqliteStore({ records: served.records, file, role: 'server', now, ...options });
    const checkpoint = () => {
      const db = openDatabase(file);
      const [busy] = db.prepare('pragma wal_checkpoint(truncate)').get([])!;
      db.close();
      if (busy !== 0) throw new Error('A reader holds on to an older state.');
    };
    return { ...opened(open(), open, () => rmSync(home, { recursive: true })), checkpoint };
  },
};

const mongodb: Engine = {
  name: 'mongodb',
  async open(_now, { served = api } = {}) {
    const { openMongoStore } = await import('../../src/store/mongo/mongo-store.ts');
    const database = `contract-${randomUUID().slice(0, 8)}`;
    const open = () =>
      openMongoStore({
        records: served.records,
        objects: served.objects,
        uri: mongoUri(database),
        // What is tested must not depend on how many transactions a slow machine can do in ten seconds.
        timeoutMs: 60_000,
      });
    return opened(await open(), open, () => dropDatabase(database));
  },
};

function opened(
  first: Store,
  open: () => Store | Promise<Store>,
  remove: () => void | Promise<void>,
): OpenedStore {
  let store = first;
  return {
    store,
    async reopen() {
      await store.close();
      store = await open();
      return store;
    },
    async close() {
      await store.close();
      await remove();
    },
  };
}

/** The engines available for tests. MongoDB is included if the global setup has found a server. */
export const engines: readonly Engine[] = process.env.TEST_MONGODB_URI ? [sqlite, mongodb] : [sqlite];

/**
 * The engines for tests of what is decided above the store: the embedded one, and at length (`AT_LENGTH=1`) all of them.
 * That the engines do the same is shown by the tests in test/store, and by those of this interface on {@link engines}.
 */
export const enginesAtLength = process.env.AT_LENGTH === '1' ? engines : [sqlite];

/** The position after everything committed so far. */
export const endOfLog = async (store: Pick<Store, 'eventPage'>): Promise<string> =>
  (await store.eventPage({ after: NOW, limit: 1 })).next;
