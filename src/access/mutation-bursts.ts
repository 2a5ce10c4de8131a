import { SECOND } from '../foundation/instant.ts';
import type { GraphQLResolveInfo } from 'graphql';
import { getGraphQLRateLimiter } from 'graphql-rate-limit';
import { lruCache } from '../foundation/cache.ts';

/** Each has at most as many timestamps as a plan allows mutations per second. */
const MAX_KEYS = 20_000;

/**
 * Limits the mutations that a key may send within any second. graphql-rate-limit counts and decides, before anything
 * runs: its directive and its rule would count each field by itself, after the first ones have run.
 */
export class MutationBursts {
  /** The times of the mutations let through, by key; the library's own store grows without bound. */
  readonly #timestamps = lruCache<readonly number[]>(MAX_KEYS);
  readonly #limiter = getGraphQLRateLimiter({
    identifyContext: (account: string) => account,
    store: {
      getForIdentity: ({ contextIdentity }) => [...this.#recent(contextIdentity)],
      setForIdentity: ({ contextIdentity }, timestamps) => {
        this.#timestamps.set(contextIdentity, timestamps);
      },
    },
  });
  /** The library reads, awaits and then writes. Concurrent calls would miss each other, so they run one at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  /**
   * Counts the mutations of one operation: all of them pass, or none does and none counts.
   *
   * @param account the id of the key
   * @param max the limit per second
   * @returns whether they pass
   */
  async take(account: string, mutations: number, max: number): Promise<boolean> {
    const decision = this.#turn.then(() =>
      this.#limiter(
        {
          parent: undefined,
          args: { fields: Array(mutations) },
          context: account,
          info: { fieldName: 'mutations' } as GraphQLResolveInfo,
        },
        { max, window: '1s', arrayLengthField: 'fields', uncountRejected: true },
      ),
    );
    this.#turn = decision.catch(() => {});
    return (await decision) === undefined;
  }

  /** The number of mutations that would still pass now. */
  remaining(account: string, max: number): number {
    return Math.max(0, max - this.#recent(account).length);
  }

  /** By the library's clock. If that was set back, times that lie ahead of it would count for as long. */
  #recent(account: string): readonly number[] {
    const now = Date.now();
    return (this.#timestamps.get(account) ?? []).filter((time) => time > now - SECOND && time <= now);
  }
}
