import { type Document, Int32, MongoClient } from 'mongodb';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { Category } from '../../../src/domains/category/category.ts';
import { RECORDS } from '../../../src/domains/index.ts';
import { Pet } from '../../../src/domains/pet/pet.ts';
import type { Database } from '../../../src/store/mongo/database.ts';
import { prepareLayout } from '../../../src/store/mongo/layout.ts';
import { type MongoStore, openMongoStore } from '../../../src/store/mongo/mongo-store.ts';
import { mongoUri, secantusBinary } from '../../kit/mongo.ts';
import { codeOf, newDatabase } from './database.ts';
import { openProxy } from './proxy.ts';

/** A document as it is stored. */
interface Stored {
  _id: bigint | string;
  [field: string]: unknown;
}

const pet = {
  ...{ _id: 900n, name: 'Rex', categoryId: 1n, status: 'available' },
  ...{ quantity: 1, version: 0 },
};
const order = { _id: 900n, complete: false, version: 0 };
const usage = {
  ...{ _id: 'k', minuteStart: 0, minuteUsed: 0, dayStart: 0, dayUsed: 0, refusedUntil: 0, strikes: [] },
  ...{ bannedUntil: 0, bans: 0, forgetAt: new Date() },
};

describe.runIf(process.env.TEST_MONGODB_URI)('collections', () => {
  const database = newDatabase();
  let store: MongoStore;

  beforeAll(async () => {
    // Concurrently, as a deployment starts its instances.
    [store] = (await Promise.all([database.open(), database.open(), database.open()])) as [
      MongoStore,
      ...MongoStore[],
    ];
  });

  it.each<[string, string, Document]>([
    ['pets', 'an id that is not int64', { ...pet, _id: new Int32(5) }],
    ['pets', 'the id 0', { ...pet, _id: 0n }],
    ['pets', 'an empty name', { ...pet, name: '' }],
    ['pets', 'an unknown status', { ...pet, status: 'lost' }],
    ['pets', 'a negative quantity', { ...pet, quantity: -1 }],
    ['pets', 'a quantity beyond int32', { ...pet, quantity: 2147483648 }],
    ['pets', 'a fractional quantity', { ...pet, quantity: 1.5 }],
    ['pets', 'an unknown field', { ...pet, colour: 'red' }],
    ['categories', 'a missing version', { _id: 900n, name: 'C' }],
    ['categories', 'the reference count of an earlier layout', { _id: 900n, name: 'C', version: 0, pets: 0 }],
    ['orders', 'a shipDate that is text', { ...order, shipDate: '2026-01-31T09:30:00Z' }],
    ['orders', 'the quantity 0', { ...order, quantity: 0 }],
    ['orders', 'a petId that is text', { ...order, petId: '1' }],
    [
      'apiKeys',
      'missing secrets',
      { _id: 'k', name: 'K', plan: 'free', limits: { perMinute: 1, perDay: 1 }, createdAt: new Date() },
    ],
    ['usage', 'strikes that are not an array', { ...usage, strikes: 1 }],
    ['usage', 'an unknown outcome', { ...usage, outcome: 'maybe' }],
    [
      'idempotency',
      'a missing fingerprint',
      { _id: { apiKeyId: 'a', idempotencyKey: 'b' }, expiresAt: new Date() },
    ],
    ['counters', 'a value that is not int64', { _id: 'dogs', value: 1 }],
  ])('%s: rejects %s', async (name, _, document) => {
    await expect(store.client.db().collection(name).insertOne(document)).rejects.toMatchObject({ code: 121 });
  });

  it.each<[string, Document]>([
    ['pets', pet],
    ['orders', order],
    ['orders', { ...order, _id: 901n, petId: 1n, quantity: 1, shipDate: new Date() }],
    ['usage', usage],
  ])('%s: accepts a valid document', async (name, document) => {
    await store.client.db().collection(name).insertOne(document);
    await store.client.db().collection(name).deleteOne({ _id: document._id });
  });

  it('has an index for each query', async () => {
    const db = store.client.db();
    const keysOf = async (name: string) =>
      (await db.collection(name).indexes()).map((index) => Object.keys(index.key).join());
    expect(await keysOf('pets')).toEqual(
      expect.arrayContaining(['_id', 'status,_id', 'categoryId,_id', 'categoryId,status,_id']),
    );
    expect(await keysOf('orders')).toEqual(
      expect.arrayContaining(['_id', 'complete,_id', 'petId,_id', 'petId,complete,_id']),
    );
    expect(await keysOf('apiKeys')).toEqual(expect.arrayContaining(['secrets.hash', 'createdAt,_id']));
    const expiring = [
      ...(await db.collection('usage').indexes()),
      ...(await db.collection('idempotency').indexes()),
    ];
    expect(
      expiring.filter((index) => index.expireAfterSeconds === 0).map((index) => Object.keys(index.key)[0]),
    ).toEqual(['forgetAt', 'expiresAt']);
  });

  it('replaces an outdated validator and keeps the documents', async () => {
    const db = store.client.db();
    await db.command({ collMod: 'categories', validator: {} });
    await store.table(Category).insert({ name: 'Kept' });
    const layouts = db.collection<{ _id: string; version: number }>('layout');
    await layouts.deleteOne({ _id: 'layout' });
    const onMigrated = vi.fn();
    const other = await database.open({ onMigrated });
    expect(onMigrated.mock.calls).toEqual([[{ from: 1, to: 3 }]]);
    await expect(db.collection('categories').insertOne({ name: 'bad' })).rejects.toMatchObject({ code: 121 });
    expect(
      (await other.table(Category).page({}, { limit: 5 })).items.map((category) => category.name),
    ).toEqual(['Kept']);
    expect((await other.table(Category).insert({ name: 'Next' })).id).toBe('2');
  });

  it('refuses to open a database with the layout of a later version', async () => {
    const layouts = store.client.db().collection<{ _id: string; version: number }>('layout');
    expect(await layouts.findOne({ _id: 'layout' })).toMatchObject({ version: 3 });
    await layouts.updateOne({ _id: 'layout' }, { $set: { version: 4 } });
    await expect(database.open()).rejects.toThrow(
      'layout 4 of a later version of the gateway; this version supports layout 3',
    );
    await layouts.updateOne({ _id: 'layout' }, { $set: { version: 3 } });
  });

  it('restores validators that an earlier version replaced while the store was open', async () => {
    const db = store.client.db();
    const create = async () => codeOf(Promise.resolve(store.table(Category).insert({ name: 'Again' })));
    const schema = { bsonType: 'object', required: ['pets'] };
    await db.command({ collMod: 'categories', validator: { $jsonSchema: schema } });
    expect(await create()).toBe('UNAVAILABLE');
    expect(await create()).toMatchObject({ name: 'Again' });
  });
});

