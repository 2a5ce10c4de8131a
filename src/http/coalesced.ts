import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Lets all who ask at a time share one run of some work, so that any number of them cost no more than a few. Whoever asks gets
 * the result of a run that began afterwards, never an older one.
 *
 * @param interval how many milliseconds lie between the beginnings of two runs, at least
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
