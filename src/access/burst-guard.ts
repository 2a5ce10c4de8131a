import { getGraphQLRateLimiter, type Store as TimestampStore } from 'graphql-rate-limit';
import { LRUCache } from 'lru-cache';
import type { MaybePromise } from '../foundation/maybe-promise.ts';
import type { Principal } from './api-keys.ts';
import { PLANS } from './plans.ts';

/**
 * More keys than one process can serve mutations for within the window, so evicted entries no longer count.
 */
const MAX_KEYS = 10_000;

/**
 * Stores the library's timestamps. Memory per key is bounded: the library stores only what it let through,
 * which is at most what the plan allows.
 */
class Timestamps implements TimestampStore {
  readonly #ofKey = new LRUCache<string, readonly number[]>({ max: MAX_KEYS });

  getForIdentity({ contextIdentity }: { contextIdentity: string }): readonly number[] {
    const now = Date.now();
    // After a clock was set back, future timestamps would count for too long.
    return (this.#ofKey.get(contextIdentity) ?? []).filter((time) => time <= now);
  }

  setForIdentity({ contextIdentity }: { contextIdentity: string }, timestamps: readonly number[]): void {
    this.#ofKey.set(contextIdentity, timestamps);
  }

  /** @param keyId a key that the library has just checked */
  countOf(keyId: string): number {
    return this.#ofKey.get(keyId)!.length;
  }
}

/** Why mutations were refused, and the window to report. */
export interface BurstRefusal {
  message: string;
  limit: number;
  remaining: number;
}

/** All mutations of a key share one counter, whichever fields they are. */
const MUTATIONS = { fieldName: 'mutations' } as never;

/**
 * Protects the store from bursts of mutations by one key. graphql-rate-limit counts and decides, on the wall
 * clock.
 */
export class BurstGuard {
  readonly #timestamps = new Timestamps();
  readonly #limiter = getGraphQLRateLimiter({
    identifyContext: ({ id }: Principal) => id,
    formatError: ({ max }) => `The key exceeds ${max} mutations per second.`,
    store: this.#timestamps,
  });
  /**
   * The library reads, awaits and then writes. Concurrent calls would miss each other, so they run one at a
   * time.
   */
  #turn: Promise<unknown> = Promise.resolve();

  /**
   * Counts mutations as a group: all pass, or none does and none counts.
   *
   * @returns undefined if they pass
   */
  check(principal: Principal, mutations: number): MaybePromise<BurstRefusal | undefined> {
    const max = PLANS[principal.plan].mutationsPerSecond;
    if (max === null || mutations === 0) return undefined;
    const decision = this.#turn.then(async () => {
      const message = await this.#limiter(
        {
          parent: undefined,
          args: { mutations: { length: mutations } },
          context: principal,
          info: MUTATIONS,
        },
        { max, window: '1s', arrayLengthField: 'mutations', uncountRejected: true },
      );
      if (message === undefined) return undefined;
      return { message, limit: max, remaining: max - this.#timestamps.countOf(principal.id) };
    });
    this.#turn = decision.catch(() => {});
    return decision;
  }
}
