import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newApiKey } from '../src/access/api-keys.ts';
import { Category } from '../src/domains/category/category.ts';
import { Order } from '../src/domains/order/order.ts';
import { Pet } from '../src/domains/pet/pet.ts';
import type { MaybePromise } from '../src/foundation/maybe-promise.ts';
import { withCalls } from '../src/observability/instrumented-store.ts';
import { addSampleData, developmentKey, sampleProgress } from '../src/sample.ts';
import type { Store } from '../src/store/store.ts';
import { TestGateway } from './kit/gateway.ts';
import { engines, enginesAtLength, type OpenedStore } from './kit/stores.ts';

class Killed extends Error {}

/** A store whose process is killed after this many writes. */
function untilKilled(store: Store, writes: number): Store {
  let left = writes;
  return withCalls(store, (name, call) =>
    ['once', 'pets.update', 'createApiKey'].includes(name)
      ? (...args) => {
          if (left-- === 0) throw new Killed();
          return call(...args);
        }
      : call,
  );
}

const fill = async (store: Store): Promise<string | null> => {
  const progress = await sampleProgress(store);
  if (progress) await addSampleData(store, progress);
  return developmentKey(store, progress !== null, Date.now());
};

const contentOf = async (store: Store) => {
  const categories = (await store.table(Category).page({}, { limit: 100 })).items;
  const pets = (await store.table(Pet).page({}, { limit: 100 })).items;
  return {
    categories: categories.map(({ name }) => name),
    pets: pets.map(({ name, quantity, categoryId }) => ({
      name,
      quantity,
      category: categories.findIndex(({ id }) => id === categoryId),
    })),
    orders: (await store.table(Order).page({}, { limit: 100 })).items.map(({ petId, ...order }) => ({
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

describe.each(enginesAtLength)('sample data in $name', (engine) => {
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

  it.each(process.env.AT_LENGTH === '1' ? [0, 1, 5, 13, 24, 27] : [1, 13, 27])(
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
    const [category] = (await store.table(Category).page({}, first)).items as [Category];
    const [pet] = (await store.table(Pet).page({}, first)).items as [Pet];
    const [order] = (await store.table(Order).page({}, first)).items as [Order];
    const changes: [change: () => MaybePromise<{ id: string }>, undo: (id: string) => unknown][] = [
      [
        () => store.table(Category).update(category.id, { name: 'Cats' }),
        (id) => store.table(Category).update(id, { name: category.name }),
      ],
      [
        () => store.table(Pet).update(pet.id, { name: 'Bella' }),
        (id) => store.table(Pet).update(id, { name: pet.name }),
      ],
      [
        () => store.table(Order).update(order.id, { quantity: 10 }),
        (id) => store.table(Order).update(id, { quantity: 1 }),
      ],
      [
        () => store.table(Order).update(order.id, { complete: true }),
        (id) => store.table(Order).update(id, { complete: false }),
      ],
      [() => store.table(Category).insert({ name: 'Dogs' }), (id) => store.table(Category).remove(id)],
      [
        () => store.table(Pet).insert({ name: 'Rex', categoryId: category.id, status: 'available' }),
        (id) => store.table(Pet).remove(id),
      ],
      [
        () => store.table(Order).insert({ quantity: 1, complete: false }),
        (id) => store.table(Order).remove(id),
      ],
    ];
    for (const [change, undo] of changes) {
      expect(await sampleProgress(store)).not.toBe(null);
      const { id } = await change();
      expect(await sampleProgress(store), String(change)).toBe(null);
      await undo(id);
    }
  });

  it('is not added to existing records, nor to an empty store with a used key', async () => {
    const { store } = opened;
    await store.table(Category).insert({ name: 'Snakes' });
    expect(await sampleProgress(store)).toBe(null);
    await store.table(Category).remove((await store.table(Category).page({}, { limit: 1 })).items[0]!.id);
    expect(await sampleProgress(store)).toEqual({ categories: [], pets: [], orders: [] });
    const { apiKey } = newApiKey({ name: randomUUID(), plan: 'free', now: Date.now() });
    await store.createApiKey(apiKey);
    await store.charge({ apiKeyId: apiKey.id, limits: apiKey.limits, cost: 1, now: Date.now() });
    expect(await sampleProgress(await opened.reopen())).toBe(null);
  });
});

it.each(engines)(
  'sample data is created once by two concurrent calls in $name',
  { timeout: 60_000 },
  async (engine) => {
    const [alone, together] = [await engine.open(), await engine.open()];
    await addSampleData(alone.store);
    const { store } = together;
    const results = await Promise.allSettled([addSampleData(store), addSampleData(store)]);
    // One call may fail with a conflict and is repeated.
    if (results.some(({ status }) => status === 'rejected')) await addSampleData(store);
    expect(await contentOf(store)).toEqual(await contentOf(alone.store));
    for (const { close } of [alone, together]) await close();
  },
);
