import type { AnyRecord } from '../../foundation/record.ts';
import { columnsOf, foldedColumnsOf } from './columns.ts';
import type { Insertion, JsonValue } from './connection.ts';

/**
 * How records are inserted: the statements, and the row of a record with its id. Many rows are one JSON text, since a
 * statement for each costs twice as much.
 */
export function insertionOf(record: AnyRecord): Insertion & {
  row(id: string, values: Readonly<Record<string, unknown>>): JsonValue[];
} {
  const { plural } = record;
  const columns = [...columnsOf(record), ...foldedColumnsOf(record)];
  const names = ['id', ...columns.map(({ name }) => name)].join(', ');
  const types = ['integer', ...columns.map(({ type }) => type)];
  const values = types.map((type, i) =>
    type === 'text' ? `value ->> ${i}` : `cast(value ->> ${i} as integer)`,
  );
  return {
    one: `insert into ${plural} (${names}) values (${types.map(() => '?').join(', ')})`,
    many: `insert into ${plural} (${names}) select ${values.join(', ')} from json_each(?)`,
    row(id, given) {
      const row: JsonValue[] = [id];
      for (const { field, stored } of columns) {
        const value = stored(given[field]);
        row.push(typeof value === 'bigint' ? String(value) : value);
      }
      return row;
    },
  };
}
