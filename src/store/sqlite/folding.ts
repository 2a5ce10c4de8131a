import { AppError } from '../../foundation/errors.ts';
import { UNICODE_VERSION } from '../../foundation/folded.ts';
import type { AnyRecord } from '../../foundation/record.ts';
import { type Column, columnsOf, foldedColumnsOf } from './columns.ts';
import type { Connection } from './connection.ts';

/** Records taken over in one step, which takes a few milliseconds. */
const STEP = 200;
/** Milliseconds between two steps, in which others are served. */
const PAUSE = 10;
/** Milliseconds before another attempt if the file cannot be written. */
const RETRY = 1_000;

/** The statement that creates the table of the Unicode versions that stored names were folded by. */
const FOLDED = 'create table if not exists folded (records text primary key, unicode real not null) strict';

/** The statement that records that all names in a table are folded. */
export const recordFolded = ({ plural }: AnyRecord): string =>
  `${FOLDED}; insert into folded values ('${plural}', ${UNICODE_VERSION}) on conflict do update set unicode = ${UNICODE_VERSION}`;

/**
 * Folds the names of records that an earlier version stored, or one with an earlier version of Unicode, in steps
 * between which requests are served.
 */
export class Folding {
  readonly #db: Connection;
  /** Records whose lists cannot be ordered by name yet. */
  readonly #unready = new Set<AnyRecord>();
  readonly #onFolded: (record: AnyRecord) => void;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param records whose tables are there
   * @param onFolded called when names of these records were folded
   */
  constructor(db: Connection, records: readonly AnyRecord[], onFolded: (record: AnyRecord) => void) {
    this.#db = db;
    this.#onFolded = onFolded;
    db.exec(FOLDED);
    const outdated: AnyRecord[] = [];
    for (const record of records) {
      if (foldedColumnsOf(record).length === 0) continue;
      const version = db.value('select unicode from folded where records = ?', [record.plural]);
      if (version === undefined) this.#unready.add(record);
      if (version === undefined || (version as number) < UNICODE_VERSION) outdated.push(record);
    }
    this.#continue(outdated, '0');
  }

  /** @throws UNAVAILABLE while the names of these records are not all folded */
  require(record: AnyRecord): void {
    if (!this.#unready.has(record)) return;
    const message = 'Names are being prepared for ordering and finding. Please try again.';
    throw new AppError('UNAVAILABLE', message, { retryAfter: 5 });
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #continue([record, ...others]: readonly AnyRecord[], after: string, pause = PAUSE): void {
    if (!record) return;
    const step = () => {
      let last: string | undefined;
      try {
        last = this.#step(record, after);
      } catch {
        this.#continue([record, ...others], after, RETRY);
        return;
      }
      if (last !== undefined) this.#continue([record, ...others], last);
      else {
        this.#db.exec(recordFolded(record));
        this.#unready.delete(record);
        this.#continue(others, '0');
      }
    };
    this.#timer = setTimeout(step, pause).unref();
  }

  /** @returns the id of the last record looked at; undefined at the end */
  #step(record: AnyRecord, after: string): string | undefined {
    const { plural } = record;
    const columns = foldedColumnsOf(record);
    const names = columnsOf(record);
    const sources = columns.map(({ field }) => names.find((column) => column.field === field)!.name);
    const selected = [...sources, ...columns.map(({ name }) => name)].join(', ');
    const found = this.#db.value(
      `select json_group_array(json_array(cast(id as text), ${selected})) from (
         select id, ${selected} from ${plural} where id > ? order by id limit ${STEP}
       )`,
      [BigInt(after)],
    );
    const rows = JSON.parse(found as string) as [id: string, ...(string | null)[]][];
    const folded = (row: readonly unknown[], { stored }: Column, i: number) =>
      stored(row[i + 1]) as string | null;
    const changed = rows
      .map((row) => [row[0], ...columns.map((column, i) => folded(row, column, i))])
      .filter((values, n) => values.slice(1).some((value, i) => value !== rows[n]![i + 1 + columns.length]));
    if (changed.length > 0)
      this.#db.run(
        `update ${plural} set ${columns.map(({ name }, i) => `${name} = given.value ->> ${i + 1}`).join(', ')}
         from json_each(?) as given where ${plural}.id = cast(given.value ->> 0 as integer)`,
        [JSON.stringify(changed)],
      );
    if (changed.length > 0) this.#onFolded(record);
    return rows.length < STEP ? undefined : rows.at(-1)![0];
  }
}
