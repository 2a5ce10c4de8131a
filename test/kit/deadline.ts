import { expect } from 'vitest';

/** True under `npm run deadlines`, where test files run one after the other and nothing else does. */
const areMeasured = process.env.DEADLINES === '1';

/** Expects that something took no longer, in milliseconds. Elsewhere any program on the machine may delay it. */
export function expectWithin(limit: number, took: number, about?: string): void {
  if (areMeasured) expect(took, about).toBeLessThan(limit);
}

/** Awaits work that has a deadline, in milliseconds. */
export async function within<T>(limit: number, work: PromiseLike<T>): Promise<T> {
  const began = performance.now();
  const result = await work;
  expectWithin(limit, performance.now() - began);
  return result;
}
