import {
  type ArgumentNode,
  coerceInputValue,
  type DocumentNode,
  type ExecutionResult,
  execute,
  GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
  getNamedType,
  isInputObjectType,
  isInputType,
  isNonNullType,
  Kind,
  type ObjectFieldNode,
  type OperationDefinitionNode,
  parse,
  typeFromAST,
  type VariableDefinitionNode,
  validate,
  valueFromAST,
  visit,
} from 'graphql';
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit';
import { LRUCache } from 'lru-cache';
import type { z } from 'zod';
import { issuesOf } from '../domains/notation.ts';
import { AppError, ERRORS, type ErrorCode, type Issue, validationFailed } from '../errors.ts';
import type { MaybePromise } from '../store/store.ts';
import type { Context } from './context.ts';
import { type Price, priceOf } from './price.ts';

/** GraphQL-over-HTTP parameters of one operation. */
export interface OperationRequest {
  query: string;
  operationName?: string | null | undefined;
  variables?: Readonly<Record<string, unknown>> | null | undefined;
}

/** An operation that may be executed once its price is paid. */
export interface PreparedOperation {
  operation: OperationDefinitionNode;
  /** Units of contract section 5. */
  price: number;
  /** Runs with compiled code where there is some; errors are public already. */
  execute(context: Context): MaybePromise<PublicResult>;
  /** Runs with the graphql-js interpreter, the reference that the compiled code is tested against. */
  interpret(context: Context): MaybePromise<PublicResult>;
}

/** An execution result as clients see it. */
export interface PublicResult {
  data?: Record<string, unknown> | null;
  errors?: GraphQLFormattedError[];
  /** Seconds after which the refused part can succeed; for the Retry-After header, not for the body. */
  retryAfter?: number;
}

/** Thrown for an operation that can't run: `errors` is what the client gets, all of status 400. */
export class OperationRefused extends Error {
  readonly errors: readonly GraphQLFormattedError[];

  constructor(errors: readonly GraphQLFormattedError[]) {
    super(errors[0]?.message);
    this.errors = errors;
  }
}

/** A document of ours: run with variables that are known to be right, at the price of one unit. */
export type OwnOperation = (
  variables: Record<string, unknown>,
  context: Context,
) => MaybePromise<PublicResult>;

/** Told of faults that clients must not see. */
export type FaultReporter = (error: unknown) => void;

/** More tokens than any honest operation has, and few enough to parse and validate in milliseconds. */
const MOST_TOKENS = 5_000;
const MOST_DOCUMENTS = 1_000;
const MOST_CACHED_CHARACTERS = 4_000_000;
/** Compiling pays from the second use on; one that comes once never costs it. */
const USES_TO_COMPILE = 2;

interface CachedOperation {
  node: OperationDefinitionNode;
  uses: number;
  compiled?: CompiledQuery | null;
  price?: Price;
}

type CachedDocument =
  | { refusal: OperationRefused; document?: undefined; operations?: undefined }
  | {
      document: DocumentNode;
      operations: Map<string, CachedOperation>;
      /** The operation to run where none is named: the only one there is. */
      only: CachedOperation | undefined;
      refusal?: undefined;
    };

/**
 * From the text of an operation to something that can be executed: parsed, validated, priced and compiled once, kept in a
 * cache that is bounded by entries and by characters. Both doors and Yoga execute through it.
 */
