import { endOfPrefix } from '../../foundation/folded.ts';
import { type AnyRecord, isPrefix } from '../../foundation/record.ts';
import { fewValued } from '../indexes.ts';
import { columnsOf, sortColumn } from './columns.ts';
import type { Value } from './connection.ts';

/** Conditions on columns, all of which must match. */
export interface Conditions {
  equal: readonly (readonly [column: string, value: Value | typeof PARENT])[];
  /** Distinct values of columns, at least one each. */
  oneOf: readonly { column: string; values: readonly Value[] }[];
  /** The fields of these. */
  fields: readonly string[];
  /** The start of a folded text. */
  prefix?: { field: string; text: string };
}

/** Stands for the value of an outer query's `parent`. */
export const PARENT = Symbol('parent.value');

/** A part of a statement, with its parameters. */
export interface Query {
  sql: string;
  params: Value[];
}

/** Translates a filter of the port. @returns null if nothing can match */
export function whereOf(record: AnyRecord, filter: Readonly<Record<string, unknown>>): Conditions | null {
  const equal: [string, Value][] = [];
  const oneOf: Conditions['oneOf'][number][] = [];
  const fields: string[] = [];
  let prefix: Conditions['prefix'];
  for (const { field, name, declaration, stored } of columnsOf(record)) {
    const value = filter[field];
    if (value === undefined) continue;
    if (isPrefix(value)) {
      prefix = { field, text: value.prefix };
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
