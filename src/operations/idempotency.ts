import { createHash } from 'node:crypto';
import type { Context } from '../kit/context.ts';
import type { Transaction } from '../store/store.ts';

/** How long outcomes are kept, in milliseconds. */
const IDEMPOTENCY_TTL = 24 * 60 * 60 * 1000;

/**
 * Runs `work` once per Idempotency-Key, operation and input, over any transport. A repeated call gets the
 * first outcome.
 *
 * @param several whether `work` makes several writes, or reads what they left
 * @throws what `work` throws, which is not kept
 */
export async function callOnce<T>(
  { store, principal, idempotency, now }: Context,
  operation: string,
  input: object,
  work: (transaction: Transaction) => Promise<T>,
  several = false,
): Promise<{ value: T; replayed: boolean }> {
  const { value, replayed } = await store.once(
    {
      apiKeyId: principal.id,
      idempotencyKey: idempotency!.key,
      fingerprint: fingerprint(operation, input),
      now: now(),
      keepFor: IDEMPOTENCY_TTL,
      several,
    },
    work,
  );
  if (replayed) idempotency!.onReplay();
  return { value, replayed };
}

/** Digest of an operation and its input, independent of the order of fields. */
const fingerprint = (operation: string, input: object): string =>
  createHash('sha256').update(operation).update(canonicalText(input)).digest('base64url');

/**
 * Writes a value so that only equal values yield equal text. Plain JSON would write a bigint, its digits and NaN alike.
 * Digests of it are kept for a day, so later versions must write the same.
 */
function canonicalText(value: unknown): string {
  if (typeof value === 'bigint' || Number.isNaN(value)) return `["number","${value}"]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) {
    let text = '["list"';
    for (const item of value) text += `,${canonicalText(item)}`;
    return `${text}]`;
  }
  let text = '["object"';
  for (const name of Object.keys(value).sort()) {
    const part = (value as Record<string, unknown>)[name];
    if (part !== undefined) text += `,[${JSON.stringify(name)},${canonicalText(part)}]`;
  }
  return `${text}]`;
}
