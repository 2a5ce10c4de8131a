import { join } from 'node:path';
import { expect, it } from 'vitest';
import { api } from '../../src/api.ts';
import { Category } from '../../src/domains/category/category.ts';
import { Order } from '../../src/domains/order/order.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { openDatabase } from '../../src/store/sqlite/connection.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { temporaryFolder } from '../kit/folder.ts';

const home = temporaryFolder();

const open = (name: string) =>
  openSqliteStore({ records: api.records, file: join(home, name), role: 'server' });

/** The kept and the actual counts: rows of values with how many records have them. */
function compared(file: string) {
  const db = openDatabase(join(home, file));
  const rows = (sql: string) => db.prepare(sql).all([]);
  const kept = [
    rows('select * from "pets count by category_id, status"'.replace('category_id', 'categoryId')),
    rows('select * from "pets count by status"'),
    rows('select * from "orders count by complete"'),
    rows('select * from "orders count by petId, complete"'),
    rows('select n from "categories count"'),
  ];
  const counted = [
    rows('select category_id, status, count(*) from pets group by 1, 2'),
    rows('select status, count(*) from pets group by 1'),
    rows('select complete, count(*) from orders group by 1'),
    rows('select pet_id, complete, count(*) from orders where pet_id is not null group by 1, 2'),
    rows('select count(*) from categories having count(*) > 0'),
  ];
  db.close();
  return [kept, counted];
}

it('counts are kept by whatever writes the file, and leave nothing behind', async () => {
  const store = open('a.db');
  const { id: categoryId } = await store.table(Category).insert({ name: 'Dogs' });
  const { id } = await store.table(Pet).insert({ name: 'Rex', categoryId });
  await store.table(Order).insert({ petId: id, complete: true });
  const order = await store.table(Order).insert({});
  await store.table(Order).update(order.id, { petId: id });
  await store.table(Order).update(order.id, { petId: null, complete: true });
  await store
    .transaction(async ({ table }) => {
      await table(Pet).insert({ name: 'Tom', categoryId, status: 'sold' });
      expect(await table(Pet).count({ status: 'sold' })).toBe(1);
      throw new Error('back');
    })
    .catch(() => {});
  expect(await store.table(Pet).count({ status: 'sold' })).toBe(0);
  const other = openDatabase(join(home, 'a.db'));
  other.exec(
    `insert into pets (name, name_folded, category_id, status, quantity) values ('Tom', 'tom', 1, 'sold', 1), ('Bo', 'bo', 1, 'sold', 1)`,
  );
  other.exec(`update pets set status = 'pending' where name = 'Bo'`);
  other.close();
  expect(await store.table(Pet).count({})).toBe(3);
  expect(await store.table(Pet).count({ status: ['sold', 'pending'] })).toBe(2);
  const [kept, counted] = compared('a.db');
  expect(kept).toEqual(counted);
  expect(kept!.map(({ length }) => length)).toEqual([3, 3, 1, 1, 1]);
  await store.table(Pet).remove(id);
  const { items } = await store.table(Order).page({}, { limit: 100 });
  for (const { id } of items) await store.table(Order).remove(id);
  expect(compared('a.db')[0]!.map(({ length }) => length)).toEqual([2, 2, 0, 0, 1]);
  await store.close();
});

it('counts of a file that has none are made when it is opened, and those of no declaration are dropped', async () => {
  const store = open('b.db');
  const { id: categoryId } = await store.table(Category).insert({ name: 'Dogs' });
  await store.table(Pet).insertAll(['a', 'b', 'c'].map((name) => ({ name, categoryId })));
  await store.close();
  const db = openDatabase(join(home, 'b.db'));
  const events = ['before insert', 'after insert', 'after delete', 'before update', 'after update'];
  db.exec(`${events.map((event) => `drop trigger "pets count by status ${event}";`).join('')}
    drop table "pets count by status"; create table "pets count by name" (name text, n integer)`);
  db.close();
  const again = open('b.db');
  expect(await again.table(Pet).count({})).toBe(3);
  await again.table(Pet).insert({ name: 'd', categoryId });
  expect(await again.table(Pet).count({ status: 'available' })).toBe(4);
  expect(again.db.value(`select count(*) from sqlite_schema where name = 'pets count by name'`)).toBe(0);
  await again.close();
});
