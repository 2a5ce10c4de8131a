import {
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isCompositeType,
  isNonNullType,
  type NamedTypeNode,
  separateOperations,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { readScope } from '../access/scopes.ts';
import { isOpaque } from '../kit/arguments.ts';
import { scopeOfType } from '../kit/scopes.ts';
import type { Operation } from './documents.ts';

/** What an operation asks of its caller by all that is written in it, whether or not it applies or `@skip` takes it out. */
export interface Needs {
  /**
   * The scopes of a key: that of each root field, and for each other field or type condition the right to read the
   * records of its type.
   */
  readonly scopes: ReadonlySet<string>;
  /** Variables whose texts are no opaque ids. */
  readonly texts: ReadonlySet<string>;
  /** Variables that must not be null where they are used, though one with a default may be given as null. */
  readonly neverNull: ReadonlySet<string>;
}

/** @param operation of a valid document */
export function needsOf(schema: GraphQLSchema, { document, node: { name } }: Operation): Needs {
  const scopes = new Set<string>();
  const texts = new Set<string>();
  const neverNull = new Set<string>();
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
      VariableDefinition: () => false,
      Field() {
        const { type, extensions } = info.getFieldDef()!;
        if (typeof extensions.scope === 'string') scopes.add(extensions.scope);
        else requireRead(getNamedType(type));
      },
      InlineFragment: condition,
      FragmentDefinition: condition,
      Variable(variable) {
        if (isNonNullType(info.getInputType())) neverNull.add(variable.name.value);
        if (!isOpaque(info.getArgument()!)) texts.add(variable.name.value);
      },
    }),
  );
  // What includes another is enough.
  for (const scope of scopes) if (scope.endsWith(':write')) scopes.delete(scope.replace(':write', ':read'));
  return { scopes, texts, neverNull };
}
