import {
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isCompositeType,
  type NamedTypeNode,
  separateOperations,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { readScope } from '../access/scopes.ts';
import { scopeOfType } from '../kit/scopes.ts';
import type { Operation } from './documents.ts';

/**
 * The scopes that a key needs for an operation: that of each root field, and for each other field or type condition the
 * right to read the records of its type. All that is written in it counts, whether or not it applies or `@skip` takes it out.
 *
 * @param operation of a valid document
 */
export function scopesOf(
  schema: GraphQLSchema,
  { document, node: { name } }: Operation,
): ReadonlySet<string> {
  const scopes = new Set<string>();
  const info = new TypeInfo(schema);
  const requireRead = (type: GraphQLNamedType | undefined): void => {
    const scope = isCompositeType(type) ? scopeOfType(type) : undefined;
    if (scope !== undefined) scopes.add(readScope(scope));
  };
  const condition = ({ typeCondition }: { readonly typeCondition?: NamedTypeNode | undefined }): void =>
    requireRead(typeCondition && schema.getType(typeCondition.name.value));
  visit(
    separateOperations(document.ast)[name?.value ?? '']!,
    visitWithTypeInfo(info, {
      Field() {
        const { type, extensions } = info.getFieldDef()!;
        if (typeof extensions.scope === 'string') scopes.add(extensions.scope);
        else requireRead(getNamedType(type));
      },
      InlineFragment: condition,
      FragmentDefinition: condition,
    }),
  );
  // What includes another is enough.
  for (const scope of scopes) if (scope.endsWith(':write')) scopes.delete(scope.replace(':write', ':read'));
  return scopes;
}
