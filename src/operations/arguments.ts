import {
  type FieldNode,
  type GraphQLArgument,
  GraphQLError,
  type GraphQLField,
  type GraphQLFormattedError,
  getArgumentValues,
  Kind,
} from 'graphql';
import { type Issue, validationFailed } from '../foundation/errors.ts';
import { ruleOf } from '../kit/argument-rules.ts';
import { inputRulesOf, parseInput, rememberParsed } from '../kit/input-rules.ts';
import type { Operation } from './documents.ts';
import { isConstant, isLiteral } from './literals.ts';
import { formatErrors, OperationRefused, publicError } from './refusal.ts';
import type { Selection } from './selection.ts';
import type { Variables } from './variables.ts';

type Field = GraphQLField<unknown, unknown>;

/** A field in the document whose arguments have rules. */
interface RuledField {
  readonly definition: Field;
  readonly node: FieldNode;
}

/**
 * The arguments of everything an operation selects. They are checked once, before anything runs, however many
 * rows a field is resolved for.
 */
export class SelectedArguments {
  readonly #constant: readonly RuledField[];
  readonly #variable: readonly RuledField[];
  /** Variables that may have a value that no rule has seen. */
  readonly #unchecked: ReadonlySet<string>;
  /** The values of literals that do not depend on variables. */
  readonly #constants: Variables;
  #refusal: OperationRefused | null | undefined;

  constructor(selection: Selection, { document, source: { variableDefinitions } }: Operation) {
    this.#constants = document.literals.constants;
    const fields = new Map<FieldNode, RuledField>();
    collect(selection, fields);
    const [constant, variable]: [RuledField[], RuledField[]] = [[], []];
    for (const field of fields.values()) (hasVariables(field.node) ? variable : constant).push(field);
    this.#constant = constant;
    this.#variable = variable;
    this.#unchecked = new Set(
      variableDefinitions!.flatMap((definition) =>
        definition.defaultValue ? definition.variable.name.value : [],
      ),
    );
  }

  /**
   * @param variables coerced
   * @throws OperationRefused naming the first faults and counting the rest
   */
  check(variables: Variables): void {
    if (this.#refusal === undefined) this.#refusal = this.#refusalOf(this.#constant, this.#constants);
    if (this.#refusal) throw this.#refusal;
    const refusal = this.#variable.length > 0 && this.#refusalOf(this.#variable, variables);
    if (refusal) throw refusal;
  }

  #refusalOf(fields: readonly RuledField[], variables: Variables): OperationRefused | null {
    const faults = fields.flatMap((field) => {
      const issues = this.#issuesOf(field, variables);
      return issues.length > 0 ? { field, issues } : [];
    });
    if (faults.length === 0) return null;
    return new OperationRefused(formatErrors(faults, ({ field, issues }) => located(field, issues)));
  }

  #issuesOf({ definition, node }: RuledField, variables: Variables): Issue[] {
    const values = getArgumentValues(definition, node, variables);
    const issues: Issue[] = [];
    for (const argument of definition.args) {
      issues.push(...(ruleOf(argument)?.(values as never) ?? []));
      const value = values[argument.name];
      if (value == null || this.#isChecked(node, argument)) continue;
      const rules = inputRulesOf(argument.type);
      const data = rules && parseInput(rules, value, issues, argument.name);
      if (data) rememberParsed(data, value);
    }
    return issues;
  }

  /** Whether an argument is a variable whose value was checked as a whole when it was coerced. */
  #isChecked({ arguments: given }: FieldNode, { name }: GraphQLArgument): boolean {
    const value = given!.find((argument) => argument.name.value === name)?.value;
    return (
      value?.kind === Kind.VARIABLE && !isLiteral(value.name.value) && !this.#unchecked.has(value.name.value)
    );
  }
}

function collect(selection: Selection, fields: Map<FieldNode, RuledField>): void {
  for (const { definition, nodes, subselections } of selection) {
    const [node] = nodes;
    if (node.arguments!.length > 0 && !fields.has(node) && definition.args.some(hasRule))
      fields.set(node, { definition, node });
    for (const part of subselections.values()) collect(part, fields);
  }
}

const hasRule = (argument: GraphQLArgument): boolean =>
  ruleOf(argument) !== undefined || inputRulesOf(argument.type) !== undefined;

const hasVariables = (node: FieldNode): boolean =>
  node.arguments!.some(({ value }) => value.kind === Kind.VARIABLE && !isConstant(value.name.value));

function located({ node }: RuledField, issues: readonly Issue[]): GraphQLFormattedError {
  const error = validationFailed(issues);
  return publicError(new GraphQLError(error.message, { nodes: node, originalError: error }));
}
