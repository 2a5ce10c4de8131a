import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Category } from '../../src/domains/category/category.ts';
import { Order } from '../../src/domains/order/order.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { folded } from '../../src/foundation/folded.ts';
import { Meter } from '../../src/foundation/meter.ts';
import type { AnyRecord } from '../../src/foundation/record.ts';
import type { Store } from '../../src/store/store.ts';
import type { PageRequest, Table } from '../../src/store/table.ts';
import { cases } from '../kit/cases.ts';
import { engines, type OpenedStore } from '../kit/stores.ts';

type Values = Record<string, unknown> & { id: string };

/** What an order compares, as bytes or numbers. */
const keyOf = (field: string | undefined, record: Values): Buffer | number | undefined => {
  const value = field === undefined ? undefined : record[field];
  if (field === 'name') return Buffer.from(folded(value as string));
  return field === 'shipDate'
    ? value === undefined
      ? undefined
      : Date.parse(value as string)
    : (value as number);
};

const compareKeys = (a: Buffer | number, b: Buffer | number): number =>
  typeof a === 'number' ? a - (b as number) : Buffer.compare(a, b as Buffer);

/** All records of a list, sorted in memory. */
function sorted(all: readonly Values[], field: string | undefined, descending: boolean): Values[] {
  const sign = descending ? -1 : 1;
  return all.toSorted((a, b) => {
    const [x, y] = [keyOf(field, a), keyOf(field, b)];
    if ((x === undefined) !== (y === undefined)) return x === undefined ? 1 : -1;
    const byValue = x === undefined || y === undefined ? 0 : compareKeys(x, y);
    return sign * (byValue || Number(BigInt(a.id) - BigInt(b.id)));
  });
}

/** Reads a whole list page by page. @returns the records, and the number of items on each page */
async function readAll(
  read: (request: PageRequest) => ReturnType<Table<AnyRecord>['page']>,
  field: string | undefined,
  descending: boolean,
  limit: number,
  backward: boolean,
): Promise<{ records: Values[]; sizes: number[] }> {
  const records: Values[] = [];
  const sizes: number[] = [];
  let request: PageRequest = { limit, backward, order: { field, descending } };
  for (;;) {
    const page = await read(request);
    const items = page.items as unknown as Values[];
    expect(items.length).toBeLessThanOrEqual(limit);
    sizes.push(items.length);
    if (backward) records.unshift(...items);
    else records.push(...items);
    if (!page.hasMore) return { records, sizes };
    const last = backward ? items[0] : items.at(-1);
    const { id, value } = page.end ?? {
      id: last!.id,
      value: (last![field ?? ''] ?? null) as string | number | null,
    };
    request = {
      limit,
      backward,
      ...(backward ? { before: id } : { after: id }),
      order: { field, descending, ...(backward ? { beforeValue: value } : { afterValue: value }) },
    };
  }
}

const NAMES = [
  'b',
  'B',
  'ä',
  'A',
  'a\u0301',
  'Zoë',
  'zoe',
  'ﬁsh',
  'fi',
  'f',
  '\uffff',
  '\u{10000}',
  'Ａ',
  'ſ',
  'ß',
  'b',
];

