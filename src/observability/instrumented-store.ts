import { AppError } from '../foundation/errors.ts';
import type { MaybePromise } from '../foundation/maybe-promise.ts';
import type { Store } from '../store/store.ts';
import type { CallOutcome, Metrics } from './metrics.ts';

/** Members that do not query the database: cache lookups such as `peekPet`, and `close`. */
const NOT_A_CALL = /^(peek[A-Z].*|close)$/;

type Method = (...args: unknown[]) => MaybePromise<unknown>;

/** Wraps a store so that every call is counted and timed. */
export function instrumentedStore(store: Store, metrics: Metrics): Store {
  const members = Object.entries(store).map(([name, member]: [string, unknown]) =>
    isStoreCall(name, member)
      ? [name, instrumented(member, metrics.storeCall(store.engine, name))]
      : [name, member],
  );
  return Object.fromEntries(members) as Store;
}

/** Whether a member of a store is a method that queries the database. */
export const isStoreCall = (name: string, member: unknown): member is Method =>
  typeof member === 'function' && !NOT_A_CALL.test(name);

function instrumented(call: Method, observe: (milliseconds: number, outcome: CallOutcome) => void): Method {
  return (...args) => {
    const began = performance.now();
    const fail = (error: unknown): never => {
      observe(performance.now() - began, outcomeOf(error));
      throw error;
    };
    try {
      const result = call(...args);
      if (result instanceof Promise) {
        return result.then((settled) => {
          observe(performance.now() - began, 'done');
          return settled;
        }, fail);
      }
      observe(performance.now() - began, 'done');
      return result;
    } catch (error) {
      return fail(error);
    }
  };
}

const outcomeOf = (error: unknown): CallOutcome =>
  error instanceof AppError && error.status < 500 ? 'refused' : 'failed';
