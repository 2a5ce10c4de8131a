import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { StoredEvent } from '../../../src/store/events.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';
import { eventLog } from '../../../src/store/sqlite/event-log.ts';
import { migrate } from '../../../src/store/sqlite/schema.ts';
import { openSqliteStore, type SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';

const HOUR = 3_600_000;
let home: string;
let time = 0;
let stores: SqliteStore[] = [];

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'petstore-events-'));
  time = Date.parse('2026-11-21T12:00:00Z');
  stores = [];
});
afterEach(() => {
  vi.useRealTimers();
  for (const store of stores) store.close();
  rmSync(home, { recursive: true });
});

const open = (keepEvents = HOUR): SqliteStore => {
  const file = join(home, 'petstore.db');
  const store = openSqliteStore({ file, role: 'server', now: () => time, keepEvents });
  stores.push(store);
  return store;
};
const reopen = (store: SqliteStore): SqliteStore => {
  store.close();
  return open();
};
const namesOf = (store: SqliteStore, after?: string) =>
  store
    .eventPage({ limit: 100, ...(after !== undefined && { after }) })
    .events.map(({ record }) => (record as { name: string }).name);
const codeOf = (work: () => unknown) => {
  try {
    work();
    return 'none';
  } catch (error) {
    return (error as { code?: string }).code;
  }
};

it('forgets what is older than it is kept, but never what comes next', async () => {
  let store = open();
  for (const name of ['A', 'B', 'C']) await store.createCategory({ name });
  const [a, b, c] = store.eventPage({ limit: 3 }).events.map(({ id }) => id);
  time += HOUR / 2;
  await store.createCategory({ name: 'D' });
  store = reopen(store);
  // A tool beside the server removes nothing, whatever it is told to keep.
  const file = join(home, 'petstore.db');
  const tool = () => {
    const opened = openSqliteStore({ file, role: 'tool', now: () => time, keepEvents: 0 });
    stores.push(opened);
    return opened;
  };
  expect([namesOf(tool()), namesOf(store)]).toEqual(Array(2).fill(['A', 'B', 'C', 'D']));

  time += HOUR / 2 + 1;
  store = reopen(store);
  expect(namesOf(store)).toEqual(['D']);
  expect(codeOf(() => store.eventPage({ after: a!, limit: 1 }))).toBe('GONE');
  expect(codeOf(() => store.eventPage({ after: b!, limit: 1 }))).toBe('GONE');
  // Nothing between this one and those that are kept is missing.
  expect(namesOf(store, c)).toEqual(['D']);
  // They are gone from the file.
  const reader = tool();
  expect(namesOf(reader)).toEqual(['D']);
  expect(codeOf(() => reader.eventPage({ after: b!, limit: 1 }))).toBe('GONE');

  time += 10 * HOUR;
  store = reopen(store);
  expect(namesOf(store)).toEqual(['D']);
  const { next } = store.eventPage({ limit: 100 });
  await store.createCategory({ name: 'E' });
  expect(namesOf(store, next)).toEqual(['E']);
});

it('removes a long log in steps, between which others have their turn, and looks again every 10 s', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const db = new Connection(join(home, 'log.db'), 10);
  migrate(db);
  const rows = `with recursive n(i) as (select 1 union all select i + 1 from n where i < 250)
    insert into event_groups select i, 0, '[["category.deleted",0,{"id":"1"}]]' from n`;
  db.run(rows, []);
  const log = eventLog(db, () => time);
  log.keep(HOUR);
  const left = () => db.value('select count(*) from event_groups');
  const leftAfter = (milliseconds: number) => {
    vi.advanceTimersByTime(milliseconds);
    return left();
  };
  expect([left(), leftAfter(19), leftAfter(1), leftAfter(20)]).toEqual([150, 150, 50, 1]);
  expect(log.store.eventPage({ limit: 10 })).toMatchObject({
    events: [{ id: expect.stringMatching(/-250$/) }],
  });
  await db.groupCommit(() => log.append('category.deleted', { id: '2' }));
  expect([leftAfter(9_999), leftAfter(1)]).toEqual([2, 1]);
  log.close();
  db.close();
  expect(vi.getTimerCount()).toBe(0);
});

