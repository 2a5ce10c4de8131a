import { LRUCache } from 'lru-cache';

/** Free requests a key may send in a second. */
export const FREE_PER_SECOND = 10;
const SECOND = 1_000;
const MAX_KEYS = 50_000;

/** Bounds what a key may ask for that costs no units: work of which there is no other limit. */
export class FreeGuard {
  readonly #now: () => number;
  readonly #times = new LRUCache<string, number[]>({ max: MAX_KEYS });

  /** @param now milliseconds since 1970 */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Counts the request, unless it is one too many within a second. */
  admit(apiKeyId: string): boolean {
    const now = this.#now();
    // Times to come are those of a clock that was set back since.
    const recent = (this.#times.get(apiKeyId) ?? []).filter((time) => time <= now && time + SECOND > now);
    if (recent.length >= FREE_PER_SECOND) return false;
    recent.push(now);
    this.#times.set(apiKeyId, recent);
    return true;
  }
}
