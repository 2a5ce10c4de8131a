import { getHeapStatistics } from 'node:v8';
import { LRUCache } from 'lru-cache';

const MB = 2 ** 20;
/**
 * The bytes that all caches of clients' data may hold together, by conservative estimates: half of what the heap allows
 * beyond the 100 MB that the program takes.
 */
const KEPT_BYTES = Math.min(128 * MB, Math.max(16 * MB, getHeapStatistics().heap_size_limit / 2 - 50 * MB));

/** The relative share of each of these caches. */
const SHARES = { documents: 3, executionPlans: 3, persisted: 1, trusted: 1, records: 4 } as const;
const ALL_SHARES = Object.values(SHARES).reduce((sum, share) => sum + share, 0);

/** The bytes of {@link KEPT_BYTES} that a cache gets. */
export const bytesFor = (name: keyof typeof SHARES): number =>
  Math.floor((KEPT_BYTES * SHARES[name]) / ALL_SHARES);

/** A cache of the most recently used entries, as many as fit into its share of {@link KEPT_BYTES}. */
export const byteCache = <V extends {}>(
  name: keyof typeof SHARES,
  bytesOf: (value: V, key: string) => number,
): LRUCache<string, V> => new LRUCache({ maxSize: bytesFor(name), sizeCalculation: bytesOf });

/**
 * A cache of the most recently used entries that grows as it fills. With the library's own `max` option, it would reserve
 * 28 bytes per possible entry at once, and as many again for each time to live.
 *
 * @param max the greatest number of entries
 */
export const lruCache = <V extends {}>(
  max: number,
  options: Omit<LRUCache.Options<string, V, unknown>, 'max' | 'maxSize' | 'sizeCalculation'> = {},
): LRUCache<string, V> => new LRUCache({ ...options, maxSize: max, sizeCalculation: () => 1 });

/** Remembers the latest keys, approximately: most keys of a large set are asked for once, and not worth a place in a cache. */
export class LatestKeys {
  /** The hash of the latest key at each place. */
  readonly #hashes = new Int32Array(8_192);

  /** Adds a key. @returns true if it was added before, and few others since */
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

/** Makes a function compute its result once per object, and keep it as long as the object lives. */
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
