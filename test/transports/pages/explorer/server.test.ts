import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { budgetIn } from '../../../../src/transports/pages/explorer/server.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
beforeAll(() => void vi.useFakeTimers({ now: NOW, toFake: ['Date'] }));
afterAll(() => void vi.useRealTimers());

const budget = {
  plan: 'free',
  minute: { limit: 60, remaining: 56, resetAt: NOW + 40_000 },
  day: { limit: 1_000, remaining: 996, resetAt: NOW + 80_000_000 },
};

it.each([
  ['of the same window that was charged later', '"minute";r=55;t=40, "day";r=995;t=80000', [55, 995]],
  ['of the same window that was charged before', '"minute";r=57;t=41, "day";r=997;t=80001', [56, 996]],
  ['of the next window', '"minute";r=59;t=60, "day";r=995;t=79980', [59, 995]],
])('takes what is left from a response %s', (_name, header, left) => {
  const { minute, day } = budgetIn(new Headers({ RateLimit: header }), budget)!;
  expect([minute.remaining, day.remaining]).toEqual(left);
});
