import {
  type DocumentNode,
  type GraphQLInputType,
  type GraphQLSchema,
  Kind,
  type ListValueNode,
  type ObjectValueNode,
  type OperationDefinitionNode,
  TokenKind,
  TypeInfo,
  type VariableDefinitionNode,
  type VariableNode,
  valueFromAST,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { validationFailed } from '../foundation/errors.ts';

type Values = Readonly<Record<string, unknown>>;

/** A list or an input object that a document passes to an argument. */
interface Literal {
  readonly argument: string;
  readonly type: GraphQLInputType;
  readonly node: ListValueNode | ObjectValueNode;
}

/** GraphQL has no such names, so they never collide with variables of a document. */
const [CONSTANT, VARYING] = ['$constant', '$varying'];

/** Whether a variable of an executable document stands for a literal. */
export const isLiteral = (name: string): boolean => name.startsWith('$');

/** Whether a variable of an executable document always has the same value. */
export const isConstant = (name: string): boolean => name.startsWith(CONSTANT!);

/** The lists and input objects of a document. Each is coerced once, however many rows use it. */
export class Literals {
  readonly #constant = new Map<string, Literal>();
  readonly #varying = new Map<string, Literal>();
  #constants: Values | undefined;

  add(literal: Literal): string {
    const isVarying = hasVariables(literal.node);
    const literals = isVarying ? this.#varying : this.#constant;
    const name = `${isVarying ? VARYING : CONSTANT}${literals.size}`;
    literals.set(name, literal);
    return name;
  }

  get names(): readonly string[] {
    return [...this.#constant.keys(), ...this.#varying.keys()];
  }

  get isEmpty(): boolean {
    return this.#constant.size + this.#varying.size === 0;
  }

  /** The values that do not depend on variables. */
  get constants(): Values {
    this.#constants ??= valuesOf(this.#constant, {});
    return this.#constants;
  }

  /** Adds the values of all literals to coerced variables. */
  addTo(variables: Record<string, unknown>): void {
    Object.assign(variables, this.constants);
    if (this.#varying.size > 0) Object.assign(variables, valuesOf(this.#varying, variables));
  }
}

function valuesOf(literals: ReadonlyMap<string, Literal>, variables: Values): Values {
  const values: Record<string, unknown> = Object.create(null);
  for (const [name, { argument, type, node }] of literals) {
    const value = valueFromAST(node, type, variables);
    // Validation leaves only null for that, by a variable with a default.
    if (value === undefined)
      throw validationFailed([{ path: argument, message: 'has null where it must not' }]);
    values[name] = value;
  }
  return values;
}

function hasVariables(node: ListValueNode | ObjectValueNode): boolean {
  let hasAny = false;
  visit(node, {
    Variable: () => {
      hasAny = true;
    },
  });
  return hasAny;
}

/**
 * Prepares a document for variables that are coerced already, and turns the lists and input objects among its
 * arguments into such variables: graphql-js coerces literals again for each row of a list, and graphql-jit takes
 * a variable without a value inside a literal for null.
 *
 * @param source valid
 */
export function extractLiterals(
  schema: GraphQLSchema,
  source: DocumentNode,
): { executable: DocumentNode; literals: Literals } {
  const literals = new Literals();
  if (!mayHaveLiterals(source)) return { executable: withCoerced(source), literals };
  const info = new TypeInfo(schema);
  const withoutLiterals = visit(
    source,
    visitWithTypeInfo(info, {
      VariableDefinition: () => false,
      Directive: () => false,
      Argument(node) {
        const { value } = node;
        if (value.kind !== Kind.LIST && value.kind !== Kind.OBJECT) return undefined;
        const name = literals.add({ argument: node.name.value, type: info.getInputType()!, node: value });
        return { ...node, value: variable(name) };
      },
    }),
  );
  return { executable: withCoerced(withoutLiterals, literals.names), literals };
}

const withCoerced = (document: DocumentNode, more: readonly string[] = []): DocumentNode => ({
  ...document,
  definitions: document.definitions.map((node) =>
    node.kind === Kind.OPERATION_DEFINITION ? withCoercedVariables(node, more) : node,
  ),
});

/**
 * The operation for variables that are coerced already, which executing it then passes on unchanged.
 *
 * @param more names of further variables
 */
export function withCoercedVariables(
  operation: OperationDefinitionNode,
  more: readonly string[] = [],
): OperationDefinitionNode {
  const own = operation.variableDefinitions!.map(({ variable }) => variable.name.value);
  return { ...operation, variableDefinitions: [...own, ...more].map(definitionOf) };
}

/** Looks for a bracket between parentheses, which is faster than visiting the document. */
function mayHaveLiterals({ loc }: DocumentNode): boolean {
  let depth = 0;
  for (let token = loc!.startToken.next!; token.next; token = token.next) {
    if (token.kind === TokenKind.PAREN_L) depth++;
    else if (token.kind === TokenKind.PAREN_R) depth--;
    else if (depth > 0 && (token.kind === TokenKind.BRACKET_L || token.kind === TokenKind.BRACE_L))
      return true;
  }
  return false;
}

const variable = (name: string): VariableNode => ({
  kind: Kind.VARIABLE,
  name: { kind: Kind.NAME, value: name },
});

/** JSON passes values on unchanged. */
const definitionOf = (name: string): VariableDefinitionNode => ({
  kind: Kind.VARIABLE_DEFINITION,
  variable: variable(name),
  type: { kind: Kind.NAMED_TYPE, name: { kind: Kind.NAME, value: 'JSON' } },
  directives: [],
});
