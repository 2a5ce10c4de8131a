import type { Id } from '../../foundation/id.ts';
import type { Meter } from '../../foundation/meter.ts';
import type { AnyRecord, Fields } from '../../foundation/record.ts';
import { type Segment, type Span, segmentsOf, spansOf } from '../order.ts';
import type { Page, PageRequest } from '../table.ts';
import { columnName, listIndexName, sortColumn } from './columns.ts';
import {
  allOf,
  type Conditions,
  clauseOf,
  type Filter,
  forEachParent,
  idList,
  inOrderBy,
  matchesOf,
  PARENT,
  type Query,
} from './conditions.ts';
import type { SqliteConnection, Value } from './connection.ts';

/** A part of a list that one index search reads in order. */
type Part = Segment & Span;

const partsOf = (segment: Segment): Part[] => {
  if (segment.values !== 'present') return [segment];
  const { values, descending } = segment;
  const parts = spansOf(segment).map((span): Part => ({ values, descending, ...span }));
  return descending ? parts.reverse() : parts;
};

/** A part of a list. */
interface Range {
  record: AnyRecord;
  /** Undefined for the table itself. */
  index: string | undefined;
  /** Undefined for a list that is ordered by id. */
  sort: string | undefined;
  part: Part;
}

/** A list of which a page is read: of one parent, or the only one. */
interface List<T> {
  parent: Id | undefined;
  items: T[];
}

/** The field and the column that refer to parents, and the parents. */
export interface Parents {
  field: string;
  column: string;
  parents: readonly Id[];
}

/** How rows become records. */
export interface RowForm<T> {
  /** The columns of a row, and SQL for all of them as one JSON text. */
  columns: string;
  json: string;
  decode(row: readonly unknown[]): T;
}

/**
 * Reads pages in any order: of one list, or of one for each parent. A part of all lists is one statement, each of whose
 * searches is that of an index with all conditions in this order.
 *
 * @param ofParents undefined for a single list
 */
export function readPages<T>(
  db: SqliteConnection,
  record: AnyRecord,
  ofParents: Parents | undefined,
  conditions: Conditions,
  request: PageRequest,
  { columns, json, decode }: RowForm<T>,
): Page<T>[] {
  const { limit, backward } = request;
  const { prefix } = conditions;
  const sort = request.order?.field ?? prefix?.field;
  const where = filterOf(inOrderBy(record, conditions, sort), ofParents);
  const field = sort === undefined ? undefined : (record.fields as Fields)[sort]!;
  const index = listIndexName(record, where.fields, sort);
  const lists = (ofParents?.parents ?? [undefined]).map((parent): List<T> => ({ parent, items: [] }));
  const order = request.order ?? { field: sort, descending: false };
  let open = lists;
  for (const part of segmentsOf(field, { ...request, order }, prefix?.text).flatMap(partsOf)) {
    if (open.length === 0) break;
    const wanted = limit + 1 - open.reduce((least, { items }) => Math.min(least, items.length), limit);
    const { sql, params } = rowsOf({ record, index, sort, part }, columns, where, wanted);
    const rowsOfLists = eachOf(db, `select json_group_array(${json}) from (${sql})`, params, open);
    for (let i = 0; i < open.length; i++) for (const row of rowsOfLists[i]!) open[i]!.items.push(decode(row));
    open = open.filter(({ items }) => items.length <= limit);
  }
  return lists.map(({ items }): Page<T> => {
    const hasMore = items.length > limit;
    if (hasMore) items.length = limit;
    if (backward) items.reverse();
    return { items, hasMore };
  });
}

/** The conditions of a list, below a parent if there are any. */
const filterOf = (conditions: Conditions, ofParents: Parents | undefined): Filter =>
  ofParents
    ? {
        ...conditions,
        equal: [...conditions.equal, [ofParents.column, PARENT]],
        fields: [...conditions.fields, ofParents.field],
      }
    : conditions;

/**
 * Counts the records that match: those of each of some parents, or all. SQLite counts about 20 entries of an index in a
 * microsecond, and a whole table much faster.
 *
 * @throws QUERY_TOO_COMPLEX if it is more than the meter allows
 */
