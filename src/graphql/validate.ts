import {
  type DocumentNode,
  FragmentsOnCompositeTypesRule,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  KnownArgumentNamesRule,
  KnownDirectivesRule,
  KnownFragmentNamesRule,
  NoFragmentCyclesRule,
  NoUndefinedVariablesRule,
  NoUnusedFragmentsRule,
  NoUnusedVariablesRule,
  PossibleFragmentSpreadsRule,
  TokenKind,
  TypeInfo,
  UniqueArgumentNamesRule,
  UniqueDirectivesPerLocationRule,
  UniqueFragmentNamesRule,
  UniqueInputFieldNamesRule,
  UniqueVariableNamesRule,
  ValidationContext,
  type ValidationRule,
  ValuesOfCorrectTypeRule,
  VariablesAreInputTypesRule,
  VariablesInAllowedPositionRule,
  visit,
  visitInParallel,
  visitWithTypeInfo,
} from 'graphql';
import { Int64IdsRule } from './id-scalar.ts';

/** The token without which a rule finds nothing, in a document of operations and fragments. */
const TOKEN_OF_RULE = new Map<ValidationRule, string>([
  ...[
    UniqueVariableNamesRule,
    NoUndefinedVariablesRule,
    NoUnusedVariablesRule,
    VariablesAreInputTypesRule,
    VariablesInAllowedPositionRule,
  ].map((rule) => [rule, TokenKind.DOLLAR] as const),
  ...[
    FragmentsOnCompositeTypesRule,
    KnownFragmentNamesRule,
    NoFragmentCyclesRule,
    NoUnusedFragmentsRule,
    PossibleFragmentSpreadsRule,
    UniqueFragmentNamesRule,
  ].map((rule) => [rule, TokenKind.SPREAD] as const),
  ...[KnownDirectivesRule, UniqueDirectivesPerLocationRule].map((rule) => [rule, TokenKind.AT] as const),
  ...[
    KnownArgumentNamesRule,
    UniqueArgumentNamesRule,
    ValuesOfCorrectTypeRule,
    UniqueInputFieldNamesRule,
    Int64IdsRule,
  ].map((rule) => [rule, TokenKind.PAREN_L] as const),
]);

/** What lies below executable definitions, without the names, which are two of the three nodes of a plain field. */
const KEYS_WITHOUT_NAMES = {
  [Kind.DOCUMENT]: ['definitions'],
  [Kind.OPERATION_DEFINITION]: ['variableDefinitions', 'directives', 'selectionSet'],
  [Kind.FRAGMENT_DEFINITION]: ['typeCondition', 'directives', 'selectionSet'],
  [Kind.VARIABLE_DEFINITION]: ['variable', 'type', 'defaultValue', 'directives'],
  [Kind.SELECTION_SET]: ['selections'],
  [Kind.FIELD]: ['arguments', 'directives', 'selectionSet'],
  [Kind.INLINE_FRAGMENT]: ['typeCondition', 'directives', 'selectionSet'],
  [Kind.FRAGMENT_SPREAD]: ['directives'],
  [Kind.DIRECTIVE]: ['arguments'],
  [Kind.ARGUMENT]: ['value'],
  [Kind.LIST]: ['values'],
  [Kind.OBJECT]: ['fields'],
  [Kind.OBJECT_FIELD]: ['value'],
  [Kind.LIST_TYPE]: ['type'],
  [Kind.NON_NULL_TYPE]: ['type'],
} as never;

/** What rules are told of a document, and where they say what is wrong with it. */
class FindingsContext extends ValidationContext {
  readonly errors: GraphQLError[];
  readonly #suggested: number;

  /**
   * @param max how many errors are looked for
   * @param suggested of how many errors it is said what may have been meant, which takes longest of all
   */
  constructor(schema: GraphQLSchema, document: DocumentNode, info: TypeInfo, max: number, suggested: number) {
    const errors: GraphQLError[] = [];
    super(schema, document, info, (error) => {
      if (errors.length === max) throw new GraphQLError('Too many errors. Validation aborted.');
      errors.push(error);
    });
    this.errors = errors;
    this.#suggested = suggested;
  }

  override get hideSuggestions(): boolean {
    return this.errors.length >= this.#suggested;
  }
}

/**
 * Validates as graphql-js does, with its rules, but looks only where these can find something: most documents have no
 * variables, fragments or directives, and are done in a third of the time.
 *
 * @param options `max` errors are looked for; of the first `suggested` it is said what may have been meant
 * @returns what is wrong; the last one says so if there is more
 */
export function validate(
  schema: GraphQLSchema,
  document: DocumentNode,
  rules: readonly ValidationRule[],
  { max, suggested }: { max: number; suggested: number },
): readonly GraphQLError[] {
  const tokens = tokensIn(document);
  const info = new TypeInfo(schema);
  const findings = new FindingsContext(schema, document, info, max, suggested);
  const visitors = rules
    .filter((rule) => tokens.has(TOKEN_OF_RULE.get(rule) ?? TokenKind.SOF))
    .map((rule) => rule(findings));
  const { stackTraceLimit } = Error;
  // Nobody is told where in the code of a rule an error was made, and to find out takes most of the time that it takes.
  Error.stackTraceLimit = 0;
  try {
    visit(document, visitWithTypeInfo(info, visitInParallel(visitors)), KEYS_WITHOUT_NAMES);
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error;
    findings.errors.push(error);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
  return findings.errors;
}

/** The kinds of the tokens of a document; a fragment that nothing spreads counts as spread, so that it is refused. */
function tokensIn({ loc, definitions }: DocumentNode): ReadonlySet<string> {
  const kinds = new Set<string>();
  for (let token = loc?.startToken ?? null; token; token = token.next) kinds.add(token.kind);
  if (definitions.some(({ kind }) => kind === Kind.FRAGMENT_DEFINITION)) kinds.add(TokenKind.SPREAD);
  return kinds;
}
