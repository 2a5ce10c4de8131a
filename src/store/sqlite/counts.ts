import type { Field } from '../../foundation/fields.ts';
import type { Meter } from '../../foundation/meter.ts';
import { type AnyRecord, referencesOf } from '../../foundation/record.ts';
import { tooManyToCount } from '../conflicts.ts';
import { type Column, columnsOf } from './columns.ts';
import { type Conditions, clauseOf, forEachParent, idList, matchesOf } from './conditions.ts';
import type { SqliteConnection } from './connection.ts';
import type { Parents } from './pages.ts';

/** A table, index or trigger, named and with the statement that creates it. */
export interface Statement {
  name: string;
  sql: string;
}

/** A table of counts, kept by triggers. */
interface KeptCounts {
  table: string;
  /** The column with the parent, whose value 0 has the sum over all parents. */
  parent: string | undefined;
  columns: readonly string[];
  create: readonly string[];
  triggers: readonly Statement[];
}

/** Records counted one by one, at most, if an index has all conditions. SQLite counts about ten in a microsecond. */
const MAX_COUNTED = 50_000;

/** Whether a field has few values. */
const isCounted = ({ presence, choices, kind }: Field): boolean =>
  presence !== 'optional' && (choices !== undefined || kind === 'boolean');

/**
 * The counts kept for `totalCount`, because counting in SQLite reads the whole index: by the filters with few
 * values and by the first parent that every record has. Undefined if there are neither.
 */
export function countsOf(record: AnyRecord): KeptCounts | undefined {
  const { kind, plural } = record;
  const filtered = columnsOf(record).filter(({ field }) => record.filters.includes(field));
  const [reference] = referencesOf(record);
  const parentColumn = filtered.find(
    ({ field, declaration }) => field === reference?.field && declaration.presence !== 'optional',
  );
  const keys: Column[] = [
    ...(parentColumn ? [parentColumn] : []),
    ...filtered.filter(({ declaration }) => isCounted(declaration)),
  ];
  if (keys.length === 0) return undefined;
  const table = `${kind}_counts`;
  const parent = parentColumn?.name;
  const names = keys.map(({ name }) => name);
  const others = names.slice(parent ? 1 : 0);
  const row = (side: string) => [
    ...(parent ? [`${side}.${parent}`] : []),
    ...others.map((name) => `${side}.${name}`),
  ];
  const total = ['0', ...others.map((name) => `new.${name}`)];
  const rows = [...(parent ? [total] : []), row('new')].map((values) => `(${[...values, 1].join(', ')})`);
  const increase = `insert into ${table} values ${rows.join(', ')} on conflict do update set ${plural} = ${plural} + 1;`;
  const same = [
    ...(parent ? [`${parent} in (0, old.${parent})`] : []),
    ...others.map((name) => `${name} = old.${name}`),
  ].join(' and ');
  const decrease = `update ${table} set ${plural} = ${plural} - 1 where ${same};`;
  const moved = names.map((name) => `old.${name} <> new.${name}`).join(' or ');
  const trigger = (name: string, sql: string): Statement => ({
    name,
    // SQLite keeps the statement with these words in capitals.
    sql: `CREATE TRIGGER ${name} after ${sql} end`,
  });
  const fill = (first: readonly string[]) =>
    `insert into ${table} select ${[...first, ...others, 'count(*)'].join(', ')} from ${plural} group by ${names.map((_, i) => i + 1).join(', ')}`;
  return {
    table,
    parent,
    columns: [...names, plural],
    create: [
      `create table ${table} (${keys.map(({ name, type }) => `${name} ${type} not null`).join(', ')}, ${plural} integer not null, primary key (${names.join(', ')})) strict, without rowid`,
      fill(parent ? [parent] : []),
      ...(parent ? [fill(['0'])] : []),
    ],
    triggers: [
      trigger(`count_new_${kind}`, `insert on ${plural} begin ${increase}`),
      trigger(`count_deleted_${kind}`, `delete on ${plural} begin ${decrease}`),
      trigger(
        `count_moved_${kind}`,
        `update of ${names.join(', ')} on ${plural} when ${moved} begin ${decrease} ${increase}`,
      ),
      ...(parent
        ? [
            trigger(
              `forget_${kind}_counts`,
              `delete on ${reference!.parent.plural} begin delete from ${table} where ${parent} = old.id;`,
            ),
          ]
        : []),
    ],
  };
}

/**
 * Counts the records that match: those of each of some parents, or all. Kept counts are added up if there are any
 * for the conditions; else records are counted one by one, once for all parents.
 *
 * @param all the counts that are kept of these records
 * @throws QUERY_TOO_COMPLEX if there are too many to count
 */
export function countRecords(
  db: SqliteConnection,
  record: AnyRecord,
  all: KeptCounts | undefined,
  where: Conditions,
  ofParents: Parents | undefined,
  meter: Meter | undefined,
): number[] {
  const kept = where.prefix ? undefined : keptFor(all, where, ofParents?.column);
  if (!kept) return countOneByOne(db, record, where, ofParents, meter);
  const { sql, params } = matchesOf(where);
  const isOfOneParent = where.equal.some(([column]) => column === kept.parent);
  const total = kept.parent !== undefined && !isOfOneParent && `${kept.parent} = 0`;
  const clause = clauseOf(ofParents ? `${kept.parent} = parent.value` : total, sql);
  const sum = `select coalesce(sum(${record.plural}), 0) from ${kept.table}${clause}`;
  return ofParents
    ? db.json<number[]>(forEachParent(sum), [...params, idList(ofParents.parents)])!
    : [db.value(sum, params) as number];
}

/** The counts kept for these conditions. */
function keptFor(
  all: KeptCounts | undefined,
  { equal, oneOf }: Conditions,
  parent: string | undefined,
): KeptCounts | undefined {
  const columns = [...equal.map(([column]) => column), ...oneOf.map(({ column }) => column), parent];
  return columns.every((column) => column === undefined || all?.columns.includes(column)) ? all : undefined;
}

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
