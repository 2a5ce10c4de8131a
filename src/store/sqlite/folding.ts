import { UNICODE_VERSION } from '../../foundation/folded.ts';
import type { AnyRecord } from '../../foundation/record.ts';
import { type FoldedNames, Folding, STEP } from '../folding.ts';
import { type Column, columnsOf, foldedColumnsOf } from './columns.ts';
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
  const names = {
    fold(record, after) {
      const { plural } = record;
      const columns = foldedColumnsOf(record);
      const stored = columnsOf(record);
      const sources = columns.map(({ field }) => stored.find((column) => column.field === field)!.name);
      const selected = [...sources, ...columns.map(({ name }) => name)].join(', ');
      const rows = db.json<[id: string, ...(string | null)[]][]>(
        `select json_group_array(json_array(cast(id as text), ${selected})) from (
           select id, ${selected} from ${plural} where id > ? order by id limit ${STEP}
         )`,
        [BigInt(after)],
      )!;
      const folded = (row: readonly unknown[], { stored }: Column, i: number) =>
        stored(row[i + 1]) as string | null;
      const changed = rows
        .map((row) => [row[0], ...columns.map((column, i) => folded(row, column, i))])
        .filter((values, n) =>
          values.slice(1).some((value, i) => value !== rows[n]![i + 1 + columns.length]),
        );
      if (changed.length > 0) {
        db.run(
          `update ${plural} set ${columns.map(({ name }, i) => `${name} = given.value ->> ${i + 1}`).join(', ')}
           from json_each(?) as given where ${plural}.id = cast(given.value ->> 0 as integer)`,
          [JSON.stringify(changed)],
        );
        onFolded(record);
      }
      return rows.length < STEP ? undefined : rows.at(-1)![0];
    },
    finish: (record) => db.exec(recordFolded(record)),
  } satisfies FoldedNames;
  const folding = new Folding({
    fold: (record, after) => db.whenFree(() => names.fold(record, after)),
    finish: (record) => db.whenFree(() => names.finish(record)),
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
