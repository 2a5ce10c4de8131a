import { parseId } from '../../domains/id.ts';
import { RESOURCES } from '../../domains/routes.ts';
import type { Field, Shape } from '../../domains/shape.ts';
import type { Int64Format } from './media-types.ts';

/** Writes one record as JSON text. */
export type Writer = (record: object) => string;

/** Text that JSON takes as it is, which nearly all names are. */
const PLAIN = /^[^"\\\p{Cc}\p{Cs}]*$/u;
const quote = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text));

const bare = (value: unknown): string => String(value);

/** How the values of a field are written. Ids are digits in the record and become JSON integers without passing through a number. */
function valueWriter(
  { kind, toRestValue, recordType }: Field,
  format: Int64Format,
): (value: unknown, record: object) => string {
  if (kind === 'record')
    return (value, record) =>
      writerFor(recordType!(record as Record<string, unknown>), format)(value as object);
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

/** The writer of the records of a GraphQL type; absent optional values are left out, never null. */
export const writerFor = (type: string, format: Int64Format): Writer => WRITERS[format][type]!;

/** Writes a list of records as a bare JSON array. */
export function writeList(write: Writer, records: readonly object[]): string {
  let json = '[';
  for (let i = 0; i < records.length; i++) json += i === 0 ? write(records[i]!) : `,${write(records[i]!)}`;
  return `${json}]`;
}

/** A body whose ids may be strings of digits, with integers in their place. Anything else is left for the rules to refuse. */
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

/** As the same digits come out of a JSON body. */
const integerOf = (digits: string): number | bigint =>
  Number.isSafeInteger(Number(digits)) ? Number(digits) : BigInt(digits);
