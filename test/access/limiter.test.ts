import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decisionOf } from '../../src/access/limiter.ts';
import { banLength, chargeUsage, DAY, MINUTE, unusedState } from '../../src/access/usage.ts';

const SECOND = 1_000;
const HOUR = 60 * MINUTE;

/** What becomes of the clock between two charges: it goes on, or somebody sets it. */
const move = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 0, max: 2 * SECOND }) },
  fc.constantFrom(MINUTE, 10 * MINUTE, DAY),
  fc.integer({ min: -3 * SECOND, max: 0 }),
  fc.constantFrom(-HOUR, -DAY, -400 * DAY, HOUR, 400 * DAY),
);

it('no decision speaks of more time than its window or ban lasts, whatever is done to the clock', () => {
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
      let usage = unusedState();
      for (const { move, cost } of steps) {
        now += move;
        const result = chargeUsage(usage, { apiKeyId: 'key', limits, cost, now });
        usage = result.usage;
        const { outcome, minute, day, tightest, retryAfter } = decisionOf(result, limits, cost, now);
        outcomes.add(outcome);
        expect(minute.resetAt - now).toBeLessThanOrEqual(MINUTE);
        expect(day.resetAt - now).toBeLessThanOrEqual(DAY);
        if (outcome === 'passed') {
          expect(retryAfter).toBeUndefined();
        } else {
          const length = outcome === 'banned' ? banLength(usage.bans) : tightest === day ? DAY : MINUTE;
          expect(retryAfter).toBeGreaterThanOrEqual(1);
          expect(retryAfter! * SECOND).toBeLessThanOrEqual(length);
        }
      }
    }),
    { numRuns: 500 },
  );
  expect([...outcomes].sort()).toEqual(['banned', 'passed', 'refused']);
});
