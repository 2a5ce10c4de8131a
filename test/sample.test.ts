import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newApiKey } from '../src/access/api-keys.ts';
import { addSampleData, developmentKey, sampleProgress } from '../src/sample.ts';
import type { Store } from '../src/store/store.ts';
import { engines, type OpenedStore } from './kit/stores.ts';

class Killed extends Error {}

/** The store of a process that is killed before its nth write. */
function untilKilled(store: Store, writes: number): Store {
  let left = writes;
  return new Proxy(store, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      if (name !== 'once' && name !== 'updatePet' && name !== 'createApiKey') return member;
      return (...args: unknown[]) => {
        if (left-- === 0) throw new Killed();
        return (member as (...args: unknown[]) => unknown).apply(target, args);
      };
    },
  });
}

const fill = async (store: Store): Promise<string | null> => {
  const begun = await sampleProgress(store);
  if (begun) await addSampleData(store, begun);
  return developmentKey(store, begun !== null, Date.now());
};

const contentOf = async (store: Store) => {
  const categories = (await store.categoryPage({ limit: 100 })).items;
  const pets = (await store.petPage({}, { limit: 100 })).items;
  return {
    categories: categories.map(({ name }) => name),
    pets: pets.map(({ name, quantity, categoryId }) => ({
      name,
      quantity,
      category: categories.findIndex(({ id }) => id === categoryId),
    })),
    orders: (await store.orderPage({}, { limit: 100 })).items.map(({ petId, ...order }) => ({
      ...order,
      id: undefined,
      pet: pets.findIndex(({ id }) => id === petId),
    })),
    keys: (await store.apiKeys()).length,
  };
};

describe.each(engines)('the sample in $name', (engine) => {
  let opened: OpenedStore;
  let whole: Awaited<ReturnType<typeof contentOf>>;
  beforeAll(async () => {
    opened = await engine.open();
    await fill(opened.store);
    whole = await contentOf(opened.store);
    await opened.close();
  });
  beforeEach(async () => {
    opened = await engine.open();
  });
  afterEach(() => opened.close());

  it('is four categories, ten pets with stock, and three orders', () => {
    expect([whole.categories.length, whole.pets.length, whole.orders.length, whole.keys]).toEqual([
      4, 10, 3, 1,
    ]);
    expect(whole.pets[8]).toEqual({ name: 'Nemo', quantity: 40, category: 3 });
  });

  it.each([0, 1, 5, 13, 24, 27])(
    'is completed after a kill before write %i',
    { timeout: 60_000 },
    async (writes) => {
      await expect(fill(untilKilled(opened.store, writes))).rejects.toThrow(Killed);
      const store = await opened.reopen();
      expect(await fill(store)).toMatch(/^petstore_/);
      expect(await contentOf(store)).toEqual(whole);
      await fill(store);
      expect(await contentOf(store)).toEqual(whole);
    },
  );

  it('is made once where several processes make it', { timeout: 60_000 }, async () => {
    const results = await Promise.allSettled([addSampleData(opened.store), addSampleData(opened.store)]);
    // One may find the other at it, and tries again.
    if (results.some(({ status }) => status === 'rejected')) await addSampleData(opened.store);
    expect({ ...(await contentOf(opened.store)), keys: 1 }).toEqual(whole);
  });

  it('is not put beside what people have made, nor made anew when they have deleted it', async () => {
    const { store } = opened;
    await store.createCategory({ name: 'Snakes' });
    expect(await sampleProgress(store)).toBe(null);
    await store.deleteCategory((await store.categoryPage({ limit: 1 })).items[0]!.id);
    expect(await sampleProgress(store)).toEqual({ categories: [], pets: [], orders: [] });
    const { apiKey } = newApiKey({ name: randomUUID(), plan: 'free', now: Date.now() });
    await store.createApiKey(apiKey);
    await store.charge({ apiKeyId: apiKey.id, limits: apiKey.limits, cost: 1, now: Date.now() });
    expect(await sampleProgress(await opened.reopen())).toBe(null);
  });
});
