import type { Id } from '../../foundation/id.ts';
import type { Meter } from '../../foundation/meter.ts';
import {
  type AnyDeclaration,
  type Fields,
  isOrderCondition,
  type OrderCondition,
} from '../../foundation/record.ts';
import type { Lists, StoredRow, Values } from '../engine.ts';
import { choiceFields, indexFor } from '../indexes.ts';
import { endsOf, type Range, rangeSearches } from '../sort-order.ts';
import type { Group, Page, PageRequest } from '../../foundation/table.ts';
import { columnName, columnsOf, indexName, readOf, rowForm, sortColumn } from './columns.ts';
import type { SqliteConnection, Value } from './connection.ts';
import { blocksFor, keptFor, through } from './kept-counts.ts';

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
    where.push(`${columnsOf(declaration).find(({ field }) => field === below.field)!.name} = parent.value`);
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
function valuesOf({ below }: Lists, query: string, params: Value[]): [sql: string, params: Value[]] {
  const parents = below ? 'json_each(?) as parent order by parent.key' : '(select 1)';
  return [
    `select json_group_array(value) as json from (select (${query}) as value from ${parents})`,
    below ? [...params, idList(below.parents)] : params,
  ];
}

/** Ids as a JSON array of integers, which `json_each` reads exactly. */
export const idList = (ids: readonly Id[]): string => `[${ids.join(',')}]`;

/** The values of a filter that are set, without an order condition. */
const valuesIn = (filter: Values): Values =>
  Object.fromEntries(
    Object.entries(filter).filter(([, value]) => value !== undefined && !isOrderCondition(value)),
  );

/** The table of records with the index of some equal values, in which records are ordered by id. */
function recordsBy(declaration: AnyDeclaration, fields: readonly string[]): string {
  const indexed = indexFor(declaration, fields, undefined);
  const hint = indexed.length > 0 ? `indexed by ${indexName(declaration, indexed)}` : 'not indexed';
  return `"${declaration.plural}" as record ${hint}`;
}

/**
 * The rows to sum for counts without an order condition, with their parameters: what is kept, and the records added since.
 *
 * @param by fields to select with them
 */
function countedRows(
  declaration: AnyDeclaration,
  filter: Values,
  below: Lists['below'],
  by: readonly string[] = [],
): { rows: string; params: Value[] } {
  const values = valuesIn(filter);
  const fields = [...Object.keys(values), ...(below ? [below.field] : [])];
  const { table, columns } = keptFor(declaration, [...fields, ...by]);
  const where = ['true'];
  const params: Value[] = [];
  for (const { field, name, stored } of columns) {
    if (field === below?.field) where.push(`${name} = parent.value`);
    if (!(field in values)) continue;
    const some = [values[field]].flat();
    where.push(`${name} in (${some.map(() => '?').join(', ')})`);
    params.push(...some.map(stored));
  }
  const names = by.map((field) => `${columnName(field)}, `).join('');
  return {
    rows: `select ${names}n from ${table} where ${where.join(' and ')} union all select ${names}1
      from ${recordsBy(declaration, fields)} where ${where.join(' and ')} and id > ${through(declaration)}`,
    params: [...params, ...params],
  };
}

/**
 * Counts the records of lists with an order condition in one statement. Sums the blocks that begin in the range and the
 * records added to them since, adds the entries before those and subtracts the ones beyond the range.
 *
 * @param lists the values of each list, by field: one or several
 * @throws QUERY_TOO_COMPLEX if it reads more than the meter allows
 */
