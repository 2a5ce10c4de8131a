import { expect, it } from 'vitest';
import { FREE_PER_SECOND, FreeGuard } from '../../src/access/free-guard.ts';

it('admits 10 free requests per key in any second and does not count refused ones', () => {
  let now = 1_000_000;
  const guard = new FreeGuard(() => now);
  const admitted = (key: string, times: number) =>
    Array.from({ length: times }, () => guard.admit(key)).filter((isAdmitted) => isAdmitted).length;

  expect(admitted('a', 4)).toBe(4);
  now += 600;
  expect(admitted('a', 20)).toBe(FREE_PER_SECOND - 4);
  // Another key has its own count.
  expect(admitted('b', 20)).toBe(FREE_PER_SECOND);
  now += 399;
  expect(admitted('a', 20)).toBe(0);
  // The first four are now a second old.
  now += 1;
  expect(admitted('a', 20)).toBe(4);
  now += 599;
  expect(admitted('a', 20)).toBe(0);
  now += 1;
  expect(admitted('a', 20)).toBe(6);
});

it('admits requests again after the clock is set back', () => {
  let now = 1_000_000;
  const guard = new FreeGuard(() => now);
  for (let i = 0; i < FREE_PER_SECOND; i++) guard.admit('a');
  expect(guard.admit('a')).toBe(false);
  now -= 1;
  expect(guard.admit('a')).toBe(true);
});
