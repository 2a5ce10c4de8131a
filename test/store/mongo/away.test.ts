import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { api } from '../../../src/api.ts';
import { Category } from '../../../src/domains/category/category.ts';
import { Pet } from '../../../src/domains/pet/pet.ts';
import { type MongoStore, openMongoStore } from '../../../src/store/mongo/mongo-store.ts';
import { codeOf } from '../../kit/errors.ts';
import { within } from '../../kit/deadline.ts';
import { dropDatabase, mongoUri } from '../../kit/mongo.ts';
import { openProxy } from './proxy.ts';

/** The time limit, plus what a slow machine adds. */
const TIMEOUT = 1_500;
const SOON = TIMEOUT + 1_000;

describe.runIf(process.env.TEST_MONGODB_URI)('an unreachable database', () => {
  const cleanups: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const cleanUp of cleanups.splice(0).reverse()) await cleanUp();
  });

  async function proxied() {
    const name = `test_${randomUUID()}`;
    const proxy = await openProxy(name);
    cleanups.push(
      () => dropDatabase(name),
      () => proxy.close(),
    );
    const open = async (): Promise<MongoStore> => {
      const store = await openMongoStore({ records: api.records, uri: proxy.uri, timeoutMs: TIMEOUT });
      cleanups.push(async () => store.close());
      return store;
    };
    return { name, proxy, open };
  }

  const inTime = (call: () => unknown): Promise<unknown> => within(SOON, codeOf(call));

  const charge = { apiKeyId: 'k', limits: { perMinute: 9, perDay: 9 }, cost: 1, now: Date.now() };

  const everyKindOfCall = (store: MongoStore) =>
    Promise.all([
      inTime(() => store.ping()),
      inTime(() => store.table(Pet).page({}, { limit: 1 })),
      inTime(() => store.table(Category).insert({ name: 'C' })),
      inTime(() => store.table(Pet).insert({ name: 'P', categoryId: '1', status: 'sold' })),
      inTime(() => store.charge(charge)),
      inTime(() =>
        store.once(
          { apiKeyId: 'k', idempotencyKey: 'i', fingerprint: 'f', now: Date.now(), keepFor: 60_000 },
          (writes) => writes.table(Category).insert({ name: 'C' }),
        ),
      ),
    ]);

  it.each(['refuses connections', 'accepts connections but never responds'])(
    'makes every call fail with UNAVAILABLE in time while it %s',
    async (how) => {
      const { name, proxy, open } = await proxied();
      const store = await open();
      const beside = await openMongoStore({ records: api.records, uri: mongoUri(name) });
      cleanups.push(async () => beside.close());
      const category = await beside.table(Category).insert({ name: 'Before' });
      await expect.poll(() => codeOf(() => store.ping()), { timeout: 15_000 }).toBeUndefined();
      if (how === 'refuses connections') await proxy.close();
      else proxy.freeze();
      expect(await everyKindOfCall(store)).toEqual(Array(6).fill('UNAVAILABLE'));
      await proxy.close();
      await proxy.open();
      await expect.poll(() => codeOf(() => store.ping()), { timeout: 15_000 }).toBeUndefined();
      expect(await store.table(Category).byIds([category.id])).toEqual([category]);
      expect((await store.charge(charge)).usage.minuteUsed).toBe(1);
    },
  );

  it('does not prevent opening the store, which sets up the database later', async () => {
    const { proxy, open } = await proxied();
    await proxy.close();
    const store = await within(SOON, open());
    expect(await inTime(() => store.table(Category).insert({ name: 'Too early' }))).toBe('UNAVAILABLE');
    await proxy.open();
    await expect.poll(() => codeOf(() => store.ping()), { timeout: 15_000 }).toBeUndefined();
    expect(await store.table(Category).insert({ name: 'First' })).toEqual({ id: '1', name: 'First' });
  });
});
