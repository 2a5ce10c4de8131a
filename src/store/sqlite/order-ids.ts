import type { Connection } from './connection.ts';
import { idsExhausted, MAX_ID } from './ids.ts';

/**
 * Records that a client chose this order id, so that it is never assigned. Must be called in a transaction.
 */
export function noteChosenOrderId(db: Connection, id: bigint): bigint {
  db.run(
    'insert or ignore into chosen_order_ids select ?1 where ?1 > (select last from assigned_order_ids)',
    [id],
  );
  return id;
}

/** Assigns the next order id, skipping all ever chosen. Must be called in a transaction. */
export function assignOrderId(db: Connection): bigint {
  const last = BigInt(db.value('select cast(last as text) from assigned_order_ids') as string);
  if (last >= MAX_ID) throw idsExhausted();
  let id = last + 1n;
  if (db.value('select 1 from chosen_order_ids where id = ?', [id]) !== undefined) {
    // The end of the consecutive chosen ids that start here. Each is read once, since they are deleted
    // afterwards.
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
