import {
  type ExecutionResult,
  type GraphQLError,
  GraphQLSchema,
  getArgumentValues,
  locatedError,
  type OperationDefinitionNode,
  OperationTypeNode,
  TypeNameMetaFieldDef,
} from 'graphql';
import { memoized } from '../foundation/cache.ts';
import { isRefusal } from '../foundation/errors.ts';
import type { MaybePromise } from '../foundation/maybe-promise.ts';
import type { Context } from '../kit/context.ts';
import type { Writer } from '../kit/write.ts';
import type { Transaction } from '../store/store.ts';
import { callOnce } from './idempotency.ts';
import type { MutationResult } from './result.ts';
import type { SelectedField, Selection } from './selection.ts';
import type { Variables } from './variables.ts';

/** Part of a mutation: one root field that writes, and perhaps `__typename`. */
export interface MutationPart {
  /** The field that writes; undefined if there is none. */
  field: SelectedField | undefined;
  /** Executes the part with everything below it. */
  execute(root: Writer, context: Context): MaybePromise<ExecutionResult>;
}

const isWriting = ({ definition }: SelectedField): boolean => definition !== TypeNameMetaFieldDef;

/** The field of a part that writes. */
export const writingField = (part: Selection): SelectedField | undefined => part.find(isWriting);

/** The number of root fields that write. */
export const countWrites = (selection: Selection): number => selection.filter(isWriting).length;

/** Splits the root fields of a mutation, in order, so that each part has one that writes. */
export function partsOf(selection: Selection): readonly Selection[] {
  const parts: SelectedField[][] = [[]];
  for (const field of selection) {
    if (isWriting(field) && parts.at(-1)!.some(isWriting)) parts.push([]);
    parts.at(-1)!.push(field);
  }
  return parts;
}

/**
 * Executes a mutation: its root fields one after the other, each with everything below it (GraphQL
 * specification, section 6.2.2). Several are written and read in one transaction, which any error undoes. A
 * single one is read after its commit, which spares the transaction.
 */
export function mutate(
  context: Context,
  parts: readonly MutationPart[],
  variables: Variables,
): Promise<MutationResult> {
  return parts.length === 1 ? mutateAlone(context, parts[0]!) : mutateTogether(context, parts, variables);
}

async function mutateAlone(context: Context, { field, execute }: MutationPart): Promise<MutationResult> {
  let committed = false;
  const root: Writer = {
    async write({ work, onCommitted }, args, own) {
      const { name } = field!.definition;
      const outcome = context.idempotency
        ? (await callOnce(context, name, args, (transaction) => work(transaction, args, own))).value
        : await work(context.store, args, own);
      committed = true;
      onCommitted?.(outcome, own);
      return outcome;
    },
  };
  const result = await execute(root, context);
  return result.errors && committed ? { ...result, committed } : result;
}

async function mutateTogether(
  context: Context,
  parts: readonly MutationPart[],
  variables: Variables,
): Promise<MutationResult> {
  const { store, idempotency } = context;
  // Each attempt has its own, and the last one counts.
  let performed: Performed;
  const work = async (transaction: Transaction) => {
    performed = await perform(context, parts, transaction);
    return performed.outcomes;
  };
  try {
    if (idempotency) {
      const inputs = parts.map(({ field }) => {
        const { definition, nodes } = field!;
        return [definition.name, getArgumentValues(definition, nodes[0], variables)];
      });
      const { value, replayed } = await callOnce(context, 'mutation', inputs, work, true);
      if (replayed) return await replay(context, parts, value);
    } else await store.transaction(work);
    for (const callback of performed!.callbacks) callback();
    return { data: performed!.data };
  } catch (error) {
    const errors = error instanceof Undone ? error.errors : [locatedError(error, undefined)];
    return { data: null, errors };
  }
}

/** What the writes of a transaction left. */
interface Performed {
  outcomes: unknown[];
  /** The merged payloads. */
  data: Record<string, unknown>;
  /** To be called once it is committed. */
  callbacks: (() => void)[];
}

/**
 * Performs the writes of a transaction in order, and reads the payload of each before the next.
 *
 * @throws Undone if a write is refused or a payload cannot be read
 */
async function perform(
  context: Context,
  parts: readonly MutationPart[],
  transaction: Transaction,
): Promise<Performed> {
  // No prototype: a response key may be `__proto__`.
  const performed: Performed = { outcomes: [], data: Object.create(null), callbacks: [] };
  for (const [at, { execute }] of parts.entries()) {
    const writer: Writer = {
      async write({ work, onCommitted }, args, own) {
        const outcome = await work(transaction, args, own);
        performed.outcomes[at] = outcome;
        if (onCommitted) performed.callbacks.push(() => onCommitted(outcome, own));
        return outcome;
      },
    };
    // New loaders, because this write may change what was read before it.
    const loaders = context.loaders.within(transaction);
    const { data, errors } = await execute(writer, { ...context, loaders });
    if (errors) {
      // The engine has to know of its own errors, because it may try again.
      const unexpected = errors.find(({ originalError }) => originalError && !isRefusal(originalError));
      throw unexpected?.originalError ?? new Undone(errors);
    }
    Object.assign(performed.data, data);
  }
  return performed;
}

/** Reads the payloads of a call that was answered before, from the outcomes of its writes. */
async function replay(
  context: Context,
  parts: readonly MutationPart[],
  outcomes: readonly unknown[],
): Promise<MutationResult> {
  const results = await Promise.all(
    parts.map(({ execute }, at) => execute({ write: () => outcomes[at] as never }, context)),
  );
  const errors = results.flatMap((result) => result.errors ?? []);
  const data = results.every((result) => result.data)
    ? Object.assign(Object.create(null), ...results.map((result) => result.data))
    : null;
  return errors.length > 0 ? { data, errors, committed: true } : { data };
}

/** Thrown in a transaction to undo it, if a field is refused or its payload cannot be read. */
class Undone extends Error {
  readonly errors: readonly GraphQLError[];

  constructor(errors: readonly GraphQLError[]) {
    super(errors[0]!.message);
    this.errors = errors;
  }
}

/**
 * The schema that each kind of operation executes against. A part of a mutation executes as a query against a
 * schema whose query type is Mutation.
 */
export type ExecutionSchemas = Record<`${OperationTypeNode}`, GraphQLSchema>;

export const executionSchemas = memoized(
  (schema: GraphQLSchema): ExecutionSchemas => ({
    query: schema,
    mutation: new GraphQLSchema({
      ...schema.toConfig(),
      query: schema.getMutationType() ?? null,
      mutation: null,
      subscription: null,
    }),
    subscription: schema,
  }),
);

/** Turns a mutation into a query; leaves other operations unchanged. */
export const asQuery = (node: OperationDefinitionNode): OperationDefinitionNode =>
  node.operation === OperationTypeNode.MUTATION ? { ...node, operation: OperationTypeNode.QUERY } : node;
