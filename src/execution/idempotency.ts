import { createHash } from 'node:crypto';
import { AppError } from '../foundation/errors.ts';
import type { MaybePromise } from '../foundation/maybe-promise.ts';
import type { Context } from '../schema/context.ts';
import type { Outcome, PetstoreWrites } from '../store/store.ts';

/** How long outcomes are kept, in milliseconds. */
const IDEMPOTENCY_TTL = 24 * 60 * 60 * 1000;

/**
 * Runs `work` once per Idempotency-Key, operation and input, over any transport. A repeated call gets the
 * first outcome.
 */
export async function runOnce<T>(
  { store, principal, idempotency, now }: Context,
  operation: string,
  input: object,
  work: (writes: PetstoreWrites) => MaybePromise<T>,
): Promise<T> {
  const outcome: Outcome<T> = await store.once(
    {
      apiKeyId: principal.id,
      idempotencyKey: idempotency!.nextKey(),
      fingerprint: fingerprint(operation, input),
      now: now(),
      keepFor: IDEMPOTENCY_TTL,
    },
    work,
  );
  if (outcome.replayed) idempotency!.onReplay();
  if (outcome.error) {
    const { code, message } = outcome.error;
    throw new AppError(code, message, { cause: outcome.error });
  }
  return outcome.value as T;
}

/** Digest of an operation and its input, independent of the order of fields. */
const fingerprint = (operation: string, input: object): string =>
  createHash('sha256')
    .update(operation)
    .update(JSON.stringify(canonical(input)))
    .digest('base64url');

/**
 * Converts a value so that only equal values yield equal JSON. Plain JSON would write a bigint, its digits
 * and NaN alike.
 */
function canonical(value: unknown): unknown {
  if (typeof value === 'bigint' || Number.isNaN(value)) return ['number', String(value)];
  if (Array.isArray(value)) return ['list', ...value.map(canonical)];
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value)
    .filter(([, part]) => part !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, part]) => [name, canonical(part)]);
  return ['object', ...fields];
}
