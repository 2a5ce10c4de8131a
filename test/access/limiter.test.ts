import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Principal } from '../../src/access/api-keys.ts';
import { Limiter, toDecision, usedToday } from '../../src/access/limiter.ts';
import { banDuration, chargeUsage, DAY, initialUsage, MINUTE } from '../../src/store/usage.ts';
import { cases } from '../kit/cases.ts';
import { engines, type OpenedStore } from '../kit/stores.ts';

const SECOND = 1_000;
const HOUR = 60 * MINUTE;

/** What happens to the clock between two charges: time passes, or the clock is set. */
const move = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 0, max: 2 * SECOND }) },
  fc.constantFrom(MINUTE, 10 * MINUTE, DAY),
  fc.integer({ min: -3 * SECOND, max: 0 }),
  fc.constantFrom(-HOUR, -DAY, -400 * DAY, HOUR, 400 * DAY),
);

it('never announces more time than a window or ban lasts, however the clock is set', () => {
  const outcomes = new Set<string>();
  const steps = fc.array(fc.record({ move, cost: fc.integer({ min: 0, max: 4 }) }), {
    minLength: 30,
    maxLength: 120,
  });
  const limits = fc.record({
    perMinute: fc.integer({ min: 1, max: 6 }),
    perDay: fc.integer({ min: 1, max: 12 }),
  });
  fc.assert(
    fc.property(limits, steps, (limits, steps) => {
      let now = Date.parse('2026-11-21T12:00:00Z');
      let usage = initialUsage();
      for (const { move, cost } of steps) {
        now += move;
        const result = chargeUsage(usage, { apiKeyId: 'key', limits, cost, now });
        usage = result.usage;
        const { outcome, minute, day, tightest, retryAfter } = toDecision(result, limits, cost, now);
        outcomes.add(outcome);
        expect(minute.resetAt - now).toBeLessThanOrEqual(MINUTE);
        expect(day.resetAt - now).toBeLessThanOrEqual(DAY);
        if (outcome === 'passed') {
          expect(retryAfter).toBeUndefined();
        } else {
          const length = outcome === 'banned' ? banDuration(usage.bans) : tightest === day ? DAY : MINUTE;
          expect(retryAfter).toBeGreaterThanOrEqual(1);
          expect(retryAfter! * SECOND).toBeLessThanOrEqual(length);
        }
      }
    }),
    { numRuns: cases(200, 500) },
  );
  expect([...outcomes].sort()).toEqual(['banned', 'passed', 'refused']);
});

describe('limiter decisions', () => {
  const NOW = Date.parse('2026-11-21T12:00:00Z');
  const LIMITS = { perMinute: 10, perDay: 100 };
  const used = (minuteUsed: number, dayUsed: number) => ({
    ...initialUsage(),
    ...{ minuteStart: NOW - 10 * SECOND, minuteUsed, dayStart: NOW - HOUR, dayUsed },
  });
  const minuteEnd = NOW + 50 * SECOND;
  const dayEnd = NOW - HOUR + DAY;

  it('shows both windows, the one with the smaller remainder as the tightest', () => {
    const decision = toDecision({ outcome: 'passed', usage: used(3, 40) }, LIMITS, 1, NOW);
    const minute = { limit: 10, remaining: 7, resetAt: minuteEnd };
    const day = { limit: 100, remaining: 60, resetAt: dayEnd };
    expect(decision).toEqual({ outcome: 'passed', minute, day, tightest: minute });
    const late = toDecision({ outcome: 'passed', usage: used(3, 95) }, LIMITS, 1, NOW);
    expect(late.tightest).toEqual({ limit: 100, remaining: 5, resetAt: dayEnd });
    // If the remainders are equal, the window that resets first.
    const equal = toDecision({ outcome: 'passed', usage: used(3, 93) }, LIMITS, 1, NOW);
    expect(equal.tightest).toEqual({ limit: 10, remaining: 7, resetAt: minuteEnd });
  });

  it('shows a full window from the millisecond in which the old one ends', () => {
    const usage = used(10, 100);
    const at = (now: number) => toDecision({ outcome: 'passed', usage }, LIMITS, 0, now);
    expect(at(minuteEnd - 1).minute).toEqual({ limit: 10, remaining: 0, resetAt: minuteEnd });
    expect(at(minuteEnd).minute).toEqual({ limit: 10, remaining: 10, resetAt: minuteEnd + MINUTE });
    expect(at(dayEnd - 1).day).toEqual({ limit: 100, remaining: 0, resetAt: dayEnd });
    expect(at(dayEnd).day).toEqual({ limit: 100, remaining: 100, resetAt: dayEnd + DAY });
  });

  it('shows no negative remainder, and no reset beyond the length of the window', () => {
    const ahead = { ...used(15, 15), minuteStart: NOW + SECOND };
    expect(toDecision({ outcome: 'passed', usage: ahead }, LIMITS, 0, NOW).minute).toEqual({
      ...{ limit: 10, remaining: 0, resetAt: NOW + MINUTE },
    });
  });

  it('gives the window that refused and the seconds until it resets', () => {
    const refused = (minuteUsed: number, dayUsed: number, cost: number) =>
      toDecision({ outcome: 'refused', usage: used(minuteUsed, dayUsed) }, LIMITS, cost, NOW);
    expect(refused(9, 50, 2)).toMatchObject({ tightest: { limit: 10, remaining: 1 }, retryAfter: 50 });
    // Exactly enough is left of the minute, but not of the day.
    expect(refused(8, 99, 2)).toMatchObject({
      tightest: { limit: 100, remaining: 1 },
      retryAfter: (dayEnd - NOW) / SECOND,
    });
    // Both refuse, and the day resets later.
    expect(refused(10, 100, 1)).toMatchObject({ tightest: { limit: 100 } });
  });

  it('gives the minute window if both refuse and the minute resets last', () => {
    const usage = { ...used(10, 100), dayStart: NOW - DAY + 20 * SECOND };
    expect(toDecision({ outcome: 'refused', usage }, LIMITS, 1, NOW)).toMatchObject({
      tightest: { limit: 10, resetAt: minuteEnd },
      retryAfter: 50,
    });
  });

  it('gives the remaining length of a ban and whether this request began it', () => {
    const banned = (bannedUntil: number, bans: number) =>
      toDecision({ outcome: 'banned', usage: { ...used(3, 40), bannedUntil, bans } }, LIMITS, 1, NOW);
    const minute = { limit: 10, remaining: 7, resetAt: minuteEnd };
    expect(banned(NOW + MINUTE, 1)).toMatchObject({ tightest: minute, retryAfter: 60, banBegan: NOW });
    expect(banned(NOW + 30 * SECOND, 1).retryAfter).toBe(30);
    expect(banned(NOW + 30 * SECOND, 1)).not.toHaveProperty('banBegan');
    // The ban was set by a clock that is slightly ahead.
    expect(banned(NOW + MINUTE + SECOND, 1).retryAfter).toBe(60);
  });

  it('counts as usedToday only what was used in the open day window', () => {
    expect(usedToday(null, NOW)).toBe(0);
    expect(usedToday(used(3, 40), dayEnd - 1)).toBe(40);
    expect(usedToday(used(3, 40), dayEnd)).toBe(0);
  });
});

