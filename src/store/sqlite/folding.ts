import { UNICODE_VERSION } from '../../foundation/folded.ts';
import type { Id } from '../../foundation/id.ts';
import type { AnyRecord } from '../../foundation/record.ts';
import { Folding, STEP } from '../folding.ts';
import { columnName, foldedColumnsOf } from './columns.ts';
import type { SqliteConnection } from './connection.ts';

/** The statement that creates the table of the Unicode versions that stored names were folded by. */
const FOLDED = 'create table if not exists folded (records text primary key, unicode real not null) strict';

/** The statement that records that all names in a table are folded. */
export const recordFolded = ({ plural }: AnyRecord): string =>
  `${FOLDED}; insert into folded values ('${plural}', ${UNICODE_VERSION}) on conflict do update set unicode = ${UNICODE_VERSION}`;

/**
 * Begins to fold what is outdated.
 *
 * @param records whose tables are there
 * @param onFolded called when names of these records were folded
 */
export function foldNames(
  db: SqliteConnection,
  records: readonly AnyRecord[],
  onFolded: (record: AnyRecord) => void,
): Folding {
  const fold = (record: AnyRecord, after: Id): Id | undefined => {
    const { plural } = record;
    const columns = foldedColumnsOf(record);
    const selected = columns.map(({ field, name }) => `${columnName(field)}, ${name}`).join(', ');
    const rows = db.json<[id: Id, ...(string | null)[]][]>(
      `select json_group_array(json_array(cast(id as text), ${selected})) from (
         select * from ${plural} where id > ? order by id limit ${STEP}
       )`,
      [BigInt(after)],
    )!;
    const changed = rows.flatMap(([id, ...values]) => {
      const folded = columns.map(({ stored }, i) => stored(values[2 * i]));
      return folded.some((value, i) => value !== values[2 * i + 1]) ? [[id, ...folded]] : [];
    });
    if (changed.length > 0) {
      db.run(
        `update ${plural} set ${columns.map(({ name }, i) => `${name} = given.value ->> ${i + 1}`).join(', ')}
         from json_each(?) as given where ${plural}.id = cast(given.value ->> 0 as integer)`,
        [JSON.stringify(changed)],
      );
      onFolded(record);
    }
    return rows.length < STEP ? undefined : rows.at(-1)![0];
  };
  const folding = new Folding({
    fold: (record, after) => db.whenFree(() => fold(record, after)),
    finish: (record) => db.whenFree(() => db.exec(recordFolded(record))),
  });
  db.exec(FOLDED);
  for (const record of records) {
    if (foldedColumnsOf(record).length === 0) continue;
    const version = db.value('select unicode from folded where records = ?', [record.plural]);
    if (version === undefined || (version as number) < UNICODE_VERSION)
      folding.begin(record, version !== undefined);
  }
  return folding;
}
