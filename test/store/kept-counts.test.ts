import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Category } from '../../src/domains/category/category.ts';
import { Order } from '../../src/domains/order/order.ts';
import { Pet, PetStatus } from '../../src/domains/pet/pet.ts';
import { Meter } from '../../src/foundation/meter.ts';
import type { Database } from '../../src/store/sqlite/connection.ts';
import type { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { cases } from '../kit/cases.ts';
import { useFolder } from './sqlite/folder.ts';

const folder = useFolder();

/** The records of each table, the columns of what is kept of them, and the keys of their blocks. */
const KEPT = [
  ['categories', '', '', { name: 'name_folded' }],
  ['pets', 'status', 'status', { name: 'name_folded', quantity: 'quantity' }],
  ['pets', 'categoryId, status', 'category_id, status', { name: 'name_folded', quantity: 'quantity' }],
  ['orders', 'complete', 'complete', { shipDate: 'ship_date' }],
  ['orders', 'petId, complete', 'pet_id, complete', { shipDate: 'ship_date' }],
] as const;

/** What is kept and wrong, and blocks that are too large although they have several keys. */
function faultsOf(db: Database): unknown[] {
  const rows = (sql: string) => db.prepare(sql).all([]);
  return KEPT.flatMap(([records, fields, columns, keys]) => {
    const through = `(select id from "${records} counted through")`;
    const same = columns.replaceAll(/\w+,?/g, (name) => `and r.${name} = block.${name} `).replaceAll(',', '');
    const kept = `select ${columns || '1'}, n from "${records} counted${fields && ` by ${fields}`}"`;
    const counted = `select ${columns || '1'}, count(*) from ${records} as r where id <= ${through}
      and ${columns.includes('pet_id') ? 'pet_id is not null' : 'true'} group by ${columns || '1'}`;
    return [
      ...rows(`select * from (${kept}) except select * from (${counted})`),
      ...rows(`select * from (${counted}) except select * from (${kept})`),
      ...Object.entries(keys).flatMap(([field, key]) => {
        const within = `id <= ${through} ${same} and r.${key} >= low and (next is null or r.${key} < next)`;
        return rows(
          `select * from (
             select *, lead(low) over (${columns && `partition by ${columns}`} order by low) as next
             from "${records} counted in blocks by ${fields ? `${fields}, ` : ''}${field}"
           ) as block where n <> (select count(*) from ${records} as r not indexed where ${within})
             or n > 2000 and (select count(distinct r.${key}) from ${records} as r where ${within}) > 1`,
        );
      }),
    ];
  });
}

const DATES = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z', '2026-06-01T00:00:00Z'];

/** Compares counts by every kind of filter with those of SQLite. @returns the most that a count has read */
async function compare(store: SqliteStore, db: Database): Promise<number> {
  let most = 0;
  const counting = async <T>(count: (meter: Meter) => Promise<T>): Promise<T> => {
    const meter = new Meter(1);
    return count(meter).finally(() => {
      most = Math.max(most, new Meter(1).left('counted') - meter.left('counted'));
    });
  };
  const value = (sql: string) => db.prepare(`select count(*) from ${sql}`).get([])![0];
  const ranges: [filter: object, where: string][] = [
    [{}, 'true'],
    ...['', 'c', 'dog', 'dog ', 'dogg', 'e', 'zz'].map((prefix): [object, string] => [
      { name: { prefix } },
      `substr(name_folded, 1, ${prefix.length}) = '${prefix}'`,
    ]),
    ...[
      [0, 0],
      [0, 2],
      [2, 900],
      [3, undefined],
      [undefined, 5],
    ].map(([min, max]): [object, string] => [
      { quantity: { min, max } },
      `quantity between ${min ?? 0} and ${max ?? 99999999}`,
    ]),
  ];
  const pets = store.table(Pet);
  for (const [filter, where] of ranges) {
    const expected = (more: string) => value(`pets not indexed where ${where} and ${more}`);
    expect(await counting((meter) => pets.count(filter, meter)), where).toBe(expected('true'));
    for (const status of PetStatus.values) {
      const both = { ...filter, status: [status, 'sold' as const] };
      const statuses = `status in ('${status}', 'sold')`;
      expect(await counting((meter) => pets.count(both, meter)), where).toBe(expected(statuses));
      for (const also of [{}, { categoryId: '2' }]) {
        const matching = 'categoryId' in also ? `${statuses} and category_id = 2` : statuses;
        expect(
          await counting((meter) =>
            pets.countsByParent('categoryId', ['2', '9', '1'], { ...both, ...also }, meter),
          ),
        ).toEqual([2, 9, 1].map((id) => expected(`${matching} and category_id = ${id}`)));
      }
    }
    for (const by of [['status'], ['categoryId'], ['status', 'categoryId']] as const) {
      const groups = await pets.countsBy(by, filter);
      const names = by.map((field) => (field === 'status' ? 'status' : 'category_id')).toSorted();
      expect(
        groups.map(({ values, count }) => `${Object.values(values).toSorted()} ${count}`).toSorted(),
      ).toEqual(
        db
          .prepare(`select ${names}, count(*) from pets not indexed where ${where} group by ${names}`)
          .all([])
          .map((row) => `${row.slice(0, -1)} ${row.at(-1)}`)
          .toSorted(),
      );
    }
  }
  for (const shipDate of [undefined, { min: DATES[1] }, { max: DATES[1] }, { min: DATES[2], max: DATES[2] }])
    for (const complete of [undefined, true]) {
      const [min, max] = [shipDate?.min, shipDate?.max].map((date) => date && Date.parse(date));
      const where = `orders not indexed where ${shipDate ? `ship_date between ${min ?? 0} and ${max ?? 9e15}` : 'true'}
        and ${complete ? 'complete = 1' : 'true'}`;
      const filter = { shipDate, complete } as object;
      expect(await store.table(Order).count(filter), where).toBe(value(where));
      expect(await store.table(Order).countsByParent('petId', ['1', '2'], filter), where).toEqual(
        [1, 2].map((id) => value(`${where} and pet_id = ${id}`)),
      );
    }
  return most;
}

const count = fc.constantFrom(1, 300, 1_300);
const fewOf = `id in (select id from pets where id > 2 and id % 7 = ? order by id limit 900)`;
/** What changes records: this store, another program, and restarts. */
const step = fc.oneof(
  fc.record({
    kind: fc.constant('add' as const),
    name: fc.constantFrom('cat', 'dog', 'dog 1', 'doge', 'dogged', 'Éclair', 'zebra'),
    count,
    apart: fc.boolean(),
    /** The number of different quantities. */
    quantities: fc.constantFrom(1, 3, 8, 2_000),
    categoryId: fc.constantFrom('1', '2'),
  }),
  fc.record({
    kind: fc.constant('order' as const),
    count,
    chosen: fc.boolean(),
    shipDate: fc.constantFrom(...DATES, undefined),
  }),
  fc.record({
    kind: fc.constant('outside' as const),
    sql: fc.constantFrom(
      `update pets set name_folded = 'dog' where ${fewOf}`,
      `update pets set name_folded = name_folded || ' ' || id where ${fewOf}`,
      `update pets set status = 'sold', quantity = 3 where ${fewOf}`,
      `update pets set category_id = 3 - category_id, quantity = id where ${fewOf}`,
      `delete from pets where ${fewOf}`,
      `delete from pets where name_folded >= 'dog' and id > 2 and id % 7 <> ?`,
      `update pets set id = -id where id = ? + 3`,
      `insert into pets (name, name_folded, category_id, status, quantity)
         select 'Dog', 'dog', 2, 'sold', id % 5 from pets where id % 2 = ? % 2 limit 1200;
       update ids set last = (select max(id) from pets) where records = 'pets'`,
      `insert into pets select (select min(id) from pets) - 1, 'Doge', 1, 'sold', ?, 'doge'`,
      `update orders set ship_date = null, complete = 1 where id % 7 = ?`,
      `delete from orders where ship_date is not null and id % 7 <> ?`,
    ),
    parameter: fc.nat(6),
  }),
  fc.constant({ kind: 'restart' as const }),
);

async function take(
  store: SqliteStore,
  outsider: Database,
  one: typeof step extends fc.Arbitrary<infer T> ? T : never,
) {
  if (one.kind === 'add')
    await store.table(Pet).insertAll(
      Array.from({ length: one.count }, (_, n) => ({
        name: one.apart ? `${one.name} ${n}` : one.name,
        categoryId: one.categoryId,
        status: PetStatus.values[(n % 4) % 3]!,
        quantity: n % one.quantities,
      })),
    );
  if (one.kind === 'order')
    await store.table(Order).insertAll(
      Array.from({ length: one.count }, (_, n) => ({
        ...(one.chosen && { id: String(10n ** 17n + BigInt(Math.floor(Math.random() * 1e15))) }),
        shipDate: one.shipDate,
        complete: n % 2 === 0,
        petId: ['1', '2'][n % 3],
      })).map(({ petId, ...order }) => ({ ...order, ...(order.complete && { petId }) })) as never,
    );
  if (one.kind === 'outside') outsider.exec(one.sql.replaceAll('?', String(one.parameter)));
}

/** Adds pets as another program would. @param names SQL of the name of pet n */
const addOutside = (db: Database, count: number, names: string) =>
  db.exec(`insert into pets (name, name_folded, category_id, status, quantity)
    with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${count})
    select 'Pet', ${names}, 1, 'sold', n % 3 from numbers;
    update ids set last = (select max(id) from pets) where records = 'pets'`);

it('counts are those of SQLite after whatever writes the file, and read little', { timeout: 120_000 }, () =>
  fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 8 }), async (steps) => {
      const file = `${folder.home}/data/${crypto.randomUUID()}.db`;
      let store = folder.open({ file });
      const db = folder.outsider(file);
      await store.table(Category).insertAll([{ name: 'Dogs' }, { name: 'Cats' }]);
      await store.table(Pet).insertAll(['1', '2'].map((categoryId) => ({ name: 'first', categoryId })));
      addOutside(db, 6_000, `'dog ' || n % 50`);
      for (const one of [...steps.slice(0, 2), ...steps]) {
        if (one.kind === 'restart') {
          await store.close();
          store = folder.open({ file });
        } else await take(store, db, one);
        // Beside what another program has just written.
        await store.transaction(async ({ table }) => {
          await table(Pet).insert({ name: 'dog', categoryId: '1' });
          expect([(await table(Pet).count({ name: { prefix: 'dog' } })) - 1]).toEqual(
            db.prepare(`select count(*) from pets where name_folded glob 'dog*'`).get([]),
          );
        });
        expect(await compare(store, db)).toBeLessThan(25_000);
        expect(faultsOf(db)).toEqual([]);
      }
      await store.close();
    }),
    { numRuns: cases(2, 25) },
  ),
);

