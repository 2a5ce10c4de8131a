import type { Id } from '../foundation/id.ts';
import type { MaybePromise } from '../foundation/maybe-promise.ts';
import type { AnyRecord, NewOf, PatchOf } from '../foundation/record.ts';
import type { Writes } from '../store/store.ts';
import type { Context } from './context.ts';

/** Performs the write of a mutation's root field, whose root value it is. */
export interface Writer {
  /**
   * @param input what the write depends on
   * @returns the outcome of `work`, now or the first time the call was made
   */
  write<T>(input: object, work: (writes: Writes) => MaybePromise<T>): MaybePromise<T>;
}

/** What the write of a mutation's root field does. */
export type Work<Args, T> = (writes: Writes, args: Args, context: Context) => MaybePromise<T>;

/** Creates the resolver of a mutation's root field, which makes one write. */
export const write =
  <Args extends object, T>(work: Work<Args, T>) =>
  (writer: unknown, args: Args, context: Context): MaybePromise<T> =>
    (writer as Writer).write(args, (writes) => work(writes, args, context));

/** The check of a write against If-Match, for a record shown as this GraphQL type. */
export const unchanged = (type: string, { precondition }: Context) =>
  precondition && ((record: object) => precondition(type, record));

/** The resolver of a mutation that creates a record. */
export const creating = <R extends AnyRecord>(record: R) =>
  write((tables, { input }: { input: object }) => tables.table(record).insert(input as NewOf<R>));

/** The resolver of a mutation that changes a record. */
export const updating = <R extends AnyRecord>(record: R) =>
  write((tables, { id, input }: { id: Id; input: object }, context) =>
    tables.table(record).update(id, input as PatchOf<R>, unchanged(record.type, context)),
  );

/** The resolver of a mutation that deletes a record, and returns its id. */
export const deleting = (record: AnyRecord) =>
  write((tables, { id }: { id: Id }, context) =>
    tables.table(record).remove(id, unchanged(record.type, context)),
  );
