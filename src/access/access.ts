import { lruCache } from '../foundation/cache.ts';
import { AppError } from '../foundation/errors.ts';
import { andThen, attempt, type MaybePromise } from '../foundation/maybe-promise.ts';
import type { ApiKey, ApiKeyStore } from '../store/stored-api-keys.ts';
import type { Store } from '../store/store.ts';
import { type Clock, MINUTE, SECOND } from '../foundation/instant.ts';
import { toRetryAfter } from '../store/limiter-algorithm.ts';
import { formFault, hashOf, isWellFormed, type Principal, principalOf, validityFault } from './api-keys.ts';
import { FixedWindows } from './fixed-windows.ts';
import { Limiter, type WindowView } from './limiter.ts';
import { customerNetwork, foreignAddress } from './networks.ts';
import { type Counters, type ExpectedPrice, type Sender, Session } from './session.ts';
import { MutationBursts } from './mutation-bursts.ts';
import type { RequestLog } from './request-log.ts';
import type { UsageHistory } from './usage-history.ts';

/** The time for which a key is served from the cache. Revocation must take effect within 5 s. */
const CACHE_TTL = 4_000;
const MAX_CACHED = 50_000;
/** Requests per minute and network without a valid key. */
const GUARD_LIMIT = 60;
/**
 * Requests per second and key that are free because of what they ask for, or are read although the budget is
 * exhausted.
 */
const FREE_REQUESTS = 10;

interface CachedPrincipal {
  principal: Principal;
  /** On the monotonic clock. */
  until: number;
  /** The time at which the secret or the key expires, in milliseconds since 1970. */
  expiresAt: number;
}

/** The caller's data in a request, and what access control derives from it. */
export interface Caller extends Sender {
  /** Of the request's URL, without its `?`. */
  readonly query: string;
  /** Set once the key is accepted. */
  session: Session | undefined;
  /** Set otherwise: the address's window, shown when no key's budget applies. */
  guardWindow: WindowView | undefined;
}

interface AccessOptions {
  clock: Clock;
  /** The store as requests of this caller see it. */
  storeOf(caller: Caller): Store;
  /** Counts what keys do. */
  history: UsageHistory;
  requestLog: RequestLog;
  /** True if development keys are refused. */
  isProduction: boolean;
}

/** Access control: turns credentials into sessions and throttles callers without any. Cached keys cost no read. */
export class Access {
  readonly #options: AccessOptions;
  readonly #clock: Clock;
  /** Hashing would cost each request more than everything else here, so for these few seconds keys are in memory. */
  readonly #byKey = lruCache<CachedPrincipal>(MAX_CACHED, { ttl: CACHE_TTL, ttlAutopurge: true });
  /** Slows down key guessing: requests without a valid key by network, as one customer has a whole /64 of IPv6. */
  readonly #addressGuard: FixedWindows;
  readonly #counters: Counters;

