import { type Id, MAX_INT32 } from '../../foundation/id.ts';
import type { Meter } from '../../foundation/meter.ts';
import {
  type AnyDeclaration,
  type Fields,
  isOrderCondition,
  type OrderCondition,
} from '../../foundation/record.ts';
import type { Lists, StoredRow, Values } from '../engine.ts';
import { choiceFields, indexFor } from '../indexes.ts';
import { type Range, rangeSearches } from '../sort-order.ts';
import type { Group, Page, PageRequest } from '../../foundation/table.ts';
import { columnName, columnsOf, indexName, readOf, rowForm, sortColumn } from './columns.ts';
import type { Query, SqliteConnection, Value } from './connection.ts';
import { type KeptCounts, keptFor } from './kept-counts.ts';

/**
 * The conditions and order of lists, as SQL. Except in the order of ids, fields with few values get all of them as a
 * condition if they have none, since each value has its own index range.
 *
 * @param order the field that orders the lists; defaults to that of an order condition
 */
export function conditionsOf(declaration: AnyDeclaration, { filter, below }: Lists, order?: string) {
  const [field, range] = Object.entries(filter).find(([, value]) => isOrderCondition(value)) ?? [];
  const sort = order ?? field;
  const few = sort === undefined ? {} : { ...choiceFields(declaration), [sort]: undefined };
  const where: string[] = [];
  const fields: string[] = [];
  let values: Value[][] = [[]];
  for (const { field, name, stored } of columnsOf(declaration)) {
    const value = filter[field] ?? few[field];
    if (value === undefined || isOrderCondition(value)) continue;
    fields.push(field);
    where.push(`${name} = ?`);
    const some = Array.isArray(value) ? [...new Set(value)] : [value];
    values = values.flatMap((others) => some.map((one) => [...others, stored(one)]));
  }
  if (below) {
    fields.push(below.field);
    where.push(`${columnName(below.field)} = parent.value`);
  }
  const indexed = indexFor(declaration, fields, sort);
  return {
    /** The table, with the index of all conditions followed by the order. */
    from: `"${declaration.plural}"${indexed.length > 0 ? ` indexed by ${indexName(declaration, indexed)}` : ''}`,
    /** Conditions on columns, which must all match. */
    where,
    /** The combinations of values to compare with; any may match. */
    values,
    /** The condition on the field that orders the lists. */
    within: range as OrderCondition | undefined,
    /** The field that orders the lists, and its column; undefined for the id. */
    sort: sort === undefined ? undefined : (declaration.fields as Fields)[sort],
    sorted: sort === undefined ? undefined : sortColumn(declaration, sort),
  };
}

/** The conditions of a range, with parameters. @param sorted the column that orders the lists, unless by id */
function rangeConditions({ value, lower, upper }: Range, sorted: string | undefined) {
  const [sql, params]: [string[], Value[]] = [[], []];
  const add = (condition: string, value: Range['value']) => {
    sql.push(`${condition} ?`);
    params.push(typeof value === 'boolean' ? Number(value) : value!);
  };
  // Not (value, id) > (?, ?), for which SQLite reads all records with this value.
  if (value !== undefined) add(`${sorted} is`, value);
  else if (sorted) sql.push(`${sorted} is not null`);
  const column = value === undefined && sorted ? sorted : 'id';
  if (lower) add(`${column} ${lower.inclusive ? '>=' : '>'}`, lower.key);
  if (upper) add(`${column} ${upper.inclusive ? '<=' : '<'}`, upper.key);
  return { sql, params };
}

/**
 * Selects the matching records within ranges. Every combination of values has its own index range in each: SQLite
 * merges them in order and stops at a limit, whereas `in (…)` would sort everything.
 */
