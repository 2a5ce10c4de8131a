import {
  coerceInputValue,
  type DocumentNode,
  type GraphQLSchema,
  getNamedType,
  isInputObjectType,
  isInputType,
  isNonNullType,
  TypeInfo,
  typeFromAST,
  type VariableNode,
  valueFromAST,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import type { z } from 'zod';
import { issuesOf } from '../domains/notation.ts';
import { type Issue, validationFailed } from '../errors.ts';
import type { Operation } from './documents.ts';
import { idIssues } from './id-scalar.ts';

/** Values of variables as execution takes them. */
export type Variables = Readonly<Record<string, unknown>>;

/**
 * Coerces variables before anything runs, so that every fault of all of them is told at once.
 *
 * @param options `suggest: false` tells clients nothing of the schema
 * @throws VALIDATION_FAILED naming what is wrong
 */
export function coerceVariables(
  { schema, document, node: { variableDefinitions }, opaque }: Operation,
  inputs: Variables,
  { suggest }: { suggest: boolean },
): Variables {
  if (!variableDefinitions || variableDefinitions.length === 0) return NO_VARIABLES;
  const issues: Issue[] = [];
  // Without a prototype, whose properties compiled code would take for variables.
  const coerced: Record<string, unknown> = Object.create(null);
  for (const { variable, type: typeNode, defaultValue } of variableDefinitions) {
    const name = variable.name.value;
    const type = typeFromAST(schema, typeNode as never);
    if (!isInputType(type)) continue;
    const given = Object.hasOwn(inputs, name) ? inputs[name] : undefined;
    if (given === undefined) {
      if (defaultValue) coerced[name] = valueFromAST(defaultValue, type);
      else if (isNonNullType(type)) issues.push({ path: name, message: 'is required' });
      continue;
    }
    if (given === null && (isNonNullType(type) || (defaultValue && isNeverNull(schema, document, name)))) {
      issues.push({ path: name, message: 'must not be null' });
      continue;
    }
    const broken = ruleIssues(name, type, given);
    if (broken.length > 0) {
      issues.push(...broken);
      continue;
    }
    const onError: Parameters<typeof coerceInputValue>[2] = (path, _value, error) => {
      issues.push({
        path: path.length > 0 ? path.join('.') : name,
        message: error.message.replace(/\.$/, ''),
      });
    };
    const value = coerceInputValue(given, type, onError, !suggest);
    if (!opaque.has(name)) issues.push(...idIssues(type, value, name));
    coerced[name] = value;
  }
  if (issues.length > 0) throw validationFailed(issues);
  return coerced;
}

const NO_VARIABLES: Variables = Object.freeze({});

/** A variable with a default may stand where null may not; then the null that a client gives for it is a fault. */
function isNeverNull(schema: GraphQLSchema, document: DocumentNode, name: string): boolean {
  const info = new TypeInfo(schema);
  let neverNull = false;
  const look = (node: VariableNode) => {
    if (node.name.value === name && isNonNullType(info.getInputType())) neverNull = true;
  };
  visit(document, visitWithTypeInfo(info, { Variable: look }));
  return neverNull;
}

/** What a domain's rules say of an input that came as a variable: the same words as over REST. */
function ruleIssues(name: string, type: Parameters<typeof getNamedType>[0], value: unknown): Issue[] {
  const named = getNamedType(type);
  if (!isInputObjectType(named)) return [];
  const { schemas = [] } = (named.extensions['@pothos/plugin-validation'] ?? {}) as { schemas?: z.ZodType[] };
  return schemas
    .flatMap((rules) => issuesOf(rules.safeParse(value).error?.issues ?? []))
    .map((issue) => (issue.path === 'body' ? { ...issue, path: name } : issue));
}
