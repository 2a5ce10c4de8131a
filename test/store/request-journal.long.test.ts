import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, vi } from 'vitest';
import { api } from '../../src/api.ts';
import { RequestLog } from '../../src/access/request-log.ts';
import { Meter } from '../../src/foundation/meter.ts';
import { type AnsweredRequest, REQUESTS } from '../../src/store/request-chunks.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { temporaryFolder } from '../kit/folder.ts';

const home = temporaryFolder();
// On a slow machine, a second of its own would pass as well.
vi.useFakeTimers({ toFake: ['setInterval'] });

const request = {
  transport: 'rest',
  operation: 'pet',
  method: 'GET',
  path: '/pets/1',
  status: 200,
  units: 1,
  ms: 1,
} as const;

/** The log of a process on a file, whose second is passed by hand. */
function openLog(name: string) {
  const clock = { now: Date.parse('2026-11-22T08:30:00Z') };
  const now = () => clock.now;
  const store = openSqliteStore({ records: api.records, file: join(home, name), role: 'server', now });
  const log = new RequestLog({ store, now, report: () => {}, isKept: true });
  const add = (keyId: string, id: string, path = request.path as string) =>
    log.add({ id: keyId, account: keyId } as never, { ...request, id, path } satisfies AnsweredRequest);
  return {
    store,
    log,
    clock,
    add,
    nextSecond: async () => {
      await log.flush();
      clock.now += 1_000;
    },
    idsOf: async (keyId: string) => {
      const page = await log.page({
        keyId,
        limit: 100,
        now: clock.now,
        matches: () => true,
        meter: new Meter(1),
      });
      return page.requests.map((entry) => entry.request.id);
    },
    segments: async () => (await store.requestJournal!.segments()).length,
    chunksOf: async (keyId: string) =>
      (await store.objects(REQUESTS).find(keyId)).map(({ requests }) => requests.length),
  };
}

it('requests of many keys are one segment each second, and stored by key after ten minutes or when they are read', async () => {
  const { store, add, nextSecond, idsOf, chunksOf, segments } = openLog('filed.db');
  const keys = ['a', 'b', 'c', 'd'];
  for (let n = 0; n < 600; n++) {
    if (n % 10 === 0) for (const key of keys) add(key, `${key}${n / 10}`);
    await nextSecond();
  }
  expect(await segments()).toBe(60);
  expect(await chunksOf('a')).toEqual([]);
  expect(await idsOf('b')).toEqual(Array.from({ length: 60 }, (_, n) => `b${59 - n}`));
  expect(await Promise.all(keys.map(chunksOf))).toEqual([[], [60], [], []]);
  add('b', 'b60');
  await nextSecond();
  // Not all at once, since each key is a page of the file.
  expect((await Promise.all(keys.map(chunksOf))).flat().length).toBeLessThan(4);
  for (let n = 0; n < 4; n++) await nextSecond();
  expect(await Promise.all(keys.map(chunksOf))).toEqual([[60], [60], [60], [60]]);
  expect(await segments()).toBe(1);
  for (let n = 0; n < 600; n++) await nextSecond();
  expect(await chunksOf('b')).toEqual([60, 1]);
  expect(await segments()).toBe(0);
  expect(await idsOf('b')).toHaveLength(61);
  await store.close();
});

it('a kill loses and doubles none of what was added, whether or not it was filed', async () => {
  const before = openLog('killed.db');
  for (let n = 0; n < 3; n++) {
    for (const key of ['a', 'b']) before.add(key, `${key}${n}`);
    await before.nextSecond();
  }
  expect(await before.idsOf('a')).toEqual(['a2', 'a1', 'a0']);
  before.add('a', 'a3');
  await before.nextSecond();
  // Without a flush, as a kill leaves it.
  before.add('a', 'lost');
  await before.store.close();

  const after = openLog('killed.db');
  after.clock.now = before.clock.now;
  expect(await after.idsOf('a')).toEqual(['a3', 'a2', 'a1', 'a0']);
  after.add('b', 'b3');
  expect(await after.idsOf('b')).toEqual(['b3', 'b2', 'b1', 'b0']);
  await after.store.close();
});

it('holds 10,000 active keys in 20 MB, because a full journal is emptied early, and long URLs are let go', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const { store, add, nextSecond, chunksOf, segments } = openLog('large.db');
  collect();
  const { heapUsed } = process.memoryUsage();
  const heap: number[] = [];
  const journal: number[] = [];
  for (let n = 0; n < 20; n++) {
    for (let key = 0; key < 10_000; key++)
      // As Node cuts a path off a URL, whose memory it shares.
      add(
        `key_${key}`,
        `8e0b6a5e-6f0c-4a37-9d5c-${100_000 * n + key}`,
        `/pets/1234567890?${'x'.repeat(2_000)}${key}`.slice(0, 16),
      );
    if (n > 12) {
      collect();
      heap.push(process.memoryUsage().heapUsed - heapUsed);
    }
    await nextSecond();
    journal.push(await segments());
  }
  expect(Math.max(...heap)).toBeGreaterThan(2e6);
  expect(Math.max(...heap)).toBeLessThan(20e6);
  expect(Math.max(...journal)).toBeLessThan(19);
  expect(await chunksOf('key_0')).not.toEqual([]);
  await store.close();
});

it('a file of an earlier build is read: what was in its journal, and what was stored by key', async () => {
  const { store, clock, idsOf } = openLog('earlier.db');
  const line = (id: string, ago: number) =>
    `${id} ${clock.now - ago} rest pet GET /pets/1 404 1 3 NOT_FOUND There is none.`;
  await store.addRequests(
    [
      {
        position: '0mwzhdy7m aCxJ4kUY 000000005',
        account: 'a',
        keyId: 'a',
        requests: [line('first', 900), line('second', 800)],
      },
    ],
    new Map(),
  );
  const lines = [line('second', 800), line('other', 700), line('third', 600)];
  const text = lines.map((each) => `${each}\n`).join('');
  await store.requestJournal!.add({
    position: '0mwzhdy7n aCxJ4kUY 000000006',
    keys: ['a', '', 'b', 'a', 'a', ''],
    text,
  });
  expect(await idsOf('a')).toEqual(['third', 'second', 'first']);
  expect(await idsOf('b')).toEqual(['other']);
  await store.close();
});
