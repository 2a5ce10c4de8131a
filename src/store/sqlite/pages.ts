import type { Field } from '../../foundation/fields.ts';
import type { Id } from '../../foundation/id.ts';
import type { Meter } from '../../foundation/meter.ts';
import { type AnyRecord, type Fields, isPrefix, type Prefix } from '../../foundation/record.ts';
import type { Lists, Stored } from '../engine.ts';
import { fewValued, indexFor } from '../indexes.ts';
import { type Segment, type Span, segmentsOf, spansOf, withinPrefix } from '../order.ts';
import type { Page, PageRequest } from '../table.ts';
import { columnName, columnsOf, indexName, rowForm, sortColumn } from './columns.ts';
import type { SqliteConnection, Value } from './connection.ts';

/** Conditions, all of which must match, with their parameters. */
interface Matches {
  sql: readonly string[];
  params: readonly Value[];
}

/** What is in lists, and their order. */
interface Conditions {
  /** The table, with the index that has all conditions, and then the order. */
  from: string;
  /** Conditions on single values. */
  where: Matches;
  /** Distinct values of columns, at least one each. */
  oneOf: readonly { column: string; values: readonly Value[] }[];
  /** The start of a folded text. */
  prefix: string | undefined;
  /** The field that they are ordered by and its column; undefined for the id. */
  sort: Field | undefined;
  sorted: string | undefined;
}

/**
 * The conditions of lists. In an order other than by id, few-valued fields without a condition get all their values: each
 * value has its index range.
 *
 * @param order the field that the lists are ordered by; by default that of a prefix
 */
export function conditionsOf(record: AnyRecord, { filter, below }: Lists, order?: string): Conditions {
  const [field, given] = Object.entries(filter).find(([, value]) => isPrefix(value)) ?? [];
  const sort = order ?? field;
  const [sql, params]: [string[], Value[]] = [[], []];
  const oneOf: Conditions['oneOf'][number][] = [];
  const fields: string[] = [];
  for (const { field, name, stored } of columnsOf(record)) {
    const few = sort === undefined || field === sort ? undefined : fewValued(record).get(field);
    const value = filter[field] ?? few;
    if (value === undefined || isPrefix(value)) continue;
    fields.push(field);
    if (Array.isArray(value)) oneOf.push({ column: name, values: [...new Set(value)].map(stored) });
    else {
      sql.push(`${name} = ?`);
      params.push(stored(value));
    }
  }
  if (below) {
    fields.push(below.field);
    sql.push(`${columnName(below.field)} = parent.value`);
  }
  const indexed = indexFor(record, fields, sort).fields;
  return {
    from: `"${record.plural}"${indexed.length > 0 ? ` indexed by ${indexName(record, indexed)}` : ''}`,
    where: { sql, params },
    oneOf,
    prefix: (given as Prefix | undefined)?.prefix,
    sort: sort === undefined ? undefined : (record.fields as Fields)[sort],
    sorted: sort === undefined ? undefined : sortColumn(record, sort),
  };
}

/** A part of a list that one index search reads in order. */
type Part = Segment & Span;

const partsOf = (segment: Segment): Part[] => {
  if (segment.values !== 'present') return [segment];
  const { values, descending } = segment;
  const parts = spansOf(segment).map((span): Part => ({ values, descending, ...span }));
  return descending ? parts.reverse() : parts;
};

/** The conditions of a part of a list. @param sorted the column that it is ordered by, if not by id alone */
function boundsOf({ values, key, lower, upper }: Omit<Part, 'descending'>, sorted: string | undefined) {
  const [sql, params]: [string[], Value[]] = [[], []];
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

/**
 * Selects what matches within bounds. Each combination of values has its own index range: SQLite merges them in order and
 * stops at a limit, whereas `in (…)` would sort all.
 */
function searchesOf({ from, where, oneOf }: Conditions, bounds: Matches, columns: string) {
  const searches = oneOf.reduce<Matches[]>(
    (all, { column, values }) =>
      all.flatMap(({ sql, params }) =>
        values.map((value) => ({ sql: [...sql, `${column} = ?`], params: [...params, value] })),
      ),
    [where],
  );
  const selects = searches.map(({ sql }) => {
    const all = [...sql, ...bounds.sql].join(' and ');
    return `select ${columns} from ${from}${all && ` where ${all}`}`;
  });
  return {
    sql: selects.join(' union all '),
    params: searches.flatMap(({ params }) => [...params, ...bounds.params]),
  };
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
  const { from, sorted, prefix } = conditions;
  const bounds = boundsOf({ values: sorted ? 'present' : 'any', ...withinPrefix(prefix) }, sorted);
  const { sql, params } = searchesOf(conditions, bounds, '1');
  if (!sql.includes(' where ')) return [db.value(`select count(*) from ${from}`) as number];
  if (meter) params.push(meter.left('counted') + 1);
  const count = `select count(*) from (${sql} ${meter ? 'limit ?' : ''})`;
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
export function readPages(
  db: SqliteConnection,
  record: AnyRecord,
  lists: Lists,
  request: PageRequest,
): Page<Stored>[] {
  const { limit, backward } = request;
  const { below } = lists;
  const { columns, json, decode } = rowForm(record);
  const conditions = conditionsOf(record, lists, request.order?.field);
  const { sort, sorted, prefix } = conditions;
  const found = (below?.parents ?? ['']).map((parent) => ({ parent, items: [] as Stored[] }));
  let open = found;
  for (const part of segmentsOf(sort, request, prefix).flatMap(partsOf)) {
    if (open.length === 0) break;
    const wanted = limit + 1 - open.reduce((least, { items }) => Math.min(least, items.length), limit);
    const key = part.values === 'present' ? sorted : undefined;
    const selected = key === undefined ? columns : `${columns}, ${key} as "sort key"`;
    const { sql, params } = searchesOf(conditions, boundsOf(part, sorted), selected);
    const direction = part.descending ? 'desc' : 'asc';
    const order = key === undefined ? `id ${direction}` : `"sort key" ${direction}, id ${direction}`;
    const rows = `select json_group_array(${json}) from (${sql} order by ${order} limit ?)`;
    params.push(wanted);
    const texts = below
      ? db.json<string[]>(forEachParent(rows), [...params, idList(open.map(({ parent }) => parent))])!
      : [db.value(rows, params) as string];
    for (const [i, { items }] of open.entries())
      for (const row of JSON.parse(texts[i]!) as unknown[][]) items.push(decode(row));
    open = open.filter(({ items }) => items.length <= limit);
  }
  return found.map(({ items }): Page<Stored> => {
    const hasMore = items.length > limit;
    if (hasMore) items.length = limit;
    if (backward) items.reverse();
    return { items, hasMore };
  });
}
