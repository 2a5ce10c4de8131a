import {
  type DocumentNode,
  type ExecutionResult,
  type FieldNode,
  type GraphQLError,
  type GraphQLFieldResolver,
  type GraphQLResolveInfo,
  GraphQLSchema,
  Kind,
  locatedError,
  type OperationDefinitionNode,
  OperationTypeNode,
} from 'graphql';
import { AppError } from '../foundation/errors.ts';
import type { MaybePromise } from '../foundation/maybe-promise.ts';
import type { Context } from '../schema/context.ts';
import type { PetstoreWrites, StoredError } from '../store/store.ts';
import { runOnce } from './idempotency.ts';
import { OperationRefused, refused } from './refusal.ts';

/** Maximum JSON length of the outcomes of several fields that are stored for retries. */
const MAX_OUTCOME_LENGTH = 16_000;

/** What one root field will write, once its arguments have been validated. */
interface PlannedWrite {
  /** Distinguishes the write from others under the same Idempotency-Key. */
  input: object;
  work: (writes: PetstoreWrites) => MaybePromise<unknown>;
}

/** A promise that is settled from outside. Rejections that nobody awaits are ignored. */
class Deferred<T> {
  resolve!: (value: T) => void;
  reject!: (error: unknown) => void;
  readonly promise = new Promise<T>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });

  constructor() {
    this.promise.catch(() => {});
  }
}

/** One root field of a mutation. Its resolver plans a write and awaits the outcome. */
export class RootField {
  readonly name: string;
  readonly #nodes: readonly FieldNode[];
  readonly plan = new Deferred<PlannedWrite>();
  readonly outcome = new Deferred<unknown>();

  constructor({ fieldName, fieldNodes }: GraphQLResolveInfo) {
    this.name = fieldName;
    this.#nodes = fieldNodes;
  }

  /** Adds a write to the operation. @returns its outcome, once all writes are committed */
  write<T>(input: object, work: (writes: PetstoreWrites) => MaybePromise<T>): Promise<T> {
    this.plan.resolve({ input, work });
    return this.outcome.promise as Promise<T>;
  }

  /** Attaches this field's location and path to an error. */
  located(error: unknown): GraphQLError {
    const { alias, name } = this.#nodes[0]!;
    return locatedError(error, this.#nodes, [(alias ?? name).value]);
  }
}

/**
 * The refusal of one of several fields, with its index, which is stored so that a replay reports the same
 * field.
 */
class FieldRefusal extends AppError {
  readonly at: number;

  constructor(refusal: Pick<AppError, 'code' | 'message' | 'retryAfter'>, at: number) {
    const { code, message, retryAfter } = refusal;
    super(code, message, retryAfter === undefined ? {} : { retryAfter });
    this.at = at;
  }

  override toPublic(): StoredError {
    return { ...super.toPublic(), at: this.at };
  }
}

/**
 * A mutation in progress, the root value of its execution. All its root fields are written in order and
 * atomically before anything below them is read.
 */
export class Mutation {
  readonly #fields: RootField[] = [];

  begin(info: GraphQLResolveInfo): RootField {
    const field = new RootField(info);
    this.#fields.push(field);
    return field;
  }

