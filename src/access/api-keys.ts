import { hash, randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../foundation/clock.ts';
import { andThen, type MaybePromise } from '../foundation/maybe-promise.ts';
import type { AccessStore, ApiKey, ApiKeySecret, Limits, PlanName } from '../store/store.ts';
import { PLANS } from './plans.ts';

/** The caller a key belongs to. */
export type Principal = Pick<ApiKey, 'id' | 'name' | 'plan' | 'limits'>;

const PREFIX = 'petstore_';
const KEY_PATTERN = /^petstore_[A-Za-z0-9_-]{43}$/;

/**
 * SHA-256 in lower-case hex, the only form of a key that is stored. A key has 256 random bits, so a slow hash
 * would add nothing.
 */
const hashOf = (key: string): string => hash('sha256', key);

/**
 * Generates a key of 256 random bits and the record to store for it. The key itself is shown once and then
 * forgotten.
 */
export function newSecret(): { key: string; secret: ApiKeySecret } {
  const key = PREFIX + randomBytes(32).toString('base64url');
  return { key, secret: { hash: hashOf(key), prefix: key.slice(0, PREFIX.length + 6) } };
}

/** Generates an API key for a plan. `limits` is required for Enterprise and ignored for the other plans. */
export function newApiKey(options: {
  name: string;
  plan: PlanName;
  limits?: Limits | undefined;
  now: number;
}): {
  key: string;
  apiKey: ApiKey;
} {
  const { key, secret } = newSecret();
  const limits = PLANS[options.plan].limits ?? options.limits;
  if (!limits) throw new Error(`A key on the plan ${options.plan} needs its own limits.`);
  const id = `key_${randomBytes(9).toString('base64url')}`;
  return {
    key,
    apiKey: { id, name: options.name, plan: options.plan, limits, createdAt: options.now, secrets: [secret] },
  };
}

/** How long a key is served from the cache. Revocation must take effect within 5 s. */
const CACHE_TTL = 4_000;
const MAX_CACHED = 50_000;

interface CachedPrincipal {
  principal: Principal;
  /** On the monotonic clock. */
  until: number;
  /** When the secret expires, in milliseconds since 1970. */
  expiresAt: number;
}

/**
 * Resolves keys to principals. Cached keys cost no read. Unknown, revoked and expired keys are
 * indistinguishable to callers.
 */
export class Authenticator {
  readonly #clock: Clock;
  readonly #cache = new LRUCache<string, CachedPrincipal>({ max: MAX_CACHED });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @throws UNAVAILABLE if the store cannot be read */
  authenticate(store: AccessStore, key: string): MaybePromise<Principal | null> {
    // The format is public, so rejecting a malformed key early leaks nothing and saves a read.
    if (!KEY_PATTERN.test(key)) return null;
    const keyHash = hashOf(key);
    const known = this.#cache.get(keyHash);
    const asked = this.#clock.monotonic();
    if (known && asked < known.until && this.#clock.now() < known.expiresAt) return known.principal;
    const found = store.apiKeyBySecretHash(keyHash);
    return andThen(found, (apiKey) => this.#store(keyHash, apiKey, asked));
  }

  /**
   * @param asked when the read began, on the monotonic clock: a slow read says nothing about the time since
   */
  #store(hash: string, apiKey: ApiKey | null, asked: number): Principal | null {
    const secret = apiKey?.secrets.find((one) => one.hash === hash);
    const expiresAt = secret?.expiresAt ?? Number.POSITIVE_INFINITY;
    if (!apiKey || apiKey.revokedAt !== undefined || this.#clock.now() >= expiresAt) {
      this.#cache.delete(hash);
      return null;
    }
    const { id, name, plan, limits } = apiKey;
    const principal: Principal = { id, name, plan, limits };
    this.#cache.set(hash, { principal, until: asked + CACHE_TTL, expiresAt });
    return principal;
  }
}

/** Reads the key from `X-API-Key: <key>` or `Authorization: Bearer <key>` (RFC 6750 section 2.1). */
export function apiKeyFrom({ 'x-api-key': key, authorization }: IncomingHttpHeaders): string | undefined {
  // Node joins the values of a repeated header, so this is a string.
  if (key) return String(key);
  return authorization?.match(/^Bearer +(\S+)$/i)?.[1];
}
