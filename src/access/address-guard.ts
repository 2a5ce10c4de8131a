import { LRUCache } from 'lru-cache';
import type { Clock } from '../foundation/clock.ts';
import { MINUTE } from '../store/usage.ts';
import type { WindowView } from './limiter.ts';

/** Requests per minute and address without a valid key. */
const GUARD_LIMIT = 60;
const MAX_ADDRESSES = 100_000;

/**
 * Slows down key guessing by counting requests without a valid key per address. Counters live in memory and
 * are bounded. An IPv6 address counts by its /64, the block one customer gets.
 */
export class AddressGuard {
  readonly #clock: Clock;
  /** `end` is on the monotonic clock. */
  readonly #windows = new LRUCache<string, { end: number; used: number }>({ max: MAX_ADDRESSES });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts one request. @returns false if the address is over its limit */
  admit(address: string): boolean {
    const network = networkOf(address);
    const time = this.#clock.monotonic();
    const window = this.#windows.get(network);
    if (!window || time >= window.end) {
      this.#windows.set(network, { end: time + MINUTE, used: 1 });
      return true;
    }
    if (window.used >= GUARD_LIMIT) return false;
    window.used++;
    return true;
  }

  view(address: string): WindowView {
    const window = this.#windows.get(networkOf(address));
    const left = window ? window.end - this.#clock.monotonic() : 0;
    const now = this.#clock.now();
    if (!window || left <= 0) return { limit: GUARD_LIMIT, remaining: GUARD_LIMIT, resetAt: now + MINUTE };
    return { limit: GUARD_LIMIT, remaining: GUARD_LIMIT - window.used, resetAt: now + left };
  }
}

/**
 * Returns IPv4 addresses unchanged (unmapped from IPv6 if needed) and reduces IPv6 to its first four groups.
 * Drops the port that some proxies append.
 */
export function networkOf(hop: string): string {
  const address = /^\[(.+)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped) return mapped[1]!;
  const { length } = address.split(':');
  if (length === 1) return address;
  // "::" stands for as many groups as are missing of eight (RFC 4291 section 2.2).
  const whole = address.replace('::', `:${'0:'.repeat(Math.max(0, 9 - length))}`);
  const groups = whole.split(':').slice(0, 4);
  return `${groups.map((group) => Number.parseInt(`0${group}`, 16).toString(16)).join(':')}::/64`;
}