describe('Limiter.cachedDecision', () => {
  const LIMITS = { perMinute: 3, perDay: 5 };
  const principal: Principal = { id: 'key', name: 'key', plan: 'enterprise', limits: LIMITS };
  let opened: OpenedStore;
  let limiter: Limiter;
  const NOW = Date.parse('2026-11-21T12:00:00Z');
  beforeEach(async () => {
    opened = await engines[0]!.open();
    limiter = new Limiter();
  });
  afterEach(() => opened.close());
  const charge = (cost: number, now: number) => limiter.charge(opened.store, principal, cost, now);

  it('returns undefined for a key with budget left', async () => {
    await charge(2, NOW);
    expect(limiter.cachedDecision(principal, NOW)).toBeUndefined();
  });

  it('reports an exhausted minute window until it ends, for that key only', async () => {
    await charge(3, NOW);
    expect(limiter.cachedDecision(principal, NOW)).toMatchObject({
      outcome: 'passed',
      minute: { remaining: 0 },
    });
    expect(limiter.cachedDecision({ ...principal, id: 'other' }, NOW)).toBeUndefined();
    expect(limiter.cachedDecision(principal, NOW + MINUTE - 1)).toMatchObject({ outcome: 'passed' });
    expect(limiter.cachedDecision(principal, NOW + MINUTE)).toBeUndefined();
  });

  it('reports an exhausted day window even if the minute has units left', async () => {
    await charge(3, NOW);
    await charge(2, NOW + MINUTE);
    expect(limiter.cachedDecision(principal, NOW + MINUTE)).toMatchObject({
      minute: { remaining: 1 },
      day: { remaining: 0 },
    });
  });

  it('reports a ban until it ends', async () => {
    await charge(3, NOW);
    for (let i = 0; i < 22; i++) await charge(1, NOW + 1);
    expect(limiter.cachedDecision(principal, NOW + 1)).toMatchObject({ outcome: 'banned', retryAfter: 60 });
    expect(limiter.cachedDecision(principal, NOW + MINUTE)).toMatchObject({
      outcome: 'banned',
      retryAfter: 1,
    });
    expect(limiter.cachedDecision(principal, NOW + 1 + MINUTE)).toBeUndefined();
  });

  it('reports a ban even if both windows have units left', async () => {
    await charge(2, NOW);
    for (let i = 0; i < 21; i++) await charge(2, NOW + 1);
    expect(limiter.cachedDecision(principal, NOW + 1)).toMatchObject({
      ...{ outcome: 'banned', minute: { remaining: 1 }, day: { remaining: 3 } },
    });
  });

  it('returns undefined once a charge has found budget left', async () => {
    await charge(3, NOW);
    const raised = { ...principal, limits: { perMinute: 9, perDay: 9 } };
    await limiter.charge(opened.store, raised, 1, NOW);
    expect(limiter.cachedDecision(principal, NOW)).toBeUndefined();
  });
});