  /**
   * Performs the planned writes and lets the fields continue.
   *
   * @param count number of root fields
   * @returns the result of the whole operation if it failed
   * @throws OperationRefused if the store cannot do it
   */
  async commit(context: Context, count: number): Promise<ExecutionResult | undefined> {
    const fields = this.#fields;
    if (fields.length < count) {
      // Execution refused a field before calling its resolver, and its result has the error.
      for (const each of fields) each.outcome.reject(new Error('Another field of the operation failed.'));
      return undefined;
    }
    if (count === 0) return undefined;
    // The field that the error is reported for.
    let field = fields.length === 1 ? fields[0] : undefined;
    try {
      const plans: PlannedWrite[] = [];
      for (const each of fields) {
        plans.push(
          await each.plan.promise.catch((error: unknown) => {
            field = each;
            throw error;
          }),
        );
      }
      const outcomes =
        plans.length === 1
          ? [await this.#writeOne(context, plans[0]!)]
          : await this.#writeAll(context, plans);
      for (const [index, outcome] of outcomes.entries()) fields[index]!.outcome.resolve(outcome);
      return undefined;
    } catch (error) {
      for (const each of fields) each.outcome.reject(error);
      if (error instanceof OperationRefused) throw error;
      if (error instanceof FieldRefusal) field = fields[error.at];
      const told = field?.located(error) ?? locatedError(error, undefined);
      return { data: null, errors: [told] };
    }
  }

  #writeOne(context: Context, { input, work }: PlannedWrite): MaybePromise<unknown> {
    if (!context.idempotency) return work(context.store);
    return runOnce(context, this.#fields[0]!.name, input, work);
  }

  async #writeAll(context: Context, plans: readonly PlannedWrite[]): Promise<unknown[]> {
    const { store, idempotency } = context;
    if (!(await store.hasTransactions())) {
      throw refused(
        'BAD_REQUEST',
        'This server uses a standalone MongoDB, which has no transactions and cannot write several fields atomically. Send one field per operation.',
      );
    }
    if (!idempotency) return store.transaction((writes) => runInOrder(plans, writes));
    const inputs = plans.map(({ input }, index) => [this.#fields[index]!.name, input]);
    try {
      return await runOnce(context, 'mutation', inputs, (writes) =>
        withinSizeLimit(runInOrder(plans, writes)),
      );
    } catch (error) {
      const at = (error as AppError & { cause?: StoredError }).cause?.at;
      throw error instanceof AppError && at !== undefined ? new FieldRefusal(error, at) : error;
    }
  }
}

/** Performs the writes in order, without creating a promise if the store is synchronous. */
function runInOrder(plans: readonly PlannedWrite[], writes: PetstoreWrites): MaybePromise<unknown[]> {
  const outcomes: unknown[] = [];
  const from = (index: number): MaybePromise<unknown[]> => {
    for (let at = index; at < plans.length; at++) {
      const refuse = (error: unknown): never => {
        throw error instanceof AppError && error.status < 500 ? new FieldRefusal(error, at) : error;
      };
      try {
        const outcome = plans[at]!.work(writes);
        if (outcome instanceof Promise) {
          return outcome.then((settled) => {
            outcomes.push(settled);
            return from(at + 1);
          }, refuse);
        }
        outcomes.push(outcome);
      } catch (error) {
        refuse(error);
      }
    }
    return outcomes;
  };
  return from(0);
}

/** @throws PAYLOAD_TOO_LARGE if the outcomes are too large to store */
function withinSizeLimit(outcomes: MaybePromise<unknown[]>): MaybePromise<unknown[]> {
  if (outcomes instanceof Promise) return outcomes.then(withinSizeLimit);
  if (JSON.stringify(outcomes).length <= MAX_OUTCOME_LENGTH) return outcomes;
  throw new AppError(
    'PAYLOAD_TOO_LARGE',
    `With an Idempotency-Key, the outcome of an operation is limited to ${MAX_OUTCOME_LENGTH} characters. Send fewer fields per operation.`,
  );
}

/** Wraps the resolver of a root field so that it takes part in the operation. */
export function rootField(
  resolve: GraphQLFieldResolver<unknown, Context>,
): GraphQLFieldResolver<Mutation, Context> {
  return (mutation, args, context, info) => {
    const field = mutation.begin(info);
    try {
      const result: unknown = resolve(field, args, context, info);
      if (result instanceof Promise) result.catch(field.plan.reject);
      return result;
    } catch (error) {
      field.plan.reject(error);
      throw error;
    }
  };
}

/**
 * Mutation root fields execute serially, each with everything below it, so the first would be written before
 * the last is checked. Here all fields have to be checked before the first write. So mutations execute as
 * queries against a schema whose query type is Mutation: all root fields start together, and `Mutation` keeps
 * the order of their writes.
 */
export const executionSchemas = (schema: GraphQLSchema): ExecutionSchemas => ({
  query: schema,
  mutation: new GraphQLSchema({
    ...schema.toConfig(),
    query: schema.getMutationType() ?? null,
    mutation: null,
    subscription: null,
  }),
  subscription: schema,
});

/** The schema that each kind of operation executes against. */
export type ExecutionSchemas = Record<`${OperationTypeNode}`, GraphQLSchema>;

/** Turns a mutation into a query; leaves other operations unchanged. */
export const asQuery = (node: OperationDefinitionNode): OperationDefinitionNode =>
  node.operation === OperationTypeNode.MUTATION ? { ...node, operation: OperationTypeNode.QUERY } : node;

/** Turns the mutations of a document into queries. */
export const asQueries = (document: DocumentNode): DocumentNode => ({
  ...document,
  definitions: document.definitions.map((node) =>
    node.kind === Kind.OPERATION_DEFINITION ? asQuery(node) : node,
  ),
});

/**
 * Executes a mutation.
 *
 * @param count number of writing root fields
 * @param execute runs the operation as a query (`executionSchemas`) with this root value
 */
export async function mutate(
  context: Context,
  count: number,
  execute: (root: Mutation) => MaybePromise<ExecutionResult>,
): Promise<ExecutionResult> {
  const mutation = new Mutation();
  // By the time this returns, every field has started.
  const result = execute(mutation);
  const failure = await mutation.commit(context, count);
  if (!failure) return result;
  await Promise.resolve(result).catch(() => {});
  return failure;
}
