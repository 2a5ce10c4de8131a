import { isUtf8 } from 'node:buffer';
import Database from 'libsql';

const SQLITE_CORRUPT = 11;

/**
 * Looks for corruption in a data file: in its structure, and in text that is not valid UTF-8. Some corruption makes libsql
 * abort the process.
 *
 * @returns what is corrupt, in one line; undefined if nothing is found or the file is not a database
 */
export function findDamage(file: string): string | undefined {
  const db = new Database(file);
  try {
    const [row] = db.prepare('pragma quick_check(1)').all() as [{ quick_check: string }];
    // The line before it names the database, but there is only one.
    if (row.quick_check !== 'ok') return row.quick_check.split('\n').at(-1);
    const columns = db
      .prepare(
        `select t.name as "table", c.name as "column" from sqlite_schema t, pragma_table_info(t.name) c
         where t.type = 'table' and c.type = 'TEXT'`,
      )
      .all() as { table: string; column: string }[];
    for (const { table, column } of columns) {
      // Read as a blob, because libsql aborts on invalid text.
      const values = db.prepare(
        `select cast("${column}" as blob) from "${table}" where "${column}" is not null`,
      );
      values.raw();
      for (const [bytes] of values.iterate() as Iterable<[Buffer]>)
        if (!isUtf8(bytes)) return `${table}.${column} has text that is not valid UTF-8`;
    }
    return undefined;
  } catch (error) {
    const { rawCode = 0, message } = error as { rawCode?: number; message: string };
    return (rawCode & 0xff) === SQLITE_CORRUPT ? message : undefined;
  } finally {
    db.close();
  }
}
