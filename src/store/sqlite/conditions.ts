import { endOfPrefix } from '../../foundation/folded.ts';
import type { Id } from '../../foundation/id.ts';
import { type AnyRecord, isPrefix } from '../../foundation/record.ts';
import { fewValued } from '../indexes.ts';
import { columnsOf, sortColumn } from './columns.ts';
import type { Value } from './connection.ts';

/** Conditions on columns, all of which must match. */
export interface Conditions {
  equal: readonly (readonly [column: string, value: Value])[];
  /** Distinct values of columns, at least one each. */
  oneOf: readonly { column: string; values: readonly Value[] }[];
  /** The fields of these. */
  fields: readonly string[];
  /** The start of a folded text. */
  prefix?: Range & { field: string; text: string };
}

/** The range of a folded text that begins with a prefix, which the last one may have no end. */
interface Range {
  column: string;
  lower: string;
  upper: string | undefined;
}

/** Stands for the value of an outer query's `parent`. */
export const PARENT = Symbol('parent.value');

/** What rows match. */
export type Filter = Omit<Conditions, 'equal'> & {
  equal: readonly (readonly [column: string, value: Value | typeof PARENT])[];
};

/** A part of a statement, with its parameters. */
export interface Query {
  sql: string;
  params: Value[];
}

/** Conditions on columns; null matches nothing. */
export type Where = Conditions | null;

/** Translates a filter of the port. */
export function whereOf(record: AnyRecord, filter: Readonly<Record<string, unknown>>): Where {
  const equal: [string, Value][] = [];
  const oneOf: Conditions['oneOf'][number][] = [];
  const fields: string[] = [];
  let prefix: Conditions['prefix'];
  for (const { field, name, declaration, stored } of columnsOf(record)) {
    const value = filter[field];
    if (value === undefined) continue;
    if (isPrefix(value)) {
      const { prefix: text } = value;
      prefix = { field, text, column: sortColumn(record, field), lower: text, upper: endOfPrefix(text) };
      continue;
    }
    if (!Array.isArray(value)) equal.push([name, stored(value)]);
    else {
      const values = [...new Set(value)];
      if (values.length === 0) return null;
      if (values.length === declaration.choices?.values.length && declaration.presence !== 'optional')
        continue;
      oneOf.push({ column: name, values: values.map(stored) });
    }
    fields.push(field);
  }
  return { equal, oneOf, fields, ...(prefix && { prefix }) };
}

/**
 * The conditions of a list in an order, for which the few-valued fields without one get all their values: each has its
 * index range.
 */
export function inOrderBy(record: AnyRecord, where: Conditions, sort: string | undefined): Conditions {
  const open = columnsOf(record).filter(
    ({ field }) => field !== sort && fewValued(record).has(field) && !where.fields.includes(field),
  );
  if (sort === undefined || open.length === 0) return where;
  const all = open.map(({ field, name, stored }) => ({
    column: name,
    values: fewValued(record).get(field)!.map(stored),
  }));
  return {
    ...where,
    oneOf: [...where.oneOf, ...all],
    fields: [...where.fields, ...open.map(({ field }) => field)],
  };
}

/** Ids as a JSON array of integers, which `json_each` reads exactly. */
export const idList = (ids: readonly Id[]): string => `[${ids.join(',')}]`;

/**
 * SQL for a JSON array of one value for each parent, in their order.
 *
 * @param value SQL of the value, which may refer to `parent.value`
 * @param parents the parameter with their `idList`, by default the last
 */
export const forEachParent = (value: string, parents = '?'): string =>
  `select json_group_array(value) from (select (${value}) as value from json_each(${parents}) as parent order by parent.key)`;

/** Conditions on columns, with their parameters. */
export const allOf = (equal: Filter['equal']): { sql: string[]; params: Value[] } => ({
  sql: equal.map(([name, value]) => `${name} = ${value === PARENT ? 'parent.value' : '?'}`),
  params: equal.flatMap(([, value]) => (value === PARENT ? [] : value)),
});

/** The conditions of a filter. */
export function matchesOf({ equal, oneOf, prefix }: Filter): Query {
  const { sql, params } = allOf(equal);
  for (const { column, values } of oneOf) {
    sql.push(`${column} in (${values.map(() => '?').join(', ')})`);
    params.push(...values);
  }
  if (prefix) {
    sql.push(`${prefix.column} >= ?`);
    params.push(prefix.lower);
  }
  if (prefix?.upper !== undefined) {
    sql.push(`${prefix.column} < ?`);
    params.push(prefix.upper);
  }
  return { sql: sql.join(' and '), params };
}

/** A WHERE clause of the conditions that there are. */
export function clauseOf(...conditions: (string | false | undefined)[]): string {
  const all = conditions.filter(Boolean).join(' and ');
  return all && ` where ${all}`;
}
