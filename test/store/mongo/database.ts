import { randomUUID } from 'node:crypto';
import { afterAll } from 'vitest';
import { api } from '../../../src/api.ts';
import { type MongoOptions, type MongoStore, openMongoStore } from '../../../src/store/mongo/mongo-store.ts';
import { dropDatabase, monitoredUri } from '../../kit/mongo.ts';

/** A new database for the tests of one `describe`. Its stores are closed and it is dropped afterwards. */
export function newDatabase() {
  const name = `test_${randomUUID()}`;
  const opened: { close(): unknown }[] = [];
  afterAll(async () => {
    for (const each of opened.reverse()) await each.close();
    await dropDatabase(name);
  });
  /** Opens another store on this database, whose client emits command events such as `commandStarted`. */
  const open = async (options: Partial<MongoOptions> = {}): Promise<MongoStore> => {
    const store = await openMongoStore({ records: api.records, uri: monitoredUri(name), ...options });
    opened.push(store);
    return store;
  };
  return {
    name,
    open,
  };
}
