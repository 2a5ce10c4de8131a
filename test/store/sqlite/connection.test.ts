import { expect, it } from 'vitest';
import { Category } from '../../../src/domains/category/category.ts';
import { SqliteConnection } from '../../../src/store/sqlite/connection.ts';
import { codeOf } from '../../kit/errors.ts';
import { useFolder } from './folder.ts';

const folder = useFolder();

const connect = () => folder.closing(new SqliteConnection(folder.file, 10));

it('is made by the driver of Node where that is stable', () => {
  const [major, minor] = process.versions.node.split('.').map(Number) as [number, number];
  const isStable = major > 25 || (major === 25 && minor >= 7) || (major === 24 && minor >= 15);
  const isOfNode = connect().value('select sqlite_version()') === process.versions.sqlite;
  expect(isOfNode).toBe(isStable);
});

it('reads rows in the order of a query, with exact ids and absent values', () => {
  const db = connect();
  db.exec('create table t (id integer primary key, name text, size integer) strict');
  const rows = [
    [9_223_372_036_854_775_807n, 'é "', 2 ** 53 - 1],
    [-1n, null, 0],
  ] as const;
  db.insert('t', rows, (row) => [...row]);
  const columns = 'cast(id as text), name, size';
  const expected = rows.map(([id, ...others]) => [String(id), ...others]);
  expect(db.rows(columns, '(select * from t order by id desc limit ?)', [5])).toEqual(expected);
  expect(db.row(`select ${columns} from t where id = ?`, [rows[0][0]])).toEqual(expected[0]);
  expect([db.row('select 1 from t where id = 0'), db.value('select name from t where id = -1')]).toEqual([
    undefined,
    null,
  ]);
  expect(db.run('update t set size = size + ?', [-1])).toBe(2);
});

it('says UNAVAILABLE of a locked file and a full disk, and not of a wrong statement', async () => {
  const db = connect();
  const other = folder.outsider();
  db.exec('create table t (id integer primary key, name text) strict');
  other.exec('begin immediate');
  const add = () => db.run('insert into t values (1, ?)', ['-'.repeat(1_000_000)]);
  expect(await codeOf(async () => add())).toBe('UNAVAILABLE');
  other.exec('rollback');
  db.exec('pragma max_page_count = 100');
  expect(await codeOf(async () => add())).toBe('UNAVAILABLE');
  db.run('insert into t values (1, ?)', ['small']);
  expect(() => db.run('insert into t values (1, ?)', ['again'])).toThrow(/UNIQUE constraint failed: t.id/);
  expect(() => db.value('select * from missing')).toThrow(/no such table: missing/);
  db.close();
  expect(await codeOf(async () => db.value('select 1'))).toBe('UNAVAILABLE');
});

it('goes on with everything else while another process writes, and says UNAVAILABLE of a write that waited too long', async () => {
  const store = folder.open({ busyTimeout: 2_000 });
  const impatient = folder.open({ busyTimeout: 20, role: 'tool' });
  const other = folder.outsider();
  other.exec('begin immediate');
  const create = (name: string, of = store) => of.table(Category).insert({ name });
  const both = Promise.all([create('Dogs'), create('Cats')]);
  expect(await codeOf(async () => create('Birds', impatient))).toBe('UNAVAILABLE');
  expect(await store.table(Category).count({})).toBe(0);
  other.exec('commit');
  expect((await both).map(({ name }) => name)).toEqual(['Dogs', 'Cats']);
  expect((await create('Birds', impatient)).id).toBe('3');
});
