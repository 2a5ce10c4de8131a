import {
  type ArgumentNode,
  type DocumentNode,
  GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
  Kind,
  MaxIntrospectionDepthRule,
  NoSchemaIntrospectionCustomRule,
  type ObjectFieldNode,
  type OperationDefinitionNode,
  OverlappingFieldsCanBeMergedRule,
  parse,
  specifiedRules,
  type ValidationRule,
  type VariableDefinitionNode,
  visit,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { AppError, MAX_LISTED_ISSUES } from '../foundation/errors.ts';
import { AllowanceExhausted, Meter } from '../foundation/meter.ts';
import { Int64IdsRule } from '../kit/id-scalar.ts';
import { checkExpansion, checkNesting, countTokens, MAX_TOKENS } from './complexity.ts';
import { extractLiterals, type Literals } from './literals.ts';
import { formatErrors, OperationRefused, publicError, refused } from './refusal.ts';
import { UnconditionalSubscriptionRule } from './subscription-rule.ts';
import { validate } from './validate.ts';

/** Total bytes cached for all documents. */
const MAX_BYTES = 24_000_000;
/** Bytes cached per document. Beyond this, no code is generated. */
const MAX_BYTES_PER_DOCUMENT = 1_500_000;
/** Measured: heap bytes per token, including its share of the AST. */
const BYTES_PER_TOKEN = 300;
const BYTES_PER_ENTRY = 1_000;
/** Total bytes of the texts remembered after their first use. */
const MAX_BYTES_SEEN = 4_000_000;
/** Validation stops after this many errors. */
const MAX_ERRORS = 100;

/** An operation of a valid document. */
export interface Operation {
  readonly document: ValidDocument;
  /** To execute, with variables for literals. */
  readonly node: OperationDefinitionNode;
  /** As the client wrote it. */
  readonly source: OperationDefinitionNode;
}

/** A parsed and validated document. */
export interface ValidDocument {
  readonly text: string;
  /** To execute, with variables for literals. */
  readonly ast: DocumentNode;
  /** As the client wrote it. */
  readonly source: DocumentNode;
  readonly literals: Literals;
  readonly tokens: number;
  readonly operations: ReadonlyMap<string, Operation>;
  /** The default operation: the only one there is. */
  readonly only: Operation | undefined;
  readonly refusal?: undefined;
}

/** A document, or why none of it can run. */
export type ReadDocument = ValidDocument | { readonly refusal: OperationRefused };

interface Entry {
  readonly document: ValidDocument;
  /** Bytes cached for the document. */
  readonly bytes: number;
}

/**
 * Parses and validates documents, and caches valid ones from their second use on: the rest pay for being read
 * every time. The cache is bounded by size, and one-off documents leave nothing behind for the garbage
 * collector.
 */
export class Documents {
  readonly #schema: GraphQLSchema;
  readonly #suggest: boolean;
  readonly #rules: readonly ValidationRule[];
  readonly #cache = new LRUCache<string, Entry>({
    maxSize: MAX_BYTES,
    sizeCalculation: ({ bytes }) => bytes,
  });
  /** Documents used once. */
  readonly #seen = new LRUCache<string, true>({
    maxSize: MAX_BYTES_SEEN,
    sizeCalculation: (_, text) => 2 * text.length + 1,
  });

  /** @param options `introspection: false` hides the schema: no introspection, no "Did you mean" */
  constructor(schema: GraphQLSchema, { introspection }: { introspection: boolean }) {
    this.#schema = schema;
    this.#suggest = introspection;
    // `Introspection` limits introspection by the number of fields instead of depth. The slowest rule is left
    // for documents that are otherwise valid.
    const standard = specifiedRules.filter(
      (rule) => rule !== MaxIntrospectionDepthRule && rule !== OverlappingFieldsCanBeMergedRule,
    );
    const rules = [...standard, UnconditionalSubscriptionRule, Int64IdsRule];
    this.#rules = introspection ? rules : [...rules, NoSchemaIntrospectionCustomRule];
  }

  /**
   * Returns the document from the cache, or reads it.
   *
   * @param meter bounds the number of tokens
   * @throws AllowanceExhausted if it has more of them
   */
  get(text: string, meter = new Meter(1)): ReadDocument {
    const known = this.#cache.get(text);
    if (known) {
      meter.draw('tokens', known.document.tokens);
      return known.document;
    }
    const document = this.read(text, meter);
    if (document.refusal) return document;
    if (this.#seen.has(text)) {
      this.#seen.delete(text);
      const bytes = BYTES_PER_ENTRY + 2 * text.length + document.tokens * BYTES_PER_TOKEN;
      this.#cache.set(text, { document, bytes });
    } else {
      this.#seen.set(text, true);
    }
    return document;
  }

  /**
   * Reserves cache space for data attached to a document.
   *
   * @returns whether the data may be cached; false if the document itself is not cached or would get too
   * large
   */
  reserve(document: ValidDocument, bytes: number): boolean {
    const entry = this.#cache.peek(document.text);
    if (entry?.document !== document || entry.bytes + bytes > MAX_BYTES_PER_DOCUMENT) return false;
    // A new object, because the cache does not recompute the size of a known one.
    this.#cache.set(document.text, { document, bytes: entry.bytes + bytes });
    return true;
  }

  /** Parses and validates a document without caching it. @throws AllowanceExhausted */
  read(text: string, meter = new Meter(1)): ReadDocument {
    let ast: DocumentNode;
    let errors: readonly GraphQLError[];
    let tokens: number;
    const allowed = meter.left('tokens');
    try {
      checkNesting(text);
      ast = parse(text, { maxTokens: Math.min(MAX_TOKENS, allowed) });
      tokens = countTokens(ast);
      meter.draw('tokens', tokens);
      checkExpansion(ast);
      errors = this.#errorsOf(ast);
    } catch (error) {
      if (error instanceof AllowanceExhausted) throw error;
      if (isTooLong(error) && allowed < MAX_TOKENS) meter.draw('tokens', MAX_TOKENS);
      if (error instanceof AppError) return { refusal: new OperationRefused([publicError(error)]) };
      if (!(error instanceof GraphQLError)) throw error;
      const code = isTooLong(error) ? 'QUERY_TOO_COMPLEX' : 'GRAPHQL_PARSE_FAILED';
      return { refusal: new OperationRefused([publicError(error, code)]) };
    }
    if (errors.length > 0) return { refusal: validationRefusal(ast, errors) };
    const { executable, literals } = extractLiterals(this.#schema, ast);
    const operations = new Map<string, Operation>();
    const document = {
      text,
      ast: executable,
      source: ast,
      literals,
      tokens,
      operations,
      only: undefined as Operation | undefined,
    };
    for (const [index, source] of ast.definitions.entries()) {
      if (source.kind !== Kind.OPERATION_DEFINITION) continue;
      const node = executable.definitions[index] as OperationDefinitionNode;
      operations.set(source.name?.value ?? '', { document, node, source });
    }
    if (operations.size === 1) [document.only] = operations.values();
    return document;
  }

  #errorsOf(ast: DocumentNode): readonly GraphQLError[] {
    const suggested = this.#suggest ? MAX_LISTED_ISSUES : 0;
    const limits = { max: MAX_ERRORS, suggested };
    const errors = validate(this.#schema, ast, this.#rules, limits);
    return errors.length > 0
      ? errors
      : validate(this.#schema, ast, [OverlappingFieldsCanBeMergedRule], limits);
  }
}

/** Whether the parser gave up because of the number of tokens. */
const isTooLong = (error: unknown): boolean =>
  error instanceof GraphQLError && error.message.includes('Parsing aborted');

/** Lists the first errors and counts the rest. */
function validationRefusal(ast: DocumentNode, errors: readonly GraphQLError[]): OperationRefused {
  if (errors.at(-1)!.message.endsWith('Validation aborted.'))
    return refused('QUERY_TOO_COMPLEX', 'The operation has too many errors.');
  return new OperationRefused(formatErrors(errors, (error) => validationError(ast, error)));
}

/**
 * Formats a validation error. If a scalar refused a value, the message names the argument or field, as domain
 * rules do.
 */
function validationError(ast: DocumentNode, error: GraphQLError): GraphQLFormattedError {
  const formatted = publicError(error, 'GRAPHQL_VALIDATION_FAILED');
  if (formatted.extensions?.code !== 'VALIDATION_FAILED') return formatted;
  let name = 'value';
  const look = (node: ArgumentNode | ObjectFieldNode | VariableDefinitionNode, candidate: string) => {
    const value = node.kind === Kind.VARIABLE_DEFINITION ? node.defaultValue : node.value;
    const values = value?.kind === Kind.LIST ? value.values : [value];
    if (error.nodes?.some((faulty) => values.includes(faulty as never))) name = candidate;
  };
  visit(ast, {
    Argument: (node) => look(node, node.name.value),
    ObjectField: (node) => look(node, node.name.value),
    VariableDefinition: (node) => look(node, node.variable.name.value),
  });
  return {
    ...formatted,
    message: `${name}: ${error.message}.`,
    extensions: { ...formatted.extensions, fields: [{ path: name, message: error.message }] },
  };
}
