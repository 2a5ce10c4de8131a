import { getHeapStatistics } from 'node:v8';
import { LRUCache } from 'lru-cache';

const MB = 2 ** 20;
/**
 * The total size of all caches of clients' data, in bytes (estimated high): half of the heap limit less the program's
 * own 100 MB.
 */
const KEPT_BYTES = Math.min(128 * MB, Math.max(16 * MB, getHeapStatistics().heap_size_limit / 2 - 50 * MB));

/** The relative share of each cache. */
const SHARES = { documents: 3, executionPlans: 3, persisted: 1, trusted: 1, records: 4 } as const;
const ALL_SHARES = Object.values(SHARES).reduce((sum, share) => sum + share, 0);

/** The share of a cache, in bytes. */
export const bytesFor = (name: keyof typeof SHARES): number =>
  Math.floor((KEPT_BYTES * SHARES[name]) / ALL_SHARES);

/** A least-recently-used cache bounded by its share of {@link KEPT_BYTES}. */
export const byteCache = <V extends {}>(
  name: keyof typeof SHARES,
  bytesOf: (value: V, key: string) => number,
): LRUCache<string, V> => new LRUCache({ maxSize: bytesFor(name), sizeCalculation: bytesOf });

/**
 * A least-recently-used cache that grows as it fills. The library's own `max` option reserves 28 bytes per possible
 * entry up front, and as many again for its time to live.
 *
 * @param max the greatest number of entries
 */
export const lruCache = <V extends {}>(
  max: number,
  options: Omit<LRUCache.Options<string, V, unknown>, 'max' | 'maxSize' | 'sizeCalculation'> = {},
): LRUCache<string, V> => new LRUCache({ ...options, maxSize: max, sizeCalculation: () => 1 });

/** An approximate set of recent keys: most are requested once, so only a repeated one earns a place in a cache. */
export class LatestKeys {
  /** The hash of the latest key at each place. */
  readonly #hashes: Int32Array;

  /** @param places their number, a power of two */
  constructor(places: number) {
    this.#hashes = new Int32Array(places);
  }

  /** Adds a key. @returns true if it was added recently */
  add(key: string): boolean {
    // FNV-1a.
    let hash = 0x811c9dc5;
    for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
    const place = (hash ^ (hash >>> 16)) & (this.#hashes.length - 1);
    const wasThere = this.#hashes[place] === hash;
    this.#hashes[place] = hash;
    return wasThere;
  }
}

/** Wraps a function to compute its result once per object and keep it for the object's lifetime. */
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
