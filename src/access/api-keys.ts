import { hash, randomBytes, randomInt } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { crc32 } from 'node:zlib';
import type { LRUCache } from 'lru-cache';
import type { Clock } from '../foundation/clock.ts';
import { lruCache } from '../foundation/lru.ts';
import { andThen, type MaybePromise } from '../foundation/maybe-promise.ts';
import type { AccessStore, ApiKey, ApiKeySecret, Limits } from '../store/store.ts';
import { NetworkList, type Reach } from './networks.ts';
import { PLANS } from './plans.ts';
import { impliedScopes, type Permissions } from './scopes.ts';

/** The caller a key belongs to, and what it may do. */
export interface Principal
  extends Pick<ApiKey, 'id' | 'name' | 'plan' | 'limits' | 'documents'>,
    Permissions,
    Reach {}

const PREFIX = 'petstore_';
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const KEY_PATTERN = /^petstore_(?:([0-9A-Za-z]{43})([0-9A-Za-z]{6})|[A-Za-z0-9_-]{43})$/;

/** The CRC-32 of a secret in base62, by which scanners tell a leaked key from a lookalike. */
function checksumOf(secret: string): string {
  let digits = '';
  for (let rest = crc32(secret); digits.length < CHECKSUM_LENGTH; rest = Math.floor(rest / BASE62.length))
    digits = BASE62[rest % BASE62.length]! + digits;
  return digits;
}

/** Whether a text can be a key: one with a checksum, or one of the form before that. */
function isWellFormed(key: string): boolean {
  const match = KEY_PATTERN.exec(key);
  return match !== null && (match[1] === undefined || checksumOf(match[1]) === match[2]);
}

/**
 * SHA-256 in lower-case hex, the only form of a key that is stored. A key has 256 random bits, so a slow hash
 * would add nothing.
 */
const hashOf = (key: string): string => hash('sha256', key);

/**
 * Generates a key of 256 random bits with a checksum, and the record to store for it. The key itself is shown
 * once and then forgotten.
 */
export function newSecret(): { key: string; secret: ApiKeySecret } {
  const secret = Array.from({ length: SECRET_LENGTH }, () => BASE62[randomInt(BASE62.length)]).join('');
  const key = PREFIX + secret + checksumOf(secret);
  return { key, secret: { hash: hashOf(key), prefix: key.slice(0, PREFIX.length + 6) } };
}

/** Generates an API key for a plan. `limits` is required for Enterprise and ignored for the other plans. */
export function newApiKey({
  now,
  limits: ownLimits,
  ...properties
}: Pick<ApiKey, 'name' | 'plan' | 'expiresAt' | 'scopes' | 'allow' | 'documents'> & {
  limits?: Limits | undefined;
  now: number;
}): { key: string; apiKey: ApiKey } {
  const { key, secret } = newSecret();
  const limits = PLANS[properties.plan].limits ?? ownLimits;
  if (!limits) throw new Error(`A key on the plan ${properties.plan} needs its own limits.`);
  const id = `key_${randomBytes(9).toString('base64url')}`;
  return { key, apiKey: { id, ...properties, limits, createdAt: now, secrets: [secret] } };
}

/** How long a key is served from the cache. Revocation must take effect within 5 s. */
const CACHE_TTL = 4_000;
const MAX_CACHED = 50_000;

interface CachedPrincipal {
  principal: Principal;
  /** On the monotonic clock. */
  until: number;
  /** When the secret or the key expires, in milliseconds since 1970. */
  expiresAt: number;
}

/**
 * Resolves keys to principals. Cached keys cost no read. Unknown, revoked and expired keys are
 * indistinguishable to callers.
 */
export class Authenticator {
  readonly #clock: Clock;
  /** Hashing would cost each request more than everything else here, so for these few seconds keys are in memory. */
  readonly #byKey = lruCache<CachedPrincipal>(MAX_CACHED, { ttl: CACHE_TTL, ttlAutopurge: true });
  readonly #byId = lruCache<CachedPrincipal>(MAX_CACHED);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @throws UNAVAILABLE if the store cannot be read */
  authenticate(store: AccessStore, key: string): MaybePromise<Principal | null> {
    const asked = this.#clock.monotonic();
    const known = this.#known(this.#byKey.get(key), asked);
    if (known) return known;
    // The format is public, so rejecting a malformed key early leaks nothing and saves a read.
    if (!isWellFormed(key)) return null;
    const keyHash = hashOf(key);
    return andThen(store.apiKeyBySecretHash(keyHash), (apiKey) => {
      const secret = apiKey?.secrets.find((one) => one.hash === keyHash);
      const expiresAt = secret?.expiresAt ?? Number.POSITIVE_INFINITY;
      return this.#keep(this.#byKey, key, apiKey, expiresAt, asked);
    });
  }

  /** The holder of the key with this id, for what it left behind; null if the key is not valid any more. */
  byId(store: AccessStore, id: string): MaybePromise<Principal | null> {
    const asked = this.#clock.monotonic();
    const known = this.#known(this.#byId.get(id), asked);
    if (known) return known;
    return andThen(store.apiKeyById(id), (apiKey) => {
      const expiresAt = Math.max(
        ...(apiKey?.secrets ?? []).map((secret) => secret.expiresAt ?? Number.POSITIVE_INFINITY),
      );
      return this.#keep(this.#byId, id, apiKey, expiresAt, asked);
    });
  }

  #known(cached: CachedPrincipal | undefined, now: number): Principal | undefined {
    const isValid = cached && now < cached.until && this.#clock.now() < cached.expiresAt;
    return isValid ? cached.principal : undefined;
  }

  /**
   * @param asked when the read began, on the monotonic clock: a slow read says nothing about the time since
   */
  #keep(
    cache: LRUCache<string, CachedPrincipal>,
    name: string,
    apiKey: ApiKey | null,
    secretExpiresAt: number,
    asked: number,
  ): Principal | null {
    const expiresAt = Math.min(secretExpiresAt, apiKey?.expiresAt ?? Number.POSITIVE_INFINITY);
    if (!apiKey || apiKey.revokedAt !== undefined || this.#clock.now() >= expiresAt) {
      cache.delete(name);
      return null;
    }
    const principal = principalOf(apiKey);
    cache.set(name, { principal, until: asked + CACHE_TTL, expiresAt });
    return principal;
  }
}

const principalOf = ({ id, name, plan, limits, scopes, allow, documents }: ApiKey): Principal => ({
  id,
  name,
  plan,
  limits,
  ...(documents !== undefined && { documents }),
  ...(scopes && { scopes: impliedScopes(scopes) }),
  ...(allow && { networks: new NetworkList(allow) }),
});

/** Reads the key from `X-API-Key: <key>` or `Authorization: Bearer <key>` (RFC 6750 section 2.1). */
export function apiKeyFrom({ 'x-api-key': key, authorization }: IncomingHttpHeaders): string | undefined {
  // Node joins the values of a repeated header, so this is a string.
  if (key) return String(key);
  return authorization?.match(/^Bearer +(\S+)$/i)?.[1];
}

/** The list of documents that a key is bound to. */
export function bindingOf(documents: string): { list: string; isStrict: boolean } {
  const isStrict = !documents.startsWith('report:');
  return { list: isStrict ? documents : documents.slice('report:'.length), isStrict };
}
