import { isUtf8 } from 'node:buffer';
import { type DuplicateKeyInfo, parse } from 'lossless-json';
import { AppError } from '../errors.ts';

const SPACE = 0x20;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
/** A number that JSON.parse could round, or whose notation it would hide: long digits, fractions, exponents. */
const INEXACT_NUMBER = /\d{16}|\d[.eE]/;

/**
 * Parses JSON so that integers stay exact: those beyond 2^53 become bigints. A number that isn't written as an integer but has
 * the value of one (`1.0`, `1e3`) becomes NaN, because an id or a count may not be written so and no rule lets NaN
 * pass. The same name twice in one object is refused (RFC 8259 section 4 leaves its meaning open).
 *
 * @throws BAD_REQUEST for anything that isn't JSON in UTF-8
 */
export function parseJson(body: Buffer): unknown {
  if (!isUtf8(body)) throw new AppError('BAD_REQUEST', 'The body is not valid UTF-8.');
  const text = body.toString('utf8');
  let value: unknown;
  let hasEachNameOnce: boolean;
  try {
    value = needsLosslessParsing(text) ? parse(text, undefined, LOSSLESS_OPTIONS) : JSON.parse(text);
    // Here too: a text can be nested more deeply than the stack reaches.
    // Parsing keeps one of equal names, so the text then has more names than the value.
    hasEachNameOnce = namesInText(text) === namesIn(value);
  } catch {
    throw new AppError('BAD_REQUEST', 'The body is not valid JSON.');
  }
  if (!hasEachNameOnce) throw new AppError('BAD_REQUEST', 'The body has the same name twice in one object.');
  return value;
}

/** Whether a number needs care, be the same characters in strings as often as they like: that way of parsing is slow. */
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

/** How many names the objects of a valid JSON text have: strings that a colon follows. Reads each character once or twice. */
function namesInText(text: string): number {
  let names = 0;
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at)) {
    at = afterString(text, at);
    // In valid JSON nothing below the space is anything but white space.
    while (text.charCodeAt(at) <= SPACE) at++;
    if (text.charCodeAt(at) === COLON) names++;
  }
  return names;
}

/** @param start of a string. @returns where it has ended */
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

/** Of equal names the last one counts here, as for JSON.parse. */
const LOSSLESS_OPTIONS = { parseNumber, onDuplicateKey: ({ newValue }: DuplicateKeyInfo) => newValue };

function parseNumber(literal: string): number | bigint {
  const value = Number(literal);
  if (!/^-?\d+$/.test(literal)) return Number.isInteger(value) ? Number.NaN : value;
  return Number.isSafeInteger(value) ? value : BigInt(literal);
}

/** How many names the objects of a parsed value have. An object's own are all that it enumerates: JSON has no prototypes. */
function namesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let names = 0;
  if (Array.isArray(value)) {
    for (const item of value) names += namesIn(item);
  } else {
    for (const name in value) names += 1 + namesIn((value as Record<string, unknown>)[name]);
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
