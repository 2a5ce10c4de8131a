import { isUtf8 } from 'node:buffer';
import { type DuplicateKeyInfo, parse } from 'lossless-json';
import { AppError } from '../foundation/errors.ts';

/** A number that JSON.parse might round or normalise: many digits, a fraction or an exponent. */
const INEXACT_NUMBER = /\d{16}|\d[.eE]/;
/** The same, or a string. Ends a string that is not ended where the text ends, or failing would take quadratic time. */
const STRING_OR_INEXACT_NUMBER = /"(?:[^"\\]|\\.?)*"?|\d{16}|\d[.eE]/gs;

/**
 * Parses JSON without losing integer precision: integers beyond 2^53 become bigints. A number with an integer
 * value that is not written as an integer (`1.0`, `1e3`) becomes NaN, which every rule refuses, because ids
 * and counts may not be written that way. Of duplicate names in an object the last counts.
 *
 * @param name what it is called in messages
 * @param hint what to send instead of what is not JSON
 * @param parseNumber reads the numbers that JSON.parse might round or normalise
 * @throws BAD_REQUEST for anything but JSON in UTF-8
 */
export function parseJson(bytes: Buffer, name = BODY, hint = '', parseNumber = exactNumber): unknown {
  if (!isUtf8(bytes)) throw new AppError('BAD_REQUEST', `${name} is not valid UTF-8.`);
  const text = bytes.toString('utf8');
  try {
    return needsLosslessParsing(text)
      ? parse(text, undefined, { parseNumber, onDuplicateKey })
      : JSON.parse(text);
  } catch {
    const place = name === BODY ? placeOfFault(text) : '';
    throw new AppError('BAD_REQUEST', `${name} is not valid JSON${place}.${hint}`);
  }
}

const BODY = 'The body';

/** Where text stops being JSON. Only some messages of JSON.parse say so. */
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

/** Whether any number outside of strings needs lossless parsing, which is slow. */
const needsLosslessParsing = (text: string): boolean =>
  INEXACT_NUMBER.test(text) && text.match(STRING_OR_INEXACT_NUMBER)!.some((found) => !found.startsWith('"'));

/** Digits of an integer that are read: it is out of every range by then, and BigInt takes 20 ms for 99,000. */
const MAX_DIGITS = 40;

/** The last duplicate wins, as with JSON.parse. */
const onDuplicateKey = ({ newValue }: DuplicateKeyInfo) => newValue;

/** An integer, as a bigint where a double would round it; NaN if it is not written as one. */
export function exactNumber(literal: string): number | bigint {
  const value = Number(literal);
  if (!/^-?\d+$/.test(literal)) return Number.isInteger(value) ? Number.NaN : value;
  return Number.isSafeInteger(value) ? value : BigInt(literal.slice(0, MAX_DIGITS));
}

/** @param name what it is called in messages @throws BAD_REQUEST unless it is an object */
export function asObject(value: unknown, name = BODY): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new AppError('BAD_REQUEST', `${name} must be a JSON object.`);
  }
  return value as Record<string, unknown>;
}
