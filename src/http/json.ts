import { isUtf8 } from 'node:buffer';
import { type DuplicateKeyInfo, parse } from 'lossless-json';
import { AppError } from '../errors.ts';

/** A number that JSON.parse could round, or whose notation it would hide: long digits, fractions, exponents. */
const NEEDS_CARE = /\d{16}|\d[.eE]/;
const NAME_ENDS = /"\s*:/g;
const STRINGS = /"(?:[^"\\]|\\.)*"/g;

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
    value = NEEDS_CARE.test(text) ? parse(text, undefined, CAREFULLY) : JSON.parse(text);
    // Here too: a text can be nested more deeply than the stack reaches.
    hasEachNameOnce = hasDistinctNames(text, value);
  } catch {
    throw new AppError('BAD_REQUEST', 'The body is not valid JSON.');
  }
  if (!hasEachNameOnce) throw new AppError('BAD_REQUEST', 'The body has the same name twice in one object.');
  return value;
}

/** Parsing keeps one of equal names, so the text then has more names than the value. */
function hasDistinctNames(text: string, value: unknown): boolean {
  const names = countNames(value);
  // At least as many as there are names; more only if a string holds such a pair of characters.
  if ((text.match(NAME_ENDS)?.length ?? 0) === names) return true;
  return names === text.replace(STRINGS, '').split(':').length - 1;
}

/** Of equal names the last one counts here, as for JSON.parse. */
const CAREFULLY = { parseNumber, onDuplicateKey: ({ newValue }: DuplicateKeyInfo) => newValue };

function parseNumber(literal: string): number | bigint {
  const value = Number(literal);
  if (!/^-?\d+$/.test(literal)) return Number.isInteger(value) ? Number.NaN : value;
  return Number.isSafeInteger(value) ? value : BigInt(literal);
}

function countNames(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const parts = Object.values(value);
  let names = Array.isArray(value) ? 0 : parts.length;
  for (const part of parts) names += countNames(part);
  return names;
}

/** @throws BAD_REQUEST unless it is an object */
export function asObject(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new AppError('BAD_REQUEST', 'The body must be a JSON object.');
  }
  return value as Record<string, unknown>;
}
