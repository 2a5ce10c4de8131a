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

/** The part of a resource that scopes depend on. */
interface Resource {
  scope: string | null;
  shapes: readonly { type: string }[];
  routes: readonly { document: string }[];
}

/** The scope that a root field needs, where that depends on its arguments: the value of its extension `scope`. */
export type ScopesOfField = (field: FieldNode) => readonly string[];

/** The scope that a type's records belong to, or those of a connection; undefined if keys need none. */
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
 * Records in the schema the scope that each type and root field belongs to. A type belongs to the resource whose
 * records have it, and a root field to that of the record it returns, or, if it returns none, to that of the REST
 * operation it serves.
 *
 * @param scopes all that keys can be given
 * @throws Error if nothing says which scope a root field needs
 */
export function withScopes(
  schema: GraphQLSchema,
  resources: readonly Resource[],
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
 * The scopes that a key needs for an operation: that of each root field, and for each other field or type condition
 * the right to read the records of its type. Everything written in it counts, whether or not it applies or `@skip`
 * removes it.
 *
 * @param document valid
 * @param name of the operation; empty if it has none
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
  // A scope that includes another suffices.
  for (const scope of scopes) if (scope.endsWith(':write')) scopes.delete(scope.replace(':write', ':read'));
  return scopes;
}
