import { isUtf8 } from 'node:buffer';
import { type DuplicateKeyInfo, LosslessNumber, parse } from 'lossless-json';
import { AppError } from '../foundation/errors.ts';
import { isObject } from '../schema/json-text.ts';

/** A number that JSON.parse might round or normalise: many digits, a fraction or an exponent. */
const INEXACT_NUMBER = /\d{16}|\d[.eE]/;
/** The same, or a string. An unterminated one matches up to the end, since failing would take quadratic time. */
const STRING_OR_INEXACT_NUMBER = /"(?:[^"\\]|\\.?)*"?|\d{16}|\d[.eE]/gs;

/**
 * Parses JSON without losing integer precision. Notation doesn't matter: `2.0` and `1e1` are integers. Integers beyond
 * 2^53 become bigints; other numbers that a double cannot hold become a `SentNumber`, which every rule refuses. The
 * last of duplicate names in an object wins. A byte order mark is ignored (RFC 8259 section 8.1).
 *
 * @param name the name of the text in messages @param hint what to send instead of text that isn't JSON
 * @throws BAD_REQUEST for anything but JSON in UTF-8
 */
export function parseJson(bytes: Buffer, name = BODY, hint = ''): unknown {
  if (!isUtf8(bytes)) throw new AppError('BAD_REQUEST', `${name} is not valid UTF-8.`);
  const text = bytes.toString('utf8', bytes.subarray(0, 3).equals(BYTE_ORDER_MARK) ? 3 : 0);
  try {
    return needsLosslessParsing(text) ? parse(text, undefined, LOSSLESS_OPTIONS) : JSON.parse(text);
  } catch {
    const place = name === BODY ? placeOfFault(text) : '';
    throw new AppError('BAD_REQUEST', `${name} is not valid JSON${place}.${hint}`);
  }
}

const BODY = 'The body';
const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/** The position of the first syntax error, for messages. Not all messages of JSON.parse have it. */
function placeOfFault(text: string): string {
  try {
    parse(text);
    return '';
  } catch (error) {
    const position = /position (\d+)/.exec((error as Error).message)?.[1];
    if (position === undefined) return '';
    const lines = text.slice(0, Number(position)).split('\n');
    return ` (line ${lines.length}, column ${lines.at(-1)!.length + 1})`;
  }
}

/** True if any number outside strings needs lossless parsing, which is slow. */
const needsLosslessParsing = (text: string): boolean =>
  INEXACT_NUMBER.test(text) && text.match(STRING_OR_INEXACT_NUMBER)!.some((match) => !match.startsWith('"'));

/** Maximum digits of an integer: longer ones are out of every range, and BigInt takes 20 ms for 99,000 digits. */
const MAX_DIGITS = 40;

/** The last duplicate wins, as with JSON.parse. */
const LOSSLESS_OPTIONS = {
  parseNumber: exactNumber,
  onDuplicateKey: ({ newValue }: DuplicateKeyInfo) => newValue,
};

/** A number that neither a double nor an integer of MAX_DIGITS can hold. Messages repeat it as sent. */
class SentNumber extends LosslessNumber {
  /** Used in graphql-js's messages. */
  toJSON(): string {
    return this.value;
  }
}

/** The exact value of a JSON number; NaN for any other text. */
export function exactNumber(literal: string): number | bigint | SentNumber {
  const parts = NUMBER.exec(literal);
  if (!parts) return Number.NaN;
  const integer = integerOf(parts);
  if (integer !== undefined) return Number.isSafeInteger(Number(integer)) ? Number(integer) : BigInt(integer);
  const value = Number(literal);
  return String(value) === literal ? value : new SentNumber(literal);
}

/** The digits of a number that is an integer of at most MAX_DIGITS digits; undefined for any other. */
function integerOf([, sign, whole, fraction = '', exponent = '0']: RegExpExecArray): string | undefined {
  const digits = (whole! + fraction).replace(/^0+/, '');
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  if (end === 0) return '0';
  const zeros = Number(exponent) - fraction.length + digits.length - end;
  if (zeros < 0 || end + zeros > MAX_DIGITS) return undefined;
  return `${sign}${digits.slice(0, end)}${'0'.repeat(zeros)}`;
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** @param name the name of the value in messages @throws BAD_REQUEST unless it is an object */
export function asObject(value: unknown, name = BODY): Record<string, unknown> {
  if (isObject(value)) return value;
  throw new AppError('BAD_REQUEST', `${name} must be a JSON object.`);
}
