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
import { andThen, type MaybePromise, ownTurn } from '../foundation/turns.ts';
import type { Context } from '../schema/context.ts';
import { toJson } from '../schema/json-text.ts';
import { jsonOf } from '../schema/json-writer.ts';
import { scopesOf } from '../schema/required-scopes.ts';
import { Documents, type Operation } from './documents.ts';
import { introspect } from './introspection.ts';
import { type ExecutePart, mutate } from './mutation.ts';
import { type ExecutionPlan, ExecutionPlans, resultWriter } from './execution-plan.ts';
import { type Measures, measuresOf, type Price, priceOf } from './price.ts';
import {
  type ErrorReporter,
  OperationRefused,
  type PublicResult,
  publicError,
  publicResult,
} from './result.ts';
import type { Selection } from './selection.ts';
import { coerceVariables, type Variables } from './variables.ts';

/** The GraphQL-over-HTTP parameters of one operation. */
export interface OperationRequest {
  query: string;
  operationName?: string | null | undefined;
  variables?: Readonly<Record<string, unknown>> | null | undefined;
}

/** From this price on, operations begin in a turn of their own, so that cheaper ones need not wait for several of them. */
const OWN_TURN_PRICE = 2;

/** An operation that is ready to be executed once it is paid for. */
export interface PreparedOperation {
  /** The document as sent. */
  document: DocumentNode;
  /** The text of the document. */
  text: string;
  operation: OperationDefinitionNode;
  /** The price in units. */
  price: number;
  /** The root fields with the units of each. */
  rootFieldPrices: Price['fields'];
  /** The number of root fields that write. */
  mutations: number;
  /** The names of the root fields, without meta fields. */
  rootFields: readonly string[];
  /** The scopes that a key needs for the operation. */
  scopes(): ReadonlySet<string>;
  /** Executes the operation, with compiled code if available. Errors are masked. */
  execute(context: Context): MaybePromise<PublicResult>;
  /**
   * Runs a subscription. Yields one result per event until the events end.
   *
   * @param context the context for opening the event stream
   * @param contextOfEvent creates the context for resolving one event
   * @throws AppError if it cannot start, and whatever ends the events
   */
  subscribe(context: Context, contextOfEvent: () => Context): Promise<AsyncGenerator<PublicResult>>;
  /** Serialises a result, with generated code if available. */
  stringify(result: PublicResult): string;
}

/** An operation from our own code. Its variables must be valid and coerced. */
export interface InternalOperation {
  (variables: Record<string, unknown>, context: Context): MaybePromise<PublicResult>;
  /** The root field that it runs. */
  readonly field: GraphQLField<unknown, unknown>;
}

/** Plans of internal operations, by text. */
const internalPlans = memoized((_: GraphQLSchema) => new Map<string, ExecutionPlan>());

/** Refuses a mutation of several fields if one cannot be rolled back. @throws BAD_REQUEST */
function requireAlone(selection: Selection): void {
  const field = selection.find(({ definition }) => definition.extensions.alone);
  if (!field) return;
  const message = `${field.definition.name} must be the only field of its operation: it cannot be undone if another one fails.`;
  throw new AppError('BAD_REQUEST', message);
}

/**
 * Prepares operations for execution: parses, validates, prices and compiles each at most once. All transports execute
 * through it.
 */
export class Operations {
  readonly #schema: GraphQLSchema;
  readonly #report: ErrorReporter;
  readonly #suggest: boolean;
  readonly #documents: Documents;
  readonly #measures: Measures;
  readonly #plans: ExecutionPlans;
  readonly #context: Partial<Context>;
  readonly #scopesOf = memoized(({ document, node }: Operation) =>
    scopesOf(this.#schema, document.ast, node.name?.value ?? ''),
  );

