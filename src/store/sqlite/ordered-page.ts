import type { Position, SortValue } from '../../foundation/cursor.ts';
import type { Id } from '../../foundation/id.ts';
import type { Meter } from '../../foundation/meter.ts';
import type { AnyRecord, Fields } from '../../foundation/record.ts';
import { tooManyToCount } from '../conflicts.ts';
import { MAX_COUNTED, planOf, type SortPlan } from '../indexes.ts';
import {
  type IdBound,
  type Segment,
  type Span,
  segmentsOf,
  spansOf,
  type ValueBound,
  withinPrefix,
} from '../order.ts';
import type { Page, PageRequest } from '../table.ts';
import { columnName, columnsOf, sortColumn, sortIndexName } from './columns.ts';
import { type Conditions, forEachParent, idList } from './conditions.ts';
import type { SqliteConnection, Value } from './connection.ts';

/** Stands for the value of an outer query's `parent`. */
const PARENT = Symbol('parent.value');

/** What rows match. */
type Filter = Omit<Conditions, 'equal'> & {
  equal: readonly (readonly [column: string, value: Value | typeof PARENT])[];
};

/** A statement that selects rows, with its parameters. */
interface Query {
  sql: string;
  params: Value[];
}

/** A part of a list that one index search reads in order. */
type Part = { values: 'present'; span: Span; descending: boolean } | Exclude<Segment, { values: 'present' }>;

const partsOf = (segment: Segment): Part[] => {
  if (segment.values !== 'present') return [segment];
  const { descending } = segment;
  const parts = spansOf(segment).map((span): Part => ({ values: 'present', span, descending }));
  return descending ? parts.reverse() : parts;
};

/** A part of a list, and the index that has it in order. */
interface Range {
  record: AnyRecord;
  /** Undefined for a list that is ordered by id. */
  sort: string | undefined;
  part: Part;
  plan: SortPlan | undefined;
  where: Filter;
}

/** A list of which a page is read: of one parent, or the only one. */
interface List<T> {
  parent: Id | undefined;
  items: T[];
}

/**
 * Reads pages in any order: of one list, or of one for each parent. A part of all lists is one statement, which
 * examines index entries once for all of them.
 *
 * @param ofParents the column that refers to parents, and the parents; undefined for a single list
 * @param most index entries to examine if no index has all conditions
 * @param json SQL for all columns of a row
 */
export function readOrderedPages<T>(
  db: SqliteConnection,
  record: AnyRecord,
  ofParents: { column: string; parents: readonly Id[] } | undefined,
  conditions: Conditions,
  request: PageRequest,
  most: number,
  json: string,
  decode: (row: readonly unknown[]) => T,
): { pages: Page<T>[]; examined: number } {
  const { limit, backward } = request;
  const where: Filter = ofParents
    ? { ...conditions, equal: [...conditions.equal, [ofParents.column, PARENT]] }
    : conditions;
  const sort = request.order?.field ?? where.prefix?.field;
  const field = sort === undefined ? undefined : (record.fields as Fields)[sort]!;
  const plan = sort === undefined ? undefined : planFor(record, sort, where);
  const lists = (ofParents?.parents ?? [undefined]).map((parent): List<T> => ({ parent, items: [] }));
  const order = request.order ?? { field: sort, descending: false };
  let examined = 0;
  let end: Position | undefined;
  for (const part of segmentsOf(field, { ...request, order }, where.prefix?.text).flatMap(partsOf)) {
    const open = lists.filter(({ items }) => items.length <= limit);
    if (open.length === 0 || end) break;
    const range: Range = { record, sort, part, plan, where };
    const window = plan === undefined || plan.isExact ? undefined : most - examined;
    const wanted = limit + 1 - Math.min(...open.map(({ items }) => items.length));
    const { sql, params } = rowsOf(range, wanted, window);
    const found = eachOf<(readonly unknown[])[]>(
      db,
      { sql: `select json_group_array(${json}) from (${sql})`, params },
      open,
    );
    for (const [i, rows] of found.entries()) open[i]!.items.push(...rows.map(decode));
    if (window === undefined) continue;
    // The entries of a single list that is full are as few as its rows, but for what a filter left out.
    if (!ofParents && lists[0]!.items.length > limit) break;
    const { count, last } = examinedOf(db, range, window);
    examined += count;
    end = last;
  }
  const pages = lists.map(({ items }): Page<T> => {
    const isFull = items.length > limit;
    if (isFull) items.length = limit;
    if (backward) items.reverse();
    return { items, hasMore: isFull || end !== undefined, ...(!isFull && end && { end }) };
  });
  return { pages, examined };
}

