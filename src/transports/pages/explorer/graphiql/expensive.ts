import {
  type DocumentNode,
  type GraphQLField,
  type GraphQLSchema,
  getNamedType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  valueFromASTUntyped,
} from 'graphql';

/** A list in an operation, with the maximum number of entries it can return. */
export interface ExpensiveField {
  /** Response keys from the root: `categories › pets`. */
  path: string;
  entries: number;
}

const DEFAULT_PAGE_SIZE = 20;

/**
 * Finds the lists that make an operation expensive, largest first. The cost itself comes from the server;
 * this only explains it.
 */
export function expensiveFields(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Record<string, unknown>,
): ExpensiveField[] {
  const found: ExpensiveField[] = [];
  const fragments = new Map(
    document.definitions
      .filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION)
      .map((definition) => [definition.name.value, definition]),
  );
  const visit = (
    fields: Record<string, GraphQLField<unknown, unknown>>,
    set: SelectionSetNode,
    path: readonly string[],
    parents: number,
    depth: number,
  ): void => {
    if (depth > 30) return;
    for (const selection of set.selections) {
      if (selection.kind === Kind.FRAGMENT_SPREAD) {
        const fragment = fragments.get(selection.name.value);
        if (fragment) visit(fields, fragment.selectionSet, path, parents, depth + 1);
        continue;
      }
      if (selection.kind === Kind.INLINE_FRAGMENT) {
        visit(fields, selection.selectionSet, path, parents, depth + 1);
        continue;
      }
      const field = fields[selection.name.value];
      if (!field || !selection.selectionSet) continue;
      const isList = field.args.some(({ name }) => name === 'first');
      const given = (selection.arguments ?? [])
        .filter(({ name }) => name.value === 'first' || name.value === 'last')
        .map(({ value }) => Number(valueFromASTUntyped(value, variables) ?? Number.NaN))
        .filter((size) => !Number.isNaN(size));
      const entries = isList
        ? parents * (given.length > 0 ? Math.max(...given) : DEFAULT_PAGE_SIZE)
        : parents;
      const key = selection.alias?.value ?? selection.name.value;
      const isWrapper = key === 'nodes' || key === 'edges' || key === 'node';
      const own = isWrapper ? path : [...path, key];
      if (isList) found.push({ path: own.join(' › '), entries });
      const type = getNamedType(field.type);
      if (isObjectType(type)) visit(type.getFields(), selection.selectionSet, own, entries, depth + 1);
    }
  };
  const root = schema.getRootType(operation.operation);
  if (root) visit(root.getFields(), operation.selectionSet, [], 1, 0);
  return found.toSorted((a, b) => b.entries - a.entries);
}