  /**
   * @param options `introspection: false` hides the schema: no introspection, no "Did you mean"; `context`: additions
   * to the context of resolvers
   */
  constructor(
    schema: GraphQLSchema,
    report: ErrorReporter,
    { introspection = true, context = {} }: { introspection?: boolean; context?: Partial<Context> } = {},
  ) {
    this.#context = context;
    this.#schema = schema;
    this.#report = report;
    this.#suggest = introspection;
    this.#documents = new Documents(schema, { introspection });
    this.#measures = measuresOf(schema);
    this.#plans = new ExecutionPlans(schema, report);
  }

  /** @throws OperationRefused if it cannot be executed */
  prepare(request: OperationRequest): PreparedOperation {
    const operation = this.#operation(request);
    try {
      return this.#prepared(operation, request.variables ?? {});
    } catch (error) {
      if (error instanceof AppError) throw new OperationRefused([publicError(error)]);
      throw error;
    }
  }

  #prepared(operation: Operation, inputs: Variables): PreparedOperation {
    const { document, node } = operation;
    const schema = this.#schema;
    const variables = coerceVariables(schema, node, inputs, { suggest: this.#suggest });
    const plan = this.#plans.planOf(operation, variables);
    const { selection, rootFields } = plan;
    if (plan.documents.length > 1) requireAlone(selection);
    const price = this.#priceOf(plan, variables);
    // Most operations have no meta fields.
    const schemaData =
      rootFields.length < selection.length || selection.length === 0
        ? introspect(schema, selection, variables)
        : undefined;
    return {
      document: document.ast,
      text: document.text,
      operation: node,
      price: price.units,
      rootFieldPrices: price.fields,
      mutations: plan.writes.length,
      rootFields,
      scopes: () => this.#scopesOf(operation),
      execute: (context) =>
        schemaData
          ? { data: schemaData }
          : andThen(price.units < OWN_TURN_PRICE ? undefined : ownTurn(), () =>
              this.#run(plan, variables, context, this.#plans.compiledFor(plan, variables)),
            ),
      subscribe: async (context, contextOfEvent) => {
        const args = { schema, document: plan.documents[0]!, variableValues: variables };
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
        if (!plan.compiled?.parts || result.errors || result.extensions) return toJson(result);
        plan.write ??= resultWriter(selection);
        return jsonOf(plan.write, result);
      },
    };
  }

  /** Prepares an operation from our own code, compiled once per schema. @throws Error if it is invalid */
  prepareInternal(query: string): InternalOperation {
    const plans = internalPlans(this.#schema);
    const plan = plans.get(query) ?? this.#plans.planOf(this.#operation({ query }), {});
    plans.set(query, plan);
    const code = this.#plans.compiledOf(plan).parts;
    if (!code) throw new Error(`Cannot compile ${query}`);
    return Object.assign(
      (variables: Record<string, unknown>, context: Context) => this.#run(plan, variables, context, code),
      { field: plan.selection[0]!.definition },
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

  #priceOf(plan: ExecutionPlan, variables: Variables): Price {
    if (plan.price) return plan.price;
    const { operation, variableDefinitions } = plan.operation.node;
    const price = priceOf(this.#measures, plan.selection, operation, variables);
    if (!price.dependsOnTime && variableDefinitions!.length === 0) plan.price = price;
    return price;
  }

  /** @param code the code of each part; null to interpret */
  #run(
    plan: ExecutionPlan,
    variables: Variables,
    context: Context,
    code: readonly CompiledQuery[] | null,
  ): MaybePromise<PublicResult> {
    Object.assign(context, this.#context);
    const run: ExecutePart = (part, rootValue, contextValue) =>
      code
        ? code[part]!.query(rootValue, contextValue, variables)
        : execute({
            schema: plan.schema,
            document: plan.documents[part]!,
            variableValues: variables,
            rootValue,
            contextValue,
          });
    const result =
      plan.writes.length > 0 ? mutate(context, plan.writes, variables, run) : run(0, ROOT, context);
    return andThen(result, (settled) =>
      settled.errors
        ? publicResult(settled, this.#report, context.requestId)
        : (settled as Omit<ExecutionResult, 'errors'>),
    );
  }
}

const ROOT = Object.freeze({});
