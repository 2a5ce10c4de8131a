import { type Id, MAX_INT64 } from '../../foundation/id.ts';
import type { AnyRecord } from '../../foundation/record.ts';
import { idsExhausted } from '../conflicts.ts';
import type { SqliteConnection } from './connection.ts';
import type { Writer } from './writer.ts';

/** The last id assigned to a record of this kind; `0` if none was. */
export const lastAssigned = (db: SqliteConnection, { plural }: AnyRecord): Id =>
  (db.value('select cast(last as text) from ids where records = ?', [plural]) as Id | undefined) ?? '0';

/** Stores that no id up to this one may be assigned. */
export function noteAssigned(db: SqliteConnection, { plural }: AnyRecord, last: Id): void {
  db.run('insert into ids values (?, ?) on conflict do update set last = max(last, excluded.last)', [
    plural,
    BigInt(last),
  ]);
}

/** Assigns the ids of one kind of record, each once in the lifetime of the file. @returns a function that returns the next */
export function idsOf(db: SqliteConnection, writer: Writer, record: AnyRecord): () => Id {
  const { plural, choosesId } = record;
  let last: bigint | undefined;
  let isChanged = false;
  writer.follow({
    refresh() {
      last = undefined;
      isChanged = false;
    },
    beforeCommit() {
      if (isChanged) noteAssigned(db, record, String(last));
      isChanged = false;
    },
  });

  /** The first id from this one on that no record has. Skipped ones are never looked at again. */
  const free = (id: bigint): bigint => {
    if (db.value(`select 1 from "${plural}" where id = ?`, [id]) === undefined) return id;
    const end = db.value(
      `select cast(min(id) as text) from "${plural}" as one
       where id >= ? and not exists (select 1 from "${plural}" where id = one.id + 1)`,
      [id],
    );
    return BigInt(end as string) + 1n;
  };

  return () => {
    last ??= BigInt(lastAssigned(db, record));
    const id = choosesId && last < MAX_INT64 ? free(last + 1n) : last + 1n;
    if (id > MAX_INT64) throw idsExhausted();
    last = id;
    isChanged = true;
    return String(id);
  };
}
