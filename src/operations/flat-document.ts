import {
  type DocumentNode,
  type FieldNode,
  getNamedType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql';
import { asQuery } from './mutation.ts';
import type { SelectedField, Selection } from './selection.ts';
import { coercedDefinitions } from './variables.ts';

/**
 * Writes part of an operation, or all of it, without fragments and directives, for coerced variables. graphql-jit misbehaves if a field
 * is selected in several places, or if selections with one response key are skipped independently.
 */
export function flatDocument(node: OperationDefinitionNode, selection: Selection): DocumentNode {
  const { directives: _decided, ...operation } = asQuery(node);
  const variableDefinitions = coercedDefinitions(node);
  return {
    kind: Kind.DOCUMENT,
    definitions: [{ ...operation, variableDefinitions, selectionSet: selectionSet(selection) }],
  };
}

const selectionSet = (selection: Selection): SelectionSetNode => ({
  kind: Kind.SELECTION_SET,
  selections: selection.flatMap(fieldNodes),
});

/** The first node carries the merged selection. The others are kept for the locations of errors. */
function fieldNodes({ definition, nodes, subselections }: SelectedField): FieldNode[] {
  const [first, ...others] = nodes.map(({ directives: _decided, selectionSet: _merged, ...node }) => node);
  if (subselections.size === 0) return [first!, ...others];
  const named = getNamedType(definition.type);
  const selections = isObjectType(named)
    ? selectionSet(subselections.get(named)!)
    : {
        kind: Kind.SELECTION_SET as const,
        selections: [...subselections].map(([type, selection]) => ({
          kind: Kind.INLINE_FRAGMENT as const,
          typeCondition: {
            kind: Kind.NAMED_TYPE as const,
            name: { kind: Kind.NAME as const, value: type.name },
          },
          selectionSet: selectionSet(selection),
        })),
      };
  return [{ ...first!, selectionSet: selections }, ...others];
}
