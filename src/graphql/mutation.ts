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
import { AppError } from '../errors.ts';
import type { MaybePromise } from '../maybe-promise.ts';
import type { PetstoreWrites, StoredError } from '../store/store.ts';
import type { Context } from './context.ts';
import { runOnce } from './idempotency.ts';
import { Loaders } from './loaders.ts';
import { OperationRefused, refused } from './refusal.ts';

/** The most characters of JSON that the outcomes of several fields may have where they are kept for a retry. */
const MAX_OUTCOME_LENGTH = 16_000;

/** What one root field writes, once its arguments are known to be right. */
interface PlannedWrite {
  /** Tells this write from another one under the same Idempotency-Key. */
  input: object;
  work: (writes: PetstoreWrites) => MaybePromise<unknown>;
}

/** A promise and who settles it. A rejection that nobody waits for is no error. */
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

/** One root field of a mutation: its resolver plans a write and waits for the outcome. */
export class RootField {
  readonly name: string;
  readonly #nodes: readonly FieldNode[];
  readonly plan = new Deferred<PlannedWrite>();
  readonly outcome = new Deferred<unknown>();

  constructor({ fieldName, fieldNodes }: GraphQLResolveInfo) {
    this.name = fieldName;
    this.#nodes = fieldNodes;
  }

  /** Adds a write to those of the operation. @returns its outcome, once all of them are committed */
  write<T>(input: object, work: (writes: PetstoreWrites) => MaybePromise<T>): Promise<T> {
    this.plan.resolve({ input, work });
    return this.outcome.promise as Promise<T>;
  }

  /** The error as one of this field. */
  located(error: unknown): GraphQLError {
    const { alias, name } = this.#nodes[0]!;
    return locatedError(error, this.#nodes, [(alias ?? name).value]);
  }
}

/** The refusal of one field of several, with its place among them, which a replayed one still knows. */
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
 * One mutation on its way, the root value of its execution. What its root fields write is written together or not at
 * all, in their order, before anything below them is read.
 */
export class Mutation {
  readonly #fields: RootField[] = [];

  begin(info: GraphQLResolveInfo): RootField {
    const field = new RootField(info);
    this.#fields.push(field);
    return field;
  }

  /**
   * Writes what all fields have planned, and lets them go on.
   *
   * @param count how many fields the operation has
   * @returns the result of the whole operation if it fails
   * @throws OperationRefused where the store can't do it
   */
  async commit(context: Context, count: number): Promise<ExecutionResult | undefined> {
    const fields = this.#fields;
    if (fields.length < count) {
      // Execution has refused a field before its resolver was called; its result says why.
      for (const each of fields) each.outcome.reject(new Error('Another field of the operation failed.'));
      return undefined;
    }
    if (count === 0) return undefined;
    // The one that an error is about.
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
    } finally {
      context.loaders = new Loaders(context.store);
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
        'This server keeps its data in a MongoDB without transactions (standalone), which cannot write several fields together or not at all. Send one field in an operation.',
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

/** One write after the other, without a promise where the store needs none. */
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

/** @throws PAYLOAD_TOO_LARGE for outcomes too large to be kept */
function withinSizeLimit(outcomes: MaybePromise<unknown[]>): MaybePromise<unknown[]> {
  if (outcomes instanceof Promise) return outcomes.then(withinSizeLimit);
  if (JSON.stringify(outcomes).length <= MAX_OUTCOME_LENGTH) return outcomes;
  throw new AppError(
    'PAYLOAD_TOO_LARGE',
    `With an Idempotency-Key, what an operation writes may have ${MAX_OUTCOME_LENGTH} characters. Send fewer fields in one.`,
  );
}

/** Makes a resolver of the root of mutations take part in its operation. */
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
 * Root fields of a mutation are executed one after the other, each with all that hangs below it, so that the first would
 * have to be written before the last is looked at. Here all of them must be known before the first is written. So mutations
 * are executed as the queries of a schema that has Mutation for its root: their fields begin together, and the order
 * of the writes is that of `Mutation`.
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

/** The schema that operations of each kind are executed in. */
export type ExecutionSchemas = Record<`${OperationTypeNode}`, GraphQLSchema>;

/** A mutation as the query that it is in its schema; any other operation as it is. */
export const asQuery = (node: OperationDefinitionNode): OperationDefinitionNode =>
  node.operation === OperationTypeNode.MUTATION ? { ...node, operation: OperationTypeNode.QUERY } : node;

/** A document with its mutations as queries. */
export const asQueries = (document: DocumentNode): DocumentNode => ({
  ...document,
  definitions: document.definitions.map((node) =>
    node.kind === Kind.OPERATION_DEFINITION ? asQuery(node) : node,
  ),
});

/**
 * Executes a mutation.
 *
 * @param count how many of its root fields write
 * @param execute runs the operation as a query of its schema (`executionSchemas`) with this root value
 */
export async function mutate(
  context: Context,
  count: number,
  execute: (root: Mutation) => MaybePromise<ExecutionResult>,
): Promise<ExecutionResult> {
  const mutation = new Mutation();
  // By the time that it returns, each field has begun.
  const result = execute(mutation);
  const failure = await mutation.commit(context, count);
  if (!failure) return result;
  await Promise.resolve(result).catch(() => {});
  return failure;
}
