import { hash, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { andThen, type MaybePromise } from '../maybe-promise.ts';
import type { AccessStore, ApiKey, ApiKeySecret, Limits, PlanName } from '../store/store.ts';
import type { Clock } from './clock.ts';
import { PLANS } from './plans.ts';

/** The caller whose key was accepted. */
export type Principal = Pick<ApiKey, 'id' | 'name' | 'plan' | 'limits'>;

const PREFIX = 'petstore_';
const KEY_PATTERN = /^petstore_[A-Za-z0-9_-]{43}$/;

/** SHA-256 in lower-case hex: all that is ever stored of a key. A key has 256 random bits, so a slow hash adds nothing. */
const hashOf = (key: string): string => hash('sha256', key);

/** A new key of 256 random bits, and what to store of it. The key itself is shown once and forgotten. */
export function newSecret(): { key: string; secret: ApiKeySecret } {
  const key = PREFIX + randomBytes(32).toString('base64url');
  return { key, secret: { hash: hashOf(key), prefix: key.slice(0, PREFIX.length + 6) } };
}

/** A new API key of a plan. `limits` are needed for Enterprise and not looked at for the other plans. */
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
  if (!limits) throw new Error(`A key of the plan ${options.plan} needs limits of its own.`);
  const id = `key_${randomBytes(9).toString('base64url')}`;
  return {
    key,
    apiKey: { id, name: options.name, plan: options.plan, limits, createdAt: options.now, secrets: [secret] },
  };
}

/** How long a known key is believed without asking the store: a revocation is in force within 5 s. */
const CACHE_TTL = 4_000;
const MAX_CACHED = 50_000;

interface CachedPrincipal {
  principal: Principal;
  /** By the monotonic clock. */
  until: number;
  /** Milliseconds since 1970: the end of the secret. */
  expiresAt: number;
}

/** Tells who a key belongs to. Known keys cost no read; unknown, revoked and expired ones look all the same. */
export class Authenticator {
  readonly #clock: Clock;
  readonly #cache = new LRUCache<string, CachedPrincipal>({ max: MAX_CACHED });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @throws UNAVAILABLE when the store can't tell */
  authenticate(store: AccessStore, key: string): MaybePromise<Principal | null> {
    // No key of ours has another form; this is no secret, and it saves the store the read.
    if (!KEY_PATTERN.test(key)) return null;
    const keyHash = hashOf(key);
    const known = this.#cache.get(keyHash);
    const asked = this.#clock.monotonic();
    if (known && asked < known.until && this.#clock.now() < known.expiresAt) return known.principal;
    const found = store.apiKeyBySecretHash(keyHash);
    return andThen(found, (apiKey) => this.#store(keyHash, apiKey, asked));
  }

  /** @param asked when, by the monotonic clock: an answer that took long says nothing about the time since */
  #store(hash: string, apiKey: ApiKey | null, asked: number): Principal | null {
    const expiresAt =
      apiKey?.secrets.find((secret) => secret.hash === hash)?.expiresAt ?? Number.POSITIVE_INFINITY;
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

/** The key of a request: `X-API-Key: <key>` or `Authorization: Bearer <key>` (RFC 6750 section 2.1). */
export function apiKeyFrom(headers: NodeJS.Dict<string | string[]>): string | undefined {
  const key = headers['x-api-key'];
  if (typeof key === 'string' && key !== '') return key;
  const authorization = headers.authorization;
  const bearer = typeof authorization === 'string' ? /^Bearer +(\S+) *$/i.exec(authorization) : null;
  return bearer?.[1];
}
