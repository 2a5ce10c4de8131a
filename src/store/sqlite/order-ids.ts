import type { Connection } from './connection.ts';
import { idsExhausted, MAX_ID } from './ids.ts';

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
