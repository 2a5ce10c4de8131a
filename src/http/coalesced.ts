import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Coalesces concurrent calls into shared runs of `work`. Every caller gets the result of a run that started
 * after its call, never an older one.
 *
 * @param interval minimum milliseconds between the starts of two runs
 */
export function coalesced<T>(work: () => T | Promise<T>, interval: number): () => Promise<T> {
  let next: Promise<T> | undefined;
  let latest: Promise<T> | undefined;
  let began = Number.NEGATIVE_INFINITY;
  const run = async (): Promise<T> => {
    await latest?.catch(() => {});
    const early = began + interval - performance.now();
    if (early > 0) await sleep(early);
    began = performance.now();
    next = undefined;
    latest = (async () => work())();
    return latest;
  };
  return () => {
    next ??= run();
    return next;
  };
}
