import type { ObjectFieldsShape, ObjectRef } from '@pothos/core';
import { RESERVED } from '../foundation/declare-record.ts';
import {
  type AnyRecord,
  type PatchOf,
  parentField,
  type RecordOf,
  referencesOf,
} from '../foundation/record.ts';
import { capitalised, indefinite } from '../foundation/words.ts';
import { type RecordRoutes, type RouteOptions, recordRoutes } from '../rest-routes/record-routes.ts';
import type { Resource, Route } from '../rest-routes/route.ts';
import { type Shape, shapeOf } from '../rest-routes/shape.ts';
import type { Types } from '../schema/builder.ts';
import { addLists, addOperations, addType, type Descriptions, typeOfRecord } from '../schema/record-types.ts';
import { eventTypesOf } from '../store/events.ts';
import type { Domain, SampleOf } from './domain.ts';

interface Options<R extends AnyRecord> extends RouteOptions {
  /** A merge patch as REST takes it: ids are numbers. */
  example: { readonly [K in keyof PatchOf<R>]: PatchOf<R>[K] | (K extends `${string}Id` ? number : never) };
  descriptions?: Descriptions;
  /** Fields of its GraphQL type, which add to or replace the fields of its declaration. `typeOf`: the type of a record. */
  fields?: (
    t: Parameters<ObjectFieldsShape<Types, RecordOf<R>>>[0],
    typeOf: <P extends AnyRecord>(record: P) => ObjectRef<Types, RecordOf<P>>,
  ) => ReturnType<ObjectFieldsShape<Types, RecordOf<R>>>;
  /** The scope that keys need, by default that of its plural; null for none. */
  scope?: string | null;
  /** Descriptions of the tags that it introduces. */
  tags?: Resource['tags'];
  /** The name and description of its REST form, if they differ from those of its GraphQL type. */
  form?: Pick<Shape, 'name' | 'description'>;
  /** The routes, if they aren't those that its declaration gives. */
  routes?: (rows: RecordRoutes, shape: Shape) => readonly Route[];
  sample?: SampleOf<R>;
}

/**
 * @throws Error if `descriptions` names something that the domain of a record doesn't have, or `path` leads elsewhere
 */
function checkOptions(
  record: AnyRecord,
  { descriptions = {}, path }: Pick<Options<AnyRecord>, 'descriptions' | 'path'>,
): void {
  const { type, plural } = record;
  if (path !== undefined && (!/^(\/[A-Za-z0-9_-]+)+$/.test(path) || RESERVED.has(path.split('/')[1]!)))
    throw new Error(`${type}: the path ${path} is taken, or not written like /store/${plural}.`);
  const describable = [
    `${type}Filter`,
    `Query.${plural}`,
    ...['create', 'update', 'delete'].map((change) => `Mutation.${change}${type}`),
    ...Object.values(eventTypesOf(record)),
    ...record.filters.flatMap((name: string) => [`${type}Filter.${name}`, `?${name}`]),
    ...referencesOf(record).flatMap(({ field, parent, list }) => [
      `${type}.${parentField(field)}`,
      `${parent.type}.${list}`,
    ]),
  ];
  const unknown = Object.keys(descriptions).filter((name) => !describable.includes(name));
  if (unknown.length > 0)
    throw new Error(
      `${type}: the domain describes ${unknown.join(', ')}, but can describe only ${describable.join(', ')}.`,
    );
}

/**
 * The domain of a record, as its declaration gives it: its types, queries and mutations in the GraphQL schema, its list
 * below each record that it refers to, its routes and events.
 *
 * @throws Error if `descriptions` names something else, or `path` leads elsewhere
 */
export function recordDomain<R extends AnyRecord>(record: R, options: Options<R>): Domain {
  const { kind } = record;
  const { descriptions = {}, fields, scope = record.plural, tags = {}, form, sample, routes } = options;
  checkOptions(record, options);
  const shape = shapeOf(record, form);
  const rows = recordRoutes(record, shape, options);
  return {
    record,
    addTypes(builder, records) {
      const typeOf = <P extends AnyRecord>(of: P) => typeOfRecord(builder, of);
      addType(builder, record, descriptions, fields && ((t) => fields(t as never, typeOf)));
      addLists(builder, record, typeOf(record as AnyRecord), descriptions);
      addOperations(builder, record, descriptions, records);
    },
    resource: {
      scope,
      shapes: [shape, ...(rows.counts ? [rows.counts.shape!] : [])],
      tags,
      routes: routes?.(rows, shape) ?? Object.values<Route>(rows),
    },
    events: Object.fromEntries(
      Object.entries(eventTypesOf(record)).map(([change, type]) => [
        type,
        descriptions[type] ?? capitalised(`${indefinite(kind)} was ${change}.`),
      ]),
    ),
    eventField: {
      name: kind,
      description: `For \`${kind}_…\` events: the ${kind} in its current state; null if it has been deleted.`,
    },
    ...(sample && { sample }),
  };
}