export class Operations {
  readonly #schema: GraphQLSchema;
  readonly #report: FaultReporter;
  readonly #documents = new LRUCache<string, CachedDocument>({
    max: MOST_DOCUMENTS,
    maxSize: MOST_CACHED_CHARACTERS,
    sizeCalculation: (_document, text) => text.length + 1,
  });

  constructor(schema: GraphQLSchema, report: FaultReporter) {
    this.#schema = schema;
    this.#report = report;
  }

  /** @throws OperationRefused if it can't be executed */
  prepare(request: OperationRequest): PreparedOperation {
    const cached = this.#document(request.query);
    if (cached.refusal) throw cached.refusal;
    const { document, operations } = cached;
    const found = request.operationName == null ? cached.only : operations.get(request.operationName);
    if (!found) {
      throw refused(
        'GRAPHQL_VALIDATION_FAILED',
        request.operationName == null
          ? 'Must provide operation name if query contains multiple operations.'
          : `Unknown operation named "${request.operationName}".`,
      );
    }
    const variables = this.#coerce(found.node, request.variables ?? {});
    let price = found.price;
    if (!price) {
      try {
        price = priceOf(this.#schema, document, found.node, variables);
      } catch (error) {
        if (error instanceof AppError) throw new OperationRefused([publicError(error)]);
        throw error;
      }
      if (!price.dependsOnVariables) found.price = price;
    }
    found.uses++;
    const interpret = (context: Context) =>
      this.#finish(
        execute({
          schema: this.#schema,
          document,
          operationName: found.node.name?.value ?? null,
          rootValue: ROOT,
          contextValue: context,
          variableValues: variables,
        }),
      );
    return {
      operation: found.node,
      price: price.units,
      interpret,
      execute: (context) => {
        const compiled = this.#compiled(document, found);
        return compiled ? this.#finish(compiled.query(ROOT, context, variables)) : interpret(context);
      },
    };
  }

  /** Compiles the one operation of a document of ours at start, and refuses to start with one that is wrong. */
  prepareOwn(query: string): OwnOperation {
    const { refusal, document, operations } = this.#read(query);
    if (refusal) throw refusal;
    const [operation] = operations.values();
    operation!.uses = USES_TO_COMPILE;
    const compiled = this.#compiled(document, operation!);
    if (!compiled) throw new Error(`Cannot compile ${query}`);
    return (variables, context) => this.#finish(compiled.query(ROOT, context, variables));
  }

  #document(text: string): CachedDocument {
    let cached = this.#documents.get(text);
    if (!cached) {
      cached = this.#read(text);
      this.#documents.set(text, cached);
    }
    return cached;
  }

  #read(text: string): CachedDocument {
    let document: DocumentNode;
    try {
      document = parse(text, { maxTokens: MOST_TOKENS });
    } catch (error) {
      if (!(error instanceof GraphQLError)) throw error;
      const code = error.message.includes('Parsing aborted') ? 'QUERY_TOO_COMPLEX' : 'GRAPHQL_PARSE_FAILED';
      return { refusal: new OperationRefused([publicError(error, code)]) };
    }
    const errors = validate(this.#schema, document);
    if (errors.length > 0) {
      return {
        refusal: new OperationRefused(errors.map((error) => validationError(document, error))),
      };
    }
    const operations = new Map<string, CachedOperation>();
    for (const node of document.definitions) {
      if (node.kind === Kind.OPERATION_DEFINITION) operations.set(node.name?.value ?? '', { node, uses: 0 });
    }
    const [only] = operations.size === 1 ? operations.values() : [];
    return { document, operations, only };
  }

  #compiled(document: DocumentNode, operation: CachedOperation): CompiledQuery | null {
    if (operation.compiled !== undefined) return operation.compiled;
    if (operation.uses < USES_TO_COMPILE) return null;
    const compiled = compileQuery(this.#schema, document, operation.node.name?.value ?? '', {
      disableLeafSerialization: true,
      disablingCapturingStackErrors: true,
    });
    operation.compiled = isCompiledQuery(compiled) ? compiled : null;
    if (!isCompiledQuery(compiled)) {
      this.#report(new Error('An operation could not be compiled', { cause: compiled.errors }));
    }
    return operation.compiled;
  }

  /** Coerces variables before anything runs, so that every fault of all of them is told at once. */
  #coerce(
    operation: OperationDefinitionNode,
    inputs: Readonly<Record<string, unknown>>,
  ): Record<string, unknown> {
    const definitions = operation.variableDefinitions;
    if (!definitions || definitions.length === 0) return NO_VARIABLES;
    const issues: Issue[] = [];
    const coerced: Record<string, unknown> = {};
    for (const { variable, type: typeNode, defaultValue } of definitions) {
      const name = variable.name.value;
      const type = typeFromAST(this.#schema, typeNode as never);
      if (!isInputType(type)) continue;
      const given = Object.hasOwn(inputs, name) ? inputs[name] : undefined;
      if (given === undefined) {
        if (defaultValue) coerced[name] = valueFromAST(defaultValue, type);
        else if (isNonNullType(type)) issues.push({ path: name, message: 'is required' });
        continue;
      }
      if (given === null && isNonNullType(type)) {
        issues.push({ path: name, message: 'must not be null' });
        continue;
      }
      const broken = ruleIssues(type, given);
      if (broken.length > 0) {
        issues.push(...broken);
        continue;
      }
      coerced[name] = coerceInputValue(given, type, (path, _value, error) => {
        issues.push({
          path: path.length > 0 ? path.join('.') : name,
          message: error.message.replace(/\.$/, ''),
        });
      });
    }
    if (issues.length > 0) throw new OperationRefused([publicError(validationFailed(issues))]);
    return coerced;
  }

  #finish(result: MaybePromise<ExecutionResult>): MaybePromise<PublicResult> {
    return result instanceof Promise ? result.then((settled) => this.#mask(settled)) : this.#mask(result);
  }

  /** Faults that nobody foresaw are reported here and told to nobody else. */
  #mask(result: ExecutionResult): PublicResult {
    if (!result.errors) return result as PublicResult;
    let retryAfter: number | undefined;
    const errors = result.errors.map((error) => {
      const cause = error.originalError;
      if (cause instanceof AppError) {
        if (cause.status >= 500) this.#report(cause);
        retryAfter ??= cause.retryAfter;
        return publicError(error, cause.code);
      }
      this.#report(cause ?? error);
      return { ...publicError(error, 'INTERNAL'), message: INTERNAL_MESSAGE };
    });
    const masked: PublicResult = { errors, data: result.data ?? null };
    if (retryAfter !== undefined) masked.retryAfter = retryAfter;
    return masked;
  }
}

