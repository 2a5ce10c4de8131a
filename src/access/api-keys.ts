import { hash, randomBytes, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { ApiKey, ApiKeySecret, Limits } from '../store/store.ts';
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
export function isWellFormed(key: string): boolean {
  const match = KEY_PATTERN.exec(key);
  return match !== null && (match[1] === undefined || checksumOf(match[1]) === match[2]);
}

/**
 * SHA-256 in lower-case hex, the only form of a key that is stored. A key has 256 random bits, so a slow hash
 * would add nothing.
 */
export const hashOf = (key: string): string => hash('sha256', key);

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

/** What the holder of a key may do. */
export const principalOf = ({ id, name, plan, limits, scopes, allow, documents }: ApiKey): Principal => ({
  id,
  name,
  plan,
  limits,
  ...(documents !== undefined && { documents }),
  ...(scopes && { scopes: impliedScopes(scopes) }),
  ...(allow && { networks: new NetworkList(allow) }),
});

/** The list of documents that a key is bound to. */
export function bindingOf(documents: string): { list: string; isStrict: boolean } {
  const isStrict = !documents.startsWith('report:');
  return { list: isStrict ? documents : documents.slice('report:'.length), isStrict };
}