/** Runs a query with one JSON value for each list. Its SQL may refer to `parent.value`. */
function eachOf<R>(db: SqliteConnection, { sql, params }: Query, lists: readonly List<unknown>[]): R[] {
  if (lists[0]!.parent === undefined) return [db.json<R>(sql, params)!];
  const parents = idList(lists.map(({ parent }) => parent!));
  const texts = db.json<string[]>(forEachParent(sql), [...params, parents])!;
  return texts.map((text) => JSON.parse(text) as R);
}

const conditionsOf = ({ equal, oneOf }: Filter): number => equal.length + (oneOf ? 1 : 0);

function planFor(record: AnyRecord, sort: string, where: Filter): SortPlan {
  const fields = columnsOf(record);
  // What depends on the parent is not part of a window, which is read once for all of them.
  const equal = where.equal
    .filter(([, value]) => value !== PARENT)
    .map(([name]) => fields.find((column) => column.name === name)!.field);
  return planOf(record, sort, equal, conditionsOf(where));
}

/**
 * Selects the rows of a range in its order.
 *
 * @param window number of entries to examine; undefined if all of the range match
 */
function rowsOf(range: Range, limit: number, window: number | undefined): Query {
  const { record, where } = range;
  const columns = ['id', ...columnsOf(record).map(({ name }) => name)].join(', ');
  if (window === undefined) {
    const { oneOf } = where;
    if (!oneOf) {
      const entries = entriesOf(range, columns, allOf(where.equal));
      return { sql: `${entries.sql} limit ?`, params: [...entries.params, limit] };
    }
    // Each value has its own index range. SQLite merges them and stops at the limit.
    const runs = oneOf.values.map((value) =>
      entriesOf(range, columns, allOf([...where.equal, [oneOf.column, value]]), false),
    );
    const sql = `${runs.map((run) => run.sql).join(' union all ')} ${orderOf(range)} limit ?`;
    return { sql, params: [...runs.flatMap((run) => run.params), limit] };
  }
  const indexed = indexedColumns(range);
  const entries = entriesOf(
    range,
    `${columns}${sortKeyColumn(range)}`,
    allOf(where.equal.filter(([name]) => indexed.includes(name))),
  );
  const others = matching(where, indexed);
  // To find the rows of many parents, SQLite makes an index of the window, which loses its order.
  const order = where.equal.some(([, value]) => value === PARENT) ? ` ${orderOf(range)}` : '';
  return {
    sql: `select * from (${entries.sql} limit ?) where ${others.sql}${order} limit ?`,
    params: [...entries.params, window, ...others.params, limit],
  };
}

/** How many entries a window has, and the last of them if they are as many as it allows. */
function examinedOf(
  db: SqliteConnection,
  range: Range,
  window: number,
): { count: number; last: Position | undefined } {
  const { record, sort, where } = range;
  const indexed = indexedColumns(range);
  const conditions = allOf(where.equal.filter(([name]) => indexed.includes(name)));
  const { name, read } = columnsOf(record).find((column) => column.field === sort)!;
  const entries = entriesOf(range, `id, ${name}`, conditions);
  const [count, last] = db.json<[number, [Id, unknown] | null]>(
    `select json_array((select count(*) from (${entries.sql} limit ?)), json((select json_array(cast(id as text), ${name}) from (${entries.sql} limit 1 offset ?))))`,
    [...entries.params, window, ...entries.params, window - 1],
  )!;
  if (!last) return { count, last: undefined };
  const [id, stored] = last;
  const value = (stored === null || !read ? stored : read(stored)) as SortValue;
  return { count, last: { id, value } };
}

const indexedColumns = ({ plan }: Range): readonly string[] => plan?.index.equal.map(columnName) ?? [];

/** Selects the entries of a range, in its order. */
function entriesOf(range: Range, columns: string, conditions: Query, ordered = true): Query {
  const { record, plan } = range;
  const within = rangeConditions(range);
  const indexed = plan ? ` indexed by ${sortIndexName(record, plan.index)}` : '';
  const all = [conditions, within].filter(({ sql }) => sql !== '');
  const where = all.length > 0 ? ` where ${all.map(({ sql }) => sql).join(' and ')}` : '';
  return {
    sql: `select ${columns}${ordered ? '' : sortKeyColumn(range)} from ${record.plural}${indexed}${where}${ordered ? ` ${orderOf(range)}` : ''}`,
    params: all.flatMap(({ params }) => params),
  };
}

/** What a query of queries needs besides to be ordered. */
function sortKeyColumn({ record, sort, part }: Range): string {
  if (sort === undefined || part.values !== 'present') return '';
  const column = sortColumn(sort, (record.fields as Fields)[sort]!);
  return columnName(sort) === column ? '' : `, ${column}`;
}

