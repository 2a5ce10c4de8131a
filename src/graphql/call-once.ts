import { createHash } from 'node:crypto';
import type { Context } from '../schema/context.ts';
import type { Transaction } from '../store/store.ts';

/** How long outcomes are kept, in milliseconds. */
const IDEMPOTENCY_TTL = 24 * 60 * 60 * 1000;

/**
 * Runs `work` once per Idempotency-Key, operation and input, over any transport. Repeated calls get the first outcome.
 *
 * @param how `single` if `work` makes at most one write, at its end
 * @throws whatever `work` throws; errors are not stored
 */
export async function callOnce<T>(
  { store, principal, idempotency, now }: Context,
  operation: string,
  input: object,
  work: (transaction: Transaction) => Promise<T>,
  how?: 'single',
): Promise<{ value: T; replayed: boolean }> {
  const { value, replayed } = await store.once(
    {
      apiKeyId: principal.id,
      idempotencyKey: idempotency!.key,
      fingerprint: fingerprint(operation, input),
      now: now(),
      keepFor: IDEMPOTENCY_TTL,
      how,
    },
    work,
  );
  if (replayed) idempotency!.request.replayed = true;
  return { value, replayed };
}

/** The digest of an operation and its input, independent of the order of fields. */
const fingerprint = (operation: string, input: object): string =>
  createHash('sha256').update(operation).update(canonicalText(input)).digest('base64url');

/**
 * Serialises a value as JSON with sorted names, since compiled documents have another order of arguments, and with
 * large integers as strings of digits. Digests are kept for a day, so later versions must write the same text.
 */
const canonicalText = (value: unknown): string =>
  JSON.stringify(value, (_, part) => {
    if (typeof part === 'bigint') return String(part);
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
