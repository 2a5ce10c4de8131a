import { LRUCache } from 'lru-cache';

/** Free requests per key and second. */
export const FREE_PER_SECOND = 10;
const SECOND = 1_000;
const MAX_KEYS = 50_000;

/** Limits requests that cost no units, which no plan limit would bound. */
export class FreeGuard {
  readonly #now: () => number;
  readonly #times = new LRUCache<string, number[]>({ max: MAX_KEYS });

  /** @param now milliseconds since 1970 */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Counts a request. @returns false if the key has used up its second */
  admit(apiKeyId: string): boolean {
    const now = this.#now();
    // Timestamps in the future come from a clock that has been set back since.
    const recent = (this.#times.get(apiKeyId) ?? []).filter((time) => time <= now && time + SECOND > now);
    if (recent.length >= FREE_PER_SECOND) return false;
    recent.push(now);
    this.#times.set(apiKeyId, recent);
    return true;
  }
}
