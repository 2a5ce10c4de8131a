import { expect, it } from 'vitest';
import { systemClock } from '../../src/foundation/clock.ts';

it('systemClock returns the time and the monotonic time in milliseconds', () => {
  const [time, monotonic] = [Date.now(), performance.now()];
  expect(systemClock.now()).toBeGreaterThanOrEqual(time);
  expect(systemClock.now()).toBeLessThanOrEqual(Date.now());
  expect(systemClock.monotonic()).toBeGreaterThanOrEqual(monotonic);
  expect(systemClock.monotonic()).toBeLessThanOrEqual(performance.now());
});
