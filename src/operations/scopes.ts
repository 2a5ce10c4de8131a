import {
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  type InlineFragmentNode,
  isCompositeType,
  Kind,
  type OperationDefinitionNode,
  parse,
  TypeInfo,
  ValidationContext,
  visit,
  visitWithTypeInfo,
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
 * The scopes that a key needs for an operation: that of each root field, and for each other field the right
 * to read the record it returns or is selected from by a type condition. What `@skip` and `@include` take
 * out counts too.
 *
 * @param document validated against the schema
 * @returns without those that others include
 */
export function requiredScopes(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): readonly string[] {
  const scopes = new Set<string>();
  const info = new TypeInfo(schema);
  const requireRead = (type: GraphQLNamedType) => {
    const scope = scopeOfType(type);
    if (scope !== undefined) scopes.add(readScope(scope));
  };
  const condition = ({ typeCondition }: InlineFragmentNode | FragmentDefinitionNode) => {
    if (typeCondition) requireRead(schema.getType(typeCondition.name.value)!);
  };
  const visitor = visitWithTypeInfo(info, {
    Field() {
      const { extensions, type } = info.getFieldDef()!;
      const named = getNamedType(type);
      if (typeof extensions.scope === 'string') scopes.add(extensions.scope);
      else if (isCompositeType(named)) requireRead(named);
    },
    InlineFragment: condition,
    FragmentDefinition: condition,
  });
  const context = new ValidationContext(schema, document, info, () => {});
  for (const node of [operation, ...context.getRecursivelyReferencedFragments(operation)])
    visit(node, visitor);
  return [...scopes].filter((scope) => !scope.endsWith(':read') || !scopes.has(writeScope(domainOf(scope))));
}

const domainOf = (scope: string): string => scope.slice(0, scope.lastIndexOf(':'));

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
