import { expect, it } from 'vitest';
import { systemClock } from '../../src/access/clock.ts';

it('the clock of the system tells the time in milliseconds, and how much of it passes', () => {
  const [time, passed] = [Date.now(), performance.now()];
  expect(systemClock.now()).toBeGreaterThanOrEqual(time);
  expect(systemClock.now()).toBeLessThanOrEqual(Date.now());
  expect(systemClock.monotonic()).toBeGreaterThanOrEqual(passed);
  expect(systemClock.monotonic()).toBeLessThanOrEqual(performance.now());
});