it('has the events of many writes in few rows, and pages of them from any position', async () => {
  const db = new Connection(join(home, 'log.db'), 10);
  migrate(db);
  const { append, store, close } = eventLog(db, () => time);
  const together = [1, 2, 31, 32, 33, 70, 1];
  let written = 0;
  for (const count of together)
    await db.groupCommit(() => {
      for (let i = 0; i < count; i++) append('category.deleted', { id: String(++written) });
    });
  expect(db.value('select count(*) from event_groups')).toBe(1 + 1 + 1 + 1 + 2 + 3 + 1);
  const { events, next } = store.eventPage({ limit: 1_000 });
  expect(events.map(({ record }) => record.id)).toEqual(
    Array.from({ length: written }, (_, i) => String(i + 1)),
  );
  expect(next).toBe(events.at(-1)!.id);
  for (const limit of [1, 3, 32, 100])
    for (const [i, { id }] of events.entries()) {
      const page = store.eventPage({ after: id, limit });
      expect(page.events).toEqual(events.slice(i + 1, i + 1 + limit));
      expect(page.atEnd).toBe(i + 1 + limit >= written);
    }
  close();
  const reopened = eventLog(db, () => time);
  expect(reopened.store.eventPage({ after: next, limit: 1 })).toEqual({ events: [], next, atEnd: true });
  reopened.close();
  db.close();
});

it('has what an earlier version wrote, an event to a row', async () => {
  const store = open();
  for (const name of ['A', 'B']) await store.createCategory({ name });
  const { events } = store.eventPage({ limit: 10 });
  store.close();
  const db = new Connection(join(home, 'petstore.db'), 10);
  db.exec(`
    create table events (
      position integer primary key, type text not null, time integer not null, record text not null
    ) strict;
    insert into events
      select first + key, value ->> 0, value ->> 1, value -> 2 from event_groups, json_each(events);
    drop table event_groups;
    pragma user_version = 2;
  `);
  db.close();
  const upgraded = open();
  expect(upgraded.eventPage({ limit: 10 }).events).toEqual(events);
  await upgraded.createCategory({ name: 'C' });
  expect(namesOf(upgraded, events[0]!.id)).toEqual(['B', 'C']);
});

it('shows nothing before it is committed, and nothing that was undone', async () => {
  const db = new Connection(join(home, 'log.db'), 10);
  migrate(db);
  const log = eventLog(db, () => time);
  const told: string[] = [];
  log.store.followEvents({
    onEvents: (events) => {
      expect(events).not.toEqual([]);
      told.push(...events.map(({ record }) => record.id));
    },
    onEnd() {},
  });
  const read = () => log.store.eventPage({ limit: 100 }).events.map(({ record }) => record.id);
  const write = (id: string) => log.append('category.deleted', { id });
  const undone = (id: string) =>
    expect(() =>
      db.transaction(() => {
        write(id);
        throw new Error('undone');
      }),
    ).toThrow('undone');

  undone('1');
  const committed = db.groupCommit(() => {
    write('2');
    undone('3');
    db.transaction(() => write('4'));
  });
  expect([told, read()]).toEqual([[], []]);
  await committed;
  expect([told, read()]).toEqual([
    ['2', '4'],
    ['2', '4'],
  ]);

  db.transaction(() => undefined);
  db.transaction(() => write('5'));
  expect(told).toEqual(['2', '4', '5']);
  const rolledBack = db.groupCommit(() => {
    write('6');
    db.exec('rollback');
    throw new Error('the disk is full');
  });
  await expect(rolledBack).rejects.toThrow('the disk is full');
  await db.groupCommit(() => write('7'));
  expect([told, read()]).toEqual([
    ['2', '4', '5', '7'],
    ['2', '4', '5', '7'],
  ]);
  log.close();
  db.close();
});

