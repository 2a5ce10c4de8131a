import { describe, expect, it } from 'vitest';
import { banDuration, chargeUsage, DAY, initialUsage, MINUTE, rewindTo } from '../../src/access/usage.ts';
import type { UsageState } from '../../src/store/store.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const SECOND = 1_000;
const LIMITS = { perMinute: 1, perDay: 1_000 };

const charge = (usage: UsageState, now: number, { cost = 1, limits = LIMITS } = {}) =>
  chargeUsage(usage, { apiKeyId: 'key', limits, cost, now });

/** The state after one charge at each of these times. */
const chargedAt = (...times: number[]): UsageState =>
  times.reduce((usage, now) => charge(usage, now).usage, initialUsage());

describe('A charge of nothing', () => {
  it('opens no window', () => {
    expect(charge(initialUsage(), NOW, { cost: 0 })).toEqual({ outcome: 'passed', usage: initialUsage() });
  });

  it('passes, and is no strike, even where more is used up than there is', () => {
    const spent = chargedAt(NOW, NOW);
    const limits = { perMinute: 0, perDay: 0 };
    expect(charge(spent, NOW + 1, { cost: 0, limits })).toEqual({ outcome: 'passed', usage: spent });
  });
});

describe('A refusal', () => {
  it('promises that the next window is open after its Retry-After, and is no strike in that', () => {
    const first = chargedAt(NOW, NOW + 59 * SECOND);
    expect(first.refusedUntil).toBe(NOW + MINUTE);
    const next = charge(first, NOW + MINUTE);
    expect(next.outcome).toBe('passed');
    expect(charge(next.usage, NOW + MINUTE + 500)).toMatchObject({
      outcome: 'refused',
      usage: { strikes: [] },
    });
  });

  it('promises no more than a window from now, where another clock opened it a moment ahead', () => {
    const ahead = chargedAt(NOW + SECOND);
    expect(charge(ahead, NOW).usage.refusedUntil).toBe(NOW + MINUTE);
    const limits = { perMinute: 1_000, perDay: 1 };
    expect(charge(ahead, NOW, { limits }).usage.refusedUntil).toBe(NOW + DAY);
  });

  it('of the day promises what is left of the day', () => {
    const limits = { perMinute: 1_000, perDay: 1 };
    expect(charge(chargedAt(NOW), NOW + 30 * SECOND, { limits }).usage.refusedUntil).toBe(NOW + DAY);
  });

  it('counts the strikes of ten minutes, and none that is older', () => {
    const strikes = Array.from({ length: 19 }, (_, i) => NOW + i);
    const usage = { ...chargedAt(NOW, NOW), strikes, refusedUntil: NOW + DAY };
    const spent = (now: number) => ({ ...usage, minuteStart: now, minuteUsed: 1 });
    const tooLate = NOW + 10 * MINUTE;
    expect(charge(spent(tooLate - 1), tooLate - 1).outcome).toBe('banned');
    expect(charge(spent(tooLate), tooLate)).toMatchObject({
      outcome: 'refused',
      usage: { strikes: [...strikes.slice(1), tooLate] },
    });
  });
});

describe('A ban', () => {
  const banned = (usage: UsageState, now: number) =>
    charge(
      {
        ...{ ...usage, minuteStart: now, minuteUsed: 1, refusedUntil: now + SECOND },
        strikes: Array.from({ length: 19 }, () => now),
      },
      now,
    );

  it('promises nothing but its end, so that the first refusal after it is no strike', () => {
    const limits = { perMinute: 2, perDay: 2 };
    const before = { ...chargedAt(NOW, NOW), minuteUsed: 2, dayUsed: 1, refusedUntil: NOW + MINUTE };
    const strikes = Array.from({ length: 19 }, () => NOW);
    // Both windows refuse: the minute until the ban ends, the day for much longer.
    const { outcome, usage } = charge({ ...before, strikes }, NOW, { limits, cost: 2 });
    expect([outcome, usage.refusedUntil]).toEqual(['banned', NOW + MINUTE]);
    const later = NOW + MINUTE;
    const spent = charge(usage, later, { limits });
    expect(charge(spent.usage, later, { limits })).toMatchObject({
      outcome: 'refused',
      usage: { strikes: [] },
    });
  });

  it('is a minute long, and twice as long with each further one up to a day', () => {
    expect([1, 2, 3, 11, 12, 1_100].map(banDuration)).toEqual([
      ...[MINUTE, 2 * MINUTE, 4 * MINUTE, 1_024 * MINUTE],
      ...[DAY, DAY],
    ]);
    let now = NOW;
    let usage = initialUsage();
    for (const bans of [1, 2, 3]) {
      const result = banned(usage, now);
      expect(result).toMatchObject({
        outcome: 'banned',
        usage: { bans, bannedUntil: now + banDuration(bans), strikes: [] },
      });
      ({ usage } = result);
      now = usage.bannedUntil;
      expect(charge(usage, now - 1).outcome).toBe('banned');
    }
  });

  it('is forgotten after a quiet day', () => {
    const { usage } = banned(initialUsage(), NOW);
    const quiet = usage.bannedUntil + DAY;
    expect(banned(usage, quiet - 1).usage.bans).toBe(2);
    expect(banned(usage, quiet).usage.bans).toBe(1);
  });
});

describe('A clock that is set back', () => {
  const old: UsageState = { ...initialUsage(), minuteStart: NOW - DAY, dayStart: NOW - DAY };
  const LATER = NOW + 5 * MINUTE;

  it.each([
    ['the window of the minute', { minuteStart: LATER }],
    ['the window of the day', { dayStart: LATER }],
    ['the last of several strikes', { strikes: [NOW - 2, NOW - 1, LATER] }],
    ['a ban', { bans: 1, bannedUntil: LATER + MINUTE }],
    ['a longer ban', { bans: 3, bannedUntil: LATER + 4 * MINUTE }],
  ])('takes all times along with %s', (_what, told: Partial<UsageState>) => {
    const state = { ...old, refusedUntil: NOW + 10 * MINUTE, ...told };
    const moved = rewindTo(NOW, state);
    const back = (time: number) => Math.max(0, time - 5 * MINUTE);
    expect(moved).toEqual({
      ...state,
      minuteStart: back(state.minuteStart),
      dayStart: back(state.dayStart),
      refusedUntil: back(state.refusedUntil),
      strikes: state.strikes.map(back),
      bannedUntil: back(state.bannedUntil),
    });
  });

  it('changes nothing by two seconds, by which the clocks of instances may differ', () => {
    const state = { ...old, minuteStart: NOW + 2 * SECOND };
    expect(rewindTo(NOW, state)).toBe(state);
    expect(rewindTo(NOW - 1, state).minuteStart).toBe(NOW - 1);
  });
});
