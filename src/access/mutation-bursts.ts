import { SECOND } from '../foundation/instant.ts';
import type { GraphQLResolveInfo } from 'graphql';
import { getGraphQLRateLimiter } from 'graphql-rate-limit';
import { lruCache } from '../foundation/cache.ts';

/** Maximum number of tracked keys. Each has at most as many timestamps as its plan allows mutations per second. */
const MAX_KEYS = 20_000;

/**
 * Limits the mutations of a key within any second, by graphql-rate-limit, before anything runs. The library's directive
 * and rule would count field by field, after the first ones have run.
 */
export class MutationBursts {
  /** The times of the mutations that passed, by key; the library's own store is unbounded. */
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
  /** The library reads, awaits and then writes, so concurrent calls would miss each other: they run one at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  /**
   * Counts the mutations of one operation if all of them fit.
   *
   * @param account the id of the key that pays
   * @param max the limit per second
   * @returns false if they don't fit
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

  /** The times within the last second by the library's clock, without any that are ahead because it was set back. */
  #recent(account: string): readonly number[] {
    const now = Date.now();
    return (this.#timestamps.get(account) ?? []).filter((time) => time > now - SECOND && time <= now);
  }
}
