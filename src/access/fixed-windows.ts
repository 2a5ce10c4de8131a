import { lruCache } from '../foundation/cache.ts';
import type { Clock } from '../foundation/instant.ts';
import type { WindowView } from './limiter.ts';

/** Bounds memory, since an attacker may have many addresses. */
const MAX_WINDOWS = 100_000;

/**
 * Counts requests by an id, such as a network or a key, in windows that open at the first request. Counters live in
 * memory.
 */
export class FixedWindows {
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #length: number;
  /** `end` is on the monotonic clock. */
  readonly #windows = lruCache<{ end: number; used: number }>(MAX_WINDOWS);

  /** @param length in milliseconds */
  constructor(clock: Clock, limit: number, length: number) {
    this.#clock = clock;
    this.#limit = limit;
    this.#length = length;
  }

  /** Counts one request. @returns false if it is over the limit */
  take(id: string): boolean {
    const time = this.#clock.monotonic();
    const window = this.#windows.get(id);
    if (!window || time >= window.end) {
      this.#windows.set(id, { end: time + this.#length, used: 1 });
      return true;
    }
    if (window.used >= this.#limit) return false;
    window.used++;
    return true;
  }

  view(id: string): WindowView {
    const window = this.#windows.get(id);
    const left = window ? window.end - this.#clock.monotonic() : 0;
    const isOpen = window !== undefined && left > 0;
    return {
      limit: this.#limit,
      remaining: this.#limit - (isOpen ? window.used : 0),
      resetAt: this.#clock.now() + (isOpen ? left : this.#length),
    };
  }
}
