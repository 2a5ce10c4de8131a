import {
  type ExecutionResult,
  type GraphQLError,
  getArgumentValues,
  locatedError,
  TypeNameMetaFieldDef,
} from 'graphql';
import { isRefusal } from '../foundation/errors.ts';
import type { MaybePromise } from '../foundation/turns.ts';
import { Meter } from '../foundation/meter.ts';
import type { Context } from '../schema/context.ts';
import type { Writer } from '../schema/write.ts';
import type { Transaction } from '../store/store.ts';
import { callOnce } from './call-once.ts';
import type { MutationResult } from './result.ts';
import type { SelectedField, Selection } from './selection.ts';
import type { Variables } from './variables.ts';

/** Executes the nth part of an operation. */
export type ExecutePart = (part: number, root: object, context: Context) => MaybePromise<ExecutionResult>;

/** True if a root field of a mutation writes. */
export const isWriting = ({ definition }: SelectedField): boolean => definition !== TypeNameMetaFieldDef;

/** Splits the root fields of a mutation, in order, into parts with one that writes. */
export function partsOf(selection: Selection): readonly Selection[] {
  const parts: SelectedField[][] = [[]];
  for (const field of selection) {
    if (isWriting(field) && parts.at(-1)!.some(isWriting)) parts.push([]);
    parts.at(-1)!.push(field);
  }
  return parts;
}

/**
 * Executes the root fields of a mutation one after another, each with everything below it (GraphQL specification,
 * section 6.2.2). Several fields are written and read in one transaction, which any error rolls back. A single field is
 * read after its commit, outside the transaction.
 */
export const mutate = (
  context: Context,
  writes: readonly SelectedField[],
  variables: Variables,
  execute: ExecutePart,
): Promise<MutationResult> =>
  writes.length === 1
    ? mutateAlone(context, writes[0]!, execute)
    : mutateTogether(context, writes, variables, execute);

async function mutateAlone(
  context: Context,
  { definition: { name } }: SelectedField,
  execute: ExecutePart,
): Promise<MutationResult> {
  let committed = false;
  let writes = 0;
  const root: Writer = {
    async write(work, args, own, how) {
      const within = (transaction: Transaction) => work(transaction, args, own);
      // A field with several writes has an outcome for each.
      const outcome = context.idempotency
        ? (await callOnce(nthOf(context, writes++), name, args, within, how)).value
        : await context.store.transaction(within, how);
      committed = true;
      return outcome;
    },
  };
  const result = await execute(0, root, context);
  return result.errors && committed ? { ...result, committed } : result;
}

const nthOf = (context: Context, n: number): Context =>
  n === 0
    ? context
    : { ...context, idempotency: { ...context.idempotency!, key: `${context.idempotency!.key} +${n}` } };

async function mutateTogether(
  context: Context,
  writes: readonly SelectedField[],
  variables: Variables,
  execute: ExecutePart,
): Promise<MutationResult> {
  const { store, idempotency } = context;
  let data: Record<string, unknown>;
  const work = async (transaction: Transaction) => {
    // Each attempt has its own data; the last one's counts. No prototype: a response key may be `__proto__`.
    data = Object.create(null);
    const outcomes: unknown[] = [];
    const meter = new Meter(context.meter.units);
    for (const at of writes.keys()) {
      const writer: Writer = {
        async write(work, args, own) {
          const outcome = await work(transaction, args, own);
          outcomes[at] = outcome;
          return outcome;
        },
      };
      // New loaders, because this write may change values that were read before.
      const loaders = context.loaders.within(transaction, meter);
      const payload = await execute(at, writer, { ...context, meter, loaders });
      if (payload.errors) {
        // The engine must see its own errors, so that it can retry.
        const unexpected = payload.errors.find(
          ({ originalError }) => originalError && !isRefusal(originalError),
        );
        throw unexpected?.originalError ?? new Undone(payload.errors);
      }
      Object.assign(data, payload.data);
    }
    return outcomes;
  };
  try {
    if (idempotency) {
      const inputs = writes.map(({ definition, nodes }) => [
        definition.name,
        getArgumentValues(definition, nodes[0], variables),
      ]);
      const { value, replayed } = await callOnce(context, 'mutation', inputs, work);
      if (replayed) return await replay(context, value, execute);
    } else await store.transaction(work);
    return { data: data! };
  } catch (error) {
    const errors = error instanceof Undone ? error.errors : [locatedError(error, undefined)];
    return { data: null, errors };
  }
}

/** Reads the payloads of a replayed call from the outcomes of its writes. */
async function replay(
  context: Context,
  outcomes: readonly unknown[],
  execute: ExecutePart,
): Promise<MutationResult> {
  const results = await Promise.all(
    outcomes.map((outcome, at) => execute(at, { write: () => outcome }, context)),
  );
  const errors = results.flatMap((result) => result.errors ?? []);
  const data = results.every((result) => result.data)
    ? Object.assign(Object.create(null), ...results.map((result) => result.data))
    : null;
  return errors.length > 0 ? { data, errors, committed: true } : { data };
}

/** Thrown in a transaction to roll it back if a field is refused or its payload cannot be read. */
class Undone extends Error {
  readonly errors: readonly GraphQLError[];

  constructor(errors: readonly GraphQLError[]) {
    super(errors[0]!.message);
    this.errors = errors;
  }
}