export const INTERNAL_MESSAGE = 'Something went wrong on our side.';

const ROOT = Object.freeze({});
const NO_VARIABLES: Record<string, unknown> = Object.freeze({});

/** What a domain's rules say of an input that came as a variable: the same words as over REST. */
function ruleIssues(type: Parameters<typeof getNamedType>[0], value: unknown): Issue[] {
  const named = getNamedType(type);
  if (!isInputObjectType(named)) return [];
  const { schemas = [] } = (named.extensions['@pothos/plugin-validation'] ?? {}) as { schemas?: z.ZodType[] };
  return schemas.flatMap((rules) => issuesOf(rules.safeParse(value).error?.issues ?? []));
}

/** An error of validation; where a scalar refuses a value, its message names the argument or field, as rules do. */
function validationError(document: DocumentNode, error: GraphQLError): GraphQLFormattedError {
  const formatted = publicError(error, 'GRAPHQL_VALIDATION_FAILED');
  if (formatted.extensions?.code !== 'VALIDATION_FAILED') return formatted;
  let name = 'value';
  const look = (node: ArgumentNode | ObjectFieldNode | VariableDefinitionNode, found: string) => {
    const value = node.kind === Kind.VARIABLE_DEFINITION ? node.defaultValue : node.value;
    const values = value?.kind === Kind.LIST ? value.values : [value];
    if (error.nodes?.some((faulty) => values.includes(faulty as never))) name = found;
  };
  visit(document, {
    Argument: (node) => look(node, node.name.value),
    ObjectField: (node) => look(node, node.name.value),
    VariableDefinition: (node) => look(node, node.variable.name.value),
  });
  return { ...formatted, message: `${name}: ${error.message}.` };
}

const refused = (code: ErrorCode, message: string) =>
  new OperationRefused([publicError(new AppError(code, message))]);

/** One entry of `errors`, with code and status of the one table (contract section 4). */
export function publicError(
  error: GraphQLError | AppError,
  fallback: ErrorCode = 'INTERNAL',
): GraphQLFormattedError {
  const given = error.extensions.code as ErrorCode | undefined;
  const code = given !== undefined && Object.hasOwn(ERRORS, given) ? given : fallback;
  const formatted: { -readonly [K in keyof GraphQLFormattedError]: GraphQLFormattedError[K] } = {
    message: error.message,
  };
  if (error instanceof GraphQLError) {
    if (error.locations) formatted.locations = error.locations;
    if (error.path) formatted.path = error.path;
  }
  formatted.extensions = { code, status: ERRORS[code].status };
  return formatted;
}
