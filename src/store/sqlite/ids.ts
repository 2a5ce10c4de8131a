import { type Id, MAX_INT64, randomStep } from '../../foundation/id.ts';
import type { AnyDeclaration } from '../../foundation/record.ts';
import { idsExhausted } from '../conflicts.ts';
import type { SqliteConnection } from './connection.ts';
import type { StoredRow } from '../engine.ts';
import type { Writer } from './writer.ts';

/** The last id assigned to a record of this kind; `0` if none. */
export const lastAssigned = (db: SqliteConnection, { plural }: AnyDeclaration): Id =>
  (db.value('select cast(last as text) from ids where records = ?', [plural]) as Id | undefined) ?? '0';

/** Marks all ids up to this one as assigned. */
export function noteAssigned(db: SqliteConnection, { plural }: AnyDeclaration, last: Id): void {
  db.run('insert into ids values (?, ?) on conflict do update set last = max(last, excluded.last)', [
    plural,
    BigInt(last),
  ]);
}

/**
 * Assigns the ids of one kind of record, each once in the lifetime of the file.
 *
 * @returns `next` assigns an id; `added` must be called with inserted records, which may have chosen ids
 */
export function idsOf(db: SqliteConnection, writer: Writer, declaration: AnyDeclaration) {
  const { plural, choosesId } = declaration;
  let last: bigint | undefined;
  let isChanged = false;
  /** In a transaction, the highest id before it; undefined if records with higher ids may have been added. */
  let highest: bigint | undefined;
  writer.follow({
    refresh() {
      last = undefined;
      isChanged = false;
      highest = undefined;
    },
    beforeCommit() {
      if (isChanged) noteAssigned(db, declaration, String(last));
      isChanged = false;
      highest = undefined;
    },
  });

  const isTaken = (id: bigint): boolean =>
    id <= MAX_INT64 && db.value(`select 1 from "${plural}" where id = ?`, [id]) !== undefined;

  /** A free id from this one on: the first, or one after a run of taken ones. Skipped ids are never used. */
  const free = (first: bigint): bigint => {
    let [taken, open] = [first - 1n, first];
    // A million may be taken.
    for (let step = 1n; isTaken(open); step *= 2n) [taken, open] = [open, open + randomStep(step)];
    while (open > taken + 1n) {
      const middle = (taken + open) / 2n;
      [taken, open] = isTaken(middle) ? [middle, open] : [taken, middle];
    }
    return open;
  };

  return {
    next(): Id {
      last ??= BigInt(lastAssigned(db, declaration));
      // Once per transaction: asking for each id takes a fifth of the time of an insertion.
      highest ??= BigInt(db.value(`select cast(coalesce(max(id), 0) as text) from "${plural}"`) as Id);
      const following = last + 1n;
      const id = choosesId && following <= highest ? free(following) : following;
      if (id > MAX_INT64) throw idsExhausted();
      last = id;
      isChanged = true;
      return String(id);
    },

    added(records: readonly StoredRow[]): void {
      if (records.length > 1 || records[0]!.id !== String(last)) highest = undefined;
    },
  };
}
