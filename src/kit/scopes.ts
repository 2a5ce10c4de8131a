import {
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isCompositeType,
  isObjectType,
} from 'graphql';
import { type Permissions, permits, readScope, writeScope } from '../access/scopes.ts';
import type { Resource } from '../rows/route.ts';

/** The scope that a type's records belong to, or those of a connection; undefined if keys need none. */
export function scopeOfType(type: GraphQLNamedType): string | undefined {
  const records = isObjectType(type) ? type.getFields().nodes : undefined;
  return (records ? getNamedType(records.type) : type).extensions.scope as string | undefined;
}

/** Whether a key may read the records of a type. */
export function mayRead(caller: Permissions, type: GraphQLNamedType): boolean {
  const scope = scopeOfType(type);
  return scope === undefined || permits(caller, readScope(scope));
}

/**
 * Records in the schema which scope each type and root field belongs to. A type belongs to the resource whose
 * records have it, and a root field to that of the record it returns, or, if it returns none, to that of the REST
 * operation it serves.
 *
 * @throws Error if nothing says which scope a root field needs
 */
export function withScopes(schema: GraphQLSchema, resources: readonly Resource[]): GraphQLSchema {
  for (const { scope, shapes } of resources)
    for (const { type } of shapes)
      if (scope !== null) Object.assign(schema.getType(type)!.extensions, { scope });
  const served = (name: string) =>
    resources.find(({ routes }) => routes.some(({ document }) => new RegExp(`\\b${name}\\b`).test(document)));
  for (const [root, scopeFor] of [
    [schema.getQueryType(), readScope],
    [schema.getMutationType(), writeScope],
    [schema.getSubscriptionType(), readScope],
  ] as const) {
    for (const field of Object.values(root?.getFields() ?? {})) {
      const type = getNamedType(field.type);
      const scope = isCompositeType(type) ? scopeOfType(type) : served(field.name)?.scope;
      if (scope === undefined && !isCompositeType(type))
        throw new Error(`${root!.name}.${field.name}: nothing says which scope it needs`);
      if (scope) Object.assign(field.extensions, { scope: scopeFor(scope) });
    }
  }
  return schema;
}
