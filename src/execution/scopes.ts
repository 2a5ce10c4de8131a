import {
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isCompositeType,
  isInterfaceType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  parse,
  type SelectionSetNode,
} from 'graphql';
import { readScope, writeScope } from '../access/scopes.ts';
import type { Resource, Route } from '../schema/route.ts';
import { scopeOfType, setScope } from '../schema/scopes.ts';
import { fragmentsIn } from './complexity.ts';

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
  const collector = new ScopeCollector(schema, document);
  collector.visit(schema.getRootType(operation.operation)!, operation.selectionSet);
  const { scopes } = collector;
  return [...scopes].filter((scope) => !scope.endsWith(':read') || !scopes.has(writeScope(domainOf(scope))));
}

const domainOf = (scope: string): string => scope.slice(0, scope.lastIndexOf(':'));

class ScopeCollector {
  readonly scopes = new Set<string>();
  readonly #schema: GraphQLSchema;
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #visited = new Set<string>();

  constructor(schema: GraphQLSchema, document: DocumentNode) {
    this.#schema = schema;
    this.#fragments = fragmentsIn(document);
  }

  visit(parent: GraphQLNamedType, { selections }: SelectionSetNode): void {
    for (const node of selections) {
      if (node.kind === Kind.FIELD) {
        const definition = fieldOf(parent, node.name.value);
        // Meta fields are declared by no type; introspection needs no scope.
        if (!definition) continue;
        const type = getNamedType(definition.type);
        this.#add(definition, type);
        if (node.selectionSet) this.visit(type, node.selectionSet);
      } else if (node.kind === Kind.INLINE_FRAGMENT) {
        this.#visitAs(parent, node.typeCondition?.name.value, node.selectionSet);
      } else {
        const { value: name } = node.name;
        const fragment = this.#fragments.get(name);
        if (!fragment || this.#visited.has(name)) continue;
        this.#visited.add(name);
        this.#visitAs(parent, fragment.typeCondition.name.value, fragment.selectionSet);
      }
    }
  }

  #visitAs(parent: GraphQLNamedType, condition: string | undefined, selection: SelectionSetNode): void {
    const type = condition === undefined ? parent : this.#schema.getType(condition)!;
    const scope = scopeOfType(type);
    if (scope !== undefined) this.scopes.add(readScope(scope));
    this.visit(type, selection);
  }

  #add({ extensions }: Field, type: GraphQLNamedType): void {
    if (typeof extensions.scope === 'string') this.scopes.add(extensions.scope);
    else if (isCompositeType(type)) {
      const scope = scopeOfType(type);
      if (scope !== undefined) this.scopes.add(readScope(scope));
    }
  }
}

const fieldOf = (type: GraphQLNamedType, name: string): Field | undefined =>
  isObjectType(type) || isInterfaceType(type) ? type.getFields()[name] : undefined;

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
