import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Category } from '../../src/domains/category/category.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import type { MongoStore } from '../../src/store/mongo/mongo-store.ts';
import { TestGateway } from '../kit/gateway.ts';
import { mongoUri } from '../kit/mongo.ts';
import { type ServerProcess, startServer } from '../kit/process.ts';
import { newDatabase } from '../store/mongo/database.ts';

const ROUNDS = Number(process.env.KILL_ROUNDS ?? 1);
const NO_LIMITS = { perMinute: 1_000_000, perDay: 1_000_000 };

/** How long the other instances may take, in milliseconds. */
const SOON = 5_000;

describe.runIf(process.env.TEST_MONGODB_URI)('killing an instance on MongoDB', () => {
  const database = newDatabase();
  const settings = () => ({ MONGODB_URI: mongoUri(database.name), LOG_LEVEL: 'error' });
  let survivor: TestGateway;
  let key: string;
  let victim: ServerProcess | undefined;

  beforeAll(async () => {
    survivor = await TestGateway.start(await database.open());
    key = await survivor.newKey('enterprise', NO_LIMITS);
  });
  afterAll(async () => {
    victim?.child.kill('SIGKILL');
    await victim?.exited;
    await survivor.close();
  });

  const create = async (url: string, path: string, body: object, headers = {}): Promise<number> => {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    await response.arrayBuffer();
    return response.status;
  };

  it('does not block other instances and leaves no record without its parent', {
    timeout: 60_000 + ROUNDS * 30_000,
  }, async () => {
    const { store } = survivor;
    const category = await store.table(Category).insert({ name: 'Contested' });
    const pet = await store
      .table(Pet)
      .insert({ name: 'Wanted', categoryId: category.id, status: 'available' });
    const newPet = { name: 'P', categoryId: Number(category.id), status: 'sold' };
    const newOrder = { petId: Number(pet.id) };
    let written = 0;
    for (let round = 0; round < ROUNDS; round++) {
      victim = await startServer(settings());
      const { url, child, exited } = victim;
      let dead = false;
      const creators = Array.from({ length: 24 }, async (_, i) => {
        // Idempotent requests are written in a transaction, together with their response.
        const headers = () => (i % 3 === 0 ? { 'idempotency-key': randomUUID() } : {});
        while (!dead) {
          const sent =
            i % 2
              ? create(url, '/pets', newPet, headers())
              : create(url, '/store/orders', newOrder, headers());
          const status = await sent.catch(() => 0);
          if (status === 201) written++;
        }
      });
      // Kill at a random moment under load.
      await expect.poll(() => written, { timeout: 20_000, interval: 5 }).toBeGreaterThan(24 * (round + 1));
      await sleep(Math.random() * 300);
      child.kill('SIGKILL');
      await exited;
      dead = true;
      const began = performance.now();
      const next = [
        survivor.call('/pets', { method: 'POST', key, body: newPet }),
        survivor.call('/store/orders', { method: 'POST', key, body: newOrder }),
        survivor.call(`/pets/${pet.id}`, { key }),
      ];
      expect((await Promise.all(next)).map(({ status }) => status)).toEqual([201, 201, 200]);
      expect(performance.now() - began).toBeLessThan(SOON);
      await Promise.all(creators);
    }
    await expectReferencesIntact(store as MongoStore);
    await expectDeletable(store as MongoStore, category.id, pet.id);
  });

  async function expectReferencesIntact(store: MongoStore): Promise<void> {
    const db = store.client.db();
    const pets = await db.collection('pets').find().toArray();
    const orders = await db.collection('orders').find().toArray();
    const keys = new Set(pets.map(({ _id }) => String(_id)));
    const categories = new Set(
      (await db.collection('categories').find().toArray()).map(({ _id }) => String(_id)),
    );
    expect(pets.filter(({ categoryId }) => !categories.has(String(categoryId)))).toEqual([]);
    expect(orders.filter(({ petId }) => !keys.has(String(petId)))).toEqual([]);
    expect([pets.length > ROUNDS, orders.length > ROUNDS]).toEqual([true, true]);
  }

  /** Makes the holds of killed instances 60 seconds older, after which they have expired. */
  async function expectDeletable(store: MongoStore, category: string, pet: string): Promise<void> {
    const db = store.client.db();
    const holds = db.collection<{ _id: string; holders?: Record<string, Date> }>('holds');
    for (const { _id, holders } of await holds.find().toArray()) {
      const older = Object.entries(holders ?? {}).map(([id, at]) => [id, new Date(at.getTime() - 60_000)]);
      await holds.updateOne({ _id }, { $set: { holders: Object.fromEntries(older) } });
    }
    await db.collection('orders').deleteMany({});
    await db.collection<{ _id: bigint }>('pets').deleteMany({ _id: { $ne: BigInt(pet) } });
    expect(await store.table(Pet).remove(pet)).toBe(pet);
    expect(await store.table(Category).remove(category)).toBe(category);
  }
});
