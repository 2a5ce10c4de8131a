import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newApiKey } from '../src/access/api-keys.ts';
import { Category } from '../src/domains/category/category.ts';
import { Order } from '../src/domains/order/order.ts';
import { Pet } from '../src/domains/pet/pet.ts';
import type { AnyRecord } from '../src/foundation/record.ts';
import { withCalls } from '../src/observability/instrumented-store.ts';
import { addSampleData, developmentKey, sampleProgress } from '../src/sample.ts';
import type { Store } from '../src/store/store.ts';
import { engines, enginesAtLength, type OpenedStore } from './kit/stores.ts';

class Killed extends Error {}

/** A store whose process is killed after this many writes. */
function untilKilled(store: Store, writes: number): Store {
  let left = writes;
  return withCalls(store, (name, call) =>
    ['once', 'createApiKey'].includes(name)
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
  const [categories, pets, orders] = [
    (await store.table(Category).page({}, { limit: 100 })).items,
    (await store.table(Pet).page({}, { limit: 100 })).items,
    (await store.table(Order).page({}, { limit: 100 })).items,
  ];
  const stock = ({ name, status, quantity }: Pet) => `${name} ${status} ${quantity}`;
  return [
    ...categories.map(({ id, name, description }) => {
      const own = pets.filter(({ categoryId }) => categoryId === id);
      return `${[name, description].filter(Boolean).join(', ')}: ${own.map(stock).join(', ')}`;
    }),
    ...orders.map(({ petId, quantity, shipDate = 'never', complete }) => {
      const pet = pets.find(({ id }) => id === petId);
      return `${pet?.name} ${quantity} ${shipDate} ${complete}`;
    }),
    `${(await store.apiKeys()).length} keys`,
  ];
};

const SAMPLE = [
  'Dogs, Loyal, loud and always hungry: Rex available 3, Bella pending 1, Charlie sold 0',
  'Cats, They let you live with them: Mimi available 2, Tom available 5, Luna sold 0',
  'Birds: Tweety available 12, Kiwi pending 4',
  'Fish, Quiet company for small flats: Nemo available 40, Dory available 25',
  'Rex 1 2026-12-01T09:30:00Z false',
  'Charlie 1 2026-10-15T14:00:00Z true',
  'Nemo 10 never false',
  '1 keys',
];

describe.each(enginesAtLength)('sample data in $name', (engine) => {
  let opened: OpenedStore;
  beforeEach(async () => {
    opened = await engine.open();
  });
  afterEach(() => opened.close());

  it('has the expected categories, pets, stock and orders, and one key', async () => {
    await fill(opened.store);
    expect(await contentOf(opened.store)).toEqual(SAMPLE);
  });

  it.each(process.env.AT_LENGTH === '1' ? [0, 1, 5, 13, 17] : [1, 13, 17])(
    'is completed after a kill before write %i',
    { timeout: 60_000 },
    async (writes) => {
      await expect(fill(untilKilled(opened.store, writes))).rejects.toThrow(Killed);
      const store = await opened.reopen();
      expect(await fill(store)).toMatch(/^petstore_/);
      expect(await contentOf(store)).toEqual(SAMPLE);
      await fill(store);
      expect(await contentOf(store)).toEqual(SAMPLE);
    },
  );

  it('is not completed once a record was changed or added', async () => {
    const { store } = opened;
    await fill(store);
    const first = { limit: 1 };
    const [category] = (await store.table(Category).page({}, first)).items as [Category];
    const [pet] = (await store.table(Pet).page({}, first)).items as [Pet];
    const [order] = (await store.table(Order).page({}, first)).items as [Order];
    const updates: [record: AnyRecord, current: { id: string }, patch: object][] = [
      [Category, category, { name: 'Cats' }],
      [Pet, pet, { name: 'Bella' }],
      [Order, order, { quantity: 10 }],
      [Order, order, { complete: true }],
    ];
    for (const [record, current, patch] of updates) {
      await store.table(record).update(current.id, patch as never);
      expect(await sampleProgress(store), JSON.stringify(patch)).toBe(null);
      const { id, ...before } = current;
      await store.table(record).update(id, before);
      expect(await sampleProgress(store)).not.toBe(null);
    }
    const additions: [record: AnyRecord, input: object][] = [
      [Category, { name: 'Dogs' }],
      [Pet, { name: 'Rex', categoryId: category.id, status: 'available' }],
      [Order, { quantity: 1, complete: false }],
    ];
    for (const [record, input] of additions) {
      const { id } = await store.table(record).insert(input as never);
      expect(await sampleProgress(store), JSON.stringify(input)).toBe(null);
      await store.table(record).remove(id);
      expect(await sampleProgress(store)).not.toBe(null);
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
    const { store, close } = await engine.open();
    const results = await Promise.allSettled([addSampleData(store), addSampleData(store)]);
    // One call may fail with a conflict and is repeated.
    if (results.some(({ status }) => status === 'rejected')) await addSampleData(store);
    expect((await contentOf(store)).slice(0, -1)).toEqual(SAMPLE.slice(0, -1));
    await close();
  },
);