describe.each(engines)('ordering ($name)', (engine) => {
  const limits = [5, 1, 3, 100].slice(0, engine.name === 'sqlite' ? 4 : cases(1, 4));
  let opened: OpenedStore;
  let store: Store;
  const all = { pets: [] as Values[], categories: [] as Values[], orders: [] as Values[] };

  beforeAll(async () => {
    opened = await engine.open();
    store = opened.store;
    for (const name of ['Dogs', 'cats', 'Fish'])
      all.categories.push((await store.table(Category).insert({ name })) as unknown as Values);
    for (let n = 0; n < 48; n++) {
      const name = NAMES[n % NAMES.length]!;
      const status = (['available', 'pending', 'sold'] as const)[n % 3]!;
      const categoryId = all.categories[n % 2]!.id;
      const pet = await store.table(Pet).insert({ name, status, categoryId });
      all.pets.push((await store.table(Pet).update(pet.id, { quantity: n % 5 })) as unknown as Values);
    }
    for (let n = 0; n < 24; n++) {
      const day = String(1 + (n % 4)).padStart(2, '0');
      const shipDate = n % 3 === 0 ? undefined : `2026-01-${day}T09:30:00Z`;
      const order = await store
        .table(Order)
        .insert({ shipDate, complete: n % 2 === 0, petId: n % 4 === 0 ? undefined : all.pets[n % 2]!.id });
      all.orders.push(order as unknown as Values);
    }
  });
  afterAll(() => opened.close());

  const lists: [AnyRecord, keyof typeof all, (string | undefined)[], object[]][] = [
    [
      Pet,
      'pets',
      [undefined, 'name', 'quantity'],
      [
        {},
        { status: ['sold'] },
        { status: ['available', 'pending'] },
        { categoryId: '$0' },
        { categoryId: '$1', status: ['sold', 'available'] },
        { status: [] },
      ],
    ],
    [Category, 'categories', [undefined, 'name'], [{}]],
    [
      Order,
      'orders',
      [undefined, 'shipDate'],
      [{}, { complete: true }, { petId: '@0' }, { petId: '@1', complete: false }],
    ],
  ];
  const rows = lists.flatMap(([record, name, sorts, filters]) =>
    sorts.flatMap((sort) =>
      [false, true].flatMap((descending) =>
        filters.map((filter) => ({ record, name, sort, descending, filter })),
      ),
    ),
  );

  it.each(rows)('gives $name by $sort (descending: $descending) with $filter in any pages', async (one) => {
    const { record, name, sort, descending } = one;
    const filter = Object.fromEntries(
      Object.entries(one.filter).map(([field, value]) => {
        if (value === '$0' || value === '$1') return [field, all.categories[Number(value[1])]!.id];
        return [field, value === '@0' || value === '@1' ? all.pets[Number(value[1])]!.id : value];
      }),
    );
    const matches = (item: Values) =>
      Object.entries(filter).every(([field, value]) =>
        Array.isArray(value) ? value.includes(item[field]) : item[field] === value,
      );
    const expected = sorted(all[name].filter(matches), sort, descending);
    const table = store.table(record);
    for (const limit of limits) {
      for (const backward of [false, true]) {
        const read = (request: PageRequest) => table.page(filter as never, request);
        expect((await readAll(read, sort, descending, limit, backward)).records).toEqual(expected);
      }
    }
  });

  it.each([false, true])(
    'finds by the start of a name, in any pages (descending: %s)',
    async (descending) => {
      const table = store.table(Pet);
      for (const prefix of ['b', 'F', 'fi', 'zo', 'Zoë', 'ä', '\uffff', '\u{10000}', 'none', 'ß', '\u0301']) {
        for (const filter of [
          {},
          { status: ['sold', 'pending'] as const },
          { categoryId: all.categories[0]!.id },
        ]) {
          const start = folded(prefix);
          const matches = (pet: Values) =>
            folded(pet.name as string).startsWith(start) &&
            (!('status' in filter) || filter.status.includes(pet.status as never)) &&
            (!('categoryId' in filter) || pet.categoryId === filter.categoryId);
          const expected = sorted(all.pets.filter(matches), 'name', descending);
          const wanted = { ...filter, name: { prefix: start } };
          for (const backward of [false, true]) {
            const read = (request: PageRequest) => table.page(wanted, request);
            expect((await readAll(read as never, 'name', descending, 5, backward)).records).toEqual(expected);
          }
          expect(await table.count(wanted)).toBe(expected.length);
        }
      }
    },
  );

  it.each([false, true])('orders the pets of each category (descending: %s)', async (descending) => {
    const ids = all.categories.map(({ id }) => id);
    const table = store.table(Pet);
    for (const sort of [undefined, 'name', 'quantity']) {
      for (const filter of [{}, { status: ['sold'] as const }]) {
        const order = { field: sort, descending };
        const pages = await table.pagesByParent('categoryId', ids, filter, { limit: 5, order });
        for (const [i, page] of pages.entries()) {
          const matches = (pet: Values) =>
            pet.categoryId === ids[i] && (!('status' in filter) || pet.status === 'sold');
          const expected = sorted(all.pets.filter(matches), sort, descending);
          expect(page.items).toEqual(expected.slice(0, 5));
          expect(page.hasMore).toBe(expected.length > 5);
        }
      }
    }
    const counts = await table.countsByParent('categoryId', ids, { name: { prefix: 'b' } });
    expect(counts).toEqual(
      ids.map(
        (id) =>
          all.pets.filter(({ name, categoryId }) => /^b/i.test(name as string) && categoryId === id).length,
      ),
    );
  });

  it('counts within what is left to examine, which counts at the same time share', async () => {
    const table = store.table(Pet);
    const [matched, unmatched] = [{ name: { prefix: 'b' } }, { name: { prefix: 'b' }, categoryId: '9999' }];
    const entries = all.pets.filter(({ name }) => folded(name as string).startsWith('b')).length;
    const ids = all.categories.map(({ id }) => id);
    const petId = all.orders.find((order) => order.petId !== undefined)!.petId as string;
    const meterWith = (left: number): Meter => {
      const meter = new Meter(1);
      meter.spend('indexEntries', meter.left('indexEntries') - left);
      return meter;
    };
    const exhausted = { code: 'QUERY_TOO_COMPLEX', message: expect.stringContaining('index entries') };
    for (const count of [
      async (meter: Meter) => await table.count(matched, meter),
      async (meter: Meter) => await table.count(unmatched, meter),
      // Once for all parents.
      async (meter: Meter) => await table.countsByParent('categoryId', ids, matched, meter),
      async (meter: Meter) => await table.countsByParent('categoryId', ids, unmatched, meter),
    ]) {
      const meter = meterWith(2 * entries);
      const counted = await Promise.allSettled([count(meter), count(meter), count(meter)]);
      expect(counted.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
      await expect(count(meterWith(entries - 1))).rejects.toMatchObject(exhausted);
    }
    for (const count of [
      async (meter: Meter) => await store.table(Category).count({}, meter),
      async (meter: Meter) => await store.table(Order).count({ petId }, meter),
      async (meter: Meter) => await store.table(Order).countsByParent('petId', [petId], {}, meter),
    ]) {
      await expect(count(meterWith(0))).rejects.toMatchObject(exhausted);
      const meter = meterWith(1_000);
      await count(meter);
      expect(meter.left('indexEntries')).toBeLessThan(1_000);
    }
  });

  it('orders the orders of each pet, also of one that is deleted', async () => {
    const ids = [all.pets[0]!.id, all.pets[1]!.id, all.pets[2]!.id];
    for (const descending of [false, true]) {
      const order = { field: 'shipDate', descending };
      const pages = await store.table(Order).pagesByParent('petId', ids, {}, { limit: 100, order });
      expect(pages.map(({ items }) => items)).toEqual(
        ids.map((id) =>
          sorted(
            all.orders.filter(({ petId }) => petId === id),
            'shipDate',
            descending,
          ),
        ),
      );
    }
  });

  it('goes on from a place whose record was renamed or deleted', async () => {
    const { id: categoryId } = await store.table(Category).insert({ name: 'Birds' });
    const table = store.table(Pet);
    const [a, b, c, d] = await Promise.all(
      ['a', 'b', 'c', 'd'].map(async (name) => await table.insert({ name, categoryId })),
    );
    const after = { limit: 10, after: b!.id, order: { field: 'name', descending: false, afterValue: 'b' } };
    const names = async () => (await table.page({ categoryId }, after)).items.map((pet) => pet.name);
    expect(await names()).toEqual(['c', 'd']);
    await table.update(b!.id, { name: 'z' });
    expect(await names()).toEqual(['c', 'd', 'z']);
    await table.update(d!.id, { name: '0' });
    await table.remove(b!.id);
    expect(await names()).toEqual(['c']);
    for (const pet of [a, c, d]) await table.remove(pet!.id);
    await store.table(Category).remove(categoryId);
  });
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

  it.each([false, true])(
    'has short pages that lead on to all that match (backward: %s)',
    async (backward) => {
      const read = (request: PageRequest) => store.table(Pet).page({ status: ['sold'] }, request);
      const { records, sizes } = await readAll(read as never, 'name', false, 3, backward);
      const all = Array.from({ length: 5 }, (_, n) => n * 900 + 1);
      expect(records.map(({ id }) => Number(id)).toSorted((a, b) => a - b)).toEqual(all);
      expect(records.map(({ name }) => name)).toEqual(records.map(({ name }) => name).toSorted());
      // A page examines 1,000 entries.
      expect(sizes).toHaveLength(Math.ceil(COUNT / 1_000));
    },
  );

  it('examines no more than what was paid for, and still leads on', async () => {
    const meter = new Meter(1);
    meter.spend('indexEntries', meter.left('indexEntries') - 300);
    const wanted = { status: ['sold' as const] };
    const order = { field: 'name', descending: false };
    const parents = ['1', '1', '1'];
    const pages = await store
      .table(Pet)
      .pagesByParent('categoryId', parents, wanted, { limit: 2, order }, meter);
    expect(meter.left('indexEntries')).toBe(0);
    const page = await store.table(Pet).page(wanted, { limit: 9, order }, meter);
    for (const { items, hasMore, end } of [...pages, page]) {
      expect(items.length).toBeLessThan(2);
      expect([hasMore, end?.value]).toEqual([true, 'N0']);
    }
    const [place] = pages;
    // 300 of 643 with this name were examined.
    const next = { ...order, afterValue: place!.end!.value };
    const { end } = await store.table(Pet).page(wanted, { limit: 9, after: place!.end!.id, order: next });
    expect(end?.value).toBe('N2');
    expect(() => store.table(Pet).count({ name: { prefix: 'n0' } }, meter)).toThrow('index entries');
  });

  it('counts few, and refuses to count too many', async () => {
    const table = store.table(Pet);
    expect(await table.count({ name: { prefix: 'n0' }, status: ['sold'] })).toBe(1);
    await store.transaction(({ table }) => {
      for (let n = 0; n < 16_000; n++) table(Pet).insert({ name: 'N9', categoryId: '1' });
    });
    expect(() => table.count({ name: { prefix: 'n' } })).toThrow(/too many items to count/);
    expect(await table.count({ name: { prefix: 'n9' } })).toBe(16_000);
  });
});
