import type { MaybePromise } from '../foundation/maybe-promise.ts';
import type { Writes } from '../store/store.ts';
import type { Context } from './context.ts';

/** Performs the write of a mutation's root field, whose root value it is. */
export interface Writer {
  /**
   * @param input what the write depends on
   * @param onCommitted called with the outcome once it is committed
   * @returns the outcome of `work`, now or the first time the call was made
   */
  write<T>(
    input: object,
    work: (writes: Writes) => MaybePromise<T>,
    onCommitted?: (outcome: T) => void,
  ): MaybePromise<T>;
}

/** What the write of a mutation's root field does. */
export type Work<Args, T> = (writes: Writes, args: Args, context: Context) => MaybePromise<T>;

/**
 * Creates the resolver of a mutation's root field, which makes one write.
 *
 * @param onCommitted called with the outcome once it is committed
 */
export const write =
  <Args extends object, T>(work: Work<Args, T>, onCommitted?: (outcome: T, context: Context) => void) =>
  (writer: unknown, args: Args, context: Context): MaybePromise<T> =>
    (writer as Writer).write(
      args,
      (writes) => work(writes, args, context),
      onCommitted && ((outcome) => onCommitted(outcome, context)),
    );

/** The check of a write against If-Match, for a record shown as this GraphQL type. */
export const unchanged = (type: string, { precondition }: Context) =>
  precondition && ((record: object) => precondition(type, record));
