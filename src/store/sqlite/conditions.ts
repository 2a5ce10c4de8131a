import type { Id } from '../../foundation/id.ts';
import { isPrefix } from '../../foundation/record.ts';
import type { Column } from './columns.ts';
import type { Value } from './connection.ts';

/** Conditions on columns, all of which must match. */
export interface Conditions {
  equal: readonly (readonly [column: string, value: Value])[];
  /** Distinct values of one column, at least one. */
  oneOf?: { column: string; values: readonly Value[] };
  /** The start of a folded text. */
  prefix?: { field: string; text: string };
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

/**
 * Translates a filter of the port.
 *
 * @throws Error if more than one field has a list of values, which no query needs
 */
export function whereOf(columns: readonly Column[], filter: Readonly<Record<string, unknown>>): Where {
  const equal: [string, Value][] = [];
  let oneOf: Conditions['oneOf'];
  let prefix: Conditions['prefix'];
  for (const { field, name, declaration, stored } of columns) {
    const value = filter[field];
    if (value === undefined) continue;
    if (isPrefix(value)) {
      prefix = { field, text: value.prefix };
      continue;
    }
    if (!Array.isArray(value)) {
      equal.push([name, stored(value)]);
      continue;
    }
    const values = [...new Set(value)];
    if (values.length === 0) return null;
    if (values.length === declaration.choices?.values.length && declaration.presence !== 'optional') continue;
    if (oneOf) throw new Error('Only one field of a filter may have a list of values.');
    oneOf = { column: name, values: values.map(stored) };
  }
  return { equal, ...(oneOf && { oneOf }), ...(prefix && { prefix }) };
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
export function matchesOf({ equal, oneOf }: Filter): Query {
  const { sql, params } = allOf(equal);
  if (oneOf) {
    sql.push(`${oneOf.column} in (${oneOf.values.map(() => '?').join(', ')})`);
    params.push(...oneOf.values);
  }
  return { sql: sql.join(' and '), params };
}

/** A WHERE clause of the conditions that there are. */
export function clauseOf(...conditions: (string | false | undefined)[]): string {
  const all = conditions.filter(Boolean).join(' and ');
  return all && ` where ${all}`;
}
