import { describe, expect, it } from 'vitest';
import { DAY, MINUTE, SECOND } from '../../src/foundation/instant.ts';
import {
  banDuration,
  chargeUsage,
  initialUsage,
  type UsageState,
} from '../../src/store/limiter-algorithm.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const LIMITS = { perMinute: 1, perDay: 1_000 };

const charge = (usage: UsageState, now: number, { cost = 1, limits = LIMITS } = {}) =>
  chargeUsage(usage, { apiKeyId: 'key', limits, cost, now });

/** The state after one charge at each of these times. */
const chargedAt = (...times: number[]): UsageState =>
  times.reduce((usage, now) => charge(usage, now).usage, initialUsage());

describe('a refusal', () => {
  it('lasts at most one window from now if another clock opened the window slightly ahead', () => {
    const ahead = chargedAt(NOW + SECOND);
    expect(charge(ahead, NOW).usage.refusedUntil).toBe(NOW + MINUTE);
    const limits = { perMinute: 1_000, perDay: 1 };
    expect(charge(ahead, NOW, { limits }).usage.refusedUntil).toBe(NOW + DAY);
  });

  it('counts only strikes from the last 10 minutes towards a ban', () => {
    const strikes = Array.from({ length: 19 }, (_, i) => NOW + i);
    const usage = { ...chargedAt(NOW, NOW), strikes, refusedUntil: NOW + DAY };
    const spent = (now: number) => ({ ...usage, minuteStart: now, minuteUsed: 1 });
    const tooLate = NOW + 10 * MINUTE;
    expect(charge(spent(tooLate - 1), tooLate - 1).verdict).toBe('banned');
    expect(charge(spent(tooLate), tooLate)).toMatchObject({
      verdict: 'refused',
      usage: { strikes: [...strikes.slice(1), tooLate] },
    });
  });
});

describe('a ban', () => {
  it('sets refusedUntil to its own end, so that the first refusal after it is not a strike', () => {
    const limits = { perMinute: 2, perDay: 2 };
    const before = { ...chargedAt(NOW, NOW), minuteUsed: 2, dayUsed: 1, refusedUntil: NOW + MINUTE };
    const strikes = Array.from({ length: 19 }, () => NOW);
    // Both windows refuse: the minute until the end of the ban, the day for much longer.
    const { verdict, usage } = charge({ ...before, strikes }, NOW, { limits, cost: 2 });
    expect([verdict, usage.refusedUntil]).toEqual(['banned', NOW + MINUTE]);
    const later = NOW + MINUTE;
    const spent = charge(usage, later, { limits });
    expect(charge(spent.usage, later, { limits })).toMatchObject({
      verdict: 'refused',
      usage: { strikes: [] },
    });
  });

  it('lasts a minute and doubles with each further ban, up to a day', () => {
    expect([1, 2, 3, 11, 12, 1_100].map(banDuration)).toEqual([
      MINUTE,
      2 * MINUTE,
      4 * MINUTE,
      1_024 * MINUTE,
      DAY,
      DAY,
    ]);
  });
});
