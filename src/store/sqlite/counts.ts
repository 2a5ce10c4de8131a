import type { Field } from '../../foundation/fields.ts';
import type { Meter } from '../../foundation/meter.ts';
import type { AnyRecord } from '../../foundation/record.ts';
import { tooManyToCount } from '../conflicts.ts';
import type { Values } from '../engine.ts';
import { type Column, columnsOf } from './columns.ts';
import { type Conditions, clauseOf, idList, matchesOf } from './conditions.ts';
import type { SqliteConnection, Value } from './connection.ts';
import type { Parents } from './pages.ts';
import type { Writer } from './writer.ts';

/** Records counted one by one, at most, if an index has all conditions. SQLite counts about ten in a microsecond. */
const MAX_COUNTED = 50_000;
/** Fields by which counts are kept: each doubles the rows that a write changes. */
const MAX_FIELDS = 3;

const isCounted = ({ reference, choices, kind }: Field): boolean =>
  reference !== undefined || choices !== undefined || kind === 'boolean';

const countedColumns = (record: AnyRecord): readonly Column[] =>
  columnsOf(record)
    .filter(({ field, declaration }) => record.filters.includes(field) && isCounted(declaration))
    .slice(0, MAX_FIELDS);

/** The sets of columns that a filter may have conditions on, as the bits of numbers. */
const setsOf = (columns: readonly unknown[]): number[] =>
  Array.from({ length: 2 ** columns.length }, (_, set) => set);

const isIn = (set: number, column: number): boolean => ((set >> column) & 1) === 1;

/** A value as JSON has it in SQLite and here. */
const part = (value: Value): unknown => (typeof value === 'bigint' ? String(value) : value);

/**
 * The numbers of records of one kind that match a filter by few-valued fields and references, exact in every transaction.
 * SQLite would read a whole index to count. A row of `counts` has the number for one combination of values, of which any
 * may be left open: `pets["7",null]`.
 */
export class Counts {
  readonly #db: SqliteConnection;
  readonly #record: AnyRecord;
  readonly #columns: readonly Column[];
  readonly #sets: readonly number[];
  /** What the open transaction adds. */
  #changes = new Map<string, number>();

