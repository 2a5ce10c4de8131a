import { getGraphQLRateLimiter, type Store as TimestampStore } from 'graphql-rate-limit';
import { LRUCache } from 'lru-cache';
import { AppError } from '../errors.ts';
import type { BurstGuard, Principal } from '../graphql/context.ts';
import { PLANS } from './plans.ts';

const SECOND = 1_000;
const MOST_KEYS = 50_000;

/**
 * The timestamps of one key's mutations in the last second, for graphql-rate-limit: bounded in keys and in
 * timestamps a key. The library reads, awaits and then writes, which loses calls that run at once; so a call is recorded
 * when it is read, which nothing can come between.
 */
class RecentMutations implements TimestampStore {
  readonly #max: number;
  readonly #now: () => number;
  readonly #times = new LRUCache<string, number[]>({ max: MOST_KEYS });

  constructor(max: number, now: () => number) {
    this.#max = max;
    this.#now = now;
  }

  getForIdentity({ contextIdentity }: { contextIdentity: string }): number[] {
    const now = this.#now();
    const recent = (this.#times.get(contextIdentity) ?? []).filter((time) => time + SECOND > now);
    this.#times.set(contextIdentity, recent.length < this.#max ? [...recent, now] : recent);
    // The library compares with the machine's clock; ours may be another one.
    return new Array<number>(recent.length).fill(Date.now());
  }

  setForIdentity(): void {}
}

const limiterOf = (max: number, now: () => number) =>
  getGraphQLRateLimiter({
    identifyContext: ({ principal }: { principal: Principal }) => principal.id,
    formatError: () => `The key sends more than ${max} mutations a second.`,
    store: new RecentMutations(max, now),
  });

/** The burst guard on mutations of contract section 5, by the plan of the key and over all its mutations. */
export function createBurstGuard(now: () => number): BurstGuard {
  const limiters = new Map<number, ReturnType<typeof limiterOf>>();
  return async (principal, info) => {
    const max = PLANS[principal.plan].mutationsPerSecond;
    if (max === null) return;
    let limiter = limiters.get(max);
    if (!limiter) {
      limiter = limiterOf(max, now);
      limiters.set(max, limiter);
    }
    const refusal = await limiter(
      { parent: undefined, args: {}, context: { principal }, info: info as never },
      { max, window: '1s' },
    );
    if (refusal) throw new AppError('RATE_LIMITED', refusal, { retryAfter: 1 });
  };
}