function selectOf(
  { from, where, values, sorted }: ReturnType<typeof conditionsOf>,
  ranges: readonly Range[],
  columns: string,
) {
  const bounds = ranges.map((range) => rangeConditions(range, sorted));
  const selects = bounds.flatMap(({ sql }) => {
    const all = [...where, ...sql].join(' and ');
    return values.map(() => `select ${columns} from ${from}${all && ` where ${all}`}`);
  });
  return {
    sql: selects.join(' union all '),
    params: bounds.flatMap(({ params }) => values.flatMap((some) => [...some, ...params])),
  };
}

/** A query for a JSON list of values: one per parent, in their order, or a single one without parents. */
function valuesOf({ below }: Lists, query: string, params: Value[]): Query {
  const parents = below ? 'json_each(?) as parent order by parent.key' : '(select 1)';
  return [
    `select json_group_array(value) as json from (select (${query}) as value from ${parents})`,
    below ? [...params, idList(below.parents)] : params,
  ];
}

/** Ids as a JSON array of integers, which `json_each` reads exactly. */
export const idList = (ids: readonly Id[]): string => `[${ids.join(',')}]`;

/** The kept counts for lists. @param by more fields @returns undefined for lists with an order condition */
function keptOf(
  declaration: AnyDeclaration,
  { filter, below }: Lists,
  by: readonly string[] = [],
): KeptCounts | undefined {
  const filtered = Object.keys(filter).filter((field) => filter[field] !== undefined);
  if (filtered.some((field) => isOrderCondition(filter[field]))) return undefined;
  return keptFor(declaration, [...filtered, ...by, ...(below ? [below.field] : [])]);
}

/** The conditions of lists on the rows of kept counts, with their parameters. */
function rowsOfCounts({ table, columns }: KeptCounts, { filter, below }: Lists) {
  const where: string[] = [];
  const params: Value[] = [];
  for (const { field, name, stored } of columns) {
    if (field === below?.field) where.push(`${name} = parent.value`);
    const value = filter[field];
    if (value === undefined) continue;
    const some = Array.isArray(value) ? value : [value];
    where.push(`${name} ${some.length === 1 ? '= ?' : `in (${some.map(() => '?').join(', ')})`}`);
    params.push(...some.map(stored));
  }
  return { rows: `${table}${where.length > 0 ? ` where ${where.join(' and ')}` : ''}`, params };
}

/** The number of index entries to count at once, in a millisecond. */
const COUNTED_AT_ONCE = 20_000;

/**
 * Counts the records of lists with an order condition, by parent or in total, in one snapshot: in their indexes at about
 * 20 per microsecond; outside transactions in a thread, unless they are few.
 *
 * @throws QUERY_TOO_COMPLEX if it counts more than the meter allows
 */
async function countInIndexes(
  db: SqliteConnection,
  declaration: AnyDeclaration,
  all: readonly Lists[],
  meter: Meter | undefined,
): Promise<number[][]> {
  const queriesFor = (most: number): Query[] =>
    all.map((lists) => {
      const conditions = conditionsOf(declaration, lists);
      const { sql, params } = selectOf(
        conditions,
        rangeSearches(conditions.sort, { limit: 0 }, conditions.within).searches[0]!,
        '1',
      );
      return valuesOf(lists, `select count(*) from (${sql} limit ?)`, [...params, most]);
    });
  const most = () => (meter ? meter.left('counted') + 1 : MAX_INT32);
  const few = db.isInTransaction
    ? Number.POSITIVE_INFINITY
    : Math.ceil(COUNTED_AT_ONCE / all.length / (all[0]?.below?.parents.length ?? 1));
  const first = db.snapshot(() =>
    queriesFor(Math.min(most(), few)).map((query) => db.json<number[]>(...query)!),
  );
  const counts = first.flat().every((n) => n < few)
    ? first
    : await db.jsonInThread<number[]>(() => queriesFor(most()));
  meter?.draw(
    'counted',
    counts.flat().reduce((sum, n) => sum + n, 0),
  );
  return counts;
}