  constructor(db: SqliteConnection, writer: Writer, record: AnyRecord) {
    this.#db = db;
    this.#record = record;
    this.#columns = countedColumns(record);
    this.#sets = setsOf(this.#columns);
    writer.follow({ refresh: () => this.#changes.clear(), beforeCommit: () => this.#write() });
  }

  /** Must be called with each record that is added (1) or removed (-1). */
  change(values: Values, by: 1 | -1): void {
    const stored = this.#columns.map(({ field, stored }) => stored(values[field]));
    for (const set of this.#sets) {
      const own = stored.map((value, i) => (isIn(set, i) ? value : null));
      // Without a value, it only counts where this field is left open.
      if (own.some((value, i) => value === null && isIn(set, i))) continue;
      const key = this.#key(own);
      this.#changes.set(key, (this.#changes.get(key) ?? 0) + by);
    }
  }

  #key(values: readonly Value[]): string {
    return `${this.#record.plural}${JSON.stringify(values.map(part))}`;
  }

  #write(): void {
    const changes = [...this.#changes].filter(([, by]) => by !== 0);
    this.#changes.clear();
    if (changes.length === 0) return;
    this.#db.run(
      `insert into counts select value ->> 0, value ->> 1 from json_each(?) where true
       on conflict do update set n = n + excluded.n`,
      [JSON.stringify(changes)],
    );
    const fewer = changes.flatMap(([key, by]) => (by < 0 ? [key] : []));
    if (fewer.length > 0)
      this.#db.run('delete from counts where n = 0 and key in (select value from json_each(?))', [
        JSON.stringify(fewer),
      ]);
  }

  /**
   * Counts the records that match: those of each of some parents, or all. Counts that are kept are added up; else
   * records are counted one by one, once for all parents.
   *
   * @throws QUERY_TOO_COMPLEX if there are too many to count
   */
  count(where: Conditions, ofParents: Parents | undefined, meter: Meter | undefined): number[] {
    const keys = this.#keysOf(where, ofParents);
    if (!keys) return countOneByOne(this.#db, this.#record, where, ofParents, meter);
    this.#write();
    return this.#db.json<number[]>(
      `select json_group_array((
         select coalesce(sum(n), 0) from counts where key in (select value from json_each(list.value))
       )) from json_each(?) as list`,
      [JSON.stringify(keys)],
    )!;
  }

  /** The keys of the rows to add up, for each parent; undefined if no counts are kept for these conditions. */
  #keysOf({ equal, oneOf, prefix }: Conditions, ofParents: Parents | undefined): string[][] | undefined {
    const given = new Map<string, readonly Value[]>(equal.map(([column, value]) => [column, [value]]));
    for (const { column, values } of oneOf) given.set(column, values);
    const asked = [...given.keys(), ...(ofParents ? [ofParents.column] : [])];
    if (prefix || asked.some((name) => !this.#columns.some((column) => column.name === name)))
      return undefined;
    return (ofParents?.parents ?? [undefined]).map((parent) => {
      if (parent !== undefined) given.set(ofParents!.column, [BigInt(parent)]);
      let all: (readonly Value[])[] = [[]];
      for (const { name } of this.#columns) {
        const values = given.get(name) ?? [null];
        all = all.flatMap((own) => values.map((value) => [...own, value]));
      }
      return all.map((own) => this.#key(own));
    });
  }
}

/** Counts all records again if the fields that counts are kept by have changed. */
export function prepareCounts(db: SqliteConnection, record: AnyRecord): void {
  const { plural } = record;
  const columns = countedColumns(record);
  const fields = columns.map(({ name }) => name).join();
  if (db.value('select fields from counted where records = ?', [plural]) === fields) return;
  db.run('delete from counts where key like ?', [`${plural}[%`]);
  for (const set of setsOf(columns)) {
    const own = columns.filter((_, i) => isIn(set, i));
    const parts = columns.map(({ name, declaration }, i) => {
      if (!isIn(set, i)) return 'null';
      return declaration.kind === 'id' ? `cast(${name} as text)` : name;
    });
    const clause = clauseOf(...own.map(({ name }) => `${name} is not null`));
    const group = own.length > 0 ? ` group by ${own.map(({ name }) => name).join(', ')}` : '';
    db.run(
      `insert into counts select '${plural}' || json_array(${parts.join(', ')}), count(*) from ${plural}${clause}${group}`,
      [],
    );
  }
  db.run('insert or replace into counted values (?, ?)', [plural, fields]);
}

/** Has the counts of these records made anew when the file is opened next. */
export const forgetCounts = (db: SqliteConnection, { plural }: AnyRecord): unknown =>
  db.run('delete from counted where records = ?', [plural]);

function countOneByOne(
  db: SqliteConnection,
  record: AnyRecord,
  where: Conditions,
  ofParents: Parents | undefined,
  meter: Meter | undefined,
): number[] {
  const matching = matchesOf(where);
  const isOfParents = ofParents && `${ofParents.column} in (select value from json_each(?))`;
  const matches = [matching.sql, isOfParents].filter(Boolean).join(' and ');
  const group = ofParents?.column ?? "''";
  const from = `from (select ${group} as counted from ${record.plural}${clauseOf(matches)} limit ?)`;
  const groups = db.json<[string | null, number][]>(
    ofParents
      ? `select json_group_array(json_array(cast(counted as text), n)) from (select counted, count(*) as n ${from} group by 1)`
      : `select json_array(json_array('', count(*))) ${from}`,
    [
      ...matching.params,
      ...(ofParents ? [idList(ofParents.parents)] : []),
      Math.min(MAX_COUNTED, meter?.left('indexEntries') ?? MAX_COUNTED) + 1,
    ],
  )!;
  const examined = groups.reduce((sum, [, count]) => sum + count, 0);
  if (examined > MAX_COUNTED) throw tooManyToCount();
  meter?.draw('indexEntries', examined);
  const counts = new Map(groups);
  return (ofParents?.parents ?? ['']).map((parent) => counts.get(parent) ?? 0);
}
