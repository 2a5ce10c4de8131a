import {
  type ASTVisitor,
  type DirectiveNode,
  GraphQLError,
  Kind,
  OperationTypeNode,
  type SelectionSetNode,
  type ValidationContext,
} from 'graphql';

/**
 * Validation rule: nothing decides whether a subscription has its root field (GraphQL specification, section
 * 5.2.4.1; graphql-js 16 lacks this part of its rule).
 */
export function UnconditionalSubscriptionRule(context: ValidationContext): ASTVisitor {
  const isCondition = ({ name }: DirectiveNode) => name.value === 'skip' || name.value === 'include';
  return {
    OperationDefinition({ operation, selectionSet }) {
      if (operation !== OperationTypeNode.SUBSCRIPTION) return;
      const visited = new Set<string>();
      const look = ({ selections }: SelectionSetNode): void => {
        for (const selection of selections) {
          const condition = selection.directives!.find(isCondition);
          if (condition) {
            const message = `The root field of a subscription must not have @${condition.name.value}.`;
            context.reportError(new GraphQLError(message, { nodes: condition }));
          }
          if (selection.kind === Kind.INLINE_FRAGMENT) look(selection.selectionSet);
          if (selection.kind !== Kind.FRAGMENT_SPREAD || visited.has(selection.name.value)) continue;
          visited.add(selection.name.value);
          const fragment = context.getFragment(selection.name.value);
          if (fragment) look(fragment.selectionSet);
        }
      };
      look(selectionSet);
    },
  };
}