  constructor(options: AccessOptions) {
    const { clock, history, requestLog } = options;
    this.#options = options;
    this.#clock = clock;
    this.#addressGuard = new FixedWindows(clock, GUARD_LIMIT, MINUTE);
    this.#counters = {
      limiter: new Limiter(),
      bursts: new MutationBursts(),
      freeRequests: new FixedWindows(clock, FREE_REQUESTS, SECOND),
      history,
      requestLog,
      now: clock.now,
    };
  }

  /**
   * Admits a request by its key: opens its session, unless its refusal is already certain.
   *
   * @param subject what an immediate refusal is counted as
   * @throws UNAUTHENTICATED, FORBIDDEN, RATE_LIMITED, API_KEY_BANNED, UNAVAILABLE
   */
  admit(caller: Caller, expected: ExpectedPrice, subject: Session['subject']): MaybePromise<void> {
    const { apiKey, address } = caller;
    const store = this.#options.storeOf(caller);
    const fail = (error: unknown): never => {
      caller.guardWindow = this.addressWindow(address);
      throw error;
    };
    const begin = (principal: Principal | null): MaybePromise<void> => {
      const session = principal && new Session(principal, store, this.#counters, caller);
      if (!session?.isAllowed) return andThen(this.#rejection(caller, session !== null, store), fail);
      caller.session = session;
      session.subject = subject;
      return session.begin(expected);
    };
    return andThen(
      attempt(() => (apiKey === undefined ? null : this.principalOf(apiKey, store)), fail),
      begin,
    );
  }

  /** Opens a session for something that the holder of a key left behind; null if the key is no longer valid. */
  async sessionOf(apiKeyId: string, store: Store): Promise<Session | null> {
    const apiKey = await store.apiKeyById(apiKeyId);
    const owner = await ownerOf(apiKey, store);
    if (!apiKey || this.#faultOf(apiKey, owner)) return null;
    return new Session(principalOf(apiKey, owner), store, this.#counters);
  }

  /**
   * The reason a key is invalid, if it is: a child ends with its owner.
   *
   * @param secretHash of the secret that was sent; by default, any secret matches
   */
  #faultOf(apiKey: ApiKey | null, owner: ApiKey | undefined, secretHash?: string): string | undefined {
    const faultOf = (key: ApiKey | null, secretExpiresAt: number) =>
      validityFault(key, secretExpiresAt, this.#clock.now(), this.#options.isProduction);
    const fault = faultOf(apiKey, expiryOf(apiKey, secretHash));
    if (fault !== undefined || !apiKey?.owner) return fault;
    return faultOf(owner ?? null, Number.POSITIVE_INFINITY)?.replace('API key', 'API key of its owner');
  }

  /**
   * The caller a key belongs to, at most a few seconds out of date.
   *
   * @returns null if the key is not valid
   * @throws UNAVAILABLE if the store cannot be read
   */
  principalOf(key: string, store: ApiKeyStore): MaybePromise<Principal | null> {
    // A slow read says nothing about the time since it began.
    const readAt = this.#clock.monotonic();
    const cached = this.#byKey.get(key);
    if (cached && readAt < cached.until && this.#clock.now() < cached.expiresAt) return cached.principal;
    // Saves a read.
    if (!isWellFormed(key)) return null;
    const keyHash = hashOf(key);
    const cache = (apiKey: ApiKey | null, owner: ApiKey | undefined) => {
      if (!apiKey || this.#faultOf(apiKey, owner, keyHash)) {
        this.#byKey.delete(key);
        return null;
      }
      const principal = principalOf(apiKey, owner);
      const ends = [apiKey.expiresAt, owner?.expiresAt].filter((time) => time !== undefined);
      const expiresAt = Math.min(expiryOf(apiKey, keyHash), ...ends);
      this.#byKey.set(key, { principal, until: readAt + CACHE_TTL, expiresAt });
      return principal;
    };
    return andThen(store.apiKeyBySecretHash(keyHash), (apiKey) =>
      andThen(ownerOf(apiKey, store), (owner) => cache(apiKey, owner)),
    );
  }

  /**
   * Counts a request without a valid key, or with one that may not be used from there, against its address: a thief
   * uses up none of the key's budget.
   *
   * @returns the error to respond with, which says what is wrong with the key
   * @throws UNAVAILABLE if the store cannot be read
   */
  #rejection(
    { apiKey, address, query }: Caller,
    isKeyValid: boolean,
    store: ApiKeyStore,
  ): MaybePromise<AppError> {
    if (!this.#addressGuard.take(customerNetwork(address))) {
      const { resetAt } = this.addressWindow(address);
      const retryAfter = toRetryAfter(resetAt - this.#clock.now());
      const message = `Too many requests without a valid API key. Retry in ${retryAfter} s.`;
      return new AppError('RATE_LIMITED', message, { retryAfter });
    }
    if (isKeyValid) return foreignAddress();
    const fault = formFault(apiKey, query);
    if (apiKey === undefined || fault !== undefined) return new AppError('UNAUTHENTICATED', fault!);
    const keyHash = hashOf(apiKey);
    return andThen(store.apiKeyBySecretHash(keyHash), (stored) =>
      andThen(ownerOf(stored, store), (owner) => {
        const why = this.#faultOf(stored, owner, keyHash);
        return new AppError('UNAUTHENTICATED', why ?? 'The API key was not valid until now. Send it again.');
      }),
    );
  }

  /** The remaining allowance of an address without a valid key. */
  addressWindow(address: string): WindowView {
    return this.#addressGuard.view(customerNetwork(address));
  }
}

/** The owner of a child; undefined if there is none. */
const ownerOf = (apiKey: ApiKey | null, store: ApiKeyStore): MaybePromise<ApiKey | undefined> =>
  apiKey?.owner === undefined
    ? undefined
    : andThen(store.apiKeyById(apiKey.owner), (owner) => owner ?? undefined);

/** The time at which one secret of a key expires, or the last of them does, in milliseconds since 1970. */
const expiryOf = (apiKey: ApiKey | null, secretHash?: string): number =>
  Math.max(
    ...(apiKey?.secrets ?? [])
      .filter(({ hash }) => secretHash === undefined || hash === secretHash)
      .map(({ expiresAt = Number.POSITIVE_INFINITY }) => expiresAt),
  );
