import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { UsageHistory } from '../../src/access/usage-history.ts';
import { unavailable } from '../../src/foundation/errors.ts';
import type { UsageRow } from '../../src/store/store.ts';

const NOW = Date.parse('2026-11-21T23:59:59Z');
const COUNTS = { requests: 1, units: 2, refused: 0 };

let added: [readonly UsageRow[], Readonly<Record<string, number>>][];
let failures: number;
let reported: unknown[];
let history: UsageHistory;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  [added, failures, reported] = [[], 0, []];
  const store = {
    addUsage(...given: (typeof added)[0]) {
      if (failures-- > 0) throw unavailable();
      added.push(given);
    },
    usageDays: () => [],
  };
  history = new UsageHistory(store, (error) => reported.push(error));
});
afterEach(() => vi.useRealTimers());

const count = (now: number) => history.add('key', now, 'rest', 'pets', COUNTS);
const counted = (date: string, requests: number) => ({
  ...{ apiKeyId: 'key', date, operation: 'pets', transport: 'rest' },
  ...{ requests, units: 2 * requests, refused: 0 },
});

it('is added every 10 seconds as the sum of each key and day, and nothing while nothing is used', async () => {
  for (const now of [NOW, NOW, NOW + 1_000]) count(now);
  await vi.advanceTimersByTimeAsync(9_999);
  expect(added).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(added).toEqual([[[counted('2026-11-21', 2), counted('2026-11-22', 1)], { key: NOW + 1_000 }]]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(added).toHaveLength(1);
  await history.close();
  expect(vi.getTimerCount()).toBe(0);
});

it('is kept and added once when the store is back, with what was counted meanwhile', async () => {
  failures = 2;
  count(NOW);
  await vi.advanceTimersByTimeAsync(20_000);
  expect([added, reported.length]).toEqual([[], 2]);
  count(NOW);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(added).toEqual([[[counted('2026-11-21', 2)], { key: NOW }]]);
});

it('is added by an orderly stop, which tells if it cannot be', async () => {
  count(NOW);
  failures = 1;
  await expect(history.close()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await history.close();
  expect(added).toHaveLength(1);
});
