import type { Id } from '../../foundation/id.ts';
import { MAX_INT64 } from '../../foundation/integers.ts';
import type { AnyRecord } from '../../foundation/record.ts';
import { idsExhausted } from '../conflicts.ts';
import type { insertionOf } from './columns.ts';
import type { SqliteConnection } from './connection.ts';

/**
 * Gives a new record its id and inserts it. All connections to a file share it, of which one writes at a time.
 *
 * @param db the connection that inserts
 * @param chosen the id that a client has chosen
 * @param values of the record, besides its id
 * @returns the id
 */
export type AssignIds = (
  db: SqliteConnection,
  chosen: Id | undefined,
  insertion: ReturnType<typeof insertionOf>,
  values: Readonly<Record<string, unknown>>,
) => Id;

/** The last id that was assigned to a record of this kind; `0` if there is none. */
export const lastAssigned = (db: SqliteConnection, { choosesId, kind, plural }: AnyRecord): Id =>
  (choosesId
    ? (db.value(`select cast(last as text) from assigned_${kind}_ids`) as Id)
    : (db.value('select cast(seq as text) from sqlite_sequence where name = ?', [plural]) as Id)) ?? '0';

/** How the ids of a record are assigned. */
export const assignIdsOf = (record: AnyRecord): AssignIds =>
  record.choosesId ? assignSkippingChosen(record) : assignIds(record);

/**
 * Assigns the ids of a table, each once in the lifetime of the file: AUTOINCREMENT keeps the highest ever
 * stored. Counted here because libsql rounds the last insert id.
 */
function assignIds(record: AnyRecord): AssignIds {
  let last: bigint | undefined;
  return (db, _chosen, insertion, values) => {
    last ??= BigInt(lastAssigned(db, record));
    if (last >= MAX_INT64) throw idsExhausted();
    last += 1n;
    const id = String(last);
    db.insert(insertion, insertion.row(id, values));
    return id;
  };
}

/** Assigns the ids of records whose clients may choose them, skipping all ever chosen. */
function assignSkippingChosen(record: AnyRecord): AssignIds {
  const [assigned, taken] = [`assigned_${record.kind}_ids`, `chosen_${record.kind}_ids`];

  /** Records a chosen id, so that it is never assigned. */
  function note(db: SqliteConnection, id: bigint): bigint {
    db.run(`insert or ignore into ${taken} select ?1 where ?1 > (select last from ${assigned})`, [id]);
    return id;
  }

  function next(db: SqliteConnection): bigint {
    const last = BigInt(lastAssigned(db, record));
    if (last >= MAX_INT64) throw idsExhausted();
    let id = last + 1n;
    if (db.value(`select 1 from ${taken} where id = ?`, [id]) !== undefined) {
      // The end of the consecutive chosen ids that start here. Each is read once, since they are deleted
      // afterwards.
      const end = db.value(
        `select cast(min(id) as text) from ${taken} as chosen
         where not exists (select 1 from ${taken} where id = chosen.id + 1)`,
      ) as string;
      id = BigInt(end) + 1n;
      if (id > MAX_INT64) throw idsExhausted();
      db.run(`delete from ${taken} where id < ?`, [id]);
    }
    db.run(`update ${assigned} set last = ?`, [id]);
    return id;
  }

  return (db, chosen, insertion, values) =>
    db.transaction(() => {
      const id = String(chosen === undefined ? next(db) : note(db, BigInt(chosen)));
      db.insert(insertion, insertion.row(id, values));
      return id;
    });
}
