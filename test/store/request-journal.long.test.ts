import { appendFileSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, vi } from 'vitest';
import { api } from '../../src/api.ts';
import { RequestLog } from '../../src/access/request-log.ts';
import { HOUR } from '../../src/foundation/instant.ts';
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
function openLog(name: string, isKept = true) {
  const clock = { now: Date.now() };
  const now = () => clock.now;
  const store = openSqliteStore({ records: api.records, file: join(home, name), role: 'server', now });
  const log = new RequestLog({ store, now, report: () => {}, isKept });
  const add = (keyId: string, id: string, more: Partial<AnsweredRequest> = {}) =>
    log.add({ id: keyId, account: keyId } as never, { ...request, id, ...more });
  const requestsOf = async (keyId: string) => {
    const query = { keyId, limit: 1_000, now: clock.now, matches: () => true, meter: new Meter(1) };
    return (await log.page(query)).requests.map((entry) => entry.request);
  };
  const filesOf = () => readdirSync(home).filter((each) => each.startsWith(`${name}-requests-`));
  return {
    store,
    log,
    clock,
    add,
    filesOf,
    sizeOf: () => filesOf().reduce((sum, each) => sum + statSync(join(home, each)).size, 0),
    nextSecond: async () => {
      await log.flush();
      clock.now += 1_000;
    },
    idsOf: async (keyId: string) => (await requestsOf(keyId)).map(({ id }) => id),
    requestsOf,
    chunksOf: async (keyId: string) =>
      (await store.objects(REQUESTS).find(keyId)).map(({ requests }) => requests.length),
  };
}

/** Ids in descending order. */
const ids = (prefix: string, from: number, count: number) =>
  Array.from({ length: count }, (_, n) => `${prefix}${from - n}`);

it('requests are stored by key when they are read, and only those of that key', async () => {
  const { store, add, nextSecond, idsOf, chunksOf, filesOf } = openLog('read.db');
  await nextSecond();
  expect(filesOf()).toEqual([]);
  for (let n = 0; n < 60; n++) {
    for (const key of ['a', 'b', 'c']) add(key, `${key}${n}`, { code: 'NOT_FOUND', message: 'Žluťoučký 🐎' });
    await nextSecond();
  }
  expect(await idsOf('b')).toEqual(ids('b', 59, 60));
  expect(await Promise.all(['a', 'b', 'c'].map(chunksOf))).toEqual([[], [60], []]);
  add('b', 'b60');
  expect(await idsOf('b')).toEqual(ids('b', 60, 61));
  await store.close();
});

it('a kill loses and doubles none of what was added, whether or not it was stored by key', async () => {
  const before = openLog('killed.db');
  for (let n = 0; n < 3; n++) {
    for (const key of ['a', 'b']) before.add(key, `${key}${n}`);
    await before.nextSecond();
  }
  expect(await before.idsOf('a')).toEqual(['a2', 'a1', 'a0']);
  before.add('a', 'a3', { code: 'NOT_FOUND', message: 'Žluťoučký 🐎\ncategory' });
  await before.nextSecond();
  // Without a flush, as a kill leaves it.
  before.add('a', 'lost');
  await before.store.close();
  const [file] = before.filesOf();
  // A line that was not written to its end.
  appendFileSync(join(home, file!), 'a  a4 1793');

  const after = openLog('killed.db');
  after.clock.now = before.clock.now;
  after.add('b', 'b3');
  expect(await after.idsOf('a')).toEqual(['a3', 'a2', 'a1', 'a0']);
  expect((await after.requestsOf('a'))[0]).toMatchObject({ message: 'Žluťoučký 🐎\ufffdcategory' });
  expect(await after.idsOf('b')).toEqual(['b3', 'b2', 'b1', 'b0']);
  expect(after.filesOf()).toEqual([file]);
  await after.store.close();
});

it('a journal that somebody deletes or cuts off costs only its lines', async () => {
  const { store, add, nextSecond, idsOf, filesOf } = openLog('deleted.db');
  const path = () => join(home, filesOf()[0]!);
  for (const damage of [() => rmSync(path()), () => truncateSync(path(), 10)]) {
    add('a', 'gone');
    await nextSecond();
    damage();
    add('a', 'later');
    await nextSecond();
    add('b', 'other');
    expect([await idsOf('a'), await idsOf('b')]).toEqual([['later'], ['other']]);
    await store.transaction(async (own) => {
      for (const key of ['a', 'b']) await own.objects(REQUESTS).deleteBefore(new Map([[key, '~']]));
    });
  }
  await store.close();
});

it('a journal is deleted after 24 hours, and when no requests are to be kept', async () => {
  const { store, add, nextSecond, idsOf, clock, filesOf } = openLog('old.db');
  for (let hour = 0; hour < 30; hour++) {
    add('a', `a${hour}`);
    await nextSecond();
    clock.now += HOUR;
  }
  expect(filesOf().length).toBeGreaterThan(20);
  expect(filesOf().length).toBeLessThan(27);
  expect(await idsOf('a')).toEqual(ids('a', 29, 23));
  await store.close();
  const off = openLog('old.db', false);
  expect(off.filesOf()).toEqual([]);
  await off.store.close();
});

it('holds 10,000 active keys in 20 MB, because a large journal is stored by key, and long URLs are let go', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const { store, add, nextSecond, chunksOf, idsOf, sizeOf } = openLog('large.db');
  const used = () => {
    // Another thread frees buffers after a collection; the next one waits for it.
    for (let n = 0; n < 2; n++) collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const memory = [used()];
  const size: number[] = [];
  for (let n = 0; n < 180; n++) {
    for (let key = 0; key < 10_000; key++)
      // As Node cuts a path off a URL, whose memory it shares.
      add(`key_${key}`, `8e0b6a5e-6f0c-4a37-9d5c-${100_000 * n + key}`, {
        path: `/pets/1234567890?${'x'.repeat(2_000)}${key}`.slice(0, 16),
      });
    if (n % 4 === 0) memory.push(used());
    await nextSecond();
    size.push(sizeOf());
  }
  // What others have left is collected at any time.
  const grown = Math.max(...memory) - Math.min(...memory);
  expect(grown).toBeGreaterThan(5e6);
  expect(grown).toBeLessThan(20e6);
  expect(Math.max(...size)).toBeLessThan(160e6);
  expect(await chunksOf('key_0')).not.toEqual([]);
  expect(await idsOf('key_0')).toEqual(
    Array.from({ length: 180 }, (_, n) => `8e0b6a5e-6f0c-4a37-9d5c-${100_000 * (179 - n)}`),
  );
  await store.close();
});
