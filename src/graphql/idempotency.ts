import { createHash } from 'node:crypto';
import { AppError } from '../errors.ts';
import type { MaybePromise } from '../maybe-promise.ts';
import type { Outcome, PetstoreWrites } from '../store/store.ts';
import type { Context } from './context.ts';

/** How long the outcome of an idempotent call is kept, in milliseconds. */
const IDEMPOTENCY_TTL = 24 * 60 * 60 * 1000;

/**
 * Runs `work` once for the request's Idempotency-Key and this operation with this input, whichever transport it came
 * through; a repeated call gets the first outcome.
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

/** A digest of the operation and its input that does not depend on the order of fields. */
const fingerprint = (operation: string, input: object): string =>
  createHash('sha256')
    .update(operation)
    .update(JSON.stringify(canonical(input)))
    .digest('base64url');

/** As JSON that is equal for equal values only, where JSON alone writes a long integer, its digits and no number alike. */
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
