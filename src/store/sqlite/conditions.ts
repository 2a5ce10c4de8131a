import { endOfPrefix } from '../../foundation/folded.ts';
import { type AnyRecord, isPrefix, type Prefix } from '../../foundation/record.ts';
import type { Lists } from '../engine.ts';
import { fewValued } from '../indexes.ts';
import { columnName, columnsOf, listIndexName, sortColumn } from './columns.ts';
import type { Value } from './connection.ts';

/** Conditions on columns, all of which must match, and the order of what matches. */
export interface Conditions {
  equal: readonly (readonly [column: string, value: Value | typeof PARENT])[];
  /** Distinct values of columns, at least one each. */
  oneOf: readonly { column: string; values: readonly Value[] }[];
  /** The start of a folded text. */
  prefix: { field: string; text: string } | undefined;
  /** Undefined for lists that are ordered by id. */
  sort: string | undefined;
  /** The index that has all these conditions, and then this order; undefined for the table itself. */
  index: string | undefined;
}

/** Stands for the value of an outer query's `parent`. */
export const PARENT = Symbol('parent.value');

/** A part of a statement, with its parameters. */
export interface Query {
  sql: string;
  params: Value[];
}

/**
 * The conditions of lists. In an order other than by id, few-valued fields without a condition get all their values: each
 * value has its index range.
 *
 * @param order the field that the lists are ordered by; by default that of a prefix
 */
export function conditionsOf(record: AnyRecord, { filter, below }: Lists, order?: string): Conditions {
  const found = Object.entries(filter).find(([, value]) => isPrefix(value));
  const prefix = found && { field: found[0], text: (found[1] as Prefix).prefix };
  const sort = order ?? prefix?.field;
  const equal: [string, Value | typeof PARENT][] = [];
  const oneOf: Conditions['oneOf'][number][] = [];
  const fields: string[] = [];
  for (const { field, name, declaration, stored } of columnsOf(record)) {
    const few = sort === undefined || field === sort ? undefined : fewValued(record).get(field);
    const value = filter[field] ?? few;
    if (value === undefined || isPrefix(value)) continue;
    if (!Array.isArray(value)) equal.push([name, stored(value)]);
    else {
      const values = [...new Set(value)];
      const isAll =
        values.length === declaration.choices?.values.length && declaration.presence !== 'optional';
      if (isAll && !few) continue;
      oneOf.push({ column: name, values: values.map(stored) });
    }
    fields.push(field);
  }
  if (below) {
    equal.push([columnName(below.field), PARENT]);
    fields.push(below.field);
  }
  return { equal, oneOf, prefix, sort, index: listIndexName(record, fields, sort) };
}

/** The conditions on single values, by `and`. */
export const allOf = (equal: Conditions['equal']): { sql: string[]; params: Value[] } => ({
  sql: equal.map(([name, value]) => `${name} = ${value === PARENT ? 'parent.value' : '?'}`),
  params: equal.flatMap(([, value]) => (value === PARENT ? [] : value)),
});

/** All conditions of a filter. */
export function matchesOf(record: AnyRecord, { equal, oneOf, prefix }: Conditions): Query {
  const { sql, params } = allOf(equal);
  for (const { column, values } of oneOf) {
    sql.push(`${column} in (${values.map(() => '?').join(', ')})`);
    params.push(...values);
  }
  if (prefix) {
    const [column, end] = [sortColumn(record, prefix.field), endOfPrefix(prefix.text)];
    sql.push(`${column} >= ?`, ...(end === undefined ? [] : [`${column} < ?`]));
    params.push(prefix.text, ...(end === undefined ? [] : [end]));
  }
  return { sql: sql.join(' and '), params };
}
