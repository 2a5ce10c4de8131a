import type { Position, SortValue } from '../../foundation/cursor.ts';
import type { Id } from '../../foundation/id.ts';
import type { AnyRecord, Fields } from '../../foundation/record.ts';
import { type Segment, type Span, segmentsOf, spansOf, withinPrefix } from '../order.ts';
import type { Page, PageRequest } from '../table.ts';
import { columnName, columnsOf, sortColumn, sortIndexName } from './columns.ts';
import {
  allOf,
  type Conditions,
  type Filter,
  forEachParent,
  idList,
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
  /** Undefined for a list that is ordered by id. */
  sort: string | undefined;
  part: Part;
}

/** A list of which a page is read: of one parent, or the only one. */
interface List<T> {
  parent: Id | undefined;
  items: T[];
}

/** The column that refers to parents, and the parents. */
export interface Parents {
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
 * Reads pages in any order: of one list, or of one for each parent. A part of all lists is one statement, which
 * examines index entries once for all of them.
 *
 * @param ofParents undefined for a single list
 * @param most index entries to examine if no index has all conditions in this order
 */
export function readPages<T>(
  db: SqliteConnection,
  record: AnyRecord,
  ofParents: Parents | undefined,
  conditions: Conditions,
  request: PageRequest,
  most: number,
  { columns, json, decode }: RowForm<T>,
): { pages: Page<T>[]; examined: number } {
  const { limit, backward } = request;
  const where: Filter = ofParents
    ? { ...conditions, equal: [...conditions.equal, [ofParents.column, PARENT]] }
    : conditions;
  const sort = request.order?.field ?? where.prefix?.field;
  const field = sort === undefined ? undefined : (record.fields as Fields)[sort]!;
  // The indexes for orders have no conditions.
  const isWindowed = sort !== undefined && (where.equal.length > 0 || where.oneOf !== undefined);
  const lists = (ofParents?.parents ?? [undefined]).map((parent): List<T> => ({ parent, items: [] }));
  const ordered =
    sort === undefined || request.order ? request : { ...request, order: { field: sort, descending: false } };
  let open = lists;
  let examined = 0;
  let end: Position | undefined;
  for (const segment of segmentsOf(field, ordered, where.prefix?.text)) {
    for (const part of partsOf(segment)) {
      if (open.length === 0 || end) break;
      const range: Range = { record, sort, part };
      const wanted = limit + 1 - open.reduce((least, { items }) => Math.min(least, items.length), limit);
      const { sql, params } = isWindowed
        ? rowsInWindow(range, columns, where, most - examined, wanted)
        : rowsOf(range, columns, where, wanted);
      const rowsOfLists = eachOf(db, `select json_group_array(${json}) from (${sql})`, params, open);
      for (let i = 0; i < open.length; i++)
        for (const row of rowsOfLists[i]!) open[i]!.items.push(decode(row));
      open = open.filter(({ items }) => items.length <= limit);
      if (!isWindowed) continue;
      // The entries of a single list that is full are as few as its rows, but for what a filter left out.
      if (!ofParents && open.length === 0) break;
      const { count, last } = examinedOf(db, range, most - examined);
      examined += count;
      end = last;
    }
  }
  const pages = lists.map(({ items }): Page<T> => {
    const isFull = items.length > limit;
    if (isFull) items.length = limit;
    if (backward) items.reverse();
    return isFull || !end ? { items, hasMore: isFull } : { items, hasMore: true, end };
  });
  return { pages, examined };
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
  const params: Value[] = [];
  const runs = (oneOf?.values ?? [undefined]).map((value) => {
    const run = entriesOf(range, columns, equal, oneOf && [oneOf.column, value!]);
    params.push(...run.params);
    return run.sql;
  });
  params.push(limit);
  return { sql: `${runs.join(' union all ')} ${orderOf(range)} limit ?`, params };
}

/**
 * Selects the rows of a range that match among its first entries, in its order.
 *
 * @param most number of entries to examine
 */
function rowsInWindow(range: Range, columns: string, where: Filter, most: number, limit: number): Query {
  const entries = entriesOf(range, `${columns}${sortKeyColumn(range)}`);
  const matching = matchesOf(where);
  // To find the rows of many parents, SQLite makes an index of the window, which loses its order.
  const order = where.equal.some(([, value]) => value === PARENT) ? ` ${orderOf(range)}` : '';
  return {
    sql: `select * from (${entries.sql} ${orderOf(range)} limit ?) where ${matching.sql}${order} limit ?`,
    params: [...entries.params, most, ...matching.params, limit],
  };
}

/** How many entries a window has, and the last of them if they are as many as it allows. */
function examinedOf(
  db: SqliteConnection,
  range: Range,
  most: number,
): { count: number; last: Position | undefined } {
  const { name, read } = columnsOf(range.record).find(({ field }) => field === range.sort)!;
  const { sql, params } = entriesOf(range, `id, ${name}`);
  const entries = `${sql} ${orderOf(range)}`;
  const [count, last] = db.json<[number, [Id, unknown] | null]>(
    `select json_array((select count(*) from (${entries} limit ?)), json((select json_array(cast(id as text), ${name}) from (${entries} limit 1 offset ?))))`,
    [...params, most, ...params, most - 1],
  )!;
  if (!last) return { count, last: undefined };
  const [id, stored] = last;
  const value = (stored === null || !read ? stored : read(stored)) as SortValue;
  return { count, last: { id, value } };
}

/** Selects the entries of a range that match, in any order. */
function entriesOf(
  range: Range,
  columns: string,
  equal: Filter['equal'] = [],
  one?: Filter['equal'][0],
): Query {
  const { record, sort } = range;
  const { sql: conditions, params } = allOf(one ? [...equal, one] : equal);
  addBounds(range, conditions, params);
  const indexed = sort === undefined ? '' : ` indexed by ${sortIndexName(record, sort)}`;
  const where = conditions.length > 0 ? ` where ${conditions.join(' and ')}` : '';
  return { sql: `select ${columns} from ${record.plural}${indexed}${where}`, params };
}

/** What a query of a query needs besides to be ordered. */
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
  let column = 'id';
  if (values === 'absent') conditions.push(`${columnName(sort!)} is null`);
  else if (values === 'present') {
    const sorted = sortColumn(record, sort!);
    if (key === undefined) column = sorted;
    conditions.push(key === undefined ? `${sorted} is not null` : `${sorted} = ?`);
    // Not as (value, id) > (?, ?), for which SQLite reads all records with this value.
    if (key !== undefined) params.push(key);
  }
  for (const [operator, bound] of [
    ['>', lower],
    ['<', upper],
  ] as const) {
    if (!bound) continue;
    conditions.push(`${column} ${operator}${bound.inclusive ? '=' : ''} ?`);
    params.push(bound.id === undefined ? bound.key! : BigInt(bound.id));
  }
}

/** Selects the entries of the index of folded texts that begin with a prefix. */
export function entriesOfPrefix(
  record: AnyRecord,
  { field: sort, text }: NonNullable<Conditions['prefix']>,
  columns: string,
): Query {
  const [part] = partsOf({ values: 'present', ...withinPrefix(text), descending: false });
  return entriesOf({ record, sort, part: part! }, columns);
}
