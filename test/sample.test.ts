import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newApiKey } from '../src/access/api-keys.ts';
import type { Category } from '../src/domains/category/category.ts';
import type { Order } from '../src/domains/order/order.ts';
import type { Pet } from '../src/domains/pet/pet.ts';
import type { MaybePromise } from '../src/maybe-promise.ts';
import { addSampleData, developmentKey, sampleProgress } from '../src/sample.ts';
import type { Store } from '../src/store/store.ts';
import { TestGateway } from './kit/gateway.ts';
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

const inStock = (name: string, status: string, quantity: number) => ({
  name,
  status,
  inventory: { quantity },
});
const SHOWN = {
  categories: {
    nodes: [
      {
        name: 'Dogs',
        description: 'Loyal, loud and always hungry',
        pets: {
          nodes: [
            inStock('Rex', 'available', 3),
            inStock('Bella', 'pending', 1),
            inStock('Charlie', 'sold', 0),
          ],
        },
      },
      {
        name: 'Cats',
        description: 'They let you live with them',
        pets: {
          nodes: [
            inStock('Mimi', 'available', 2),
            inStock('Tom', 'available', 5),
            inStock('Luna', 'sold', 0),
          ],
        },
      },
      {
        name: 'Birds',
        description: null,
        pets: { nodes: [inStock('Tweety', 'available', 12), inStock('Kiwi', 'pending', 4)] },
      },
      {
        name: 'Fish',
        description: 'Quiet company for small flats',
        pets: { nodes: [inStock('Nemo', 'available', 40), inStock('Dory', 'available', 25)] },
      },
    ],
  },
  orders: {
    nodes: [
      { pet: { name: 'Rex' }, quantity: 1, shipDate: '2026-12-01T09:30:00Z', complete: false },
      { pet: { name: 'Charlie' }, quantity: 1, shipDate: '2026-10-15T14:00:00Z', complete: true },
      { pet: { name: 'Nemo' }, quantity: 10, shipDate: null, complete: false },
    ],
  },
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

  it('is what is shown to those who try the gateway out', async () => {
    await fill(opened.store);
    const gateway = await TestGateway.start(opened.store);
    const { text } = await gateway.graphql(`{
      categories { nodes { name description pets { nodes { name status inventory { quantity } } } } }
      orders { nodes { pet { name } quantity shipDate complete } }
    }`);
    await gateway.close();
    expect(JSON.parse(text)).toStrictEqual({ data: SHOWN });
    expect(whole.keys).toBe(1);
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

  it('is left alone while a record differs from it or is one too many', async () => {
    const { store } = opened;
    await fill(store);
    const one = { limit: 1 };
    const [category] = (await store.categoryPage(one)).items as [Category];
    const [pet] = (await store.petPage({}, one)).items as [Pet];
    const [order] = (await store.orderPage({}, one)).items as [Order];
    const changes: [change: () => MaybePromise<{ id: string }>, undo: (id: string) => unknown][] = [
      [
        () => store.updateCategory(category.id, { name: 'Cats' }),
        (id) => store.updateCategory(id, { name: category.name }),
      ],
      [() => store.updatePet(pet.id, { name: 'Bella' }), (id) => store.updatePet(id, { name: pet.name })],
      [() => store.updateOrder(order.id, { quantity: 10 }), (id) => store.updateOrder(id, { quantity: 1 })],
      [
        () => store.updateOrder(order.id, { complete: true }),
        (id) => store.updateOrder(id, { complete: false }),
      ],
      [() => store.createCategory({ name: 'Dogs' }), (id) => store.deleteCategory(id)],
      [
        () => store.createPet({ name: 'Rex', categoryId: category.id, status: 'available' }),
        (id) => store.deletePet(id),
      ],
      [() => store.createOrder({ quantity: 1, complete: false }), (id) => store.deleteOrder(id)],
    ];
    for (const [change, undo] of changes) {
      expect(await sampleProgress(store)).not.toBe(null);
      const { id } = await change();
      expect(await sampleProgress(store), String(change)).toBe(null);
      await undo(id);
    }
  });

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
