import {
  type GraphQLArgument,
  GraphQLError,
  type GraphQLInputType,
  GraphQLScalarType,
  type GraphQLScalarTypeConfig,
  getNullableType,
  isInputObjectType,
  isListType,
  isScalarType,
  Kind,
} from 'graphql';
import type { Issue } from '../foundation/errors.ts';
import { ID_RULE, MAX_INT64, MIN_INT64, parseId, parseInt64 } from '../foundation/id.ts';

/**
 * A scalar whose values are text. Literals are checked by `textIssues` where they are used, so that the error names the
 * argument or field as over REST.
 *
 * @param rule the rule, for messages
 * @param read returns the text of a value; null if it breaks the rule
 * @param isValid true if a text from `read` satisfies the rule
 */
export function textScalar(
  config: Pick<
    GraphQLScalarTypeConfig<string, string>,
    'name' | 'description' | 'specifiedByURL' | 'extensions'
  >,
  rule: string,
  read: (value: unknown) => string | null,
  isValid = (text: unknown) => read(text) !== null,
): GraphQLScalarType<string, string> {
  return new GraphQLScalarType<string, string>({
    ...config,
    extensions: { ...config.extensions, refusal: (text: unknown) => (isValid(text) ? undefined : rule) },
    serialize: (value) => value as string,
    parseValue(value) {
      const text = read(value);
      // graphql-js prefixes the messages of other errors.
      if (text === null) throw new GraphQLError(rule);
      return text;
    },
    parseLiteral(node) {
      if (node.kind === Kind.STRING || node.kind === Kind.INT || node.kind === Kind.FLOAT)
        return read(node.value) ?? node.value;
      throw new Error(rule);
    },
  });
}

/**
 * The standard ID scalar, for int64 ids and for opaque ones such as `nodeId`, since GraphQL has a single ID type. It
 * reads any text; arguments that are not {@link OPAQUE} must be int64.
 */
export const IdScalar = textScalar(
  {
    name: 'ID',
    description: `An int64 id from 1 to ${MAX_INT64}, as a string of decimal digits; integers are accepted as input. Node ids and event ids are opaque text.`,
  },
  ID_RULE,
  (value) => (typeof value === 'string' ? value : parseId(value)),
  (text) => parseId(text) !== null,
);

export const BigIntScalar = textScalar(
  {
    name: 'BigInt',
    description: 'An int64, as a string of decimal digits; integers are accepted as input.',
    extensions: { maxLength: 20 },
  },
  `must be an integer from ${MIN_INT64} to ${MAX_INT64}`,
  (value) => parseInt64(value, MIN_INT64, MAX_INT64),
);

/**
 * A rule for a field's arguments that doesn't depend on data. Declared in the extensions of one of them, and checked
 * before any of the operation runs.
 */
export type ArgumentRule = (args: never) => Issue[];

/** The extensions of an argument with a rule. */
export const withRule = <Args>(rule: (args: Args) => Issue[]) => ({ rule: rule as ArgumentRule });

/** The rule declared by an argument. */
export const ruleOf = ({ extensions }: GraphQLArgument): ArgumentRule | undefined =>
  extensions.rule as ArgumentRule | undefined;

/** The extensions of an argument whose ids are opaque text rather than int64. */
export const OPAQUE = { opaque: true };

/** True if ids in an argument are opaque text. */
export const isOpaque = ({ extensions }: GraphQLArgument): boolean => extensions.opaque === true;

type Refusal = (text: unknown) => string | undefined;

/** The path of an issue: as over REST for fields of an input object, else beginning with the variable. */
export const issuePath = (variable: string, path: readonly (string | number)[]): string =>
  (typeof path[0] === 'string' ? path : [variable, ...path]).join('.');

/** Finds malformed texts, such as ids and dates, in the coerced value of an argument that is not opaque. */
export function textIssues(type: GraphQLInputType, value: unknown, name: string): Issue[] {
  const issues: Issue[] = [];
  const look = (type: GraphQLInputType, value: unknown, path: readonly (string | number)[]): void => {
    if (value == null) return;
    const nullable = getNullableType(type);
    if (isScalarType(nullable)) {
      const message = (nullable.extensions.refusal as Refusal | undefined)?.(value);
      if (message !== undefined) issues.push({ path: issuePath(name, path), message });
    } else if (isListType(nullable)) {
      (value as unknown[]).forEach((item, index) => {
        look(nullable.ofType, item, [...path, index]);
      });
    } else if (isInputObjectType(nullable)) {
      for (const field of Object.values(nullable.getFields()))
        look(field.type, (value as Record<string, unknown>)[field.name], [...path, field.name]);
    }
  };
  look(type, value, []);
  return issues;
}
