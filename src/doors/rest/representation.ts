import { RESOURCES } from '../../domains/index.ts';
import type { FieldKind, Shape } from '../../domains/shape.ts';

/** Writes one record as JSON text. */
export type Writer = (record: object) => string;

/** Text that JSON takes as it is, which nearly all names are. */
const PLAIN = /^[^"\\\p{Cc}\p{Cs}]*$/u;
const quote = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text));

/** Ids are digits in the record and become JSON integers here without passing through a number. */
const isWrittenBare = (kind: FieldKind) => kind !== 'string';

function writerOf({ fields }: Shape): Writer {
  const parts = Object.entries(fields).map(([name, { kind }]) => ({
    name,
    key: `"${name}":`,
    bare: isWrittenBare(kind),
  }));
  return (record) => {
    let json = '';
    for (const { name, key, bare } of parts) {
      const value = (record as Record<string, unknown>)[name];
      if (value === undefined || value === null) continue;
      json += `${json === '' ? '{' : ','}${key}${bare ? value : quote(value as string)}`;
    }
    return `${json}}`;
  };
}

const WRITERS: Readonly<Record<string, Writer>> = Object.fromEntries(
  RESOURCES.map(({ shape }) => [shape.type, writerOf(shape)]),
);

/** The writer of the records of a GraphQL type; absent optional values are left out, never null. */
export const writerFor = (type: string): Writer => WRITERS[type]!;

/** Writes a list of records as a bare JSON array. */
export function writeList(write: Writer, records: readonly object[]): string {
  let json = '[';
  for (let i = 0; i < records.length; i++) json += i === 0 ? write(records[i]!) : `,${write(records[i]!)}`;
  return `${json}]`;
}
