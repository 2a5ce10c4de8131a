import { isUtf8 } from 'node:buffer';
import { type DuplicateKeyInfo, parse } from 'lossless-json';
import { AppError } from '../foundation/errors.ts';

const SPACE = 0x20;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
/** A number that JSON.parse might round or normalise: many digits, a fraction or an exponent. */
const INEXACT_NUMBER = /\d{16}|\d[.eE]/;

/**
 * Parses JSON without losing integer precision: integers beyond 2^53 become bigints. A number with an integer
 * value that is not written as an integer (`1.0`, `1e3`) becomes NaN, which every rule refuses, because ids
 * and counts may not be written that way. Duplicate names in an object are refused (RFC 8259 section 4 leaves
 * them undefined).
 *
 * @param name what it is called in messages
 * @throws BAD_REQUEST for anything but JSON in UTF-8
 */
export function parseJson(bytes: Buffer, name = 'The body'): unknown {
  if (!isUtf8(bytes)) throw new AppError('BAD_REQUEST', `${name} is not valid UTF-8.`);
  const text = bytes.toString('utf8');
  let value: unknown;
  let hasUniqueNames: boolean;
  try {
    value = needsLosslessParsing(text) ? parse(text, undefined, LOSSLESS_OPTIONS) : JSON.parse(text);
    // JSON.parse keeps one of several duplicate names, so the text then has more names than the value.
    hasUniqueNames = namesInText(text) === namesIn(value, MAX_NESTING);
  } catch {
    throw new AppError('BAD_REQUEST', `${name} is not valid JSON.`);
  }
  if (!hasUniqueNames) throw new AppError('BAD_REQUEST', `${name} has a duplicate name in an object.`);
  return value;
}

/** Whether any number outside of strings needs lossless parsing, which is slow. */
function needsLosslessParsing(text: string): boolean {
  if (!INEXACT_NUMBER.test(text)) return false;
  let at = 0;
  for (;;) {
    const quote = text.indexOf('"', at);
    if (INEXACT_NUMBER.test(text.slice(at, quote < 0 ? undefined : quote))) return true;
    if (quote < 0) return false;
    at = afterString(text, quote);
  }
}

/** Counts the object names in valid JSON text: strings followed by a colon. Reads each character at most twice. */
function namesInText(text: string): number {
  let names = 0;
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at)) {
    at = afterString(text, at);
    // In valid JSON, every character up to the space here is white space.
    while (text.charCodeAt(at) <= SPACE) at++;
    if (text.charCodeAt(at) === COLON) names++;
  }
  return names;
}

/** @param start index of the opening quote. @returns the index after the closing quote */
function afterString(text: string, start: number): number {
  let end = start;
  let escapes: number;
  do {
    end = text.indexOf('"', end + 1);
    if (end < 0) return text.length;
    escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes++;
  } while (escapes % 2 === 1);
  return end + 1;
}

/** Digits of an integer that are read: it is out of every range by then, and BigInt takes 20 ms for 99,000. */
const MAX_DIGITS = 40;

/** The last duplicate wins, as with JSON.parse. */
const LOSSLESS_OPTIONS = { parseNumber, onDuplicateKey: ({ newValue }: DuplicateKeyInfo) => newValue };

function parseNumber(literal: string): number | bigint {
  const value = Number(literal);
  if (!/^-?\d+$/.test(literal)) return Number.isInteger(value) ? Number.NaN : value;
  return Number.isSafeInteger(value) ? value : BigInt(literal.slice(0, MAX_DIGITS));
}

/** Levels of nested JSON that are read (RFC 8259 section 9). To overflow the stack takes 4 ms. */
const MAX_NESTING = 1_000;

/**
 * Counts the names of all objects in a parsed value. `for in` suffices: parsed JSON has no inherited properties.
 *
 * @throws Error if it has more levels
 */
function namesIn(value: unknown, levels: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (levels === 0) throw new Error('The JSON is nested too deeply.');
  let names = 0;
  if (Array.isArray(value)) {
    for (const item of value) names += namesIn(item, levels - 1);
  } else {
    for (const name in value) names += 1 + namesIn((value as Record<string, unknown>)[name], levels - 1);
  }
  return names;
}

/** @throws BAD_REQUEST unless it is an object */
export function asObject(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new AppError('BAD_REQUEST', 'The body must be a JSON object.');
  }
  return value as Record<string, unknown>;
}
