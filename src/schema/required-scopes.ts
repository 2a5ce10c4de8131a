import {
  type DocumentNode,
  type FieldNode,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isCompositeType,
  isObjectType,
  separateOperations,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { type Permissions, permits, readScope, writeScope } from '../access/scopes.ts';

/** The parts of a resource that scopes depend on. */
interface ScopedResource {
  scope: string | null;
  shapes: readonly { type: string }[];
  routes: readonly { document: string }[];
}

/** The scopes that a root field needs if they depend on its arguments: the value of its extension `scope`. */
export type ScopesOfField = (field: FieldNode) => readonly string[];

/** The scope of a type's records, or of a connection's; undefined if keys need none. */
function scopeOfType(type: GraphQLNamedType): string | undefined {
  const records = isObjectType(type) ? type.getFields().nodes : undefined;
  return (records ? getNamedType(records.type) : type).extensions.scope as string | undefined;
}

/** True if a key may read the records of a type. */
export function mayRead(caller: Permissions, type: GraphQLNamedType): boolean {
  const scope = scopeOfType(type);
  return permits(caller, scope && readScope(scope));
}

/**
 * Adds scopes to the types and root fields of a schema: to a type, that of the resource with its shape; to a root
 * field, that of the record it returns, or else of the REST operation that uses it.
 *
 * @param scopes all scopes that keys can have
 * @throws Error if the scope of a root field can't be determined
 */
export function withScopes(
  schema: GraphQLSchema,
  resources: readonly ScopedResource[],
  scopes: readonly string[],
): GraphQLSchema {
  Object.assign(schema.extensions, { scopes });
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

/**
 * The scopes that a key needs for an operation: that of each root field, and read access to the type of every other
 * field and type condition. All fields count, even if fragments don't apply or `@skip` removes them.
 *
 * @param document a valid document
 * @param name the name of the operation; empty if it has none
 */
export function scopesOf(schema: GraphQLSchema, document: DocumentNode, name: string): ReadonlySet<string> {
  const scopes = new Set<string>();
  const info = new TypeInfo(schema);
  const requireType = (): void => {
    const scope = scopeOfType(getNamedType(info.getType())!);
    if (scope !== undefined) scopes.add(readScope(scope));
  };
  visit(
    separateOperations(document)[name]!,
    visitWithTypeInfo(info, {
      Field(node) {
        const { scope } = info.getFieldDef()!.extensions;
        if (typeof scope === 'string') scopes.add(scope);
        else if (typeof scope === 'function')
          for (const each of (scope as ScopesOfField)(node)) scopes.add(each);
        else requireType();
      },
      InlineFragment: requireType,
      FragmentDefinition: requireType,
    }),
  );
  // Write access includes read access.
  for (const scope of scopes) if (scope.endsWith(':write')) scopes.delete(scope.replace(':write', ':read'));
  return scopes;
}
