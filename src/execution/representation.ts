import { RESOURCES } from '../domains/routes.ts';
import { integerOf, parseId } from '../foundation/id.ts';
import { representedAs, type Shape, type ShapeField } from '../schema/shape.ts';

/**
 * How JSON represents an int64: as an integer, or as a string of digits for callers whose numbers are IEEE
 * 754 doubles.
 */
export type Int64Format = 'integer' | 'string';

/** Writes a record as JSON text. */
export type Writer = (record: object) => string;

/** Text that needs no escaping in JSON, as nearly all names do. */
const PLAIN = /^[^"\\\p{Cc}\p{Cs}]*$/u;
const quote = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text));

const bare = (value: unknown): string => String(value);

/**
 * Returns the function that writes a field's values. Ids are kept as digits and become JSON integers without
 * passing through a double.
 */
function valueWriter(
  { kind, toRestValue, recordType }: ShapeField,
  format: Int64Format,
): (value: unknown, record: object) => string {
  if (kind === 'record')
    return (value, record) =>
      writerFor(recordType!(record as Record<string, unknown>), format)(value as object);
  if (kind === 'strings')
    return (value) => JSON.stringify((value as string[]).map((one) => toRestValue?.(one) ?? one));
  if (kind === 'int64') return format === 'integer' ? bare : (value) => `"${value}"`;
  if (kind !== 'string') return bare;
  return toRestValue ? (value) => quote(toRestValue(value as string)) : (value) => quote(value as string);
}

function writerOf({ fields }: Shape, format: Int64Format): Writer {
  const parts = Object.entries(fields).map(([name, field]) => ({
    name,
    key: `"${name}":`,
    write: valueWriter(field, format),
  }));
  return (record) => {
    let json = '';
    for (const { name, key, write } of parts) {
      const value = (record as Record<string, unknown>)[name];
      if (value === undefined || value === null) continue;
      json += `${json === '' ? '{' : ','}${key}${write(value, record)}`;
    }
    return `${json}}`;
  };
}

const writersIn = (format: Int64Format): Readonly<Record<string, Writer>> =>
  Object.fromEntries(RESOURCES.map(({ shape }) => [shape.type, writerOf(shape, format)]));

const WRITERS = { integer: writersIn('integer'), string: writersIn('string') };

/** The writer for records of a GraphQL type. Omits absent values instead of writing null. */
export const writerFor = (type: string, format: Int64Format): Writer => WRITERS[format][type]!;

/** Writes a list of records as a bare JSON array. */
export function writeList(write: Writer, records: readonly object[]): string {
  let json = '[';
  for (let i = 0; i < records.length; i++) json += i === 0 ? write(records[i]!) : `,${write(records[i]!)}`;
  return `${json}]`;
}

const SHAPES: Readonly<Record<string, Shape>> = Object.fromEntries(
  RESOURCES.map(({ shape }) => [shape.type, shape]),
);

/** A stored record as the GraphQL type shows it, to be written by `writerFor`. */
export const formOf = (type: string, record: object): Record<string, unknown> =>
  representedAs(SHAPES[type]!, record as Record<string, unknown>);

/** The stored record of which this is the form. */
export const recordOfForm = (type: string, form: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(SHAPES[type]!.fields).map(([name, { property = name }]) => [
      property,
      (form as Record<string, unknown>)[name],
    ]),
  );

/** Converts ids given as strings of digits to integers. Leaves anything else for the rules to refuse. */
export function withIntegerIds(
  { fields }: Shape,
  body: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => {
      const isId = Object.hasOwn(fields, name) && fields[name]!.kind === 'int64';
      return [name, isId && typeof value === 'string' && parseId(value) !== null ? integerOf(value) : value];
    }),
  );
}