it('counts of names that very many have read few entries, also once they have other names', async () => {
  const store = folder.open();
  const db = folder.outsider();
  const { id: categoryId } = await store.table(Category).insert({ name: 'Dogs' });
  const settle = async () => {
    for (let n = 0; n < 20; n++)
      await store
        .table(Pet)
        .insert({ name: ['ant', 'dog 4', 'zebra'][n % 3]!, categoryId, status: 'sold', quantity: n });
    expect(await compare(store, db)).toBeLessThan(4_000);
    expect(faultsOf(db)).toEqual([]);
  };
  await settle();
  addOutside(db, 9_000, `iif(n % 3 = 0, 'dog ' || n, 'dog')`);
  await compare(store, db);
  await settle();
  db.exec(`delete from pets where name_folded > 'dog'`);
  await settle();
  db.exec(`update pets set name_folded = 'dog ' || id, quantity = id where name_folded = 'dog'`);
  await compare(store, db);
  await settle();
});

it.each([
  { what: 'few have', values: 15 },
  { what: 'many had until they were deleted', values: 4 },
])('a value that $what can become that of very many', async ({ values }) => {
  const store = folder.open();
  const db = folder.outsider();
  const { id: categoryId } = await store.table(Category).insert({ name: 'Dogs' });
  const add = async (count: number, valueOf: (n: number) => number) => {
    const pets = Array.from({ length: count }, (_, n) => ({
      name: `dog ${valueOf(n)}`,
      categoryId,
      quantity: valueOf(n),
    }));
    for (let n = 0; n < count; n += 500) await store.table(Pet).insertAll(pets.slice(n, n + 500));
    await compare(store, db);
    expect(faultsOf(db)).toEqual([]);
  };
  await add(6_000, (n) => n % values);
  if (values === 4) db.exec('delete from pets where quantity = 2');
  for (const value of [2, 3]) await add(2_000, () => value);
});

it('counts of an earlier version are made anew when its file is opened', async () => {
  const store = folder.open();
  await store.table(Category).insert({ name: 'Dogs' });
  await store.close();
  const db = folder.outsider();
  addOutside(db, 10_000, `'dog ' || n`);
  const made = `select name, sql from sqlite_schema where name glob 'pets count*' order by name`;
  const before = db.prepare(made).all([]);
  db.exec(`drop trigger "pets counted in"; drop table "pets counted by status";
    create table "pets count by status" (status text primary key, n integer) strict;
    create trigger "pets counted in" after insert on pets begin select 1; end;
    create trigger "pets count by status after insert" after insert on pets begin select 1; end`);
  expect(await compare(folder.open(), db)).toBeLessThan(5_000);
  expect([db.prepare(made).all([]), faultsOf(db)]).toEqual([before, []]);
});
