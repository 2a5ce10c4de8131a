import { memoized } from '../foundation/cache.ts';
import { integerOf, MAX_INT64, MIN_INT64, parseInt64 } from '../foundation/id.ts';
import { formatInstant } from '../foundation/instant.ts';
import {
  jsonOf,
  listOf,
  objectOf,
  type WriteJson,
  writeAny,
  writeInteger,
  writeQuotedInteger,
  writeString,
} from '../schema/json-writer.ts';
import type { Shape, ShapeField } from './shape.ts';

/** The JSON form of an int64: an integer, or a string of digits for callers whose numbers are IEEE 754 doubles. */
export type Int64Format = 'integer' | 'string';

/**
 * Creates the writer of a field's values. Ids are digits, and become JSON integers without passing through a double.
 */
function valueWriter({ kind, choices, shapeOf }: ShapeField, format: Int64Format): WriteJson {
  if (kind === 'record')
    return (value, outer) => WRITERS[format](shapeOf!(outer as Record<string, unknown>)).one(value, outer);
  if (kind === 'int64') return format === 'integer' ? writeInteger : writeQuotedInteger;
  if (kind === 'instant') return writeInstant;
  const { restValue } = choices ?? {};
  const write = restValue ? (value: string) => writeString(restValue(value)) : writeAny;
  return kind === 'strings' ? listOf(write) : write;
}

const writeInstant = (value: string | number): void =>
  writeString(typeof value === 'number' ? formatInstant(value) : value);

function writersOf({ fields }: Shape, format: Int64Format): { one: WriteJson; list: WriteJson } {
  // Absent values are omitted rather than null.
  const one = objectOf(
    Object.entries(fields).map(([name, field]) => ({
      name,
      write: valueWriter(field, format),
      optional: true,
    })),
  );
  return { one, list: listOf(one) };
}

const WRITERS = {
  integer: memoized((shape: Shape) => writersOf(shape, 'integer')),
  string: memoized((shape: Shape) => writersOf(shape, 'string')),
};

/** Writes records as JSON: a single record, or a list as a bare array. */
export interface ShapeWriter {
  one(record: object): string;
  list(records: readonly object[]): string;
}

/** The writer of a shape's records. */
export function shapeWriter(shape: Shape, format: Int64Format): ShapeWriter {
  const { one, list } = WRITERS[format](shape);
  return { one: (record) => jsonOf(one, record), list: (records) => jsonOf(list, records) };
}

/** Converts int64 fields that are strings of digits to integers. Leaves anything else for the rules to refuse. */
export function withIntegers(
  { fields }: Shape,
  body: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const names = Object.keys(fields).filter(
    (name) => fields[name]!.kind === 'int64' && Object.hasOwn(body, name) && isDigits(body[name]),
  );
  if (names.length === 0) return body;
  return { ...body, ...Object.fromEntries(names.map((name) => [name, integerOf(body[name] as string)])) };
}

const isDigits = (value: unknown): boolean =>
  typeof value === 'string' && parseInt64(value, MIN_INT64, MAX_INT64) !== null;
