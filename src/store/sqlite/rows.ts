import { columnName } from './columns.ts';

/**
 * SQL for a table whose rows are the objects of the port, with a column in snake case for each property. A property of a
 * property has a column of its own (`limits.perDay`); other objects and arrays are stored as JSON.
 */
export function rowsOf(table: string, properties: readonly string[]) {
  const columns = properties.map((path) => columnName(path.split('.').at(-1)!));
  const values = properties.map((path) => `value ->> '$.${path}'`).join(', ');
  return {
    /** A row as a JSON object. A merge patch leaves out what is null (RFC 7396). */
    object: `json_patch('{}', json_object(${properties.map((name, i) => `'${name}', ${columns[i]}`).join(', ')}))`,
    /** Inserts a JSON array of objects. May be followed by `on conflict`. */
    insert: `insert into ${table} (${columns.join(', ')}) select ${values} from json_each(?) where true`,
    /** Replaces all columns of a row that is there. */
    replace: `do update set ${columns.map((column) => `${column} = excluded.${column}`).join(', ')}`,
  };
}
