import { describe, expect, it } from 'vitest';
import { toDecision } from '../../src/access/limiter.ts';
import { HOUR, MINUTE, SECOND } from '../../src/foundation/instant.ts';
import { initialUsage } from '../../src/store/limiter-algorithm.ts';

describe('limiter decisions', () => {
  const NOW = Date.parse('2026-11-21T12:00:00Z');
  const LIMITS = { perMinute: 10, perDay: 100 };
  const used = (minuteUsed: number, dayUsed: number) => ({
    ...initialUsage(),
    minuteStart: NOW - 10 * SECOND,
    minuteUsed,
    dayStart: NOW - HOUR,
    dayUsed,
  });
  const minuteEnd = NOW + 50 * SECOND;

  it('shows no negative remainder, and no reset beyond the length of the window', () => {
    const ahead = { ...used(15, 15), minuteStart: NOW + SECOND };
    expect(toDecision({ verdict: 'passed', usage: ahead }, LIMITS, 0, NOW).minute).toEqual({
      limit: 10,
      remaining: 0,
      resetAt: NOW + MINUTE,
    });
  });

  it('gives the remaining length of a ban and whether this request began it', () => {
    const banned = (bannedUntil: number, bans: number) =>
      toDecision({ verdict: 'banned', usage: { ...used(3, 40), bannedUntil, bans } }, LIMITS, 1, NOW);
    const minute = { limit: 10, remaining: 7, resetAt: minuteEnd };
    expect(banned(NOW + MINUTE, 1)).toMatchObject({ tightest: minute, retryAfter: 60, banBegan: NOW });
    expect(banned(NOW + 30 * SECOND, 1).retryAfter).toBe(30);
    expect(banned(NOW + 30 * SECOND, 1)).not.toHaveProperty('banBegan');
    // The ban was set by a clock that is slightly ahead.
    expect(banned(NOW + MINUTE + SECOND, 1).retryAfter).toBe(60);
  });
});
