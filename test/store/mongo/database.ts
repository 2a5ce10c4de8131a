import { randomUUID } from 'node:crypto';
import { afterAll } from 'vitest';
import { type MongoOptions, type MongoStore, openMongoStore } from '../../../src/store/mongo/mongo-store.ts';
import { dropDatabase, mongoUri } from '../../kit/mongo.ts';

/** A new database for the tests of one `describe`, which closes its stores and drops it afterwards. */
export function newDatabase() {
  const name = `test_${randomUUID()}`;
  const stores: MongoStore[] = [];
  afterAll(async () => {
    for (const store of stores) await store.close();
    await dropDatabase(name);
  });
  return {
    name,
    /** Opens one more store in this database. */
    async open(options: Omit<MongoOptions, 'uri'> = {}): Promise<MongoStore> {
      const store = await openMongoStore({ uri: mongoUri(name), ...options });
      stores.push(store);
      return store;
    },
  };
}

/** The code of the fault that a promise ends in, or what it answers. */
export const codeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.catch((fault: { code?: unknown }) => {
    if (typeof fault.code !== 'string') throw fault;
    return fault.code;
  });
