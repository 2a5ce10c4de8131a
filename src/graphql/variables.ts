import {
  coerceInputValue,
  type GraphQLInputType,
  type GraphQLSchema,
  isNonNullType,
  Kind,
  type OperationDefinitionNode,
  typeFromAST,
  type VariableDefinitionNode,
  valueFromAST,
} from 'graphql';
import { type Issue, MAX_LISTED_ISSUES, validationFailed } from '../foundation/errors.ts';
import { issuePath } from '../schema/arguments.ts';
import { inputRulesOf, parseInput } from '../schema/input-rules.ts';
import { namingValues } from './result.ts';

/** Coerced variable values. */
export type Variables = Readonly<Record<string, unknown>>;

/**
 * Coerces the variables of an operation before it runs, with the same messages as over REST. Rules that depend on their
 * use, such as that for ids, are checked with the arguments.
 *
 * @param options `suggest: false` hides the schema
 * @throws VALIDATION_FAILED with the first issues
 */
export function coerceVariables(
  schema: GraphQLSchema,
  { variableDefinitions }: OperationDefinitionNode,
  inputs: Variables,
  { suggest }: { suggest: boolean },
): Variables {
  if (variableDefinitions!.length === 0) return NO_VARIABLES;
  const issues: Issue[] = [];
  // No prototype: compiled code would mistake inherited properties for variables.
  const coerced: Record<string, unknown> = Object.create(null);
  for (const { variable, type: typeNode, defaultValue } of variableDefinitions!) {
    const name = variable.name.value;
    const type = typeFromAST(schema, typeNode as never) as unknown as GraphQLInputType;
    const rules = inputRulesOf(type);
    const value = Object.hasOwn(inputs, name) ? inputs[name] : undefined;
    if (value === undefined) {
      if (defaultValue) coerced[name] = valueFromAST(defaultValue, type);
      else if (isNonNullType(type))
        issues.push({ path: name, message: `is required: a variable of type ${type}` });
    } else if (value === null && isNonNullType(type)) {
      issues.push({ path: name, message: 'must not be null' });
    } else {
      coerced[name] =
        rules && value !== null
          ? parseInput(rules, value, issues, name)
          : coerceValue(type, value, name, issues, suggest ? schema : undefined);
    }
  }
  if (issues.length > 0) throw validationFailed(issues);
  return coerced;
}

const NO_VARIABLES: Variables = Object.freeze({});
const ENOUGH = Symbol('enough issues are named');

function coerceValue(
  type: GraphQLInputType,
  value: unknown,
  name: string,
  issues: Issue[],
  schema: GraphQLSchema | undefined,
) {
  const onError: Parameters<typeof coerceInputValue>[2] = (path, _value, { message }) => {
    const text = schema ? namingValues(schema, message) : message;
    issues.push({ path: issuePath(name, path), message: text.replace(/\.$/, '') });
    if (issues.length >= MAX_LISTED_ISSUES) throw ENOUGH;
  };
  try {
    return coerceInputValue(value, type, onError, !schema);
  } catch (error) {
    if (error !== ENOUGH) throw error;
    return undefined;
  }
}

/** Definitions for already coerced variables: the type JSON leaves values unchanged. */
export const coercedDefinitions = ({
  variableDefinitions,
}: OperationDefinitionNode): VariableDefinitionNode[] =>
  variableDefinitions!.map(({ variable }) => ({
    kind: Kind.VARIABLE_DEFINITION,
    variable,
    type: { kind: Kind.NAMED_TYPE, name: { kind: Kind.NAME, value: 'JSON' } },
    directives: [],
  }));
