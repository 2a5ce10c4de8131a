import {
  coerceInputValue,
  type DocumentNode,
  type GraphQLInputType,
  type GraphQLLeafType,
  type GraphQLSchema,
  isEnumType,
  isLeafType,
  isListType,
  isNonNullType,
  type OperationDefinitionNode,
  TypeInfo,
  typeFromAST,
  type VariableNode,
  valueFromAST,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { type Issue, MAX_LISTED_ISSUES, validationFailed } from '../foundation/errors.ts';
import { idIssues, issuePath, opaqueVariables } from '../kit/id-scalar.ts';
import { inputRulesOf, parseInput } from '../kit/input-rules.ts';
import type { Literals } from './literals.ts';

/** Coerced variable values. */
export type Variables = Readonly<Record<string, unknown>>;

/** The variables of one operation. */
export class OperationVariables {
  readonly #schema: GraphQLSchema;
  readonly #document: DocumentNode;
  readonly #operation: OperationDefinitionNode;
  readonly #literals: Literals;
  readonly #suggest: boolean;
  #opaque: ReadonlySet<string> | undefined;
  #neverNull: ReadonlySet<string> | undefined;

  /** @param options `suggest: false` hides the schema */
  constructor(
    schema: GraphQLSchema,
    { source, literals }: { readonly source: DocumentNode; readonly literals: Literals },
    operation: OperationDefinitionNode,
    { suggest }: { suggest: boolean },
  ) {
    this.#schema = schema;
    this.#document = source;
    this.#operation = operation;
    this.#literals = literals;
    this.#suggest = suggest;
  }

  /**
   * Coerces the variables before execution, so that all issues are reported at once, and the literals with
   * them.
   *
   * @throws VALIDATION_FAILED listing all issues
   */
  coerce(inputs: Variables): Variables {
    const { variableDefinitions } = this.#operation;
    if (variableDefinitions!.length === 0 && this.#literals.isEmpty) return NO_VARIABLES;
    const issues = new Issues();
    // No prototype: compiled code would mistake inherited properties for variables.
    const coerced: Record<string, unknown> = Object.create(null);
    for (const { variable, type: typeNode, defaultValue } of variableDefinitions!) {
      const name = variable.name.value;
      const type = typeFromAST(this.#schema, typeNode as never) as unknown as GraphQLInputType;
      const given = Object.hasOwn(inputs, name) ? inputs[name] : undefined;
      if (given === undefined) {
        if (defaultValue) coerced[name] = valueFromAST(defaultValue, type);
        else if (isNonNullType(type))
          issues.add([{ path: name, message: `is required: a variable of type ${type}` }]);
      } else if (given === null && (isNonNullType(type) || (defaultValue && this.#isNeverNull(name)))) {
        issues.add([{ path: name, message: 'must not be null' }]);
      } else {
        coerced[name] = this.#value(name, type, given, issues);
      }
    }
    issues.throwAny();
    this.#literals.addTo(coerced);
    return coerced;
  }

  #value(name: string, type: GraphQLInputType, given: unknown, all: Issues): unknown {
    const issues: Issue[] = [];
    const rules = inputRulesOf(type);
    if (rules) {
      // The same messages as over REST.
      const value = parseInput(rules, given, issues, name);
      all.add(issues);
      return value;
    }
    const onError: Parameters<typeof coerceInputValue>[2] = (path, _value, error) => {
      issues.push({ path: issuePath(name, path), message: error.message.replace(/\.$/, '') });
      if (issues.length === MAX_LISTED_ISSUES) throw LIMIT_REACHED;
    };
    try {
      const value = coerceInputValue(given, type, onError, !this.#suggest);
      this.#opaque ??= opaqueVariables(this.#schema, this.#document, this.#operation);
      all.add(issues);
      if (!this.#opaque.has(name)) all.add(idIssues(type, value, name));
      return value;
    } catch (error) {
      if (error !== LIMIT_REACHED) throw error;
      all.add(issues, countIssues(type, given));
      return undefined;
    }
  }

  /** A variable with a default may be used where null is not allowed. An explicit null is then an error. */
  #isNeverNull(name: string): boolean {
    this.#neverNull ??= neverNull(this.#schema, this.#document);
    return this.#neverNull.has(name);
  }
}

const NO_VARIABLES: Variables = Object.freeze({});
const LIMIT_REACHED = Symbol('enough issues are named');

/** Collects the issues to list, and counts all of them. */
class Issues {
  readonly #named: Issue[] = [];
  #count = 0;

  /** @param count total number of issues, if not all are given */
  add(issues: readonly Issue[], count = issues.length): void {
    this.#named.push(...issues.slice(0, MAX_LISTED_ISSUES - this.#named.length));
    this.#count += count;
  }

  throwAny(): void {
    if (this.#count > 0) throw validationFailed(this.#named, this.#count);
  }
}

/** Counts coercion issues without creating a message for each: a body can contain 49,000 of them. */
function countIssues(type: GraphQLInputType, value: unknown): number {
  if (isNonNullType(type)) return value == null ? 1 : countIssues(type.ofType, value);
  if (value == null) return 0;
  if (isListType(type)) {
    if (!Array.isArray(value)) return countIssues(type.ofType, value);
    let count = 0;
    for (const item of value) count += countIssues(type.ofType, item);
    return count;
  }
  if (isLeafType(type)) return isLeafValue(type, value) ? 0 : 1;
  if (typeof value !== 'object') return 1;
  const fields = type.getFields();
  let count = 0;
  for (const name in value) if (!Object.hasOwn(fields, name)) count++;
  for (const { name, type, defaultValue } of Object.values(fields)) {
    const given = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
    if (given !== undefined) count += countIssues(type, given);
    else if (defaultValue === undefined && isNonNullType(type)) count++;
  }
  return count;
}

function isLeafValue(type: GraphQLLeafType, value: unknown): boolean {
  // `getValue` would intern each unknown name.
  if (isEnumType(type)) return type.getValues().some(({ name }) => name === value);
  const accepts = type.extensions.accepts as ((value: unknown) => boolean) | undefined;
  if (accepts) return accepts(value);
  try {
    return type.parseValue(value) !== undefined;
  } catch {
    return false;
  }
}

/** Variables used where null is not allowed. */
function neverNull(schema: GraphQLSchema, document: DocumentNode): ReadonlySet<string> {
  const info = new TypeInfo(schema);
  const names = new Set<string>();
  const look = (node: VariableNode) => {
    if (isNonNullType(info.getInputType())) names.add(node.name.value);
  };
  visit(document, visitWithTypeInfo(info, { Variable: look }));
  return names;
}
