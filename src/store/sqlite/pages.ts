import type { Id } from '../../foundation/id.ts';
import type { Meter } from '../../foundation/meter.ts';
import type { AnyRecord, Fields } from '../../foundation/record.ts';
import type { Lists } from '../engine.ts';
import { type Segment, type Span, segmentsOf, spansOf } from '../order.ts';
import type { Page, PageRequest } from '../table.ts';
import { columnName, sortColumn } from './columns.ts';
import { allOf, type Conditions, conditionsOf, matchesOf, type Query } from './conditions.ts';
import type { SqliteConnection, Value } from './connection.ts';

/** A part of a list that one index search reads in order. */
type Part = Segment & Span;

const partsOf = (segment: Segment): Part[] => {
  if (segment.values !== 'present') return [segment];
  const { values, descending } = segment;
  const parts = spansOf(segment).map((span): Part => ({ values, descending, ...span }));
  return descending ? parts.reverse() : parts;
};

/** How rows become records. */
export interface RowForm<T> {
  /** The columns of a row, and SQL for all of them as one JSON text. */
  columns: string;
  json: string;
  decode(row: readonly unknown[]): T;
}

/** SQL for a JSON array of a value for each parent, in their order. Its last parameter is `idList` of them. */
const forEachParent = (value: string): string =>
  `select json_group_array(value) from (select (${value}) as value from json_each(?) as parent order by parent.key)`;

/** Ids as a JSON array of integers, which `json_each` reads exactly. */
export const idList = (ids: readonly Id[]): string => `[${ids.join(',')}]`;

/**
 * Counts the records that match: those of each of some parents, or all. SQLite counts about 20 entries of an index in a
 * microsecond, and a whole table much faster.
 *
 * @throws QUERY_TOO_COMPLEX if it is more than the meter allows
 */
export function countMatching(
  db: SqliteConnection,
  record: AnyRecord,
  lists: Lists,
  meter: Meter | undefined,
): number[] {
  const { below } = lists;
  const conditions = conditionsOf(record, lists);
  const { index } = conditions;
  if (index === undefined) return [db.value(`select count(*) from "${record.plural}"`) as number];
  const { sql, params } = matchesOf(record, conditions);
  if (meter) params.push(meter.left('counted') + 1);
  const matching = `select 1 from "${record.plural}" indexed by ${index} where ${sql} ${meter ? 'limit ?' : ''}`;
  const count = `select count(*) from (${matching})`;
  const counts = below
    ? db.json<number[]>(forEachParent(count), [...params, idList(below.parents)])!
    : [db.value(count, params) as number];
  const examined = counts.reduce((sum, n) => sum + n, 0);
  meter?.draw('counted', examined);
  return counts;
}

/**
 * Reads pages in any order: of one list, or of one for each parent. A part of all lists is one statement, each of whose
 * searches is that of an index with all conditions in this order.
 */
export function readPages<T>(
  db: SqliteConnection,
  record: AnyRecord,
  lists: Lists,
  request: PageRequest,
  { columns, json, decode }: RowForm<T>,
): Page<T>[] {
  const { limit, backward } = request;
  const { below } = lists;
  const conditions = conditionsOf(record, lists, request.order?.field);
  const { sort, prefix } = conditions;
  const field = sort === undefined ? undefined : (record.fields as Fields)[sort]!;
  const order = request.order ?? { field: sort, descending: false };
  const found = (below?.parents ?? ['']).map((parent) => ({ parent, items: [] as T[] }));
  let open = found;
  for (const part of segmentsOf(field, { ...request, order }, prefix?.text).flatMap(partsOf)) {
    if (open.length === 0) break;
    const wanted = limit + 1 - open.reduce((least, { items }) => Math.min(least, items.length), limit);
    const { sql, params } = rowsOf(record, conditions, part, columns, wanted);
    const rows = `select json_group_array(${json}) from (${sql})`;
    const texts = below
      ? db.json<string[]>(forEachParent(rows), [...params, idList(open.map(({ parent }) => parent))])!
      : [db.value(rows, params) as string];
    for (const [i, { items }] of open.entries())
      for (const row of JSON.parse(texts[i]!) as unknown[][]) items.push(decode(row));
    open = open.filter(({ items }) => items.length <= limit);
  }
  return found.map(({ items }): Page<T> => {
    const hasMore = items.length > limit;
    if (hasMore) items.length = limit;
    if (backward) items.reverse();
    return { items, hasMore };
  });
}

/** Selects the rows of a part of lists that match, in its order. */
function rowsOf(
  record: AnyRecord,
  { equal, oneOf, sort, index }: Conditions,
  part: Part,
  columns: string,
  limit: number,
): Query {
  const sorted = sort === undefined || part.values === 'any' ? undefined : sortColumn(record, sort);
  const key = part.values === 'present' ? sorted : undefined;
  const bounds = boundsOf(part, sorted);
  // Besides, what several searches need to be merged in order.
  const selected = key === undefined || key === columnName(sort!) ? columns : `${columns}, ${key}`;
  const indexed = index === undefined ? '' : ` indexed by ${index}`;
  // Each value has its own index range. SQLite merges them and stops at the limit, whereas `in (…)` would sort all.
  const searches = oneOf.reduce<Conditions['equal'][]>(
    (all, { column, values }) =>
      all.flatMap((own) => values.map((value) => [...own, [column, value] as const])),
    [equal],
  );
  const params: Value[] = [];
  const runs = searches.map((equal) => {
    const own = allOf(equal);
    params.push(...own.params, ...bounds.params);
    const all = [...own.sql, ...bounds.sql].join(' and ');
    return `select ${selected} from "${record.plural}"${indexed}${all && ` where ${all}`}`;
  });
  const direction = part.descending ? ' desc' : '';
  const order = [key, 'id'].filter(Boolean).map((column) => `${column}${direction}`);
  params.push(limit);
  return { sql: `${runs.join(' union all ')} order by ${order.join(', ')} limit ?`, params };
}

/** The conditions of a part of a list. @param sorted the column that it is ordered by, if not by id alone */
function boundsOf({ values, key, lower, upper }: Part, sorted: string | undefined) {
  const sql: string[] = [];
  const params: Value[] = [];
  const sqlValue = (value: typeof key): Value => (typeof value === 'boolean' ? Number(value) : value!);
  const isOrdered = values === 'present' && key === undefined;
  // Not as (value, id) > (?, ?), for which SQLite reads all records with this value.
  if (values === 'present') sql.push(key === undefined ? `${sorted} is not null` : `${sorted} = ?`);
  if (key !== undefined) params.push(sqlValue(key));
  if (values === 'absent') sql.push(`${sorted} is null`);
  for (const [operator, bound] of [
    ['>', lower],
    ['<', upper],
  ] as const) {
    if (!bound) continue;
    sql.push(`${isOrdered ? sorted : 'id'} ${operator}${bound.inclusive ? '=' : ''} ?`);
    params.push(bound.id === undefined ? sqlValue(bound.key) : BigInt(bound.id));
  }
  return { sql, params };
}