describe.runIf(process.env.TEST_MONGODB_URI)('a database of the earlier layout', () => {
  const database = newDatabase();

  it('is used as it is, and its documents lose obsolete fields when written', async () => {
    const client = await MongoClient.connect(mongoUri(database.name), { useBigInt64: true });
    const db = client.db();
    const obsolete = { heldAt: new Date(), version: 3 };
    await db.createCollection('categories', { validator: { $jsonSchema: { required: ['pets'] } } });
    await db.collection<Stored>('categories').insertOne({ ...obsolete, _id: 4n, name: 'Dogs', pets: 7 });
    await db
      .collection<Stored>('pets')
      .insertOne({ ...obsolete, ...pet, _id: 9n, categoryId: 4n, openOrders: 1 });
    await db.collection<Stored>('counters').insertOne({ _id: 'pets', value: 12n });
    const secrets = [{ hash: 'abc', prefix: 'petstore_abcdef' }];
    const limits = { perMinute: 60, perDay: 1_000 };
    const key = { _id: 'k', name: 'Old', plan: 'free', limits, createdAt: new Date(5), secrets };
    await db.collection<Stored>('apiKeys').insertOne(key);
    const store = await database.open();
    expect(await store.table(Pet).byIds(['9'])).toMatchObject([{ id: '9', name: 'Rex' }]);
    expect((await store.table(Pet).insert({ name: 'Tom', categoryId: '4', status: 'sold' })).id).toBe('13');
    expect((await store.table(Category).insert({ name: 'Cats' })).id).toBe('5');
    await store.table(Pet).update('9', { name: 'Max' });
    expect(Object.keys((await db.collection<Stored>('pets').findOne({ _id: 9n })) ?? {}).sort()).toEqual(
      ['_id', 'categoryId', 'name', 'nameFolded', 'quantity', 'status', 'version', 'written'].sort(),
    );
    const old = { id: 'k', name: 'Old', plan: 'free', limits, createdAt: 5, secrets };
    expect(await store.apiKeyBySecretHash('abc')).toEqual(old);
    const scopes = ['pets:read'];
    expect(await store.updateApiKey('k', { scopes })).toEqual({ ...old, scopes });
    const used = { operation: 'pets', transport: 'rest' as const, requests: 1, units: 2, refused: 0 };
    const days = [{ date: '2026-11-21', operations: [used] }];
    await store.addUsage([{ apiKeyId: 'k', date: '2026-11-21', ...used }], { k: 6 });
    expect(await store.usageDays('k', '2026-11-21', '2026-11-21')).toEqual(days);
    expect(await store.apiKeyById('k')).toMatchObject({ lastUsedAt: 6 });
    // The obsolete counts are ignored.
    for (const id of ['9', '13']) await store.table(Pet).remove(id);
    expect(await store.table(Category).remove('4')).toBe('4');
    await client.close();
  });
});

