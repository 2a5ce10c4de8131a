import {
  type ASTVisitor,
  type DocumentNode,
  GraphQLError,
  type GraphQLInputType,
  GraphQLScalarType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  type IntValueNode,
  isInputObjectType,
  isListType,
  isNonNullType,
  Kind,
  type OperationDefinitionNode,
  type StringValueNode,
  TypeInfo,
  ValidationContext,
  type ValueNode,
} from 'graphql';
import { ID_RULE, parseId } from '../domains/id.ts';
import { AppError, type Issue } from '../errors.ts';

/** graphql-js puts its own words before the message of a scalar; the extensions survive it. */
export const invalid = (message: string, node?: ValueNode) =>
  new GraphQLError(message, {
    ...(node && { nodes: node }),
    extensions: new AppError('VALIDATION_FAILED', message).extensions,
  });

const readText = (value: unknown, node?: ValueNode): string => {
  const text = typeof value === 'string' ? value : parseId(value);
  if (text === null) throw invalid(ID_RULE, node);
  return text;
};

/**
 * The standard ID scalar. All ids but the `nodeId` of Relay are int64, and GraphQL has one ID for both: the scalar lets
 * any text pass, and what says where an id stands, validation (`Int64IdsRule`) and variables (`idIssues`), refuses
 * what is no int64 before anything runs.
 */
export const IdScalar = new GraphQLScalarType<string, string>({
  name: 'ID',
  description:
    'An int64 id: decimal digits of 1 to 9223372036854775807, given as a string or an integer. A nodeId is opaque text.',
  serialize: (value) => value as string,
  parseValue: (value) => readText(value),
  parseLiteral: (node) =>
    readText(node.kind === Kind.STRING || node.kind === Kind.INT ? node.value : null, node),
});

/** The types, each an object of its own, of the arguments that take opaque ids. */
const opaqueTypes = new WeakSet<GraphQLInputType>();

/** Marks the type of one argument, which no other shares, as one whose ids are opaque. */
export function markOpaque(type: GraphQLInputType): void {
  // Only wrappers: the scalar itself is everybody's.
  if (!isNonNullType(type) && !isListType(type)) return;
  opaqueTypes.add(type);
  markOpaque(type.ofType);
}

const isOpaque = (type: GraphQLInputType | null | undefined): boolean =>
  type != null && opaqueTypes.has(type);

/** Ids in the text of a document are int64, except where opaque ones are expected. */
export function Int64IdsRule(context: ValidationContext): ASTVisitor {
  const opaqueDefaults = new Set<ValueNode>();
  const check = (node: StringValueNode | IntValueNode) => {
    const type = context.getInputType();
    if (!type || getNamedType(type) !== IdScalar || isOpaque(type) || opaqueDefaults.has(node)) return;
    if (parseId(node.value) === null) context.reportError(invalid(ID_RULE, node));
  };
  return {
    OperationDefinition(operation) {
      const opaque = opaqueVariablesIn(context, operation);
      for (const { variable, defaultValue } of operation.variableDefinitions ?? []) {
        if (!defaultValue || !opaque.has(variable.name.value)) continue;
        for (const value of defaultValue.kind === Kind.LIST ? defaultValue.values : [defaultValue])
          opaqueDefaults.add(value);
      }
    },
    StringValue: check,
    IntValue: check,
  };
}

/** The variables of an operation that only stand where opaque ids are expected. */
export const opaqueVariables = (
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): ReadonlySet<string> =>
  opaqueVariablesIn(new ValidationContext(schema, document, new TypeInfo(schema), () => {}), operation);

function opaqueVariablesIn(context: ValidationContext, operation: OperationDefinitionNode): Set<string> {
  if (!operation.variableDefinitions?.length) return new Set();
  const usages = context.getRecursiveVariableUsages(operation);
  const opaque = new Set(usages.filter(({ type }) => isOpaque(type)).map(({ node }) => node.name.value));
  for (const { node, type } of usages) if (!isOpaque(type)) opaque.delete(node.name.value);
  return opaque;
}

/** What is wrong with the ids in the coerced value of a variable that isn't opaque. */
export function idIssues(type: GraphQLInputType, value: unknown, name: string): Issue[] {
  const issues: Issue[] = [];
  const look = (type: GraphQLInputType, value: unknown, path: readonly (string | number)[]): void => {
    if (value == null) return;
    const given = getNullableType(type);
    if (given === IdScalar) {
      if (parseId(value) === null) issues.push({ path: path.join('.') || name, message: ID_RULE });
    } else if (isListType(given)) {
      (value as unknown[]).forEach((item, index) => {
        look(given.ofType, item, [...path, index]);
      });
    } else if (isInputObjectType(given)) {
      for (const field of Object.values(given.getFields()))
        look(field.type, (value as Record<string, unknown>)[field.name], [...path, field.name]);
    }
  };
  look(type, value, []);
  return issues;
}
