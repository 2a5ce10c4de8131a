import { AppError } from '../../errors.ts';
import type { Connection } from './connection.ts';

const MAX_ID = 9223372036854775807n;

const idsExhausted = () => new AppError('CONFLICT', 'There are no ids left to assign.');

/**
 * Assigns the ids of a table, each once in the life of the file: AUTOINCREMENT keeps the highest that was ever stored.
 * They are counted here because libsql rounds the id of the last insert.
 */
export function assignIds(db: Connection, table: 'pets' | 'categories'): () => bigint {
  let last: bigint | undefined;
  return () => {
    last ??= BigInt(
      (db.value('select cast(seq as text) from sqlite_sequence where name = ?', [table]) as string) ?? 0,
    );
    if (last >= MAX_ID) throw idsExhausted();
    last += 1n;
    return last;
  };
}

/** Notes that a client chose this id for an order, so that it is never assigned. Call it in a transaction. */
export function noteChosenOrderId(db: Connection, id: bigint): bigint {
  db.run(
    'insert or ignore into chosen_order_ids select ?1 where ?1 > (select last from assigned_order_ids)',
    [id],
  );
  return id;
}

/** The next id for an order, stepping over all that were ever chosen. Call it in a transaction. */
export function assignOrderId(db: Connection): bigint {
  const last = BigInt(db.value('select cast(last as text) from assigned_order_ids') as string);
  if (last >= MAX_ID) throw idsExhausted();
  let id = last + 1n;
  if (db.value('select 1 from chosen_order_ids where id = ?', [id]) !== undefined) {
    // The end of the run of chosen ids that starts here. Each is read once, since the run is dropped afterwards.
    const end = db.value(
      `select cast(min(id) as text) from chosen_order_ids as chosen
       where not exists (select 1 from chosen_order_ids where id = chosen.id + 1)`,
    ) as string;
    id = BigInt(end) + 1n;
    if (id > MAX_ID) throw idsExhausted();
    db.run('delete from chosen_order_ids where id < ?', [id]);
  }
  db.run('update assigned_order_ids set last = ?', [id]);
  return id;
}
