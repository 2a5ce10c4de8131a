import { type Issue, validationFailed } from '../errors.ts';

/** Visible ASCII of 1 to 255 characters. */
export const isIdempotencyKey = (value: unknown): value is string =>
  typeof value === 'string' && /^[\x21-\x7e]{1,255}$/.test(value);

export const IDEMPOTENCY_KEY_ISSUE: Issue = {
  path: 'Idempotency-Key',
  message: 'must have 1 to 255 visible ASCII characters',
};

/** @throws VALIDATION_FAILED for a header that is there and no key */
export function checkIdempotencyKey(header: unknown): void {
  if (header !== undefined && !isIdempotencyKey(header)) throw validationFailed([IDEMPOTENCY_KEY_ISSUE]);
}
