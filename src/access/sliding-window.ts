import { getGraphQLRateLimiter, type Store as TimestampStore } from 'graphql-rate-limit';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../foundation/instant.ts';

/** Bounds the memory, at 8 bytes each. More than one process can count within a window. */
const MAX_TIMESTAMPS = 2_000_000;
/** The time for which the library itself would count a timestamp. */
const WINDOW = '1s';
const SECOND = 1_000;

/** Timestamps of everything let through in the last second, on the injected clock. */
class RecentTimestamps implements TimestampStore {
  readonly #clock: Clock;
  readonly #byIdentity = new LRUCache<string, readonly number[]>({
    maxSize: MAX_TIMESTAMPS,
    sizeCalculation: (timestamps) => timestamps.length + 1,
  });
  #read: readonly number[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Everything recent counts as of now, because the library's clock is the wall clock. */
  getForIdentity({ contextIdentity }: { contextIdentity: string }): readonly number[] {
    this.#read = this.recent(contextIdentity);
    return this.#read.map(() => Date.now());
  }

  /** @param timestamps the ones just read, followed by the ones that the library let through */
  setForIdentity({ contextIdentity }: { contextIdentity: string }, timestamps: readonly number[]): void {
    const added = timestamps.length - this.#read.length;
    if (added === 0) return;
    const now = this.#clock.monotonic();
    this.#byIdentity.set(contextIdentity, [...this.#read, ...Array<number>(added).fill(now)]);
  }

  recent(identity: string): readonly number[] {
    const known = this.#byIdentity.get(identity);
    if (!known) return [];
    const start = this.#clock.monotonic() - SECOND;
    return known[0]! > start ? known : known.filter((time) => time > start);
  }
}

/** One of the things that are counted, for one caller. */
export interface Limit {
  /** The name of what is counted, in the plural: `mutations`. */
  name: string;
  /** The caller: the id of a key, or an address. */
  caller: string;
  /** The limit per second. */
  max: number;
}

/**
 * Counts what callers do within any second where no plan does: bursts of mutations, and free work. graphql-rate-limit
 * counts and decides; time and memory are ours.
 */
export class SlidingWindow {
  readonly #timestamps: RecentTimestamps;
  readonly #limiter: ReturnType<typeof getGraphQLRateLimiter>;
  /** The library reads, awaits and then writes. Concurrent calls would miss each other, so they run one at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(clock: Clock) {
    this.#timestamps = new RecentTimestamps(clock);
    this.#limiter = getGraphQLRateLimiter({
      identifyContext: (limit: Limit) => identityOf(limit),
      store: this.#timestamps,
    });
  }

  /** The number that would still pass now. */
  room(limit: Limit): number {
    return Math.max(0, limit.max - this.#timestamps.recent(identityOf(limit)).length);
  }

  /** Counts a group of at least 1: all of it passes, or none does and none counts. @returns whether it passes */
  take(limit: Limit, amount: number): Promise<boolean> {
    const decision = this.#turn.then(async () => {
      const call = { parent: undefined, args: { counted: { length: amount } }, context: limit };
      const refusal = await this.#limiter(
        { ...call, info: { fieldName: limit.name } as never },
        { max: limit.max, window: WINDOW, arrayLengthField: 'counted', uncountRejected: true },
      );
      return refusal === undefined;
    });
    this.#turn = decision.catch(() => {});
    return decision;
  }
}

const identityOf = ({ name, caller }: Limit): string => `${name}:${caller}`;
