import {
  type GraphQLArgument,
  GraphQLError,
  type GraphQLInputType,
  GraphQLScalarType,
  type GraphQLScalarTypeConfig,
  getNullableType,
  isInputObjectType,
  isListType,
  Kind,
  type ValueNode,
} from 'graphql';
import { AppError, type Issue } from '../foundation/errors.ts';
import { ID_RULE, MAX_INT64, parseId } from '../foundation/id.ts';

/** graphql-js prefixes the messages of scalars but keeps their extensions. */
const invalid = (message: string, node?: ValueNode) =>
  new GraphQLError(message, {
    ...(node && { nodes: node }),
    extensions: new AppError('VALIDATION_FAILED', message).extensions,
  });

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : parseId(value));

/**
 * A scalar whose values are text.
 *
 * @param rule for messages
 * @param read the text of a value or of the literal of a string or an integer; null if it breaks the rule
 */
export function textScalar(
  config: Pick<
    GraphQLScalarTypeConfig<string, string>,
    'name' | 'description' | 'specifiedByURL' | 'extensions'
  >,
  rule: string,
  read: (value: unknown) => string | null,
): GraphQLScalarType<string, string> {
  const parse = (value: unknown, node?: ValueNode): string => {
    const text = read(value);
    if (text === null) throw invalid(rule, node);
    return text;
  };
  return new GraphQLScalarType<string, string>({
    ...config,
    serialize: (value) => value as string,
    parseValue: (value) => parse(value),
    parseLiteral: (node) =>
      parse(node.kind === Kind.STRING || node.kind === Kind.INT ? node.value : null, node),
  });
}

/**
 * The standard ID scalar. Apart from `nodeId` and event ids, all ids are int64, but GraphQL has only one ID
 * type. So the scalar accepts any text, and `idIssues`, which is asked where an id is used, refuses anything but
 * an int64 before execution.
 */
export const IdScalar = textScalar(
  {
    name: 'ID',
    description: `An int64 id from 1 to ${MAX_INT64}, as a string of decimal digits; integers are accepted as input. Node ids and event ids are opaque text.`,
    extensions: { accepts: (value: unknown) => textOf(value) !== null },
  },
  ID_RULE,
  textOf,
);

/**
 * A rule for the arguments of a field that doesn't depend on data. It is declared in the extensions of one of
 * them, and holds before anything of the operation runs.
 */
export type ArgumentRule = (args: never) => Issue[];

/** The extensions of an argument with a rule. */
export const withRule = <Args>(rule: (args: Args) => Issue[]) => ({ rule: rule as ArgumentRule });

/** The rule that an argument declares. */
export const ruleOf = ({ extensions }: GraphQLArgument): ArgumentRule | undefined =>
  extensions.rule as ArgumentRule | undefined;

/** The extensions of an argument whose ids are opaque text rather than int64. */
export const OPAQUE = { opaque: true };

/** Whether ids in an argument are opaque text. */
export const isOpaque = ({ extensions }: GraphQLArgument): boolean => extensions.opaque === true;

/** The path of an issue: fields of an input object are named as over REST, anything else after its variable. */
export const issuePath = (variable: string, path: readonly (string | number)[]): string =>
  (typeof path[0] === 'string' ? path : [variable, ...path]).join('.');

/** Finds malformed ids in the coerced value of an argument that is not opaque. */
export function idIssues(type: GraphQLInputType, value: unknown, name: string): Issue[] {
  const issues: Issue[] = [];
  const look = (type: GraphQLInputType, value: unknown, path: readonly (string | number)[]): void => {
    if (value == null) return;
    const given = getNullableType(type);
    if (given === IdScalar) {
      if (parseId(value) === null) issues.push({ path: issuePath(name, path), message: ID_RULE });
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
