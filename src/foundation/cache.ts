import { getHeapStatistics } from 'node:v8';
import { LRUCache } from 'lru-cache';

const MB = 2 ** 20;
/**
 * Bytes that all caches of what clients send and store may hold together, by estimates that are on the safe side: half of what the
 * heap allows beyond the 100 MB that the program takes.
 */
export const KEPT_BYTES = Math.min(
  128 * MB,
  Math.max(16 * MB, getHeapStatistics().heap_size_limit / 2 - 50 * MB),
);

/** The share of each of these caches. */
const SHARES = { documents: 3, plans: 3, persisted: 1, trusted: 1, records: 4 } as const;
const ALL_SHARES = Object.values(SHARES).reduce((sum, share) => sum + share, 0);

/** The share of a cache in {@link KEPT_BYTES}. */
export const bytesFor = (name: keyof typeof SHARES): number =>
  Math.floor((KEPT_BYTES * SHARES[name]) / ALL_SHARES);

/** A cache of the entries used most recently, as many as fit into its share of {@link KEPT_BYTES}. */
export const byteCache = <V extends {}>(
  name: keyof typeof SHARES,
  bytesOf: (value: V, key: string) => number,
): LRUCache<string, V> => new LRUCache({ maxSize: bytesFor(name), sizeCalculation: bytesOf });

/**
 * A cache of the entries used most recently that grows as it fills. Given its `max`, the library would reserve 28 bytes
 * for each of that many entries at once, and as many again for each time to live.
 *
 * @param max number of entries
 */
export const lruCache = <V extends {}>(
  max: number,
  options: Omit<LRUCache.Options<string, V, unknown>, 'max' | 'maxSize' | 'sizeCalculation'> = {},
): LRUCache<string, V> => new LRUCache({ ...options, maxSize: max, sizeCalculation: () => 1 });

/** A function that computes its result once for each object, and keeps it as long as the object lives. */
export function memoized<K extends object, V extends object>(compute: (key: K) => V): (key: K) => V {
  const results = new WeakMap<K, V>();
  return (key) => {
    let result = results.get(key);
    if (!result) {
      result = compute(key);
      results.set(key, result);
    }
    return result;
  };
}
