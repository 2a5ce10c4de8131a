import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Category } from '../../src/domains/category/category.ts';
import { Order } from '../../src/domains/order/order.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { Meter } from '../../src/foundation/meter.ts';
import type { Store } from '../../src/store/store.ts';
import { engines, type OpenedStore } from '../kit/stores.ts';

/** What a client has left who may examine so many index entries. */
const meterWith = (left: number): Meter => {
  const meter = new Meter(1);
  meter.spend('indexEntries', meter.left('indexEntries') - left);
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
  const exhausted = { code: 'QUERY_TOO_COMPLEX', message: expect.stringContaining('index entries') };
  const counts: [what: string, entries: number, count: (meter: Meter) => unknown][] = [
    ['by a prefix', 3, (meter) => store.table(Pet).count(matched, meter)],
    // Once for all parents.
    [
      'by parents',
      3,
      (meter) => store.table(Pet).countsByParent('categoryId', ['1', '2', '3'], matched, meter),
    ],
  ];
  it.each(counts)(
    '%s are within what is left to examine, which those at the same time share',
    async (...one) => {
      const [, matching, count] = one;
      // An index of MongoDB counts 20 for one.
      const entries = Math.ceil(engine.name === 'mongodb' ? matching / 20 : matching);
      const meter = meterWith(2 * entries);
      const counted = await Promise.allSettled([1, 2, 3].map(async () => await count(meter)));
      expect(counted.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
      await expect((async () => count(meterWith(entries - 1)))()).rejects.toMatchObject(exhausted);
    },
  );
});

it('counts many by an index, and refuses to count too many', async () => {
  const opened = await engines[0]!.open();
  const table = opened.store.table(Pet);
  await opened.store.transaction(async (tables) => {
    await tables.table(Category).insert({ name: 'Dogs' });
    for (let n = 0; n <= 50_000; n++)
      await tables
        .table(Pet)
        .insert({ name: `N${n % 2}`, categoryId: '1', status: n === 0 ? 'sold' : 'available' });
  });
  expect(await table.count({ name: { prefix: 'n0' }, status: ['sold'] })).toBe(1);
  expect(await table.count({ name: { prefix: 'n1' } })).toBe(25_000);
  await expect((async () => await table.count({ name: { prefix: 'n' } }))()).rejects.toThrow(
    /too many items to count/,
  );
  await opened.close();
}, 30_000);
