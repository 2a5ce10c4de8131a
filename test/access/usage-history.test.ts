import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { summarised, UsageHistory } from '../../src/access/usage-history.ts';
import { unavailable } from '../../src/foundation/errors.ts';
import { sumOf, type UsageCount } from '../../src/store/stored-usage-history.ts';

const NOW = Date.parse('2026-11-21T23:59:59Z');
const COUNTS = { requests: 1, units: 2, refused: 0 };

let added: [readonly UsageCount[], Readonly<Record<string, number>>][];
let failures: number;
let reported: unknown[];
let history: UsageHistory;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  [added, failures, reported] = [[], 0, []];
  const store = {
    async addUsage(...batch: (typeof added)[0]) {
      if (failures-- > 0) throw unavailable();
      added.push(batch);
    },
    usageDays: async () => [],
  };
  history = new UsageHistory(store, (error) => reported.push(error));
});
afterEach(() => vi.useRealTimers());

const count = (now: number) => history.add('key', now, 'rest', 'pets', COUNTS);
const counted = (date: string, requests: number) => ({
  apiKeyId: 'key',
  date,
  operation: 'pets',
  transport: 'rest',
  requests,
  units: 2 * requests,
  refused: 0,
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

it('is kept while the store is away and added once when it is back', async () => {
  failures = 2;
  count(NOW);
  await vi.advanceTimersByTimeAsync(20_000);
  expect([added, reported.length]).toEqual([[], 2]);
  count(NOW);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(added).toEqual([[[counted('2026-11-21', 2)], { key: NOW }]]);
});

describe('a day', () => {
  const did = (operation: string, units: number, transport: 'rest' | 'graphql' = 'rest', requests = 1) => ({
    operation,
    transport,
    requests,
    units,
    refused: 2,
  });
  const date = '2026-11-22';
  const names = ({ operations }: ReturnType<typeof summarised>) =>
    operations.map(({ operation, transport }) => `${operation} ${transport}`);

  it('begins with what used most units, then most requests, then by name', () => {
    const operations = [did('b', 1), did('a', 1), did('d', 1, 'rest', 2), did('c', 1), did('e', 3)];
    expect(names(summarised({ date, operations }))).toEqual([
      'e rest',
      'd rest',
      'a rest',
      'b rest',
      'c rest',
    ]);
  });

  it('shows up to 100 operations one by one', () => {
    const operations = Array.from({ length: 100 }, (_, i) => did(`field${i}`, i));
    expect(names(summarised({ date, operations }))).toEqual(operations.map((_, i) => `field${99 - i} rest`));
  });

  it('shows the most used of more, and the rest of each transport summed with what had no operation', () => {
    const operations = [
      did('other', 10_000),
      ...Array.from({ length: 150 }, (_, i) => did(`field${i}`, i, i % 2 ? 'rest' : 'graphql')),
    ];
    const day = summarised({ date, operations });
    expect(sumOf(day.operations)).toEqual(sumOf(operations));
    const shown = Array.from({ length: 98 }, (_, i) => `field${149 - i} ${i % 2 ? 'graphql' : 'rest'}`);
    expect(names(day)).toEqual(['other rest', 'other graphql', ...shown]);
    expect(day.operations.slice(0, 2)).toMatchObject([
      { requests: 27, units: 10_000 + 26 * 26 },
      { requests: 26, units: 26 * 25 },
    ]);
  });
});