function countRanges(
  db: SqliteConnection,
  declaration: AnyDeclaration,
  filter: Values,
  lists: readonly Values[],
  meter: Meter | undefined,
): number[] {
  const [sort, condition] = Object.entries(filter).find(([, value]) => isOrderCondition(value))!;
  const ends = endsOf((declaration.fields as Fields)[sort]!, condition as OrderCondition);
  const { table, columns, key, lowest, index } = blocksFor(declaration, Object.keys(lists[0]!), sort);
  const rows = lists.flatMap((values, list) =>
    columns
      .reduce(
        (rows, { field, stored }) => {
          const some = new Set([values[field] ?? choiceFields(declaration)[field]].flat());
          return rows.flatMap((row) => [...some].map((value) => [...row, stored(value)]));
        },
        [[list]] as Value[][],
      )
      .map(
        (row) =>
          `[${row.map((value) => (typeof value === 'bigint' ? value : JSON.stringify(value))).join()}]`,
      ),
  );
  const [within, beyond] = ends.upper?.inclusive ? ['<=', '>'] : ['<', '>='];
  const isOf = (row: string) => columns.map(({ name }, n) => `${row}.${name} = value${n} and `).join('');
  const blocks = `from ${table} as block where ${isOf('block')} low`;
  const entries = `select count(*) from "${declaration.plural}" as record indexed by ${index}
    where ${isOf('record')} record.${key}`;
  const added = recordsBy(
    declaration,
    columns.map(({ field }) => field),
  );
  const counts = db.json<
    [list: number, before: number, added: number, beyond: number, blocks: [n: number, rows: number]][]
  >(
    `with lists as (
       select value ->> 0 as list, ${columns.map((_, n) => `value ->> ${n + 1} as value${n}, `).join('')}
         ${ends.lower ? '?' : lowest} as lower, ${ends.upper ? '?' : `x''`} as upper from json_each(?)
     ), ranges as materialized (
       select *, (select low ${blocks} >= lower and low ${within} upper order by low limit 1) as first,
         coalesce((select low ${blocks} ${beyond} upper order by low limit 1), x'') as next from lists
     )
     select json_group_array(json(iif(first is null,
       json_array(list, (${entries} >= lower and record.${key} ${within} upper), 0, 0, json_array(0, 0)),
       json_array(list, (${entries} >= lower and record.${key} < first), (
         select count(*) from ${added} where ${isOf('record')} id > ${through(declaration)}
         and record.${key} >= first and record.${key} < next
       ), (${entries} ${beyond} upper and record.${key} < next), json((
         select json_array(sum(n), count(*)) ${blocks} >= first and low ${within} upper
       )))))) from ranges`,
    [...[ends.lower, ends.upper].flatMap((end) => (end ? [end.key as Value] : [])), `[${rows.join()}]`],
  )!;
  meter?.draw(
    'counted',
    counts.reduce((read, [, before, added, beyond, [, rows]]) => read + before + added + beyond + rows, 0),
  );
  const totals = lists.map(() => 0);
  for (const [list, before, added, beyond, [kept]] of counts) totals[list]! += before + kept + added - beyond;
  return totals;
}

/** Counts matching records, by parent or in total. Throws like {@link countRanges}. */
export function countMatching(
  db: SqliteConnection,
  declaration: AnyDeclaration,
  lists: Lists,
  meter: Meter | undefined,
): number[] {
  const { filter, below } = lists;
  if (Object.values(filter).some(isOrderCondition)) {
    const values = valuesIn(filter);
    const each = below?.parents.map((parent) => ({
      ...values,
      [below.field]: [values[below.field] ?? parent].flat().filter((one) => one === parent),
    }));
    return countRanges(db, declaration, filter, each ?? [values], meter);
  }
  const { rows, params } = countedRows(declaration, filter, below);
  return db.json(...valuesOf(lists, `select coalesce(sum(n), 0) from (${rows})`, params))!;
}

/**
 * Counts the records with each combination of values of some fields, in one snapshot.
 *
 * @param most the maximum number of groups to read
 */
export function countGroups(
  db: SqliteConnection,
  declaration: AnyDeclaration,
  filter: Values,
  by: readonly string[],
  most: number,
  meter: Meter | undefined,
): Group[] {
  const columns = columnsOf(declaration).filter(({ field }) => by.includes(field));
  const { rows, params } = countedRows(declaration, filter, undefined, by);
  const names = columns.map(({ name }) => name).join(', ');
  const groups = `select ${names}, sum(n) as n from (${rows}) group by ${names} limit ?`;
  return db.snapshot(() => {
    const all = db
      .rows(`${columns.map(readOf).join(', ')}, n`, `(${groups})`, [...params, most])
      .map((row) => {
        const values: Record<string, unknown> = {};
        for (const [n, { field, read }] of columns.entries()) values[field] = read ? read(row[n]) : row[n];
        return { values, count: row[columns.length] as number };
      });
    if (all.length === 0 || !Object.values(filter).some(isOrderCondition)) return all;
    const each = all.map(({ values }) => ({ ...valuesIn(filter), ...values }));
    const counts = countRanges(db, declaration, filter, each, meter);
    return all.flatMap(({ values }, n) => (counts[n]! > 0 ? [{ values, count: counts[n]! }] : []));
  });
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
