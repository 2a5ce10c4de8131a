import {
  type DocumentNode,
  GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
  Kind,
  NoSchemaIntrospectionCustomRule,
  type OperationDefinitionNode,
  parse,
  print,
  SingleFieldSubscriptionsRule,
  specifiedRules,
  type Token,
  type ValidationRule,
  validate,
} from 'graphql';
import { byteCache } from '../foundation/cache.ts';
import { MAX_LISTED_ISSUES } from '../foundation/errors.ts';
import { namingValues, OperationRefused, publicError, tooComplex } from './result.ts';

/** The maximum number of tokens: more than legitimate operations need, and quick to parse and validate. */
const MAX_TOKENS = 2_000;
/** The estimated size of a token with its nodes, and of a document with its operations, in bytes. */
const TOKEN_BYTES = 500;
const DOCUMENT_BYTES = 5_000;

/** An operation of a valid document. */
export interface Operation {
  readonly document: ValidDocument;
  readonly node: OperationDefinitionNode;
  /** Unique for each parsed operation. */
  readonly number: number;
  /** The Boolean variables, which `@skip` and `@include` may depend on. */
  readonly booleans: readonly string[];
}

/** A parsed and validated document. */
export interface ValidDocument {
  readonly text: string;
  readonly ast: DocumentNode;
  readonly operations: ReadonlyMap<string, Operation>;
  /** The estimated size of all of this in memory. */
  readonly bytes: number;
}

/** Parses and validates documents, and keeps valid ones. */
export class Documents {
  readonly #schema: GraphQLSchema;
  readonly #hideSuggestions: boolean;
  readonly #rules: readonly ValidationRule[];
  readonly #cache = byteCache<ValidDocument>('documents', ({ bytes }) => bytes);

  #operations = 0;

  /** @param options `introspection: false` hides the schema: no introspection, no "Did you mean" */
  constructor(schema: GraphQLSchema, { introspection }: { introspection: boolean }) {
    this.#schema = schema;
    this.#hideSuggestions = !introspection;
    this.#rules = introspection ? RULES : [...RULES, NoSchemaIntrospectionCustomRule];
  }

  /** @throws OperationRefused if no operation of the document can run */
  get(text: string): ValidDocument {
    const cached = this.#cache.get(text);
    if (cached) return cached;
    const document = this.#read(text);
    this.#cache.set(text, document);
    return document;
  }

  #read(text: string): ValidDocument {
    let ast: DocumentNode;
    let errors: readonly GraphQLError[];
    try {
      ast = parse(text, { maxTokens: MAX_TOKENS });
      errors = validate(this.#schema, ast, this.#rules, { hideSuggestions: this.#hideSuggestions });
    } catch (error) {
      if (error instanceof RangeError)
        throw new OperationRefused([publicError(tooComplex('is nested too deep'))]);
      if (!(error instanceof GraphQLError)) throw error;
      const code = isGivingUp(error) ? 'QUERY_TOO_COMPLEX' : 'GRAPHQL_PARSE_FAILED';
      throw new OperationRefused([publicError(error, code)]);
    }
    const aborted = errors.find(isGivingUp);
    if (aborted) throw new OperationRefused([publicError(aborted, 'QUERY_TOO_COMPLEX')]);
    if (errors.length > 0) {
      const named = errors.slice(0, MAX_LISTED_ISSUES);
      throw new OperationRefused(named.map((error) => this.#format(error)));
    }
    const operations = new Map<string, Operation>();
    let tokens = 0;
    for (let token: Token | null = ast.loc!.startToken; token; token = token.next) tokens++;
    const bytes = DOCUMENT_BYTES + 2 * text.length + tokens * TOKEN_BYTES;
    const document = { text, ast, operations, bytes };
    for (const node of ast.definitions) {
      if (node.kind !== Kind.OPERATION_DEFINITION) continue;
      const booleans = node.variableDefinitions!.filter(({ type }) => /^Boolean!?$/.test(print(type)));
      operations.set(node.name?.value ?? '', {
        document,
        node,
        number: this.#operations++,
        booleans: booleans.map(({ variable }) => variable.name.value),
      });
    }
    return document;
  }

  #format(error: GraphQLError): GraphQLFormattedError {
    const formatted = publicError(error, 'GRAPHQL_VALIDATION_FAILED');
    if (this.#hideSuggestions) return formatted;
    return { ...formatted, message: namingValues(this.#schema, formatted.message) };
  }
}

type SubscriptionsVisitor = { OperationDefinition(node: OperationDefinitionNode): void };

/**
 * A subscription has exactly one root field, without a condition (GraphQL specification, section 5.2.4.1). graphql-js
 * 16 doesn't check the latter, and throws an error if a condition is a variable.
 */
const SubscriptionsRule: ValidationRule = (context) => ({
  OperationDefinition(node) {
    try {
      (SingleFieldSubscriptionsRule(context) as SubscriptionsVisitor).OperationDefinition(node);
    } catch (error) {
      if (!(error instanceof GraphQLError)) throw error;
    }
  },
  SelectionSet({ selections }) {
    if (context.getParentType()?.name !== 'Subscription') return;
    const nodes = selections
      .flatMap(({ directives }) => directives ?? [])
      .filter(({ name: { value } }) => value === 'skip' || value === 'include');
    if (nodes.length > 0)
      context.reportError(
        new GraphQLError('The root field of a subscription must not have @skip or @include.', { nodes }),
      );
  },
});

const RULES: readonly ValidationRule[] = specifiedRules.map((rule) =>
  rule === SingleFieldSubscriptionsRule ? SubscriptionsRule : rule,
);

/** True if graphql-js gave up because of too many tokens, errors or comparisons. */
const isGivingUp = ({ message }: GraphQLError): boolean => /(?:Parsing|Validation) aborted/.test(message);
