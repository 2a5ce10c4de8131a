import { getGraphQLRateLimiter, type Store as TimestampStore } from 'graphql-rate-limit';
import { LRUCache } from 'lru-cache';
import type { MaybePromise } from '../maybe-promise.ts';
import type { Principal } from './api-keys.ts';
import { PLANS } from './plans.ts';

/** More keys than one process can serve mutations of within the window: what is dropped beyond counts no more. */
const MAX_KEYS = 10_000;

/**
 * Keeps what the library hands over. That is bounded for each key, since the library hands over what it let through, and it
 * lets through no more than the plan allows.
 */
class Timestamps implements TimestampStore {
  readonly #ofKey = new LRUCache<string, readonly number[]>({ max: MAX_KEYS });

  getForIdentity({ contextIdentity }: { contextIdentity: string }): readonly number[] {
    const kept = this.#ofKey.get(contextIdentity) ?? [];
    const now = Date.now();
    // A clock that was set back would make them count for as long.
    return kept.some((time) => time > now) ? kept.filter((time) => time <= now) : kept;
  }

  setForIdentity({ contextIdentity }: { contextIdentity: string }, timestamps: readonly number[]): void {
    this.#ofKey.set(contextIdentity, timestamps);
  }

  countOf(keyId: string): number {
    return this.#ofKey.get(keyId)?.length ?? 0;
  }
}

/** Why mutations don't pass, and what of them would have. */
export interface BurstRefusal {
  message: string;
  limit: number;
  remaining: number;
}

/** The one identity under which all mutations of a key count, whichever fields they are. */
const MUTATIONS = { fieldName: 'mutations' } as never;

/** Guards the store against bursts of mutations of one key. graphql-rate-limit counts and decides, by the clock of the machine. */
export class BurstGuard {
  readonly #timestamps = new Timestamps();
  readonly #limiter = getGraphQLRateLimiter({
    identifyContext: ({ id }: Principal) => id,
    formatError: ({ max }) => `The key sends more than ${max} mutations a second.`,
    store: this.#timestamps,
  });
  /** The library reads, awaits and then writes, so that calls at once would not see one another: they take turns. */
  #turn: Promise<unknown> = Promise.resolve();

  /**
   * Counts mutations that belong together: all of them pass, or none does and none counts.
   *
   * @returns undefined if they pass
   */
  refusalOf(principal: Principal, mutations: number): MaybePromise<BurstRefusal | undefined> {
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
