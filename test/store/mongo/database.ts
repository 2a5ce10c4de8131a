import { randomUUID } from 'node:crypto';
import { afterAll } from 'vitest';
import { RECORDS } from '../../../src/domains/index.ts';
import { type MongoOptions, type MongoStore, openMongoStore } from '../../../src/store/mongo/mongo-store.ts';
import { dropDatabase, mongoUri } from '../../kit/mongo.ts';

/** A new database for the tests of one `describe`. Its stores are closed and it is dropped afterwards. */
export function newDatabase() {
  const name = `test_${randomUUID()}`;
  const stores: MongoStore[] = [];
  afterAll(async () => {
    for (const store of stores) await store.close();
    await dropDatabase(name);
  });
  return {
    name,
    /** Opens another store on this database. */
    async open(options: Partial<MongoOptions> = {}): Promise<MongoStore> {
      const store = await openMongoStore({ records: RECORDS, uri: mongoUri(name), ...options });
      stores.push(store);
      return store;
    },
  };
}

/** The code of the error that a promise rejects with, or the value it resolves to. */
export const codeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.catch((error: { code?: unknown }) => {
    if (typeof error.code !== 'string') throw error;
    return error.code;
  });
