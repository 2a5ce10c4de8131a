import { AppError } from '../../foundation/errors.ts';
import type { Connection } from './connection.ts';

export const MAX_ID = 9223372036854775807n;

export const idsExhausted = () => new AppError('CONFLICT', 'There are no ids left to assign.');

/**
 * Assigns the ids of a table, each once in the lifetime of the file: AUTOINCREMENT keeps the highest ever
 * stored. Counted here because libsql rounds the last insert id.
 */
export function assignIds(db: Connection, table: string): () => bigint {
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