it('looks at a bounded part for a rare type, and goes on from there', () => {
  const db = new Connection(join(home, 'log.db'), 10);
  migrate(db);
  const rows = `with recursive n(i) as (select 1 union all select i + 1 from n where i < 12000)
    insert into event_groups
      select i, 0, '[["' || case when i in (5001, 11000) then 'pet' else 'order' end || '.deleted",0,{"id":"1"}]]' from n`;
  db.run(rows, []);
  const { store } = eventLog(db, () => time);
  const types = ['pet.deleted'] as const;
  const pages = [store.eventPage({ types, limit: 5 })];
  while (!pages.at(-1)!.atEnd) pages.push(store.eventPage({ types, limit: 5, after: pages.at(-1)!.next }));
  expect(pages.map(({ events }) => events.length)).toEqual([0, 1, 1]);
  db.close();
});

it('takes nothing for an id but those it gives', async () => {
  const store = open();
  for (const name of ['A', 'B']) await store.createCategory({ name });
  const first = store.eventPage({ limit: 1 }).next;
  expect(namesOf(store, first)).toEqual(['B']);
  const [log] = first.split('-') as [string];
  for (const digits of ['', '01', '1.0', '-1', '1e0', ' 1', '1 ', 'x1', '3', '9'.repeat(17)])
    expect(
      codeOf(() => store.eventPage({ after: `${log}-${digits}`, limit: 1 })),
      digits,
    ).toBe('VALIDATION_FAILED');
  expect(codeOf(() => store.eventPage({ after: `x${first}`, limit: 1 }))).toBe('VALIDATION_FAILED');
});

it('goes on where it was, though all it had was removed', async () => {
  const db = new Connection(join(home, 'log.db'), 10);
  migrate(db);
  db.exec('update event_log set removed = 5');
  const log = eventLog(db, () => time);
  await db.groupCommit(() => log.append('category.deleted', { id: '1' }));
  expect(log.store.eventPage({ limit: 1 }).next).toMatch(/-6$/);
  log.close();
  db.close();
});

it('is another log in another file', async () => {
  const store = open();
  await store.createCategory({ name: 'A' });
  const { next } = store.eventPage({ limit: 1 });
  store.close();
  rmSync(home, { recursive: true });
  const other = open();
  await other.createCategory({ name: 'B' });
  expect(codeOf(() => other.eventPage({ after: next, limit: 1 }))).toBe('VALIDATION_FAILED');
});

/** More of them with KILL_ROUNDS. */
const KILL_ROUNDS = Number(process.env.KILL_ROUNDS ?? 3);

it('has every acknowledged write once and nothing else, whenever the process is killed', async () => {
  const script = fileURLToPath(new URL('endless-writer.ts', import.meta.url));
  const file = join(home, 'petstore.db');
  const acknowledged: string[] = [];
  for (let round = 0; round < KILL_ROUNDS; round++) {
    const writer = spawn(process.execPath, ['--import', 'tsx', script, file], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exited = once(writer, 'exit');
    const lines: string[] = [];
    const last = 30 + Math.floor(Math.random() * 60);
    for await (const line of createInterface(writer.stdout))
      if (lines.push(line) === last) writer.kill('SIGKILL');
    await exited;
    // The last line may be cut.
    acknowledged.push(...lines.slice(0, -1));
  }
  const store = open(1_000 * HOUR);
  const events: StoredEvent[] = [];
  for (let after: string | undefined; ; ) {
    const page = store.eventPage({ limit: 100, ...(after !== undefined && { after }) });
    events.push(...page.events);
    if (page.atEnd) break;
    after = page.next;
  }
  const idsOf = (wanted: string) =>
    events.filter(({ type }) => type === wanted).map(({ record }) => record.id);
  const [pets, orders, stock] = ['pet.created', 'order.created', 'inventory.updated'].map(idsOf);
  for (const ids of [pets!, orders!, stock!]) expect(new Set(ids).size).toBe(ids.length);
  for (const line of acknowledged) {
    const [petId, orderId, quantity] = line.split(' ') as [string, string, string];
    expect(pets).toContain(petId);
    expect(orders).toContain(orderId);
    if (quantity !== '0') expect(stock).toContain(petId);
  }
  // No event without its write, and no write without its event.
  expect(pets).toHaveLength(store.petCount({}));
  expect(orders).toHaveLength(store.orderCount({}));
  expect(stock).toHaveLength(
    store.petPage({}, { limit: 100_000 }).items.filter(({ quantity }) => quantity > 0).length,
  );
}, 240_000);
