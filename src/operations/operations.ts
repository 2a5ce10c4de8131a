import {
  createSourceEventStream,
  type DocumentNode,
  type ExecutionResult,
  execute,
  type GraphQLField,
  type GraphQLSchema,
  type OperationDefinitionNode,
  TypeNameMetaFieldDef,
} from 'graphql';
import type { CompiledQuery } from 'graphql-jit';
import { AppError } from '../foundation/errors.ts';
import type { MaybePromise } from '../foundation/maybe-promise.ts';
import { memoized } from '../foundation/memoized.ts';
import { AllowanceExhausted, Meter } from '../foundation/meter.ts';
import type { Context, Receivers } from '../kit/context.ts';
import { toJson } from '../kit/json.ts';
import { jsonOf } from '../kit/json-writer.ts';
import type { Route } from '../rows/route.ts';
import { Compiler, flatDocument } from './compile.ts';
import { type Cost, CostModel } from './cost.ts';
import { Documents, type Operation } from './documents.ts';
import { type ErrorReporter, type PublicResult, publicResult } from './execute.ts';
import { type ExecutionPlan, ExecutionPlans } from './execution-plan.ts';
import { Introspection, isSchemaField } from './introspection.ts';
import { withCoercedVariables } from './literals.ts';
import {
  countWrites,
  type ExecutionSchemas,
  executionSchemas,
  type MutationResult,
  mutate,
  writingField,
} from './mutation.ts';
import { OperationRefused, publicError, refused } from './refusal.ts';
import { resultWriter } from './result-writer.ts';
import { requiredScopes, scopeOfRow } from './scopes.ts';
import { type Selection, select } from './selection.ts';
import type { Variables } from './variables.ts';

/** GraphQL-over-HTTP parameters of one operation. */
export interface OperationRequest {
  query: string;
  operationName?: string | null | undefined;
  variables?: Readonly<Record<string, unknown>> | null | undefined;
}

/** An operation ready to be executed once it is paid for. */
export interface PreparedOperation {
  document: DocumentNode;
  /** The text of the document. */
  text: string;
  operation: OperationDefinitionNode;
  /** In units. */
  cost: number;
  /** The root fields with the units of each. */
  charges: Cost['fields'];
  /** Number of writing fields. */
  mutations: number;
  /** The names of its root fields, without meta fields. */
  rootFields: readonly string[];
  /** The scopes that a key needs for it. */
  scopes(): readonly string[];
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

interface InternalCode {
  operation: Operation;
  selection: Selection;
  code: CompiledQuery;
}

/** By text. */
const internalCode = memoized((_: GraphQLSchema) => new Map<string, InternalCode>());
const costModel = memoized((schema: GraphQLSchema) => new CostModel(schema));

/** @throws BAD_REQUEST if a mutation has more than one field, one of which does what cannot be undone */
function requireAlone(selection: Selection): void {
  const field = selection.find(({ definition }) => definition.extensions.alone);
  if (!field) return;
  const message = `${field.definition.name} must be the only field of its operation: it cannot be undone if another one fails.`;
  throw new AppError('BAD_REQUEST', message);
}

/** Heap bytes of the largest schema result, most of whose objects are shared. */
const SCHEMA_DATA_BYTES = 400_000;

/**
 * Turns the text of an operation into something executable: parsed, validated, priced and compiled at most
 * once. REST, GraphQL and Yoga all execute through it.
 */
export class Operations {
  readonly #schema: GraphQLSchema;
  readonly #schemas: ExecutionSchemas;
  readonly #report: ErrorReporter;
  readonly #documents: Documents;
  readonly #plans: ExecutionPlans;
  readonly #costModel: CostModel;
  readonly #introspection: Introspection;
  readonly #compiler: Compiler;
  readonly #scopes = new WeakMap<Operation, readonly string[]>();
  readonly #receivers: Receivers | undefined;

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
    this.#documents = new Documents(schema, { introspection });
    this.#plans = new ExecutionPlans(schema, this.#documents, { suggest: introspection });
    this.#costModel = costModel(schema);
    this.#introspection = new Introspection(schema);
    this.#compiler = new Compiler(this.#schemas, this.#documents, report);
  }