function orderOf({ record, sort, part }: Range): string {
  const direction = part.descending ? ' desc' : '';
  if (sort === undefined || part.values !== 'present') return `order by id${direction}`;
  return `order by ${sortColumn(sort, (record.fields as Fields)[sort]!)}${direction}, id${direction}`;
}

function rangeConditions({ record, sort, part }: Range): Query {
  const conditions: string[] = [];
  const params: Value[] = [];
  const addIds = ({ lower, upper }: { lower?: IdBound | undefined; upper?: IdBound | undefined }) => {
    const add = (bound: IdBound | undefined, operator: string) => {
      if (!bound) return;
      conditions.push(`id ${operator}${bound.inclusive ? '=' : ''} ?`);
      params.push(BigInt(bound.id));
    };
    add(lower, '>');
    add(upper, '<');
  };
  if (part.values !== 'present') {
    if (part.values === 'absent') conditions.push(`${columnName(sort!)} is null`);
    addIds(part);
    return { sql: conditions.join(' and '), params };
  }
  const column = sortColumn(sort!, (record.fields as Fields)[sort!]!);
  const { span } = part;
  // Not as (value, id) > (?, ?), for which SQLite reads all records with this value.
  if (span.key !== undefined) {
    conditions.push(`${column} = ?`);
    params.push(span.key);
    addIds(span);
    return { sql: conditions.join(' and '), params };
  }
  conditions.push(`${column} is not null`);
  const add = (bound: ValueBound | undefined, operator: string) => {
    if (!bound) return;
    conditions.push(`${column} ${operator}${bound.inclusive ? '=' : ''} ?`);
    params.push(bound.key);
  };
  add(span.lower, '>');
  add(span.upper, '<');
  return { sql: conditions.join(' and '), params };
}

const allOf = (equal: Filter['equal']): Query => ({
  sql: equal.map(([name, value]) => `${name} = ${value === PARENT ? 'parent.value' : '?'}`).join(' and '),
  params: equal.map(([, value]) => value).filter((value) => value !== PARENT),
});

/** The conditions that an index does not have. */
function matching({ equal, oneOf }: Filter, indexed: readonly string[]): Query {
  const others = allOf(equal.filter(([name]) => !indexed.includes(name)));
  if (!oneOf) return others;
  const any = `${oneOf.column} in (${oneOf.values.map(() => '?').join(', ')})`;
  return {
    sql: others.sql === '' ? any : `${others.sql} and ${any}`,
    params: [...others.params, ...oneOf.values],
  };
}

/**
 * Counts the records whose folded text begins with a prefix: for each of some parents, or all. The index entries
 * are examined once for all parents.
 *
 * @param ofParents the column that refers to parents, and the parents
 * @throws QUERY_TOO_COMPLEX if there are too many to examine
 */
export function countsOfPrefix(
  db: SqliteConnection,
  record: AnyRecord,
  where: Conditions,
  ofParents: { column: string; parents: readonly Id[] } | undefined,
  meter: Meter | undefined,
): number[] {
  const { field: sort, text } = where.prefix!;
  const plan = planFor(record, sort, where);
  const [part] = partsOf({ values: 'present', ...withinPrefix(text), descending: false });
  const range: Range = { record, sort, plan, where, part: part! };
  const indexed = indexedColumns(range);
  const others = matching(where, indexed);
  const matches = [others.sql, ofParents && `${ofParents.column} in (select value from json_each(?))`];
  const group = `iif(${matches.filter(Boolean).join(' and ') || 'true'}, ${ofParents?.column ?? "''"}, null)`;
  const entries = entriesOf(
    range,
    `${group} as counted`,
    allOf(where.equal.filter(([name]) => indexed.includes(name))),
  );
  const most = Math.min(MAX_COUNTED, meter?.left('indexEntries') ?? MAX_COUNTED);
  const sql = `from (${entries.sql} limit ?)`;
  const groups = db.json<[string | null, number][]>(
    ofParents
      ? `select json_group_array(json_array(cast(counted as text), n)) from (select counted, count(*) as n ${sql} group by 1)`
      : `select json_array(json_array('', count(counted)), json_array(null, count(*) - count(counted))) ${sql}`,
    [...others.params, ...(ofParents ? [idList(ofParents.parents)] : []), ...entries.params, most + 1],
  )!;
  const examined = groups.reduce((sum, [, count]) => sum + count, 0);
  if (examined > MAX_COUNTED) throw tooManyToCount();
  meter?.draw('indexEntries', examined);
  const counts = new Map(groups);
  return (ofParents?.parents ?? ['']).map((parent) => counts.get(parent) ?? 0);
}
