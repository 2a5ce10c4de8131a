import { memoized } from '../../foundation/cache.ts';
import { type Field, type FieldKind, isFolded } from '../../foundation/fields.ts';
import { folded } from '../../foundation/folded.ts';
import { digitsOf } from '../../foundation/id.ts';
import { formatInstant } from '../../foundation/instant.ts';
import { type AnyDeclaration, type Fields, snakeCase } from '../../foundation/record.ts';
import type { StoredRow } from '../engine.ts';
import type { SqliteConnection, Value } from './connection.ts';

/** The stored form of values by kind, except for absent ones. */
const CODECS: Readonly<Record<FieldKind, Pick<Column, 'type' | 'stored' | 'read'>>> = {
  id: { type: 'integer', stored: (id: string) => BigInt(id), read: digitsOf },
  bigInteger: { type: 'integer', stored: (digits: string) => BigInt(digits), read: digitsOf },
  integer: { type: 'integer', stored: (value: number) => value },
  boolean: { type: 'integer', stored: Number, read: Boolean },
  text: { type: 'text', stored: (value: string) => value },
  instant: { type: 'integer', stored: Date.parse, read: formatInstant },
  date: { type: 'text', stored: (value: string) => value },
};

/** A column of a record's table. */
export interface Column {
  field: string;
  /** In snake case and quoted, since a field may have a name such as `order`. */
  name: string;
  declared: Field;
  type: 'integer' | 'text';
  stored(value: unknown): Value;
  /** Absent if the stored form is the value itself. */
  read?(value: unknown): unknown;
  /** The column whose text this one holds in folded form. */
  folds?: string;
}

export const columnName = (field: string): string => `"${snakeCase(field)}"`;

/** The columns of a record's table: its id, then its fields in order. */
export const columnsOf = memoized(({ id, fields }: AnyDeclaration): readonly Column[] =>
  Object.entries({ id, ...fields } as Fields).map(([field, declared]) => {
    const codec = CODECS[declared.kind];
    const stored = (value: unknown) => (value == null ? null : codec.stored(value));
    return { ...codec, field, name: columnName(field), declared, stored };
  }),
);

/** The column with the folded form of a text. */
export const foldedName = (field: string): string => `"${snakeCase(field)}_folded"`;

/** The column to order a field by: for a text, the one with its folded form. */
export const sortColumn = ({ fields, sorts }: AnyDeclaration, field: string): string =>
  sorts.includes(field) && isFolded((fields as Fields)[field]!) ? foldedName(field) : columnName(field);

/** The name of the index with these fields. SQLite appends the record's id to each index entry. */
export const indexName = ({ plural }: AnyDeclaration, fields: readonly string[]): string =>
  `"${plural} by ${fields.join(', ')}"`;

/** All columns of a record's table, including the folded forms of texts that lists can be ordered by. */
export const allColumnsOf = memoized((declaration: AnyDeclaration): readonly Column[] => {
  const columns = columnsOf(declaration);
  const folds = columns.filter(({ field, name }) => sortColumn(declaration, field) !== name);
  return [
    ...columns,
    ...folds.map((column): Column => ({
      ...column,
      name: sortColumn(declaration, column.field),
      declared: { ...column.declared, presence: 'optional' },
      stored: (value) => (value == null ? null : folded(value as string)),
      folds: column.name,
    })),
  ];
});

const insertionOf = memoized((declaration: AnyDeclaration) => {
  const columns = allColumnsOf(declaration);
  return {
    into: `"${declaration.plural}" (${columns.map(({ name }) => name).join(', ')})`,
    params: (values: StoredRow): Value[] => columns.map(({ field, stored }) => stored(values[field])),
  };
});

/** Inserts records into their table. */
export function insertRecords(
  db: SqliteConnection,
  declaration: AnyDeclaration,
  records: readonly StoredRow[],
): void {
  const { into, params } = insertionOf(declaration);
  db.insert(into, records, params);
}

/**
 * The expression that reads a column. Text is exact beyond 2^53, but takes JSON.parse three times as long as integers.
 */
export function readOf({ name, declared: { kind } }: Column): string {
  if (kind !== 'id' && kind !== 'bigInteger') return name;
  const isExact = kind === 'id' ? `${name} < 9007199254740992` : `abs(${name} / 2) < 4503599627370496`;
  return `iif(${isExact}, ${name}, cast(${name} as text))`;
}

/** The columns of a record's table, the expressions that read them, and the decoder of rows. */
export const rowForm = memoized((declaration: AnyDeclaration) => {
  const columns = columnsOf(declaration);
  return {
    columns: columns.map(({ name }) => name).join(', '),
    read: columns.map(readOf).join(', '),
    decode: decoderOf(columns),
  };
});

/**
 * Creates the function that converts rows to records, without absent values. Generates code, since setting properties
 * by name in a loop is slow.
 */
function decoderOf(columns: readonly Column[]): (row: readonly unknown[]) => StoredRow {
  const assignments = columns.map(({ field, read }, i) => {
    const value = read ? `columns[${i}].read(row[${i}])` : `row[${i}]`;
    return `if (row[${i}] !== null) record[${JSON.stringify(field)}] = ${value};`;
  });
  const body = `return (row) => { const record = {}; ${assignments.join(' ')} return record; };`;
  return new Function('columns', body)(columns);
}