  /**
   * @param meter bounds the text that is read
   * @throws OperationRefused if it cannot be executed, AllowanceExhausted if there is more text
   */
  prepare(request: OperationRequest, meter = new Meter(1)): PreparedOperation {
    const operation = this.#operation(request, meter);
    const { document, node } = operation;
    let variables: Variables;
    let plan: ExecutionPlan;
    let cost: Cost;
    let schemaData: Record<string, unknown> | null;
    try {
      if (request.variables) meter.draw('literals', countValues(request.variables));
      variables = this.#plans.coerce(operation, request.variables ?? {});
      plan = this.#plans.planOf(operation, variables);
      if (plan.parts.length > 1) requireAlone(plan.selected.selection);
      plan.arguments.check(variables);
      cost = this.#cost(plan, variables);
      schemaData = this.#schemaData(plan, variables);
    } catch (error) {
      if (error instanceof AppError && !(error instanceof AllowanceExhausted))
        throw new OperationRefused([publicError(error)]);
      throw error;
    }
    const { parts } = plan;
    const isMutation = node.operation === 'mutation';
    const interpret = (context: Context) =>
      this.#run(operation, parts, variables, context, (part) => {
        const args = {
          schema: this.#schemas[node.operation],
          document: isMutation ? flatDocument(node, parts[part]!) : document.ast,
          operationName: node.name?.value ?? null,
          variableValues: variables,
        };
        return (rootValue, contextValue) => execute({ ...args, rootValue, contextValue });
      });
    return {
      document: document.ast,
      text: request.query,
      operation: node,
      cost: cost.units,
      charges: cost.fields,
      mutations: isMutation ? countWrites(plan.selected.selection) : 0,
      rootFields: plan.rootFields,
      scopes: () => this.#scopesOf(operation),
      execute: (context) => {
        if (schemaData) return { data: schemaData };
        // What is free is not compiled, so that it costs no more than it does at first.
        const code = cost.units === 0 ? null : this.#compiler.codeFor(plan, cost.units);
        return code
          ? this.#run(operation, parts, variables, context, executorOf(code, variables))
          : interpret(context);
      },
      subscribe: async (context, contextOfEvent) => {
        const args = {
          schema: this.#schema,
          document: document.ast,
          operationName: node.name?.value ?? null,
          variableValues: variables,
        };
        const source = await createSourceEventStream({ ...args, contextValue: context });
        if (!(Symbol.asyncIterator in source)) {
          const error = source.errors![0]!;
          throw error.originalError ?? error;
        }
        const resolve = async (event: unknown) =>
          publicResult(
            await execute({ ...args, contextValue: contextOfEvent(), rootValue: event }),
            this.#report,
            context.requestId,
          );
        return resultsOf(source, resolve);
      },
      stringify: (result) => {
        if (!plan.code || result.errors || result.extensions) return toJson(result);
        plan.write ??= resultWriter(plan.selected.selection);
        return jsonOf(plan.write, result);
      },
    };
  }

  /** An operation from our own code, read and compiled once per process. @throws Error if it is invalid */
  prepareInternal(query: string): InternalOperation {
    const known = internalCode(this.#schema);
    const { operation, selection, code } = known.get(query) ?? this.#readInternal(query);
    known.set(query, { operation, selection, code });
    return Object.assign(
      (variables: Record<string, unknown>, context: Context) =>
        this.#run(operation, [selection], variables, context, executorOf([code], variables)),
      { field: selection[0]!.definition },
    );
  }

  #readInternal(query: string): InternalCode {
    const document = this.#documents.read(query);
    if (document.refusal) throw document.refusal;
    const operation = document.only!;
    const { selection } = select(this.#schema, document.source, operation.source, {});
    const code = this.#compiler.compile(withCoercedVariables(operation.source), selection);
    if (!code) throw new Error(`Cannot compile ${query}`);
    return { operation, selection, code };
  }

  /** The scopes that a key needs for a REST operation. @param run its prepared document, if it has one */
  scopesOfRow(row: Pick<Route, 'method' | 'shape'>, run?: InternalOperation): readonly string[] {
    const scope = scopeOfRow(this.#schema, row, run?.field);
    return scope === undefined ? [] : [scope];
  }

  #operation({ query, operationName }: OperationRequest, meter: Meter): Operation {
    const document = this.#documents.get(query, meter);
    if (document.refusal) throw document.refusal;
    const operation = operationName == null ? document.only : document.operations.get(operationName);
    if (!operation) {
      throw refused(
        'GRAPHQL_VALIDATION_FAILED',
        operationName == null
          ? 'Must provide operation name if query contains multiple operations.'
          : `Unknown operation named "${operationName}".`,
      );
    }
    return operation;
  }

  /** Only keys with scopes ask. */
  #scopesOf(operation: Operation): readonly string[] {
    let scopes = this.#scopes.get(operation);
    if (!scopes) {
      scopes = requiredScopes(this.#schema, operation.document.source, operation.source);
      this.#scopes.set(operation, scopes);
    }
    return scopes;
  }

  #cost(plan: ExecutionPlan, variables: Variables): Cost {
    if (plan.cost) return plan.cost;
    const cost = this.#costModel.costOf(plan.selected, plan.operation.node.operation, variables);
    if (!cost.dependsOnVariables) plan.cost = cost;
    return cost;
  }

  /** @param executorOf returns what executes the nth part */
  #run(
    { node }: Operation,
    parts: readonly Selection[],
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

  /** @throws QUERY_TOO_COMPLEX */
  #schemaData(plan: ExecutionPlan, variables: Variables): Record<string, unknown> | null {
    if (plan.schemaData !== undefined) return plan.schemaData;
    const { operation, selected } = plan;
    const isConstant = selected.selection.every(({ definition }) => definition === TypeNameMetaFieldDef);
    if (!isConstant && !selected.selection.some(isSchemaField)) {
      plan.schemaData = null;
      return null;
    }
    const data = this.#introspection.resolve(selected.selection, variables) ?? null;
    const bytes = isConstant ? 0 : SCHEMA_DATA_BYTES;
    const hasVariables = operation.node.variableDefinitions!.length > 0;
    if (!hasVariables && (data === null || this.#documents.reserve(operation.document, bytes)))
      plan.schemaData = data;
    return data;
  }
}

/** The values in variables, at all depths. */
function countValues(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  let count = 0;
  for (const part of Object.values(value)) count += countValues(part);
  return count;
}

async function* resultsOf<T>(
  events: AsyncIterable<T>,
  resolve: (event: T) => MaybePromise<PublicResult>,
): AsyncGenerator<PublicResult> {
  for await (const event of events) yield await resolve(event);
}

/** Executes a part of an operation. */
type Executor = (root: object, context: Context) => MaybePromise<ExecutionResult>;

const executorOf =
  (code: readonly CompiledQuery[], variables: Variables) =>
  (part: number): Executor =>
  (root, context) =>
    code[part]!.query(root, context, variables);

const ROOT = Object.freeze({});
