import { AppError } from '../errors.ts';
import type { MaybePromise } from '../maybe-promise.ts';
import type { Store } from '../store/store.ts';
import type { CallOutcome, Metrics } from './metrics.ts';

/** What is no call to a database: looks into memory (`peekPet`), and the end. */
const NO_CALL = /^(peek[A-Z].*|close)$/;

type Method = (...args: unknown[]) => MaybePromise<unknown>;

/** The same store, each of whose calls is counted and timed. */
export function measuredStore(store: Store, metrics: Metrics): Store {
  const members = Object.entries(store).map(([name, member]: [string, unknown]) =>
    isCall(name, member) ? [name, measured(member, metrics.storeCall(store.engine, name))] : [name, member],
  );
  return Object.fromEntries(members) as Store;
}

/** Whether a member of a store is a method that asks the database. */
export const isCall = (name: string, member: unknown): member is Method =>
  typeof member === 'function' && !NO_CALL.test(name);

function measured(call: Method, observe: (milliseconds: number, outcome: CallOutcome) => void): Method {
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
