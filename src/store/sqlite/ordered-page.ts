import type { Position, SortValue } from '../../foundation/cursor.ts';
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
import type { Conditions } from './conditions.ts';
import type { SqliteConnection, Value } from './connection.ts';

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
  where: Conditions;
}

/**
 * Reads a page in any order.
 *
 * @param most index entries to examine if no index has all conditions
 * @param read runs a query for all columns of some rows
 */
export function readOrderedPage<T>(
  db: SqliteConnection,
  record: AnyRecord,
  where: Conditions,
  request: PageRequest,
  most: number,
  read: (sql: string, params: Value[]) => T[],
): Page<T> & { examined: number } {
  const { limit, backward } = request;
  const sort = request.order?.field ?? where.prefix?.field;
  const field = sort === undefined ? undefined : (record.fields as Fields)[sort]!;
  const plan = sort === undefined ? undefined : planFor(record, sort, where);
  const items: T[] = [];
  let examined = 0;
  let end: Position | undefined;
  const order = request.order ?? { field: sort, descending: false };
  for (const part of segmentsOf(field, { ...request, order }, where.prefix?.text).flatMap(partsOf)) {
    const range: Range = { record, sort, part, plan, where };
    const isExact = plan === undefined || plan.isExact;
    const window = isExact ? undefined : most - examined;
    const { sql, params } = rowsOf(range, limit + 1 - items.length, window);
    items.push(...read(sql, params));
    if (items.length > limit) break;
    if (window === undefined) continue;
    const { count, last } = examinedOf(db, range, window);
    examined += count;
    if (examined < most) continue;
    end = last;
    break;
  }
  const hasMore = items.length > limit || end !== undefined;
  if (items.length > limit) {
    items.length = limit;
    end = undefined;
  }
  if (backward) items.reverse();
  return { items, hasMore, examined, ...(end && { end }) };
}

const conditionsOf = ({ equal, oneOf }: Conditions): number => equal.length + (oneOf ? 1 : 0);

function planFor(record: AnyRecord, sort: string, where: Conditions): SortPlan {
  const fields = columnsOf(record);
  const equal = where.equal.map(([name]) => fields.find((column) => column.name === name)!.field);
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
  const entries = entriesOf(range, columns, allOf(where.equal.filter(([name]) => indexed.includes(name))));
  const others = matching(where, indexed);
  return {
    sql: `select * from (${entries.sql} limit ?) where ${others.sql} limit ?`,
    params: [...entries.params, window, ...others.params, limit],
  };
}

/** How many entries a window has, and the last of them. */
function examinedOf(
  db: SqliteConnection,
  range: Range,
  window: number,
): { count: number; last: Position | undefined } {
  const { record, sort, where } = range;
  const indexed = indexedColumns(range);
  const conditions = allOf(where.equal.filter(([name]) => indexed.includes(name)));
  const entries = entriesOf(range, 'id', conditions);
  const count = db.value(`select count(*) from (${entries.sql} limit ?)`, [
    ...entries.params,
    window,
  ]) as number;
  if (count < window) return { count, last: undefined };
  const { name, read } = columnsOf(record).find((column) => column.field === sort)!;
  const found = entriesOf(range, `id, ${name}`, conditions);
  const [id, stored] = db.json<[string, unknown]>(
    `select json_array(cast(id as text), ${name}) from (${found.sql} limit 1 offset ?)`,
    [...found.params, window - 1],
  )!;
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

/** What a compound query needs besides to be ordered. */
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

const allOf = (equal: Conditions['equal']): Query => ({
  sql: equal.map(([name]) => `${name} = ?`).join(' and '),
  params: equal.map(([, value]) => value),
});

/** The conditions that an index does not have. */
function matching({ equal, oneOf }: Conditions, indexed: readonly string[]): Query {
  const others = allOf(equal.filter(([name]) => !indexed.includes(name)));
  if (!oneOf) return others;
  const any = `${oneOf.column} in (${oneOf.values.map(() => '?').join(', ')})`;
  return {
    sql: others.sql === '' ? any : `${others.sql} and ${any}`,
    params: [...others.params, ...oneOf.values],
  };
}

/**
 * Counts the records whose folded text begins with a prefix.
 *
 * @throws QUERY_TOO_COMPLEX if there are too many to examine
 */
export function countPrefix(
  db: SqliteConnection,
  record: AnyRecord,
  where: Conditions,
  meter: Meter | undefined,
): number {
  const { field: sort, text } = where.prefix!;
  const plan = planFor(record, sort, where);
  const [part] = partsOf({ values: 'present', ...withinPrefix(text), descending: false });
  const range: Range = { record, sort, plan, where, part: part! };
  const indexed = indexedColumns(range);
  const others = matching(where, indexed);
  const entries = entriesOf(
    range,
    others.sql === '' ? '1 as matches' : `(${others.sql}) as matches`,
    allOf(where.equal.filter(([name]) => indexed.includes(name))),
  );
  const most = Math.min(MAX_COUNTED, meter?.left('indexEntries') ?? MAX_COUNTED);
  const [examined, count] = db.json<[number, number]>(
    `select json_array(count(*), coalesce(sum(matches), 0)) from (${entries.sql} limit ?)`,
    [...others.params, ...entries.params, most + 1],
  )!;
  if (examined > MAX_COUNTED) throw tooManyToCount();
  meter?.draw('indexEntries', examined);
  return count;
}
