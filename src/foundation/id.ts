/** The largest int32, which limits GraphQL's Int and all counts. */
export const MAX_INT32 = 2147483647;
export const MIN_INT32 = -MAX_INT32 - 1;

/** The largest int64, for ids; a bigint, since a double can't hold it. */
export const MAX_INT64 = 9223372036854775807n;
export const MIN_INT64 = -MAX_INT64 - 1n;

/** An int64 id from 1 to 9223372036854775807 as canonical decimal digits, which stay exact in JSON, maps and logs. */
export type Id = string;

/** The last three digits of integers. */
const LAST_DIGITS = Array.from({ length: 1_000 }, (_, n) => String(n).padStart(3, '0'));

/**
 * The digits of an integer: a number that is not negative, or text. String() keeps each in a cache of V8 until thousands
 * of others replace it, and by then garbage collection has moved it to the old generation.
 *
 * @param point goes before the last three digits, to write thousandths
 */
export const digitsOf = (value: unknown, point = ''): string =>
  typeof value === 'number' && (value >= 1_000 || point)
    ? Math.floor(value / 1_000) + point + LAST_DIGITS[value % 1_000]!
    : String(value);

/** The rule for ids, as used in messages. */
export const ID_RULE = `must be an integer from 1 to ${MAX_INT64}`;

/**
 * Parses an int64 id.
 *
 * @param value canonical decimal digits, or a positive number or bigint in range
 * @returns the digits; null for 0, negatives, leading zeros, signs, fractions, exponents and anything else
 */
export const parseId = (value: unknown): Id | null => parseInt64(value, 1n, MAX_INT64);

/**
 * Parses an int64 between two bounds.
 *
 * @param value canonical decimal digits with or without a minus, or an exact number or bigint
 * @returns the digits; null for anything else
 */
export function parseInt64(value: unknown, min: bigint, max: bigint): string | null {
  const isExact = typeof value === 'string' || typeof value === 'bigint' || Number.isSafeInteger(value);
  const digits = isExact ? String(value) : '';
  if (!/^(?:0|-?[1-9][0-9]{0,18})$/.test(digits)) return null;
  const integer = BigInt(digits);
  return integer >= min && integer <= max ? digits : null;
}

/** Parses a nonnegative integer of at most ten digits. @returns null for anything else or out of range */
export function parseInteger(text: string, min: number, max: number): number | null {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  return value >= min && value <= max ? value : null;
}

/** The exact value of an int64's digits: a number if that is exact, else a bigint. */
export const integerOf = (digits: string): number | bigint =>
  Number.isSafeInteger(Number(digits)) ? Number(digits) : BigInt(digits);

/** A random distance from 1 to `most`. Ids that are looked at so can't be chosen to have almost all others skipped. */
export const randomStep = (most: bigint): bigint => 1n + BigInt(Math.floor(Math.random() * Number(most)));
