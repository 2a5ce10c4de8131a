import { type ExecutionResult, execute, type GraphQLSchema, type OperationDefinitionNode } from 'graphql';
import { AppError } from '../errors.ts';
import type { MaybePromise } from '../store/store.ts';
import { Compiler } from './compile.ts';
import type { Context } from './context.ts';
import { Documents, type Operation } from './documents.ts';
import { type FaultReporter, type PublicResult, publicResult } from './execute.ts';
import { toJson } from './json.ts';
import { mutate } from './mutation.ts';
import { type Price, priceOf } from './price.ts';
import { OperationRefused, publicError, refused } from './refusal.ts';
import { coerceVariables, type Variables } from './variables.ts';

/** GraphQL-over-HTTP parameters of one operation. */
export interface OperationRequest {
  query: string;
  operationName?: string | null | undefined;
  variables?: Readonly<Record<string, unknown>> | null | undefined;
}

/** An operation that may be executed once its price is paid. */
export interface PreparedOperation {
  operation: OperationDefinitionNode;
  /** Units of the caller's budget. */
  price: number;
  /** How many of its fields write. */
  mutations: number;
  /** Runs with compiled code where there is some; errors are public already. */
  execute(context: Context): MaybePromise<PublicResult>;
  /** Runs with the graphql-js interpreter, the reference that the compiled code is tested against. */
  interpret(context: Context): MaybePromise<PublicResult>;
  /** Writes a result as JSON, with code made for this operation where there is some. */
  stringify(result: PublicResult): string;
}

/** A document of ours: run with variables that are known to be right, at the price of one unit. */
export type OwnOperation = (
  variables: Record<string, unknown>,
  context: Context,
) => MaybePromise<PublicResult>;

/**
 * From the text of an operation to something that can be executed: parsed, validated, priced and compiled once. Both doors
 * and Yoga execute through it.
 */
export class Operations {
  readonly #schema: GraphQLSchema;
  readonly #report: FaultReporter;
  readonly #suggest: boolean;
  readonly #documents: Documents;
  readonly #compiler: Compiler;

  /** @param options `introspection: false` tells clients nothing of the schema: no introspection, no "Did you mean" */
  constructor(schema: GraphQLSchema, report: FaultReporter, { introspection = true } = {}) {
    this.#schema = schema;
    this.#report = report;
    this.#suggest = introspection;
    this.#documents = new Documents(schema, { introspection });
    this.#compiler = new Compiler(report);
  }

  /** @throws OperationRefused if it can't be executed */
  prepare(request: OperationRequest): PreparedOperation {
    const operation = this.#operation(request);
    let variables: Variables;
    let price: Price;
    try {
      variables = this.#coerce(operation, request.variables ?? {});
      price = this.#price(operation, variables);
    } catch (error) {
      if (error instanceof AppError) throw new OperationRefused([publicError(error)]);
      throw error;
    }
    operation.compilation.uses++;
    const interpret = (context: Context) =>
      this.#run(operation, price.mutations, context, (rootValue) =>
        execute({
          schema: operation.schema,
          document: operation.document,
          operationName: operation.node.name?.value ?? null,
          rootValue,
          contextValue: context,
          variableValues: variables,
        }),
      );
    return {
      operation: operation.node,
      price: price.units,
      mutations: price.mutations,
      interpret,
      execute: (context) => {
        const code = this.#compiler.codeFor(operation, variables);
        return code
          ? this.#run(operation, price.mutations, context, (root) => code.query(root, context, variables))
          : interpret(context);
      },
      stringify: (result) => {
        const { code } = operation.compilation;
        return code && !result.errors && !result.extensions ? code.stringify(result) : toJson(result);
      },
    };
  }

  /** Compiles the one operation of a document of ours at start, and refuses to start with one that is wrong. */
  prepareOwn(query: string): OwnOperation {
    const { refusal, only } = this.#documents.read(query);
    if (refusal) throw refusal;
    const code = only && this.#compiler.compile(only, { stringify: false });
    if (!code) throw new Error(`Cannot compile ${query}`);
    return (variables, context) =>
      this.#run(only, 1, context, (root) => code.query(root, context, variables));
  }

  #operation({ query, operationName }: OperationRequest): Operation {
    const { refusal, operations, only } = this.#documents.get(query);
    if (refusal) throw refusal;
    const operation = operationName == null ? only : operations.get(operationName);
    if (!operation) {
      throw refused(
        'GRAPHQL_VALIDATION_FAILED',
        operationName == null
          ? 'Must provide operation name if query contains multiple operations.'
          : `Unknown operation named "${operationName}".`,
      );
    }
    const { operation: kind } = operation.node;
    if (!this.#schema.getRootType(kind)) {
      throw refused('GRAPHQL_VALIDATION_FAILED', `The schema has no ${kind}s.`);
    }
    return operation;
  }

  #coerce(operation: Operation, inputs: Variables): Variables {
    return coerceVariables(operation, inputs, { suggest: this.#suggest });
  }

  #price(operation: Operation, variables: Variables): Price {
    if (operation.price) return operation.price;
    const price = priceOf(this.#schema, operation.document, operation.node, variables);
    if (!price.dependsOnVariables) operation.price = price;
    return price;
  }

  #run(
    { node }: Operation,
    mutations: number,
    context: Context,
    execute: (root: object) => MaybePromise<ExecutionResult>,
  ): MaybePromise<PublicResult> {
    return this.#finish(node.operation === 'mutation' ? mutate(context, mutations, execute) : execute(ROOT));
  }

  #finish(result: MaybePromise<ExecutionResult>): MaybePromise<PublicResult> {
    return result instanceof Promise
      ? result.then((settled) => publicResult(settled, this.#report))
      : publicResult(result, this.#report);
  }
}

const ROOT = Object.freeze({});