// `mongod` has failpoints only if it was started for tests.
describe.runIf(process.env.TEST_MONGODB_URI && (await secantusBinary()))('indexes', () => {
  const database = newDatabase();

  it('may take longer to build than any call', async () => {
    const admin = await MongoClient.connect(mongoUri('admin'));
    const data = { failCommands: ['createIndexes'], blockConnection: true, blockTimeMS: 900 };
    await admin.db().command({ configureFailPoint: 'failCommand', mode: { times: 1 }, data });
    const store = await database.open({ timeoutMs: 300 });
    const commands: string[] = [];
    store.client.on('commandStarted', ({ commandName }) => commands.push(commandName));
    expect(await codeOf(Promise.resolve(store.ping()))).toBe('UNAVAILABLE');
    await expect.poll(() => codeOf(Promise.resolve(store.ping()))).toBeUndefined();
    // It goes on where it was, and does not begin again.
    expect(commands).toContain('createIndexes');
    expect(commands).not.toContain('listCollections');
    await admin.close();
  });
});

describe('the version of MongoDB', () => {
  const read = new Error('The layout is read.');
  const database = {
    get db(): never {
      throw read;
    },
  } as unknown as Database;

  it.each([
    ['a replica set', {}, 13, '5.0'],
    ['a sharded cluster', { msg: 'isdbgrid' }, 14, '5.1'],
  ])('has to be recent enough for %s', async (_kind, hello, first, version) => {
    const prepare = (maxWireVersion: number) =>
      prepareLayout(database, [], { ...hello, maxWireVersion }, () => {});
    await expect(prepare(first - 1)).rejects.toThrow(`MongoDB ${version} or later is required.`);
    await expect(prepare(first)).rejects.toBe(read);
  });

  it.runIf(process.env.TEST_MONGODB_URI)('is checked before a store opens', async () => {
    const proxy = await openProxy('too_old', (bytes) => {
      const name = Buffer.from('\x10maxWireVersion\0');
      const start = bytes.indexOf(name);
      if (start >= 0) bytes.writeInt32LE(12, start + name.length);
      return bytes;
    });
    await expect(openMongoStore({ records: RECORDS, uri: proxy.uri })).rejects.toThrow(
      'MongoDB 5.0 or later is required.',
    );
    await proxy.close();
  });
});
