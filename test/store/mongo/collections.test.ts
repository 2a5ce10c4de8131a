import { type Document, Int32 } from 'mongodb';
import { beforeAll, describe, expect, it } from 'vitest';
import type { MongoStore } from '../../../src/store/mongo/mongo-store.ts';
import { newDatabase } from './database.ts';

const pet = {
  ...{ _id: 900n, name: 'Rex', categoryId: 1n, status: 'available' },
  ...{ quantity: 1, version: 0 },
};
const order = { _id: 900n, complete: false, version: 0 };
const usage = {
  ...{ _id: 'k', minuteStart: 0, minuteUsed: 0, dayStart: 0, dayUsed: 0, refusedUntil: 0, strikes: [] },
  ...{ bannedUntil: 0, bans: 0, forgetAt: new Date() },
};

describe.runIf(process.env.TEST_MONGODB_URI)('The collections', () => {
  const database = newDatabase();
  let store: MongoStore;

  beforeAll(async () => {
    // At the same time, as instances do that a deployment starts together.
    [store] = (await Promise.all([database.open(), database.open(), database.open()])) as [
      MongoStore,
      ...MongoStore[],
    ];
  });

  const { id: _, ...without } = { id: 0 };
  it.each<[string, string, Document]>([
    ['pets', 'an id that is not int64', { ...pet, _id: new Int32(5) }],
    ['pets', 'the id 0', { ...pet, _id: 0n }],
    ['pets', 'no name', { ...pet, name: '' }],
    ['pets', 'an unknown status', { ...pet, status: 'lost' }],
    ['pets', 'a negative quantity', { ...pet, quantity: -1 }],
    ['pets', 'a quantity beyond int32', { ...pet, quantity: 2147483648 }],
    ['pets', 'half a quantity', { ...pet, quantity: 1.5 }],
    ['pets', 'an unknown field', { ...pet, colour: 'red', ...without }],
    ['categories', 'no version', { _id: 900n, name: 'C' }],
    ['categories', 'the reference count of an earlier layout', { _id: 900n, name: 'C', version: 0, pets: 0 }],
    ['orders', 'a shipDate that is text', { ...order, shipDate: '2026-01-31T09:30:00Z' }],
    ['orders', 'the quantity 0', { ...order, quantity: 0 }],
    ['orders', 'a petId that is text', { ...order, petId: '1' }],
    [
      'apiKeys',
      'no secrets',
      { _id: 'k', name: 'K', plan: 'free', limits: { perMinute: 1, perDay: 1 }, createdAt: new Date() },
    ],
    ['usage', 'strikes that are no list', { ...usage, strikes: 1 }],
    ['usage', 'an unknown outcome', { ...usage, outcome: 'maybe' }],
    ['idempotency', 'no fingerprint', { _id: { apiKeyId: 'a', idempotencyKey: 'b' }, expiresAt: new Date() }],
    ['counters', 'a value that is not int64', { _id: 'dogs', value: 1 }],
  ])('%s refuse %s', async (name, _, document) => {
    await expect(store.client.db().collection(name).insertOne(document)).rejects.toMatchObject({ code: 121 });
  });

  it.each<[string, Document]>([
    ['pets', pet],
    ['orders', order],
    ['orders', { ...order, _id: 901n, petId: 1n, quantity: 1, shipDate: new Date() }],
    ['usage', usage],
  ])('%s take what is right', async (name, document) => {
    await store.client.db().collection(name).insertOne(document);
    await store.client.db().collection(name).deleteOne({ _id: document._id });
  });

  it('have an index for each query', async () => {
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

  it('get a new validator where an older one is found, and keep what they hold', async () => {
    const db = store.client.db();
    await db.command({ collMod: 'categories', validator: {} });
    await store.createCategory({ name: 'Kept' });
    const other = await database.open();
    await expect(db.collection('categories').insertOne({ name: 'bad' })).rejects.toMatchObject({ code: 121 });
    expect((await other.categoryPage({ limit: 5 })).items.map((category) => category.name)).toEqual(['Kept']);
    expect((await other.createCategory({ name: 'Next' })).id).toBe('2');
  });
});
