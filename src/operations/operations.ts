import {
  createSourceEventStream,
  type DocumentNode,
  type ExecutionResult,
  execute,
  type GraphQLField,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from 'graphql';
import type { CompiledQuery } from 'graphql-jit';
import { memoized } from '../foundation/cache.ts';
import { AppError } from '../foundation/errors.ts';
import type { MaybePromise } from '../foundation/maybe-promise.ts';
import type { Context, Receivers } from '../kit/context.ts';
import { toJson } from '../kit/json.ts';
import { jsonOf } from '../kit/json-writer.ts';
import { scopesOf } from './document-scopes.ts';
import { Documents, type Operation } from './documents.ts';
import { introspect } from './introspection.ts';
import { countWrites, type ExecutionSchemas, executionSchemas, mutate, writingField } from './mutation.ts';
import { type Plan, Plans, resultWriter } from './plan.ts';
import { type Price, Prices } from './price.ts';
import {
  type ErrorReporter,
  type MutationResult,
  OperationRefused,
  type PublicResult,
  publicError,
  publicResult,
} from './result.ts';
import type { Selection } from './selection.ts';
import { coerceVariables, type Variables } from './variables.ts';

/** GraphQL-over-HTTP parameters of one operation. */
export interface OperationRequest {
  query: string;
  operationName?: string | null | undefined;
  variables?: Readonly<Record<string, unknown>> | null | undefined;
}

/** An operation ready to be executed once it is paid for. */
export interface PreparedOperation {
  /** As the client wrote it. */
  document: DocumentNode;
  /** The text of the document. */
  text: string;
  operation: OperationDefinitionNode;
  /** In units. */
  cost: number;
  /** The root fields with the units of each. */
  charges: Price['fields'];
  /** Number of writing fields. */
  mutations: number;
  /** The names of its root fields, without meta fields. */
  rootFields: readonly string[];
  /** The scopes that a key needs for it. */
  scopes(): ReadonlySet<string>;
  /** Executes with compiled code if available. Errors are already masked. */
  execute(context: Context): MaybePromise<PublicResult>;
  /**
   * Runs a subscription. Yields one result per event until the events end.
   *
   * @param context for opening the event stream
   * @param contextOfEvent creates the context for resolving one event
   * @throws AppError if it cannot start, and whatever error ends the events
   */
  subscribe(context: Context, contextOfEvent: () => Context): Promise<AsyncGenerator<PublicResult>>;
  /** Serialises a result, with generated code if available. */
  stringify(result: PublicResult): string;
}

/** An operation from our own code. Its variables are valid and coerced, and it costs one unit. */
export interface InternalOperation {
  (variables: Record<string, unknown>, context: Context): MaybePromise<PublicResult>;
  /** The root field that it runs. */
  readonly field: GraphQLField<unknown, unknown>;
}

/** By text. */
const internalCode = memoized((_: GraphQLSchema) => new Map<string, { plan: Plan; code: CompiledQuery }>());
const pricesOf = memoized((schema: GraphQLSchema) => new Prices(schema));

/** @throws BAD_REQUEST if a mutation has more than one field, one of which does what cannot be undone */
function requireAlone(selection: Selection): void {
  const field = selection.find(({ definition }) => definition.extensions.alone);
  if (!field) return;
  const message = `${field.definition.name} must be the only field of its operation: it cannot be undone if another one fails.`;
  throw new AppError('BAD_REQUEST', message);
}

/**
 * Turns the text of an operation into something executable: parsed, validated, priced and compiled at most
 * once. REST, GraphQL and Yoga all execute through it.
 */
export class Operations {
  readonly #schema: GraphQLSchema;
  readonly #schemas: ExecutionSchemas;
  readonly #report: ErrorReporter;
  readonly #suggest: boolean;
  readonly #documents: Documents;
  readonly #prices: Prices;
  readonly #plans: Plans;
  readonly #receivers: Receivers | undefined;
  readonly #scopesOf = memoized((operation: Operation) => scopesOf(this.#schema, operation));

  /**
   * @param options `introspection: false` hides the schema: no introspection, no "Did you mean"; `receivers`:
   * those of webhooks
   */
  constructor(
    schema: GraphQLSchema,
    report: ErrorReporter,
    { introspection = true, receivers }: { introspection?: boolean; receivers?: Receivers } = {},
  ) {
    this.#receivers = receivers;
    this.#schema = schema;
    this.#schemas = executionSchemas(schema);
    this.#report = report;
    this.#suggest = introspection;
    this.#documents = new Documents(schema, { introspection });
    this.#prices = pricesOf(schema);
    this.#plans = new Plans(schema, report);
  }

  /** @throws OperationRefused if it cannot be executed */
  prepare(request: OperationRequest): PreparedOperation {
    const operation = this.#operation(request);
    const { document, node } = operation;
    try {
      const suggest = this.#suggest;
      const variables = coerceVariables(this.#schema, node, request.variables ?? {}, { suggest });
      const plan = this.#plans.planOf(operation, variables);
      if (plan.parts.length > 1) requireAlone(plan.selected.selection);
      const price = this.#priceOf(plan, variables);
      const { selection } = plan.selected;
      // Most operations have no field that is answered without records.
      const schemaData =
        plan.rootFields.length < selection.length || selection.length === 0
          ? introspect(this.#schema, selection, variables)
          : undefined;
      return this.#prepared(document.text, plan, variables, price, schemaData);
    } catch (error) {
      if (error instanceof AppError) throw new OperationRefused([publicError(error)]);
      throw error;
    }
  }

  #prepared(
    text: string,
    plan: Plan,
    variables: Variables,
    price: Price,
    schemaData: Record<string, unknown> | undefined,
  ): PreparedOperation {
    const { operation, selected, documents } = plan;
    const { node } = operation;
    const interpret = (part: number): Executor => {
      const args = {
        schema: this.#schemas[node.operation],
        document: documents[part]!,
        variableValues: variables,
      };
      return (rootValue, contextValue) => execute({ ...args, rootValue, contextValue });
    };
    return {
      document: operation.document.ast,
      text,
      operation: node,
      cost: price.units,
      charges: price.fields,
      mutations: node.operation === 'mutation' ? countWrites(selected.selection) : 0,
      rootFields: plan.rootFields,
      scopes: () => this.#scopesOf(operation),
      execute: (context) => {
        if (schemaData) return { data: schemaData };
        const code = this.#plans.codeFor(plan, variables);
        plan.isCompiled = code !== null;
        return this.#run(plan, variables, context, code ? executorOf(code, variables) : interpret);
      },
      subscribe: async (context, contextOfEvent) => {
        const args = { schema: this.#schema, document: documents[0]!, variableValues: variables };
        const source = await createSourceEventStream({ ...args, contextValue: context });
        if (!(Symbol.asyncIterator in source)) {
          const error = source.errors![0]!;
          throw error.originalError ?? error;
        }
        const report = this.#report;
        return (async function* () {
          for await (const rootValue of source) {
            const result = await execute({ ...args, contextValue: contextOfEvent(), rootValue });
            yield publicResult(result, report, context.requestId);
          }
        })();
      },
      stringify: (result) => {
        if (!plan.isCompiled || result.errors || result.extensions) return toJson(result);
        plan.write ??= resultWriter(selected.selection);
        return jsonOf(plan.write, result);
      },
    };
  }

  /** An operation from our own code, read and compiled once per process. @throws Error if it is invalid */
  prepareInternal(query: string): InternalOperation {
    const known = internalCode(this.#schema);
    const plan = known.get(query)?.plan ?? this.#plans.planOf(this.#operation({ query }), {});
    const { operation } = plan.operation.node;
    const code = known.get(query)?.code ?? this.#plans.compile(operation, plan.documents[0]!);
    if (!code) throw new Error(`Cannot compile ${query}`);
    known.set(query, { plan, code });
    return Object.assign(
      (variables: Record<string, unknown>, context: Context) =>
        this.#run(plan, variables, context, executorOf([code], variables)),
      { field: plan.selected.selection[0]!.definition },
    );
  }

  #operation({ query, operationName }: OperationRequest): Operation {
    const { operations } = this.#documents.get(query);
    const [only, another] = operations.values();
    if (operationName != null) {
      const named = operations.get(operationName);
      if (named) return named;
    } else if (only && !another) return only;
    const message =
      operationName == null
        ? 'Must provide operation name if query contains multiple operations.'
        : `Unknown operation named "${operationName}".`;
    throw new OperationRefused([publicError(new AppError('GRAPHQL_VALIDATION_FAILED', message))]);
  }

  #priceOf(plan: Plan, variables: Variables): Price {
    if (plan.price) return plan.price;
    const { operation, selected } = plan;
    const price = this.#prices.priceOf(selected.selection, operation.node.operation, variables);
    if (!price.dependsOnTime && operation.node.variableDefinitions!.length === 0) plan.price = price;
    return price;
  }

  /** @param executorOf returns what executes the nth part */
  #run(
    { operation: { node }, parts }: Plan,
    variables: Variables,
    context: Context,
    executorOf: (part: number) => Executor,
  ): MaybePromise<PublicResult> {
    context.webhooks = this.#receivers;
    const publish = (settled: MutationResult): PublicResult =>
      settled.errors
        ? publicResult(settled, this.#report, context.requestId)
        : (settled as Omit<ExecutionResult, 'errors'>);
    const result =
      node.operation === 'mutation'
        ? mutate(
            context,
            parts.map((part, n) => ({
              field: writingField(part),
              execute: (root, own) => executorOf(n)(root, own),
            })),
            variables,
          )
        : executorOf(0)(ROOT, context);
    return result instanceof Promise ? result.then(publish) : publish(result);
  }
}

/** Executes a part of an operation. */
type Executor = (root: object, context: Context) => MaybePromise<ExecutionResult>;

const executorOf =
  (code: readonly CompiledQuery[], variables: Variables) =>
  (part: number): Executor =>
  (root, context) =>
    code[part]!.query(root, context, variables);

const ROOT = Object.freeze({});
