import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeEach, expect, it, vi } from 'vitest';
import { Category } from '../../../src/domains/category/category.ts';
import { Order } from '../../../src/domains/order/order.ts';
import { Pet } from '../../../src/domains/pet/pet.ts';
import { Meter } from '../../../src/foundation/meter.ts';
import type { EventType, StoredEvent } from '../../../src/store/events.ts';
import type { SqliteConnection } from '../../../src/store/sqlite/connection.ts';
import { eventLog } from '../../../src/store/sqlite/event-log.ts';
import { LATEST, migrate } from '../../../src/store/sqlite/schema.ts';
import type { SqliteOptions, SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { codeOf } from '../../kit/errors.ts';
import { useFolder } from './folder.ts';

const HOUR = 3_600_000;
const folder = useFolder();
let time = 0;
beforeEach(() => {
  time = Date.parse('2026-11-21T12:00:00Z');
});

const open = (more: Partial<SqliteOptions> = {}): SqliteStore =>
  folder.open({ now: () => time, keepEvents: HOUR, ...more });
/** A log without a store. */
const openLog = (prepare = (_db: SqliteConnection) => {}) => {
  const db = folder.connect();
  migrate(db);
  prepare(db);
  return { db, ...folder.closing(eventLog(db, () => time)) };
};
const reopen = (store: SqliteStore): SqliteStore => {
  store.close();
  return open();
};
const namesOf = (store: SqliteStore, after?: string) =>
  store
    .eventPage({ limit: 100, ...(after !== undefined && { after }) })
    .events.map(({ record }) => (record as unknown as { name: string }).name);

it('removes events after the retention period, but always keeps the latest one', async () => {
  let store = open();
  for (const name of ['A', 'B', 'C']) await store.table(Category).insert({ name });
  const [a, b, c] = store.eventPage({ limit: 3 }).events.map(({ id }) => id);
  time += HOUR / 2;
  await store.table(Category).insert({ name: 'D' });
  store = reopen(store);
  // A tool never removes events, whatever its retention period.
  const tool = () => open({ role: 'tool', keepEvents: 0 });
  expect([namesOf(tool()), namesOf(store)]).toEqual(Array(2).fill(['A', 'B', 'C', 'D']));

  time += HOUR / 2 + 1;
  store = reopen(store);
  expect(namesOf(store)).toEqual(['D']);
  expect(await codeOf(() => store.eventPage({ after: a!, limit: 1 }))).toBe('GONE');
  expect(await codeOf(() => store.eventPage({ after: b!, limit: 1 }))).toBe('GONE');
  // No event between this position and the kept ones is missing.
  expect(namesOf(store, c)).toEqual(['D']);
  // They were removed from the file too.
  const reader = tool();
  expect(namesOf(reader)).toEqual(['D']);
  expect(await codeOf(() => reader.eventPage({ after: b!, limit: 1 }))).toBe('GONE');

  time += 10 * HOUR;
  store = reopen(store);
  expect(namesOf(store)).toEqual(['D']);
  const { next } = store.eventPage({ limit: 100 });
  await store.table(Category).insert({ name: 'E' });
  expect(namesOf(store, next)).toEqual(['E']);
});

it('removes a long log in batches with pauses, and checks again every 10 s', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { db, ...log } = openLog((db) =>
    db.exec(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 250)
      insert into event_groups select i, 0, '[["category.deleted",0,{"id":"1"}]]' from n`),
  );
  log.keep(HOUR);
  const rowCount = () => db.value('select count(*) from event_groups');
  const rowCountAfter = (milliseconds: number) => {
    vi.advanceTimersByTime(milliseconds);
    return rowCount();
  };
  expect([rowCount(), rowCountAfter(19), rowCountAfter(1), rowCountAfter(20)]).toEqual([150, 150, 50, 1]);
  expect(log.store.eventPage({ limit: 10 })).toMatchObject({
    events: [{ id: expect.stringMatching(/-250$/) }],
  });
  await db.groupCommit(() => log.append('category.deleted', { id: '2' }));
  expect([rowCountAfter(9_999), rowCountAfter(1)]).toEqual([2, 1]);
  log.close();
  expect(vi.getTimerCount()).toBe(0);
});

it('stores events committed together in few rows and pages through them from any position', async () => {
  const { db, append, store } = openLog();
  const groupSizes = [1, 2, 31, 32, 33, 70, 1];
  let written = 0;
  for (const count of groupSizes)
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
  const reopened = folder.closing(eventLog(db, () => time));
  expect(reopened.store.eventPage({ after: next, limit: 1 })).toEqual({ events: [], next, atEnd: true });
});

it('keeps the events of schema version 2, which stored one per row', async () => {
  mkdirSync(dirname(folder.file));
  const db = folder.connect(folder.file);
  migrate(db, 2);
  const events = ['A', 'B'].map((name, i) => ({
    type: 'category.created',
    time: time + i,
    record: { id: String(i + 1), name },
  }));
  for (const { type, time, record } of events)
    db.run('insert into events (type, time, record) values (?, ?, ?)', [type, time, JSON.stringify(record)]);
  db.close();
  const onMigrated = vi.fn();
  const upgraded = open({ onMigrated });
  expect(onMigrated.mock.calls).toEqual([[{ from: 2, to: LATEST }]]);
  const { events: kept } = upgraded.eventPage({ limit: 10 });
  expect(kept.map(({ id: _, ...event }) => event)).toEqual(events);
  await upgraded.table(Category).insert({ name: 'C' });
  expect(namesOf(upgraded, kept[0]!.id)).toEqual(['B', 'C']);
  const types = ['category.created'] as const;
  expect(upgraded.eventPage({ limit: 10, types }).events).toHaveLength(3);
  expect(upgraded.eventPage({ limit: 10, types: ['pet.created'] }).events).toEqual([]);
});

it('shows no event before its commit and none that was rolled back', async () => {
  const { db, ...log } = openLog();
  const received: string[] = [];
  log.store.followEvents({
    onEvents: (events) => {
      expect(events).not.toEqual([]);
      received.push(...events.map(({ record }) => record.id));
    },
    onEnd() {},
  });
  const read = () => log.store.eventPage({ limit: 100 }).events.map(({ record }) => record.id);
  const write = (id: string) => log.append('category.deleted', { id });
  const writeAndRollBack = (id: string) =>
    expect(() =>
      db.transaction(() => {
        write(id);
        throw new Error('undone');
      }),
    ).toThrow('undone');

  writeAndRollBack('1');
  const committed = db.groupCommit(() => {
    write('2');
    writeAndRollBack('3');
    db.transaction(() => write('4'));
  });
  expect([received, read()]).toEqual([[], []]);
  await committed;
  expect([received, read()]).toEqual([
    ['2', '4'],
    ['2', '4'],
  ]);

  db.transaction(() => undefined);
  db.transaction(() => write('5'));
  expect(received).toEqual(['2', '4', '5']);
  const failedGroup = db.groupCommit(() => {
    write('6');
    db.exec('rollback');
    throw new Error('the disk is full');
  });
  await expect(failedGroup).rejects.toThrow('the disk is full');
  await db.groupCommit(() => write('7'));
  expect([received, read()]).toEqual([
    ['2', '4', '5', '7'],
    ['2', '4', '5', '7'],
  ]);
});

/** A log with these many rows of one event each; `rare` are `pet.deleted`, the others `order.deleted`. */
const longLog = (rows: number, rare: readonly number[]) =>
  openLog((db) =>
    db.exec(`
      insert into event_groups
        with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rows})
        select i, 0, json_array(json_array(
          case when i in (${rare}) then 'pet' else 'order' end || '.deleted', 0, json_object('id', cast(i as text))
        )) from n;
      insert into event_types select distinct value ->> 0, first / 64 from event_groups, json_each(events);
    `),
  );

it('finds events of a rare type without reading the others, and forgets those removed', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { db, store, keep, append } = longLog(100_000, [60_000, 99_000]);
  const get = vi.spyOn(db, 'get');
  const idsOf = (types: EventType[], after?: string, limit = 5) => {
    const page = store.eventPage({ types, limit, ...(after !== undefined && { after }) });
    return [page.events.map(({ record }) => record.id), page.atEnd, page.next] as const;
  };
  const all = idsOf(['pet.deleted']);
  expect(all).toEqual([['60000', '99000'], true, expect.stringMatching(/-100000$/)]);
  expect(idsOf(['category.deleted'], all[2])).toEqual([[], true, all[2]]);
  const [, , first] = idsOf(['pet.deleted', 'category.deleted'], undefined, 1);
  expect(idsOf(['pet.deleted'], first)[0]).toEqual(['99000']);
  expect(idsOf(['order.deleted', 'pet.deleted'], first, 2)[0]).toEqual(['60001', '60002']);
  for (const { value } of get.mock.results.filter(({ value }) => typeof value?.[0] === 'string'))
    expect(value[0].length).toBeLessThan(3_000);
  await db.groupCommit(() => {
    append('order.deleted', { id: '1' });
    append('pet.deleted', { id: '2' });
    append('pet.deleted', { id: '3' });
  });
  expect(idsOf(['pet.deleted'], all[2])[0]).toEqual(['2', '3']);
  expect(idsOf(['pet.deleted'], all[2], 1)[0]).toEqual(['2']);
  keep(HOUR);
  vi.advanceTimersByTime(60_000);
  expect(db.value('select count(*) from event_groups')).toBe(1);
  expect(db.value('select group_concat(type) from event_types')).toBe('order.deleted,pet.deleted');
});

it.each([
  ['1,000 events', 3_000, '', 1_000],
  ['256,000 characters', 500, 'x'.repeat(2_000), 125],
])('ends a page after examining about %s', async (_bound, count, description, most) => {
  const { db, append, store } = openLog();
  await db.groupCommit(() => {
    for (let i = 1; i <= count; i++) append('category.created', { id: String(i), name: 'N', description });
  });
  const sizes: number[] = [];
  const ids: string[] = [];
  for (let after: string | undefined, atEnd = false; !atEnd; ) {
    const page = store.eventPage({ limit: 5_000, ...(after !== undefined && { after }) });
    sizes.push(page.events.length);
    ids.push(...page.events.map(({ record }) => record.id));
    ({ next: after, atEnd } = page);
  }
  expect(ids).toEqual(Array.from({ length: count }, (_, i) => String(i + 1)));
  // Up to one row more.
  for (const size of sizes.slice(0, -1)) {
    expect(size).toBeGreaterThan(most / 2);
    expect(size).toBeLessThan(most + 128);
  }
});

it('draws what a page examines on what was paid for, which later pages do not have', () => {
  const { store } = longLog(5_000, []);
  const meter = new Meter(2);
  const sizes: number[] = [];
  for (let after: string | undefined; sizes.length < 4; ) {
    const page = store.eventPage({ limit: 5_000, meter, ...(after !== undefined && { after }) });
    sizes.push(page.events.length);
    after = page.next;
  }
  expect(meter.left('events')).toBe(0);
  expect(meter.left('eventText')).toBeLessThan(2 * 256_000);
  // A page examines at most what a unit buys, and nothing if nothing is left.
  for (const size of sizes.slice(0, 2)) expect(Math.abs(size - 1_000)).toBeLessThan(20);
  for (const size of sizes.slice(2)) expect(size).toBe(0);
});

it('refuses any position except its own ids', async () => {
  const store = open();
  for (const name of ['A', 'B']) await store.table(Category).insert({ name });
  const first = store.eventPage({ limit: 1 }).next;
  expect(namesOf(store, first)).toEqual(['B']);
  const [log] = first.split('-') as [string];
  for (const digits of ['', '01', '1.0', '-1', '1e0', ' 1', '1 ', 'x1', '3', '9'.repeat(17)])
    expect(await codeOf(() => store.eventPage({ after: `${log}-${digits}`, limit: 1 })), digits).toBe(
      'VALIDATION_FAILED',
    );
  expect(await codeOf(() => store.eventPage({ after: `x${first}`, limit: 1 }))).toBe('VALIDATION_FAILED');
});

it('continues its numbering after all events were removed', async () => {
  const { db, ...log } = openLog((db) => db.exec('update event_log set removed = 5'));
  await db.groupCommit(() => log.append('category.deleted', { id: '1' }));
  expect(log.store.eventPage({ limit: 1 }).next).toMatch(/-6$/);
});

it('refuses a position from another data file', async () => {
  const store = open();
  await store.table(Category).insert({ name: 'A' });
  const { next } = store.eventPage({ limit: 1 });
  const other = open({ file: join(folder.home, 'other.db') });
  await other.table(Category).insert({ name: 'B' });
  expect(await codeOf(() => other.eventPage({ after: next, limit: 1 }))).toBe('VALIDATION_FAILED');
});

const KILL_ROUNDS = Number(process.env.KILL_ROUNDS ?? 1);

it('keeps each acknowledged write and exactly one event of it, whenever the process is killed', async () => {
  const { file } = folder;
  const acknowledged: string[] = [];
  for (let round = 0; round < KILL_ROUNDS; round++) {
    const writer = spawn(process.execPath, ['dist/test/endless-writer.js', file], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exited = once(writer, 'exit');
    const lines: string[] = [];
    const last = 30 + Math.floor(Math.random() * 60);
    for await (const line of createInterface(writer.stdout)) {
      if (lines.push(line) !== last) continue;
      expect(() => open()).toThrow(/in use by another server/);
      writer.kill('SIGKILL');
    }
    await exited;
    // The last line may be incomplete.
    acknowledged.push(...lines.slice(0, -1));
  }
  const store = open({ keepEvents: 1_000 * HOUR });
  const { items: stored } = store.table(Pet).page({}, { limit: 100_000 });
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
  for (const line of acknowledged) {
    const [petId, orderId, quantity] = line.split(' ') as [string, string, string];
    expect(store.table(Pet).byIds([petId])[0]?.quantity).toBe(Number(quantity));
    expect(store.table(Order).byIds([orderId])[0]?.petId).toBe(petId);
  }
  // There is no event without its write and no write without its event.
  expect(pets).toEqual(stored.map(({ id }) => id));
  expect(store.table(Pet).count({})).toBe(stored.length);
  expect(orders).toEqual(
    store
      .table(Order)
      .page({}, { limit: 100_000 })
      .items.map(({ id }) => id),
  );
  expect(stock).toEqual(stored.filter(({ quantity }) => quantity > 0).map(({ id }) => id));
  expect(folder.outsider().pragma('integrity_check')).toEqual([{ integrity_check: 'ok' }]);
}, 240_000);
