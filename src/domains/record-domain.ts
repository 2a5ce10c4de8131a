import type { ObjectFieldsShape, ObjectRef } from '@pothos/core';
import { RESERVED } from '../foundation/declare-record.ts';
import {
  type AnyDeclaration,
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

interface Options<R extends AnyDeclaration> extends RouteOptions {
  /** An example of a merge patch over REST: ids are numbers. */
  example: { readonly [K in keyof PatchOf<R>]: PatchOf<R>[K] | (K extends `${string}Id` ? number : never) };
  descriptions?: Descriptions;
  /** Fields that add to or replace those of the declaration in GraphQL. `typeOf` returns the type of a record. */
  fields?: (
    t: Parameters<ObjectFieldsShape<Types, RecordOf<R>>>[0],
    typeOf: <P extends AnyDeclaration>(record: P) => ObjectRef<Types, RecordOf<P>>,
  ) => ReturnType<ObjectFieldsShape<Types, RecordOf<R>>>;
  /** The prefix of the scopes that keys need; defaults to the plural; null for none. */
  scope?: string | null;
  /** Descriptions of new tags. */
  tags?: Resource['tags'];
  /** The name and description of the REST form, if they differ from those of the GraphQL type. */
  form?: Pick<Shape, 'name' | 'description'>;
  /** The routes, if they differ from the derived ones. */
  routes?: (rows: RecordRoutes, shape: Shape) => readonly Route[];
  sample?: SampleOf<R>;
}

/** @throws Error if `descriptions` has an unknown name, or `path` is taken or malformed */
function checkOptions(
  declaration: AnyDeclaration,
  { descriptions = {}, path }: Pick<Options<AnyDeclaration>, 'descriptions' | 'path'>,
): void {
  const { type, plural } = declaration;
  if (path !== undefined && (!/^(\/[A-Za-z0-9_-]+)+$/.test(path) || RESERVED.has(path.split('/')[1]!)))
    throw new Error(`${type}: the path ${path} is taken, or not written like /store/${plural}.`);
  const describable = [
    `${type}Filter`,
    `Query.${plural}`,
    ...['create', 'update', 'delete'].map((change) => `Mutation.${change}${type}`),
    ...Object.values(eventTypesOf(declaration)),
    ...declaration.filters.flatMap((name: string) => [`${type}Filter.${name}`, `?${name}`]),
    ...referencesOf(declaration).flatMap(({ field, parent, list }) => [
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
 * Derives the domain of a record from its declaration: types, queries and mutations in the GraphQL schema, lists below
 * parents, routes and events.
 *
 * @throws Error if `descriptions` has an unknown name, or `path` is taken or malformed
 */
export function recordDomain<R extends AnyDeclaration>(record: R, options: Options<R>): Domain {
  const { kind } = record;
  const { descriptions = {}, fields, scope = record.plural, tags = {}, form, sample, routes } = options;
  checkOptions(record, options);
  const shape = shapeOf(record, form);
  const rows = recordRoutes(record, shape, options);
  return {
    record,
    addTypes(builder, records) {
      const typeOf = <P extends AnyDeclaration>(of: P) => typeOfRecord(builder, of);
      addType(builder, record, descriptions, fields && ((t) => fields(t as never, typeOf)));
      addLists(builder, record, typeOf(record as AnyDeclaration), descriptions);
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