/** Counts matching records, by parent or in total. Throws like {@link countInIndexes}. */
export async function countMatching(
  db: SqliteConnection,
  declaration: AnyDeclaration,
  lists: Lists,
  meter: Meter | undefined,
): Promise<number[]> {
  const kept = keptOf(declaration, lists);
  if (!kept) return (await countInIndexes(db, declaration, [lists], meter))[0]!;
  const { rows, params } = rowsOfCounts(kept, lists);
  return db.json(...valuesOf(lists, `select coalesce(sum(n), 0) from ${rows}`, params))!;
}

/**
 * Counts the records with each combination of values of some fields, in one snapshot.
 *
 * @param most the maximum number of groups to read
 */
export async function countGroups(
  db: SqliteConnection,
  declaration: AnyDeclaration,
  filter: Values,
  by: readonly string[],
  most: number,
  meter: Meter | undefined,
): Promise<Group[]> {
  const plain = Object.fromEntries(Object.entries(filter).filter(([, value]) => !isOrderCondition(value)));
  const columns = columnsOf(declaration).filter(({ field }) => by.includes(field));
  const kept = keptOf(declaration, { filter: plain }, by)!;
  const { rows, params } = rowsOfCounts(kept, { filter: plain });
  const names = columns.map(({ name }) => name).join(', ');
  const groups = `select ${names}, sum(n) as n from ${rows} group by ${names} limit ?`;
  const all = db
    .rows(`n, ${columns.map(readOf).join(', ')}`, `(${groups})`, [...params, most])
    .map(([count, ...values]) => ({
      count: count as number,
      values: Object.fromEntries(
        columns.map(({ field, read = (value) => value }, n) => [field, read(values[n])]),
      ),
    }));
  if (Object.keys(plain).length === Object.keys(filter).length) return all;
  // Each group has its own range of the index.
  const counts = await countInIndexes(
    db,
    declaration,
    all.map(({ values }) => ({ filter: { ...filter, ...values } })),
    meter,
  );
  return all.flatMap(({ values }, n) => (counts[n]![0]! > 0 ? [{ values, count: counts[n]![0]! }] : []));
}

/**
 * Reads a page of a list, or of one list per parent, in any order. Each search is one statement for all lists, and
 * reads only its results, from the index with all conditions in this order.
 */
export function readPages(
  db: SqliteConnection,
  declaration: AnyDeclaration,
  lists: Lists,
  request: PageRequest,
): Page<StoredRow>[] {
  const { limit, backward } = request;
  const { columns, read, decode } = rowForm(declaration);
  const conditions = conditionsOf(declaration, lists, request.order?.field);
  const { sort, sorted } = conditions;
  const { searches, descending } = rangeSearches(sort, request, conditions.within);
  const selected = sorted === undefined ? columns : `${columns}, ${sorted}`;
  const direction = descending ? 'desc' : 'asc';
  const order = `${sorted === undefined ? '' : `${sorted} ${direction}, `}id ${direction}`;
  const pagesOfParents = (lists.below?.parents ?? ['']).map((): StoredRow[] => []);
  for (const ranges of searches) {
    if (pagesOfParents.every(({ length }) => length > limit)) break;
    const { sql, params } = selectOf(conditions, ranges, selected);
    const rows = `(${sql} order by ${order} limit ?)`;
    const values = [...params, limit + 1];
    const texts = `select json_group_array(json_array(${read})) from ${rows}`;
    const pages = lists.below
      ? db.json<string[]>(...valuesOf(lists, texts, values))!.map((page) => JSON.parse(page) as unknown[][])
      : [db.rows(read, rows, values)];
    for (const [i, page] of pages.entries()) for (const row of page) pagesOfParents[i]!.push(decode(row));
  }
  return pagesOfParents.map((items): Page<StoredRow> => {
    const hasMore = items.length > limit;
    if (hasMore) items.length = limit;
    if (backward) items.reverse();
    return { items, hasMore };
  });
}