export function countMatching(
  db: SqliteConnection,
  record: AnyRecord,
  ofParents: Parents | undefined,
  conditions: Conditions,
  meter: Meter | undefined,
): number[] {
  const sort = conditions.prefix?.field;
  const where = filterOf(inOrderBy(record, conditions, sort), ofParents);
  const index = listIndexName(record, where.fields, sort);
  if (index === undefined) return [db.value(`select count(*) from ${record.plural}`) as number];
  const { sql, params } = matchesOf(where);
  const limit = meter ? 'limit ?' : '';
  if (meter) params.push(meter.left('counted') + 1);
  const matching = `select 1 from ${record.plural} indexed by ${index}${clauseOf(sql)} ${limit}`;
  const count = `select count(*) from (${matching})`;
  const counts = ofParents
    ? db.json<number[]>(forEachParent(count), [...params, idList(ofParents.parents)])!
    : [db.value(count, params) as number];
  meter?.draw(
    'counted',
    counts.reduce((sum, n) => sum + n, 0),
  );
  return counts;
}

type Rows = readonly (readonly unknown[])[];

/** Runs a query for rows as JSON, for each list. Its SQL may refer to `parent.value`. */
function eachOf(db: SqliteConnection, sql: string, params: Value[], lists: readonly List<unknown>[]): Rows[] {
  if (lists[0]!.parent === undefined) return [db.json<Rows>(sql, params)!];
  const parents = idList(lists.map(({ parent }) => parent!));
  return db.json<string[]>(forEachParent(sql), [...params, parents])!.map((text) => JSON.parse(text));
}

/** Selects the rows of a range that match, in its order. */
function rowsOf(range: Range, columns: string, { equal, oneOf }: Filter, limit: number): Query {
  // Each value has its own index range. SQLite merges them and stops at the limit, whereas `in (…)` would sort all.
  const combinations = oneOf.reduce<Filter['equal'][]>(
    (all, { column, values }) =>
      all.flatMap((own) => values.map((value) => [...own, [column, value] as const])),
    [equal],
  );
  const params: Value[] = [];
  const runs = combinations.map((conditions) => {
    const run = entriesOf(range, columns, conditions);
    params.push(...run.params);
    return run.sql;
  });
  params.push(limit);
  return { sql: `${runs.join(' union all ')} ${orderOf(range)} limit ?`, params };
}

/** Selects the entries of a range that match, in any order. */
function entriesOf(range: Range, columns: string, equal: Filter['equal']): Query {
  const { record, index } = range;
  const { sql: conditions, params } = allOf(equal);
  addBounds(range, conditions, params);
  const indexed = index === undefined ? '' : ` indexed by ${index}`;
  const where = conditions.length > 0 ? ` where ${conditions.join(' and ')}` : '';
  return { sql: `select ${columns}${sortKeyColumn(range)} from ${record.plural}${indexed}${where}`, params };
}

/** What several queries need besides to be merged in order. */
function sortKeyColumn({ record, sort, part }: Range): string {
  if (sort === undefined || part.values !== 'present') return '';
  const column = sortColumn(record, sort);
  return columnName(sort) === column ? '' : `, ${column}`;
}

function orderOf({ record, sort, part }: Range): string {
  const direction = part.descending ? ' desc' : '';
  if (sort === undefined || part.values !== 'present') return `order by id${direction}`;
  return `order by ${sortColumn(record, sort)}${direction}, id${direction}`;
}

/** Adds the conditions of a range to others. */
function addBounds({ record, sort, part }: Range, conditions: string[], params: Value[]): void {
  const { values, key, lower, upper } = part;
  const sqlValue = (value: typeof key): Value => (typeof value === 'boolean' ? Number(value) : value!);
  let column = 'id';
  if (values === 'absent') conditions.push(`${sortColumn(record, sort!)} is null`);
  else if (values === 'present') {
    const sorted = sortColumn(record, sort!);
    if (key === undefined) column = sorted;
    conditions.push(key === undefined ? `${sorted} is not null` : `${sorted} = ?`);
    // Not as (value, id) > (?, ?), for which SQLite reads all records with this value.
    if (key !== undefined) params.push(sqlValue(key));
  }
  for (const [operator, bound] of [
    ['>', lower],
    ['<', upper],
  ] as const) {
    if (!bound) continue;
    conditions.push(`${column} ${operator}${bound.inclusive ? '=' : ''} ?`);
    params.push(bound.id === undefined ? sqlValue(bound.key) : BigInt(bound.id));
  }
}
