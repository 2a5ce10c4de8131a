import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Category } from '../../src/domains/category/category.ts';
import { Order } from '../../src/domains/order/order.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { Meter } from '../../src/foundation/meter.ts';
import type { Store } from '../../src/store/store.ts';
import { engines, type OpenedStore } from '../kit/stores.ts';

/** The allowances of a client that may count this many records. */
const meterWith = (left: number): Meter => {
  const meter = new Meter(1);
  meter.spend('counted', meter.left('counted') - left);
  return meter;
};

describe.each(engines)('counts ($name)', (engine) => {
  let opened: OpenedStore;
  let store: Store;
  beforeAll(async () => {
    opened = await engine.open();
    store = opened.store;
    const { id: categoryId } = await store.table(Category).insert({ name: 'Dogs' });
    for (const name of ['b', 'B', 'boxer', 'a'])
      await store.table(Order).insert({ petId: (await store.table(Pet).insert({ name, categoryId })).id });
  });
  afterAll(() => opened.close());

  const matched = { name: { prefix: 'b' } };
  const exhausted = {
    code: 'QUERY_TOO_COMPLEX',
    message: expect.stringMatching(/counts more than .* records/),
  };
  it.each<[what: string, count: (meter: Meter) => unknown]>([
    ['by a prefix', (meter) => store.table(Pet).count(matched, meter)],
    // Once for all parents.
    ['by parents', (meter) => store.table(Pet).countsByParent('categoryId', ['1', '2', '3'], matched, meter)],
  ])('%s are within what is left to count', async (_what, count) => {
    const meter = meterWith(6);
    // The loaders of a request count one after the other.
    await count(meter);
    await count(meter);
    await expect((async () => count(meter))()).rejects.toMatchObject(exhausted);
    await expect((async () => count(meterWith(2)))()).rejects.toMatchObject(exhausted);
  });
});
