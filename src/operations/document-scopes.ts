import {
  type GraphQLSchema,
  getNamedType,
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
  const requireType = (): void => {
    const scope = scopeOfType(getNamedType(info.getType())!);
    if (scope !== undefined) scopes.add(readScope(scope));
  };
  visit(
    separateOperations(document.ast)[name?.value ?? '']!,
    visitWithTypeInfo(info, {
      Field() {
        const { scope } = info.getFieldDef()!.extensions;
        if (typeof scope === 'string') scopes.add(scope);
        else requireType();
      },
      InlineFragment: requireType,
      FragmentDefinition: requireType,
    }),
  );
  // What includes another is enough.
  for (const scope of scopes) if (scope.endsWith(':write')) scopes.delete(scope.replace(':write', ':read'));
  return scopes;
}
