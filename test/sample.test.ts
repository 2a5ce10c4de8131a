import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { api } from '../src/api.ts';
import { newApiKey } from '../src/access/api-keys.ts';
import { Category } from '../src/domains/category/category.ts';
import { Order } from '../src/domains/order/order.ts';
import { Pet } from '../src/domains/pet/pet.ts';
import { withCalls } from '../src/observability/instrumented-store.ts';
import { addSampleData, isUnused } from '../src/sample.ts';
import type { Store } from '../src/store/store.ts';
import type { Tables } from '../src/foundation/table.ts';
import { engines, enginesAtLength, type OpenedStore } from './kit/stores.ts';

class Killed extends Error {}

/** A store whose process is killed in the middle of its first transaction. */
const untilKilled = (store: Store): Store =>
  withCalls(store, (name, call) =>
    name === 'once'
      ? (request, work) =>
          call(request, async (tables: Tables) => {
            await (work as (tables: Tables) => unknown)(tables);
            throw new Killed();
          })
      : call,
  );

const fill = async (store: Store): Promise<void> => {
  if (await isUnused(store, api)) await addSampleData(store, api);
};

const contentOf = async (store: Store) => {
  const categories = (await store.table(Category).page({}, { limit: 100 })).items;
  const pets = (await store.table(Pet).page({}, { limit: 100 })).items;
  const orders = (await store.table(Order).page({}, { limit: 100 })).items;
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
];

describe.each(enginesAtLength)('sample data in $name', (engine) => {
  let opened: OpenedStore;
  beforeEach(async () => {
    opened = await engine.open();
  });
  afterEach(() => opened.close());

  it('has the expected categories, pets, stock and orders, once, also after a kill', async () => {
    await expect(fill(untilKilled(opened.store))).rejects.toThrow(Killed);
    const store = await opened.reopen();
    for (const _ of [1, 2]) {
      await fill(store);
      expect(await contentOf(store)).toEqual(SAMPLE);
    }
  });

  it('is not added to existing records, nor to an empty store with a used key', async () => {
    const { store } = opened;
    await store.table(Category).insert({ name: 'Snakes' });
    expect(await isUnused(store, api)).toBe(false);
    await store.table(Category).remove((await store.table(Category).page({}, { limit: 1 })).items[0]!.id);
    expect(await isUnused(store, api)).toBe(true);
    const { apiKey } = newApiKey({ name: randomUUID(), plan: 'free', now: Date.now() });
    await store.createApiKey(apiKey);
    await store.charge({ apiKeyId: apiKey.id, limits: apiKey.limits, cost: 1, now: Date.now() });
    expect(await isUnused(await opened.reopen(), api)).toBe(false);
  });
});

it.each(engines)(
  'sample data is created once by two concurrent calls in $name',
  { timeout: 60_000 },
  async (engine) => {
    const { store, close } = await engine.open();
    const results = await Promise.allSettled([addSampleData(store, api), addSampleData(store, api)]);
    // One call may fail with a conflict and is repeated.
    if (results.some(({ status }) => status === 'rejected')) await addSampleData(store, api);
    expect(await contentOf(store)).toEqual(SAMPLE);
    await close();
  },
);
