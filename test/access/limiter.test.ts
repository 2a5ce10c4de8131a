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

  it('shows no negative remainder, and no reset beyond the length of the window', () => {
    const ahead = { ...used(15, 15), minuteStart: NOW + SECOND };
    expect(toDecision({ verdict: 'passed', usage: ahead }, LIMITS, 0, NOW).minute).toEqual({
      limit: 10,
      remaining: 0,
      resetAt: NOW + MINUTE,
    });
  });
});
