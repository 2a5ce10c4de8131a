import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, expect, it } from 'vitest';
import { api } from '../../src/api.ts';
import { type AnsweredRequest, RequestLog } from '../../src/access/request-log.ts';
import { Meter } from '../../src/foundation/meter.ts';
import { REQUESTS } from '../../src/store/request-journal.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';

const home = mkdtempSync(join(tmpdir(), 'petstore-journal-'));
afterAll(() => rmSync(home, { recursive: true }));

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
  const add = (keyId: string, id: string) =>
    log.add({ id: keyId, account: keyId } as never, { ...request, id } satisfies AnsweredRequest);
  return {
    ...{ store, log, clock, add },
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
    chunksOf: async (keyId: string) =>
      (await store.objects(REQUESTS).find(keyId)).map(({ requests }) => requests.length),
  };
}

it('requests of many keys are one entry each second, and filed by key every 20 seconds or when they are read', async () => {
  const { store, clock, add, nextSecond, idsOf, chunksOf } = openLog('filed.db');
  for (let n = 0; n < 19; n++) {
    for (const key of ['a', 'b', 'c']) add(key, `${key}${n}`);
    await nextSecond();
  }
  expect(await chunksOf('a')).toEqual([]);
  expect(await idsOf('b')).toEqual(Array.from({ length: 19 }, (_, n) => `b${18 - n}`));
  expect([await chunksOf('a'), await chunksOf('b')]).toEqual([[], [19]]);
  clock.now += 1_000;
  for (const key of ['a', 'b']) add(key, `${key}19`);
  await nextSecond();
  expect(await Promise.all(['a', 'b', 'c'].map(chunksOf))).toEqual([[19], [19], [19]]);
  expect(await idsOf('a')).toHaveLength(20);
  const journal = { name: 'requestJournal', keyOf: () => '' };
  expect(await store.objects(journal).all()).toHaveLength(1);
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

it('holds 10,000 active keys in 20 MB', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const { store, add, nextSecond } = openLog('large.db');
  collect();
  const { heapUsed } = process.memoryUsage();
  let most = 0;
  for (let n = 0; n < 5; n++) {
    for (let key = 0; key < 10_000; key++) add(`key_${key}`, `8e0b6a5e-6f0c-4a37-9d5c-${100_000 * n + key}`);
    collect();
    most = Math.max(most, process.memoryUsage().heapUsed - heapUsed);
    await nextSecond();
  }
  expect(most).toBeGreaterThan(2e6);
  expect(most).toBeLessThan(20e6);
  await store.close();
}, 60_000);
