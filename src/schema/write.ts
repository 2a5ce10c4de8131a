import type { RootField } from '../execution/mutation.ts';
import type { MaybePromise } from '../foundation/maybe-promise.ts';
import type { PetstoreWrites } from '../store/store.ts';
import type { Context } from './context.ts';

type Work<Args, T> = (writes: PetstoreWrites, args: Args, context: Context) => MaybePromise<T>;

/** Creates a mutation resolver that adds a write to the operation. */
export const write =
  <Args extends object, T>(work: Work<Args, T>) =>
  (field: unknown, args: Args, context: Context): Promise<T> =>
    (field as RootField).write(args, (writes) => work(writes, args, context));
