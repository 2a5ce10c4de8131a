import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Category } from '../../src/domains/category/category.ts';
import { Order } from '../../src/domains/order/order.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { Meter } from '../../src/foundation/meter.ts';
import type { Store } from '../../src/store/store.ts';
import type { PageRequest } from '../../src/store/table.ts';
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
  const unmatched = { ...matched, categoryId: '9999' };
  const exhausted = { code: 'QUERY_TOO_COMPLEX', message: expect.stringContaining('index entries') };
  const counts: [what: string, entries: number, count: (meter: Meter) => unknown][] = [
    ['by a prefix', 3, (meter) => store.table(Pet).count(matched, meter)],
    ['of nothing by a prefix', 3, (meter) => store.table(Pet).count(unmatched, meter)],
    // Once for all parents.
    [
      'by parents',
      3,
      (meter) => store.table(Pet).countsByParent('categoryId', ['1', '2', '3'], matched, meter),
    ],
    [
      'of none by parents',
      3,
      (meter) => store.table(Pet).countsByParent('categoryId', ['1'], unmatched, meter),
    ],
    ['without a filter', 1, (meter) => store.table(Category).count({}, meter)],
    ['of children', 1, (meter) => store.table(Order).count({ petId: '1' }, meter)],
    ['of children by parents', 1, (meter) => store.table(Order).countsByParent('petId', ['1'], {}, meter)],
  ];
  it.each(counts)(
    '%s are within what is left to examine, which those at the same time share',
    async (...one) => {
      const [, entries, count] = one;
      const meter = meterWith(2 * entries);
      const counted = await Promise.allSettled([1, 2, 3].map(async () => await count(meter)));
      expect(counted.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
      await expect((async () => count(meterWith(entries - 1)))()).rejects.toMatchObject(exhausted);
    },
  );
});

describe('a filter without an index for the order', () => {
  let opened: OpenedStore;
  let store: Store;
  const COUNT = 4_500;
  beforeAll(async () => {
    opened = await engines[0]!.open();
    store = opened.store;
    const { id: categoryId } = await store.table(Category).insert({ name: 'Dogs' });
    await store.transaction(({ table }) => {
      for (let n = 0; n < COUNT; n++)
        table(Pet).insert({ name: `N${n % 7}`, categoryId, status: n % 900 === 0 ? 'sold' : 'available' });
    });
  });
  afterAll(() => opened.close());
  const sold = { status: ['sold' as const] };
  const order = { field: 'name', descending: false };

  it.each([false, true])(
    'has short pages that lead on to all that match (backward: %s)',
    async (backward) => {
      const found: Pet[] = [];
      let pages = 1;
      for (let request: PageRequest = { limit: 3, backward, order }; ; pages++) {
        const { items, hasMore, end } = await store.table(Pet).page(sold, request);
        expect(items.length).toBeLessThanOrEqual(3);
        found.push(...(backward ? items.toReversed() : items));
        if (!hasMore) break;
        const { id, value } = end ?? { id: found.at(-1)!.id, value: found.at(-1)!.name };
        request = backward
          ? { limit: 3, backward, before: id, order: { ...order, beforeValue: value } }
          : { limit: 3, backward, after: id, order: { ...order, afterValue: value } };
      }
      const names = found.map(({ name }) => name);
      expect(backward ? names.toReversed() : names).toEqual(names.toSorted());
      expect(found.map(({ id }) => Number(id)).toSorted((a, b) => a - b)).toEqual([1, 901, 1801, 2701, 3601]);
      // A page examines 1,000 entries.
      expect(pages).toBe(Math.ceil(COUNT / 1_000));
    },
  );

  it('examines no more than what was paid for, and still leads on', async () => {
    const meter = meterWith(300);
    const parents = ['1', '1', '1'];
    const pages = await store
      .table(Pet)
      .pagesByParent('categoryId', parents, sold, { limit: 2, order }, meter);
    expect(meter.left('indexEntries')).toBe(0);
    const page = await store.table(Pet).page(sold, { limit: 9, order }, meter);
    for (const { items, hasMore, end } of [...pages, page]) {
      expect(items.length).toBeLessThan(2);
      expect([hasMore, end?.value]).toEqual([true, 'N0']);
    }
    const [place] = pages;
    // 300 of 643 with this name were examined.
    const next = { ...order, afterValue: place!.end!.value };
    const { end } = await store.table(Pet).page(sold, { limit: 9, after: place!.end!.id, order: next });
    expect(end?.value).toBe('N2');
    expect(() => store.table(Pet).count({ name: { prefix: 'n0' } }, meter)).toThrow('index entries');
  });

  it('counts few, and refuses to count too many', async () => {
    const table = store.table(Pet);
    expect(await table.count({ name: { prefix: 'n0' }, ...sold })).toBe(1);
    await store.transaction(({ table }) => {
      for (let n = 0; n < 16_000; n++) table(Pet).insert({ name: 'N9', categoryId: '1' });
    });
    expect(() => table.count({ name: { prefix: 'n' } })).toThrow(/too many items to count/);
    expect(await table.count({ name: { prefix: 'n9' } })).toBe(16_000);
  });
});
