import type { MaybePromise } from '../foundation/turns.ts';
import type { AnyDeclaration } from '../foundation/record.ts';
import type { Table } from '../foundation/table.ts';
import type { Transaction } from '../store/store.ts';
import type { Context } from './context.ts';

/** The function that performs the write of a mutation's root field. */
export type Write<Args, T> = (writes: Transaction, args: Args, context: Context) => Promise<T>;

/** The root value of a mutation, which performs the writes of its root field. */
export interface Writer {
  /**
   * @param args the arguments that the write depends on
   * @param how `single` if it makes at most one write, at its end, which is cheaper
   * @returns the outcome of `work`, now or at the first call
   */
  write<Args extends object, T>(
    work: Write<Args, T>,
    args: Args,
    context: Context,
    how?: 'single',
  ): MaybePromise<T>;
}

/**
 * Creates the resolver of a mutation's root field. It commits all of its writes, or none.
 *
 * @param how `single` if it makes at most one write, at its end, which is cheaper
 */
export const write =
  <Args extends object, T>(work: Write<Args, T>, how?: 'single') =>
  (writer: unknown, args: Args, context: Context): MaybePromise<T> =>
    (writer as Writer).write(work, args, context, how);

/** Like {@link write}, for a single write to the table of a record. */
export const writeTo = <R extends AnyDeclaration, Args extends object, T>(
  record: R,
  work: (table: Table<R>, args: Args, context: Context) => Promise<T>,
) => {
  const writeWith = (how?: 'single') =>
    write((tables, args: Args, context) => work(tables.table(record), args, context), how);
  return record.hooks ? writeWith() : writeWith('single');
};

/** The check of a write against If-Match. @param type the GraphQL type that shows the record */
export const unchanged = (type: string, { precondition }: Context) =>
  precondition && ((record: object) => precondition(type, record));
