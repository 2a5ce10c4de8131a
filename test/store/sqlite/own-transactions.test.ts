import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { MAX_TURN } from '../../../src/foundation/turns.ts';
import type { SqliteConnection } from '../../../src/store/sqlite/connection.ts';
import { OwnTransactions } from '../../../src/store/sqlite/own-transactions.ts';
import { useFolder } from './folder.ts';

const folder = useFolder();
let db: SqliteConnection;
let own: SqliteConnection;
let transactions: OwnTransactions;
beforeEach(() => {
  [db, own] = [folder.connect(), folder.connect()];
  db.exec('create table names (name text, other text references names (name) deferrable initially deferred)');
  db.exec('create unique index by_name on names (name)');
  transactions = new OwnTransactions(db, own);
});
afterEach(() => vi.restoreAllMocks());

const names = () => db.value("select group_concat(name, '') from names");
const add = (through: SqliteConnection, name: string, other: string | null = null) =>
  through.run('insert into names values (?, ?)', [name, other]);
const commits = () => {
  const exec = vi.spyOn(own, 'exec');
  return () => exec.mock.calls.filter(([sql]) => sql === 'commit').length;
};
const outcomes = async (runs: readonly Promise<unknown>[]) =>
  (await Promise.allSettled(runs)).map(({ status }) => status[0]).join('');

it('commits short ones together, of which one that fails takes back only itself', async () => {
  // However slow the machine is, they are short.
  vi.spyOn(performance, 'now').mockReturnValue(0);
  const committed = commits();
  const runs = ['a', 'b', 'c'].map((name) =>
    transactions.run(async () => {
      add(own, name);
      await null;
      if (name === 'b') throw new Error('given up');
      return name;
    }),
  );
  expect(await outcomes(runs)).toBe('frf');
  expect([names(), await runs[2], committed()]).toEqual(['ac', 'c', 1]);
});

it('fails all of those whose commit fails, and goes on with the next', async () => {
  const runs = ['a', 'b'].map((name) => transactions.run(() => add(own, name, name === 'b' ? 'none' : null)));
  expect(await outcomes(runs)).toBe('rr');
  expect(names()).toBeNull();
  await transactions.run(() => add(own, 'c'));
  expect(names()).toBe('c');
});

it('fails those that SQLite has rolled back with another, and those that come next begin anew', async () => {
  const runs = ['a', 'b', 'c'].map((name) =>
    transactions.run(() => (name === 'b' ? own.exec('rollback; invalid') : add(own, name))),
  );
  expect(await outcomes(runs)).toBe('rrf');
  expect(names()).toBe('c');
});

it('lets other writes in after one that took long', async () => {
  const committed = commits();
  const order: string[] = [];
  const write = (name: string) =>
    transactions.run(() => {
      order.push(name);
      for (const began = performance.now(); performance.now() - began < MAX_TURN; );
      if (name === 'a')
        void Promise.resolve(db.whenFree(() => add(db, 'other'))).then(() => order.push('other'));
    });
  await Promise.all([write('a'), write('b')]);
  expect([order.join(' '), committed()]).toEqual(['a other b', 2]);
});
