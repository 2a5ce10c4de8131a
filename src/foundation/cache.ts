import { LRUCache } from 'lru-cache';

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
