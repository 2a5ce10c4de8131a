import type { GraphQLSchema } from 'graphql';
import { ALL_READS, readScope, writeScope } from '../access/scopes.ts';
import { EventTypes } from '../events/event-types.ts';
import type { JsonSchema } from '../foundation/fields.ts';
import { type AnyDeclaration, blockersOf, referencesOf, referrersOf } from '../foundation/record.ts';
import type { Resource, Route, ServedRoute } from '../rest-routes/route.ts';
import { choicesSchema, type Shape } from '../rest-routes/shape.ts';
import { buildSchema, newBuilder } from '../schema/builder.ts';
import { withScopes } from '../schema/required-scopes.ts';
import type { ObjectKind } from '../store/objects.ts';
import type { Contents } from '../store/open.ts';
import type { Domain } from './domain.ts';
import type { Feature } from './feature.ts';

/** Everything that a gateway serves, built from domains and features. A process may have several. */
export interface Api extends Contents {
  domains: readonly Domain[];
  features: readonly Feature[];
  /** All REST resources. */
  resources: readonly Resource[];
  shapes: readonly Shape[];
  /** OpenAPI schemas that fields and parameters refer to, by name. */
  schemas: Readonly<Record<string, JsonSchema>>;
  /** All REST operations except streams. */
  routes: readonly ServedRoute[];
  /** All REST operations that stream server-sent events. */
  streamRoutes: readonly ServedRoute[];
  /** All scopes that keys can have. Resources that are read-only over REST have no write scope. */
  scopes: readonly string[];
  eventTypes: EventTypes<Domain>;
  /** The executable schema, which REST uses too. Built at its first use. */
  readonly schema: GraphQLSchema;
}

/**
 * Creates an API, without side effects or environment.
 *
 * @throws Error if names in domains or features conflict
 */
export function createApi(domains: readonly Domain[], features: readonly Feature[]): Api {
  const records = [...new Set(domains.flatMap(({ record }) => afterParents(record)))];
  for (const record of records) checkLists(records, record);
  const objects = features.flatMap(({ objects = [] }) => objects);
  for (const record of records) checkNames(record, objects);
  const eventTypes = new EventTypes(domains);
  const resources = [
    ...domains.map(({ resource }) => resource),
    ...features.flatMap((feature) => feature.resources?.(eventTypes) ?? []),
  ];
  const shapes = resources.flatMap(({ shapes }) => shapes);
  const served = resources.flatMap((resource) =>
    resource.routes.map((route) => servedRoute(route, resource, records)),
  );
  const scopes = [ALL_READS, ...new Set(served.flatMap(({ scopes }) => scopes))];
  let schema: GraphQLSchema | undefined;
  return {
    domains,
    features,
    records,
    objects,
    resources,
    shapes,
    schemas: Object.fromEntries([
      ...shapes
        .flatMap(({ fields }) => Object.values(fields).flatMap(({ choices }) => choices ?? []))
        .map((choices) => [choices.name, choicesSchema(choices)]),
      ...resources.flatMap(({ schemas = {} }) => Object.entries(schemas)),
    ]),
    routes: served.filter(({ list }) => list !== 'stream'),
    streamRoutes: served.filter(({ list }) => list === 'stream'),
    scopes,
    eventTypes,
    get schema() {
      if (schema) return schema;
      const builder = newBuilder();
      for (const domain of domains) domain.addTypes(builder, records);
      for (const feature of features) feature.addTypes?.(builder, eventTypes, domains);
      return (schema = withScopes(buildSchema(builder), resources, scopes));
    },
  };
}

/** A record, preceded by those that it refers to. */
const afterParents = (declaration: AnyDeclaration): AnyDeclaration[] => [
  ...referencesOf(declaration).flatMap(({ parent }) => afterParents(parent)),
  declaration,
];

/** @throws Error if two lists below a record have the same name */
function checkLists(declarations: readonly AnyDeclaration[], declaration: AnyDeclaration): void {
  const lists = new Set<string>();
  for (const { child, field, list } of referrersOf(declarations, declaration)) {
    if (lists.has(list))
      throw new Error(
        `${child.type}.${field}: ${declaration.type} has a field ${list} already; say in \`list\` what its list of ${child.plural} is called.`,
      );
    lists.add(list);
  }
}

/** @throws Error if a record has the name of a feature's objects */
function checkNames({ type, kind, plural }: AnyDeclaration, objects: readonly ObjectKind<never>[]): void {
  for (const { name } of objects)
    if (name === kind || name === plural)
      throw new Error(`${type}: ${name} is a name of the gateway itself; choose another.`);
}

/** Completes a route with the properties from its resource and record. */
function servedRoute(
  route: Route,
  { scope, isManaged = false }: Resource,
  declarations: readonly AnyDeclaration[],
): ServedRoute {
  const { method, kind } = route;
  const record = declarations.find((each) => each.kind === kind);
  const scopeOf = method === 'GET' && !isManaged ? readScope : writeScope;
  return {
    ...route,
    scopes: scope === null ? [] : [scopeOf(scope)],
    // Agents don't see secrets, and don't replace records that they haven't read.
    isTool: method !== 'PUT' && !isManaged,
    record,
    blockers: record ? blockersOf(declarations, record) : [],
  };
}
