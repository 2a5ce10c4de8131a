import { type Issue, validationFailed } from '../foundation/errors.ts';
import type { Idempotency } from '../schema/context.ts';
import type { RequestContext } from './request-context.ts';

/** A quoted string of RFC 9651, in which a backslash escapes quotes and backslashes. */
const QUOTED = /^"((?:[^"\\]|\\["\\])*)"$/;

/**
 * Parses an Idempotency-Key header (draft-ietf-httpapi-idempotency-key-header-07). The draft quotes keys but most
 * clients don't, so `"abc"` and `abc` are the same key.
 *
 * @returns 1 to 255 visible ASCII characters; null for anything else
 */
export function parseIdempotencyKey(header: unknown): string | null {
  if (typeof header !== 'string') return null;
  const key = header.startsWith('"') ? QUOTED.exec(header)?.[1]?.replace(/\\(.)/g, '$1') : header;
  return key !== undefined && /^[\x21-\x7e]{1,255}$/.test(key) ? key : null;
}

export const IDEMPOTENCY_KEY_ISSUE: Issue = {
  path: 'Idempotency-Key',
  message: 'must have 1 to 255 visible ASCII characters, all of them or none in quotes',
};

/** @throws VALIDATION_FAILED if the header is present but malformed */
export function checkIdempotencyKey(header: unknown): void {
  if (header !== undefined && parseIdempotencyKey(header) === null)
    throw validationFailed([IDEMPOTENCY_KEY_ISSUE]);
}

/** The idempotency of a request's nth operation; undefined without a valid key. */
export function idempotencyOf(context: RequestContext, header: unknown, index = 0): Idempotency | undefined {
  const key = parseIdempotencyKey(header);
  if (key === null) return undefined;
  return { key: index === 0 ? key : `${key} ${index}.0`, request: context };
}
