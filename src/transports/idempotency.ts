import { parseIdempotencyKey } from '../http/idempotency-key.ts';
import type { RequestContext } from '../http/request-context.ts';
import type { Idempotency } from '../schema/context.ts';

/**
 * The idempotency of the nth operation of a request. Over REST the header applies to POST and PATCH, since
 * PUT and DELETE are idempotent anyway; over GraphQL it applies to every mutation.
 */
export function idempotencyFor(context: RequestContext, index: number): Idempotency | undefined {
  const { method, headers } = context;
  if (method !== 'POST' && method !== 'PATCH') return undefined;
  const key = parseIdempotencyKey(headers['idempotency-key']);
  return key === null ? undefined : idempotencyWith(context, key, index);
}

/** The idempotency of the nth operation of a request that has this key. */
export function idempotencyWith(context: RequestContext, key: string, index: number): Idempotency {
  let calls = 0;
  return {
    nextKey: () => {
      const call = calls++;
      return index === 0 && call === 0 ? key : `${key} ${index}.${call}`;
    },
    onReplay: () => {
      context.replayed = true;
    },
  };
}
