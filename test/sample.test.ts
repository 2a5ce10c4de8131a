import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newApiKey } from '../src/access/api-keys.ts';
import type { Category } from '../src/domains/category/category.ts';
import type { Order } from '../src/domains/order/order.ts';
import type { Pet } from '../src/domains/pet/pet.ts';
import type { MaybePromise } from '../src/foundation/maybe-promise.ts';
import { addSampleData, developmentKey, sampleProgress } from '../src/sample.ts';
import type { Store } from '../src/store/store.ts';
import { TestGateway } from './kit/gateway.ts';
import { engines, type OpenedStore } from './kit/stores.ts';

class Killed extends Error {}

/** A store whose process is killed after this many writes. */
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
  const progress = await sampleProgress(store);
  if (progress) await addSampleData(store, progress);
  return developmentKey(store, progress !== null, Date.now());
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
const SAMPLE = {
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

describe.each(engines)('sample data in $name', (engine) => {
  let opened: OpenedStore;
  let complete: Awaited<ReturnType<typeof contentOf>>;
  beforeAll(async () => {
    opened = await engine.open();
    await fill(opened.store);
    complete = await contentOf(opened.store);
    await opened.close();
  });
  beforeEach(async () => {
    opened = await engine.open();
  });
  afterEach(() => opened.close());

  it('has the expected categories, pets, stock and orders, and one key', async () => {
    await fill(opened.store);
    const gateway = await TestGateway.start(opened.store);
    const { text } = await gateway.graphql(`{
      categories { nodes { name description pets { nodes { name status inventory { quantity } } } } }
      orders { nodes { pet { name } quantity shipDate complete } }
    }`);
    await gateway.close();
    expect(JSON.parse(text)).toStrictEqual({ data: SAMPLE });
    expect(complete.keys).toBe(1);
  });

  it.each([0, 1, 5, 13, 24, 27])(
    'is completed after a kill before write %i',
    { timeout: 60_000 },
    async (writes) => {
      await expect(fill(untilKilled(opened.store, writes))).rejects.toThrow(Killed);
      const store = await opened.reopen();
      expect(await fill(store)).toMatch(/^petstore_/);
      expect(await contentOf(store)).toEqual(complete);
      await fill(store);
      expect(await contentOf(store)).toEqual(complete);
    },
  );

  it('is not completed once a record was changed or added', async () => {
    const { store } = opened;
    await fill(store);
    const first = { limit: 1 };
    const [category] = (await store.categoryPage(first)).items as [Category];
    const [pet] = (await store.petPage({}, first)).items as [Pet];
    const [order] = (await store.orderPage({}, first)).items as [Order];
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

  it('is created once by two concurrent calls', { timeout: 60_000 }, async () => {
    const results = await Promise.allSettled([addSampleData(opened.store), addSampleData(opened.store)]);
    // One call may fail with a conflict and is repeated.
    if (results.some(({ status }) => status === 'rejected')) await addSampleData(opened.store);
    expect({ ...(await contentOf(opened.store)), keys: 1 }).toEqual(complete);
  });

  it('is not added to existing records, nor to an empty store with a used key', async () => {
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
