import type { Field, FieldKind } from '../../foundation/fields.ts';
import { formatInstant, parseInstant } from '../../foundation/instant.ts';
import type { AnyRecord, Fields } from '../../foundation/record.ts';
import type { Value } from './connection.ts';

/** How the values of one kind are stored. `stored` and `read` never get an absent value. */
interface Codec {
  type: 'integer' | 'text';
  stored(value: never): Value;
  /** Absent if the stored form is the value itself. */
  read?(value: never): unknown;
}

function millisecondsOf(text: string): number {
  const instant = parseInstant(text);
  if (instant === null) throw new TypeError(`Not an RFC 3339 date-time: ${text}`);
  return instant;
}

const CODECS: Readonly<Record<FieldKind, Codec>> = {
  // Read as text (`columnList`), because JSON numbers would be rounded.
  id: { type: 'integer', stored: (id: string) => BigInt(id) },
  integer: { type: 'integer', stored: (value: number) => value },
  boolean: {
    type: 'integer',
    stored: (value: boolean) => (value ? 1 : 0),
    read: (value: number) => value === 1,
  },
  text: { type: 'text', stored: (value: string) => value },
  instant: { type: 'integer', stored: millisecondsOf, read: formatInstant },
  date: { type: 'text', stored: (value: string) => value },
};

/** A column of a record's table, apart from its id. */
export interface Column {
  field: string;
  /** In snake case. */
  name: string;
  declaration: Field;
  type: 'integer' | 'text';
  stored(value: unknown): Value;
  read: ((value: unknown) => unknown) | undefined;
}

export const columnName = (field: string): string =>
  field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The columns of a record's table in the order of its fields. */
export const columnsOf = ({ fields }: AnyRecord): readonly Column[] =>
  Object.entries(fields as Fields).map(([field, declaration]) => {
    const { type, stored, read } = CODECS[declaration.kind];
    return {
      field,
      name: columnName(field),
      declaration,
      type,
      stored: (value) => (value == null ? null : stored(value as never)),
      read: read as Column['read'],
    };
  });
