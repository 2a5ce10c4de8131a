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
  Lexer,
  type ListValueNode,
  NoSchemaIntrospectionCustomRule,
  type ObjectFieldNode,
  type ObjectValueNode,
  type OperationDefinitionNode,
  parse,
  type SelectionSetNode,
  Source,
  specifiedRules,
  TokenKind,
  TypeInfo,
  typeFromAST,
  type ValidationRule,
  type VariableDefinitionNode,
  type VariableNode,
  validate,
  valueFromAST,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit';
import { LRUCache } from 'lru-cache';
import type { z } from 'zod';
import { issuesOf } from '../domains/notation.ts';
import { AppError, ERRORS, type ErrorCode, type Issue, validationFailed } from '../errors.ts';
import type { MaybePromise } from '../store/store.ts';
import type { Context } from './context.ts';
import { Int64IdsRule, idIssues, opaqueVariables } from './id-scalar.ts';
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
  /** Writes a result as JSON, with code made for this operation where there is some. */
  stringify(result: PublicResult): string;
}

/** An execution result as clients see it. */
export interface PublicResult {
  data?: Record<string, unknown> | null;
  errors?: GraphQLFormattedError[];
  extensions?: Record<string, unknown>;
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
const MOST_TOKENS = 2_000;
/** Brackets within brackets: far more than pricing allows, far less than exhausts the stack of parser and rules. */
const DEEPEST_SYNTAX = 200;
const MOST_DOCUMENTS = 1_000;
const MOST_CACHED_CHARACTERS = 4_000_000;
/** Compiling pays from the second use on; one that comes once never costs it. */
const USES_TO_COMPILE = 2;

/** An operation of more fields, with every spread of a fragment counted, is refused: no code that expands it may hang. */
const MOST_EXPANDED_FIELDS = 10_000;
/** An operation of more is interpreted: compiling it would hold up everybody else for tens of milliseconds. */
const MOST_COMPILED_FIELDS = 300;

interface CachedOperation {
  node: OperationDefinitionNode;
  /** Fields, with every spread of a fragment counted. */
  fields: number;
  /** Variables whose ids need not be int64. */
  opaque: ReadonlySet<string>;
  uses: number;
  /** What compiled code needs to be right; null where it never is. */
  needs?: readonly string[] | null;
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
  readonly #hidden: boolean;
  readonly #rules: readonly ValidationRule[];
  readonly #documents = new LRUCache<string, CachedDocument>({
    max: MOST_DOCUMENTS,
    maxSize: MOST_CACHED_CHARACTERS,
    sizeCalculation: (_document, text) => text.length + 1,
  });

  /** @param options `introspection: false` tells clients nothing of the schema: no introspection, no "Did you mean" */
  constructor(schema: GraphQLSchema, report: FaultReporter, { introspection = true } = {}) {
    this.#schema = schema;
    this.#report = report;
    this.#hidden = !introspection;
    const rules = [...specifiedRules, Int64IdsRule];
    this.#rules = introspection ? rules : [...rules, NoSchemaIntrospectionCustomRule];
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
    const { operation: kind } = found.node;
    if (!this.#schema.getRootType(kind)) {
      throw refused('GRAPHQL_VALIDATION_FAILED', `The schema has no ${kind}s.`);
    }
    const variables = this.#coerce(document, found, request.variables ?? {});
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
        const compiled = isFitForCompiling(document, found, variables)
          ? this.#compiled(document, found, true)
          : null;
        return compiled ? this.#finish(compiled.query(ROOT, context, variables)) : interpret(context);
      },
      stringify: (result) =>
        found.compiled && !result.errors && !result.extensions
          ? found.compiled.stringify(result)
          : JSON.stringify(result),
    };
  }

  /** Compiles the one operation of a document of ours at start, and refuses to start with one that is wrong. */
  prepareOwn(query: string): OwnOperation {
    const { refusal, document, operations } = this.#read(query);
    if (refusal) throw refusal;
    const [operation] = operations.values();
    operation!.uses = USES_TO_COMPILE;
    const compiled = this.#compiled(document, operation!, false);
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
      checkNesting(text);
      document = parse(text, { maxTokens: MOST_TOKENS });
    } catch (error) {
      if (error instanceof AppError) return { refusal: new OperationRefused([publicError(error)]) };
      if (!(error instanceof GraphQLError)) throw error;
      const code = error.message.includes('Parsing aborted') ? 'QUERY_TOO_COMPLEX' : 'GRAPHQL_PARSE_FAILED';
      return { refusal: new OperationRefused([publicError(error, code)]) };
    }
    const errors = validate(this.#schema, document, this.#rules, { hideSuggestions: this.#hidden });
    if (errors.length > 0) {
      return {
        refusal: new OperationRefused(errors.map((error) => validationError(document, error))),
      };
    }
    const operations = new Map<string, CachedOperation>();
    const countFields = fieldCounter(document);
    for (const node of document.definitions) {
      if (node.kind !== Kind.OPERATION_DEFINITION) continue;
      const fields = countFields(node.selectionSet);
      if (fields > MOST_EXPANDED_FIELDS) {
        const message = `The operation selects more than ${MOST_EXPANDED_FIELDS} fields.`;
        return { refusal: refused('QUERY_TOO_COMPLEX', message) };
      }
      const opaque = opaqueVariables(this.#schema, document, node);
      operations.set(node.name?.value ?? '', { node, fields, opaque, uses: 0 });
    }
    const [only] = operations.size === 1 ? operations.values() : [];
    return { document, operations, only };
  }

  /** @param isAnswered whether results are answers as they are, so that writing them as JSON should be fast too */
  #compiled(document: DocumentNode, operation: CachedOperation, isAnswered: boolean): CompiledQuery | null {
    if (operation.compiled !== undefined) return operation.compiled;
    if (operation.uses < USES_TO_COMPILE || operation.fields > MOST_COMPILED_FIELDS) return null;
    const compile = (customJSONSerializer: boolean) =>
      compileQuery(this.#schema, document, operation.node.name?.value ?? '', {
        disableLeafSerialization: true,
        disablingCapturingStackErrors: true,
        customJSONSerializer,
      });
    let compiled = compile(isAnswered);
    // It can't write scalars of our own as JSON; then JSON.stringify does.
    if (isAnswered && !isCompiledQuery(compiled)) compiled = compile(false);
    operation.compiled = isCompiledQuery(compiled) ? compiled : null;
    if (!isCompiledQuery(compiled)) {
      this.#report(new Error('An operation could not be compiled', { cause: compiled.errors }));
    }
    return operation.compiled;
  }

  /** Coerces variables before anything runs, so that every fault of all of them is told at once. */
  #coerce(
    document: DocumentNode,
    { node, opaque }: CachedOperation,
    inputs: Readonly<Record<string, unknown>>,
  ): Record<string, unknown> {
    const definitions = node.variableDefinitions;
    if (!definitions || definitions.length === 0) return NO_VARIABLES;
    const issues: Issue[] = [];
    // Without a prototype, whose properties compiled code would take for variables.
    const coerced: Record<string, unknown> = Object.create(null);
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
      if (given === null && (isNonNullType(type) || (defaultValue && this.#isNeverNull(document, name)))) {
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
      const value = coerceInputValue(given, type, onError, this.#hidden);
      if (!opaque.has(name)) issues.push(...idIssues(type, value, name));
      coerced[name] = value;
    }
    if (issues.length > 0) throw new OperationRefused([publicError(validationFailed(issues))]);
    return coerced;
  }

  /** A variable with a default may stand where null may not; then the null that a client gives for it is a fault. */
  #isNeverNull(document: DocumentNode, name: string): boolean {
    const info = new TypeInfo(this.#schema);
    let isNeverNull = false;
    const look = (node: VariableNode) => {
      if (node.name.value === name && isNonNullType(info.getInputType())) isNeverNull = true;
    };
    visit(document, visitWithTypeInfo(info, { Variable: look }));
    return isNeverNull;
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

/**
 * Whether graphql-jit does what graphql-js does. It takes a missing variable within a literal for null (so that
 * `{description: $none}` would remove the description) and names that every object has for its own, and goes on with
 * the next mutation after one that failed.
 */
function isFitForCompiling(
  document: DocumentNode,
  operation: CachedOperation,
  variables: Readonly<Record<string, unknown>>,
): boolean {
  if (operation.needs === undefined) operation.needs = neededVariables(document, operation.node);
  return operation.needs?.every((name) => Object.hasOwn(variables, name)) ?? false;
}

/** The variables in literals; null where compiled code can't be right. */
function neededVariables(document: DocumentNode, { operation, selectionSet }: OperationDefinitionNode) {
  const [first, ...others] = selectionSet.selections;
  if (operation === 'mutation' && (first?.kind !== Kind.FIELD || others.length > 0)) return null;
  const names = new Set<string>();
  let isOrdinary = true;
  const look = (literal: ListValueNode | ObjectValueNode) =>
    void visit(literal, { Variable: ({ name }) => void names.add(name.value) });
  visit(document, {
    Name: ({ value }) => {
      if (value in Object.prototype) isOrdinary = false;
    },
    ListValue: look,
    ObjectValue: look,
  });
  return isOrdinary ? [...names] : null;
}

/** @throws QUERY_TOO_COMPLEX */
function checkNesting(text: string): void {
  // Most texts can't be that deep, whatever is in them.
  if ((text.match(/[{[(]/g)?.length ?? 0) <= DEEPEST_SYNTAX) return;
  const lexer = new Lexer(new Source(text));
  let depth = 0;
  for (let count = 0; count <= MOST_TOKENS; count++) {
    const { kind } = lexer.advance();
    if (kind === TokenKind.EOF) return;
    if (kind === TokenKind.BRACE_L || kind === TokenKind.BRACKET_L || kind === TokenKind.PAREN_L) depth++;
    else if (kind === TokenKind.BRACE_R || kind === TokenKind.BRACKET_R || kind === TokenKind.PAREN_R)
      depth--;
    if (depth > DEEPEST_SYNTAX) {
      throw new AppError(
        'QUERY_TOO_COMPLEX',
        `The operation has more than ${DEEPEST_SYNTAX} brackets open at once.`,
      );
    }
  }
}

export const INTERNAL_MESSAGE = 'Something went wrong on our side.';

const ROOT = Object.freeze({});
const NO_VARIABLES: Record<string, unknown> = Object.freeze({});

/** What a domain's rules say of an input that came as a variable: the same words as over REST. */
function ruleIssues(name: string, type: Parameters<typeof getNamedType>[0], value: unknown): Issue[] {
  const named = getNamedType(type);
  if (!isInputObjectType(named)) return [];
  const { schemas = [] } = (named.extensions['@pothos/plugin-validation'] ?? {}) as { schemas?: z.ZodType[] };
  return schemas
    .flatMap((rules) => issuesOf(rules.safeParse(value).error?.issues ?? []))
    .map((issue) => (issue.path === 'body' ? { ...issue, path: name } : issue));
}

/** Counts the fields of a selection with its fragments expanded, looking at each fragment once. */
function fieldCounter(document: DocumentNode): (set: SelectionSetNode) => number {
  const fragments = new Map<string, SelectionSetNode>();
  for (const node of document.definitions) {
    if (node.kind === Kind.FRAGMENT_DEFINITION) fragments.set(node.name.value, node.selectionSet);
  }
  const counts = new Map<SelectionSetNode, number>();
  const count = (set: SelectionSetNode | undefined): number => {
    if (!set) return 0;
    let fields = counts.get(set);
    if (fields === undefined) {
      fields = 0;
      for (const selection of set.selections) {
        if (selection.kind === Kind.FIELD) fields += 1 + count(selection.selectionSet);
        else if (selection.kind === Kind.INLINE_FRAGMENT) fields += count(selection.selectionSet);
        else fields += count(fragments.get(selection.name.value));
      }
      counts.set(set, fields);
    }
    return fields;
  };
  return count;
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
  // The errors of compiled code have extensions only if what was thrown has.
  const given = error.extensions?.code as ErrorCode | undefined;
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
