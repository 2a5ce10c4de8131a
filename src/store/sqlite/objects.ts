import type { ObjectKind, Objects } from '../objects.ts';
import type { SqliteConnection, Value } from './connection.ts';
import type { Gate } from './writer.ts';

/** A text greater than any key. */
const GREATEST = '\u{10ffff}';
/** The number of expired objects removed per new one; more than one, so that the table shrinks. */
const REMOVED_PER_NEW = 4;

/** Removes some expired objects. @param now milliseconds since 1970 */
export function removeExpired(db: SqliteConnection, now: number, limit: number): void {
  const expired = 'from stored_objects where expires_at <= ? order by expires_at limit ?';
  db.run(`delete from object_terms where (kind, key) in (select kind, key ${expired})`, [now, limit]);
  db.run(`delete from stored_objects where rowid in (select rowid ${expired})`, [now, limit]);
}

/**
 * The objects of one kind. All kinds are stored as JSON in one table.
 *
 * @param now milliseconds since 1970
 */
export function objectsOf<T>(
  db: SqliteConnection,
  { name, keyOf, termsOf, expiresAt, separate }: ObjectKind<T>,
  now: () => number,
  gate: Gate,
): Objects<T> {
  const read = async (condition: string, ...params: Value[]): Promise<T[]> => {
    await gate();
    return db.json<T[]>(
      `select json_group_array(json(value)) from (
         select value from stored_objects where kind = ? ${condition} order by rowid
       )`,
      [name, ...params],
    )!;
  };
  const removeTerms = (keys: readonly string[]) =>
    db.run('delete from object_terms where kind = ? and key in (select value from json_each(?))', [
      name,
      JSON.stringify(keys),
    ]);

  return {
    get: (keys) => read('and key in (select value from json_each(?))', JSON.stringify(keys)),
    find: (term) => read('and key in (select key from object_terms where kind = ? and term = ?)', name, term),
    all: () => read(''),

    async latest(term, limit, upTo) {
      await gate();
      // The cross join reads terms first, because their index has the order.
      return db.json<T[]>(
        `select json_group_array(json(value)) from (
           select o.value from object_terms t cross join stored_objects o using (kind, key)
           where t.kind = ? and t.term = ? and t.key <= ? order by t.key desc limit ?
         )`,
        [name, term, upTo ?? GREATEST, limit],
      )!;
    },

    async put(objects) {
      await gate();
      // One by one: SQLite would parse and write a JSON text of all objects once more.
      for (const object of objects)
        db.run(
          `insert into stored_objects (kind, key, value, expires_at) values (?, ?, ?, ?)
           on conflict do update set value = excluded.value, expires_at = excluded.expires_at`,
          [name, keyOf(object), JSON.stringify(object), expiresAt?.(object) ?? null],
        );
      if (termsOf) {
        const terms = objects.flatMap((object) => termsOf(object).map((term) => [term, keyOf(object)]));
        if (!separate) removeTerms(objects.map(keyOf));
        db.run('insert into object_terms select ?, value ->> 0, value ->> 1 from json_each(?)', [
          name,
          JSON.stringify(terms),
        ]);
      }
      if (expiresAt) removeExpired(db, now(), objects.length * REMOVED_PER_NEW);
    },

    async delete(keys) {
      await gate();
      db.run('delete from stored_objects where kind = ? and key in (select value from json_each(?))', [
        name,
        JSON.stringify(keys),
      ]);
      if (termsOf) removeTerms(keys);
    },

    async deleteBefore(keys) {
      await gate();
      // The cross join reads the terms of these objects only.
      const before = db.json<string[]>(
        `select json_group_array(t.key) from json_each(?) b
         cross join object_terms t on t.kind = ? and t.term = b.key and t.key < b.value`,
        [JSON.stringify(Object.fromEntries(keys)), name],
      )!;
      await this.delete(before);
    },
  };
}
