import { lruCache } from '../foundation/cache.ts';
import { AppError } from '../foundation/errors.ts';
import { andThen, type MaybePromise } from '../foundation/turns.ts';
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

/** How long a key stays cached, in milliseconds. Revocation must take effect within 5 s. */
const CACHE_TTL = 4_000;
const MAX_CACHED = 50_000;
/** Requests per minute and network without a valid key. */
const GUARD_LIMIT = 60;
/** Requests per second and key that are free by their content, or that are read despite an exhausted budget. */
const FREE_REQUESTS = 10;

interface CachedPrincipal {
  principal: Principal;
  /** On the monotonic clock. */
  until: number;
  /** When the secret or the key expires, in milliseconds since 1970. */
  expiresAt: number;
}

/** The sender of a request, and the result of admission. */
export interface Caller extends Sender {
  /** The query of the URL, without its `?`. */
  readonly query: string;
  /** Set once the key is accepted. */
  session: Session | undefined;
}

interface AccessOptions {
  clock: Clock;
  /** The store as seen by this caller's requests. */
  storeOf(caller: Caller): Store;
  history: UsageHistory;
  requestLog: RequestLog;
  /** True to refuse development keys. */
  isProduction: boolean;
}

/** Access control: opens sessions for keys, and throttles callers without a valid one. Cached keys cost no read. */
export class Access {
  readonly #options: AccessOptions;
  readonly #clock: Clock;
  /** Keys in plain text, for a few seconds: hashing would cost each request more than everything else here. */
  readonly #byKey = lruCache<CachedPrincipal>(MAX_CACHED, { ttl: CACHE_TTL, ttlAutopurge: true });
  /** Counts requests without a valid key, to slow down guessing. By network, since a customer has a whole IPv6 /64. */
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
   * Admits a request by its key and opens its session, unless a refusal is already certain.
   *
   * @param subject the subject that an immediate refusal is counted under
   * @throws UNAUTHENTICATED, FORBIDDEN, RATE_LIMITED, API_KEY_BANNED, UNAVAILABLE
   */
  admit(caller: Caller, expected: ExpectedPrice, subject: Session['subject']): MaybePromise<void> {
    const { apiKey } = caller;
    const store = this.#options.storeOf(caller);
    const begin = (principal: Principal | null): MaybePromise<void> => {
      const session = principal && new Session(principal, store, this.#counters, caller);
      if (!session?.isAllowed) return this.#reject(caller, session !== null, store);
      caller.session = session;
      session.subject = subject;
      return session.begin(expected);
    };
    return andThen(apiKey === undefined ? null : this.principalOf(apiKey, store), begin);
  }

  /** Opens a session for work on behalf of a key without a request; null if the key is no longer valid. */
  async sessionOf(apiKeyId: string, store: Store): Promise<Session | null> {
    const apiKey = await store.apiKeyById(apiKeyId);
    const owner = await ownerOf(apiKey, store);
    if (!apiKey || this.#faultOf(apiKey, owner)) return null;
    return new Session(principalOf(apiKey, owner), store, this.#counters);
  }

  /**
   * The reason a key is invalid, if it is. A child is valid only while its owner is.
   *
   * @param secretHash the hash of the sent secret; by default, any secret matches
   */
  #faultOf(apiKey: ApiKey | null, owner: ApiKey | undefined, secretHash?: string): string | undefined {
    const faultOf = (key: ApiKey | null, secretExpiresAt: number) =>
      validityFault(key, secretExpiresAt, this.#clock.now(), this.#options.isProduction);
    const fault = faultOf(apiKey, expiryOf(apiKey, secretHash));
    if (fault !== undefined || !apiKey?.owner) return fault;
    return faultOf(owner ?? null, Number.POSITIVE_INFINITY)?.replace('API key', 'API key of its owner');
  }

  /**
   * The principal of a key, at most CACHE_TTL out of date.
   *
   * @returns null if the key is not valid
   * @throws UNAVAILABLE if the store cannot be read
   */
  principalOf(key: string, store: ApiKeyStore): MaybePromise<Principal | null> {
    // The result of a slow read is as old as its start.
    const readAt = this.#clock.monotonic();
    const cached = this.#byKey.get(key);
    if (cached && readAt < cached.until && this.#clock.now() < cached.expiresAt) return cached.principal;
    // Malformed keys cost no read.
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
   * Counts a request without a valid key, or from a network where the key is not allowed, against its address, so that
   * a thief can't use up the key's budget.
   *
   * @throws RATE_LIMITED, FORBIDDEN, UNAUTHENTICATED, or UNAVAILABLE if the store cannot be read
   */
  #reject({ apiKey, address, query }: Caller, isKeyValid: boolean, store: ApiKeyStore): MaybePromise<never> {
    if (!this.#addressGuard.take(customerNetwork(address))) {
      const { resetAt } = this.addressWindow(address);
      const retryAfter = toRetryAfter(resetAt - this.#clock.now());
      const message = `Too many requests without a valid API key. Retry in ${retryAfter} s.`;
      throw new AppError('RATE_LIMITED', message, { retryAfter });
    }
    if (isKeyValid) throw foreignAddress();
    const fault = formFault(apiKey, query);
    if (apiKey === undefined || fault !== undefined) throw new AppError('UNAUTHENTICATED', fault!);
    const keyHash = hashOf(apiKey);
    return andThen(store.apiKeyBySecretHash(keyHash), (stored) =>
      andThen(ownerOf(stored, store), (owner) => {
        const why = this.#faultOf(stored, owner, keyHash);
        throw new AppError('UNAUTHENTICATED', why ?? 'The API key was not valid until now. Send it again.');
      }),
    );
  }

  /** The remaining allowance of an address without a valid key. */
  addressWindow(address: string): WindowView {
    return this.#addressGuard.view(customerNetwork(address));
  }
}

/** The key that owns a child; undefined for any other key. */
const ownerOf = (apiKey: ApiKey | null, store: ApiKeyStore): MaybePromise<ApiKey | undefined> =>
  apiKey?.owner === undefined
    ? undefined
    : andThen(store.apiKeyById(apiKey.owner), (owner) => owner ?? undefined);

/** When a secret of a key expires, by default the last to do so; in milliseconds since 1970. */
const expiryOf = (apiKey: ApiKey | null, secretHash?: string): number =>
  Math.max(
    ...(apiKey?.secrets ?? [])
      .filter(({ hash }) => secretHash === undefined || hash === secretHash)
      .map(({ expiresAt = Number.POSITIVE_INFINITY }) => expiresAt),
  );
