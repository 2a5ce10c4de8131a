import { formatInstant } from '../foundation/instant.ts';
import type { ApiKey } from '../store/store.ts';
import { isWellFormed } from './api-keys.ts';

const HEADERS = 'X-API-Key: <key> or Authorization: Bearer <key>';

/**
 * Why a key as sent can't be one, as sentences that tell its holder what to do; undefined if it can. The form is public,
 * so this leaks nothing.
 *
 * @param key undefined if the request has none in a header
 * @param query of the request's URL, without its `?`
 */
export function formFault(key: string | undefined, query: string): string | undefined {
  if (key === undefined) {
    return /petstore_[0-9A-Za-z]/.test(query)
      ? `An API key is not accepted in the URL, where logs and histories keep it. Replace this key (keys rotate), and send the new one as ${HEADERS}.`
      : `An API key is required. Send it as ${HEADERS}.`;
  }
  if (isWellFormed(key)) return undefined;
  return /^petstore_[0-9A-Za-z]{49}$/.test(key)
    ? 'The API key is mistyped: its checksum does not match. Copy it again.'
    : 'This is not an API key. Keys are petstore_ and 49 letters and digits: copy the whole key.';
}

/**
 * Why a key is not valid, as sentences for who holds it; undefined if it is.
 *
 * @param apiKey null if there is none
 * @param secretExpiresAt when this secret of the key expires, in milliseconds since 1970
 * @param now milliseconds since 1970
 */
export function validityFault(
  apiKey: ApiKey | null,
  secretExpiresAt: number,
  now: number,
  isProduction: boolean,
): string | undefined {
  if (!apiKey) return 'There is no such API key. It may belong to another server or database.';
  const { revokedAt, expiresAt = Number.POSITIVE_INFINITY, kind } = apiKey;
  if (revokedAt !== undefined) return `The API key was revoked at ${formatInstant(revokedAt)}.`;
  if (now >= expiresAt) return `The API key expired at ${formatInstant(expiresAt)}.`;
  if (now >= secretExpiresAt)
    return `The API key was replaced by a new one and expired at ${formatInstant(secretExpiresAt)}.`;
  if (kind === 'development' && isProduction)
    return 'This is a development key, which is refused in production (NODE_ENV=production). Create another: petstore keys create.';
  return undefined;
}
