/** An int64 id from 1 to 9223372036854775807 in canonical decimal digits: exact in JSON, in maps and in logs. */
export type Id = string;

const LARGEST = '9223372036854775807';

/** What an id must be, for messages. */
export const ID_RULE = `must be an integer from 1 to ${LARGEST}`;

/**
 * Reads an int64 id.
 *
 * @param value canonical decimal digits, or a number or bigint that is a positive integer in range
 * @returns the digits, or null for anything else: 0, negatives, leading zeros, signs, fractions, exponents
 */
export function parseId(value: unknown): Id | null {
  switch (typeof value) {
    case 'string':
      return /^[1-9][0-9]{0,18}$/.test(value) && (value.length < LARGEST.length || value <= LARGEST)
        ? value
        : null;
    case 'number':
      return Number.isSafeInteger(value) && value > 0 ? String(value) : null;
    case 'bigint':
      return value > 0n && value <= BigInt(LARGEST) ? String(value) : null;
    default:
      return null;
  }
}
