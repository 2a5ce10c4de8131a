import {
  type GraphQLField,
  type GraphQLSchema,
  getNamedType,
  isCompositeType,
  Kind,
  type OperationDefinitionNode,
  parse,
} from 'graphql';
import { readScope, writeScope } from '../access/scopes.ts';
import { scopeOfType, setScope } from '../kit/scopes.ts';
import type { Resource, Route } from '../rows/route.ts';

type Field = GraphQLField<unknown, unknown>;

/**
 * Records in the schema which scope each type and root field belongs to. A type belongs to the resource whose
 * records have it, a connection to that of its nodes, and a root field to that of the record it returns, or,
 * if it returns none, to that of the REST operation it serves.
 *
 * @throws Error if nothing says which scope a root field needs
 */
export function withScopes(schema: GraphQLSchema, resources: readonly Resource[]): GraphQLSchema {
  for (const { scope, shape } of resources) {
    if (scope !== null) setScope(schema.getType(shape.type)!, scope);
  }
  const served = new Map(
    resources.flatMap(({ scope, routes }) =>
      routes.flatMap(({ document }) => rootFieldsOf(document).map((name) => [name, scope] as const)),
    ),
  );
  for (const [root, scopeFor] of [
    [schema.getQueryType(), readScope],
    [schema.getMutationType(), writeScope],
    [schema.getSubscriptionType(), readScope],
  ] as const) {
    for (const field of Object.values(root?.getFields() ?? {})) {
      const type = getNamedType(field.type);
      const scope = isCompositeType(type) ? scopeOfType(type) : served.get(field.name);
      if (scope === undefined && !isCompositeType(type))
        throw new Error(`${root!.name}.${field.name}: nothing says which scope it needs`);
      if (scope) Object.assign(field.extensions, { scope: scopeFor(scope) });
    }
  }
  return schema;
}

/** The names of the root fields of a document with one operation. */
function rootFieldsOf(document: string): string[] {
  const [operation] = parse(document, { noLocation: true }).definitions as [OperationDefinitionNode];
  return operation.selectionSet.selections.flatMap((node) =>
    node.kind === Kind.FIELD ? [node.name.value] : [],
  );
}

/**
 * The scope that a key needs for a REST operation: that of the records it responds with, by its method. A
 * response without any has the scope of its root field.
 *
 * @param field the root field of its document
 */
export function scopeOfRow(
  schema: GraphQLSchema,
  { method, shape }: Pick<Route, 'method' | 'shape'>,
  field?: Field,
): string | undefined {
  if (shape === undefined) return field?.extensions.scope as string | undefined;
  const scope = scopeOfType(schema.getType(shape.type)!);
  return scope && (method === 'GET' ? readScope(scope) : writeScope(scope));
}
