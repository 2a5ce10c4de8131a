import { AppError } from '../errors.ts';
import type { MaybePromise, Store } from '../store/store.ts';
import type { CallOutcome, Metrics } from './metrics.ts';
import type { Tracing } from './tracing.ts';

/** What is no call to a database: looks into memory, and the end. */
const NO_CALLS = new Set(['peekPet', 'peekCategory', 'close']);

type Method = (...args: unknown[]) => MaybePromise<unknown>;

/** The same store, each of whose calls is counted, timed and traced. */
export function observedStore(store: Store, metrics?: Metrics, tracing?: Tracing): Store {
  if (!metrics && !tracing) return store;
  const members = Object.entries(store).map(([name, member]: [string, unknown]) => {
    if (typeof member !== 'function' || NO_CALLS.has(name)) return [name, member];
    let call = member as Method;
    if (metrics) call = measured(call, metrics.storeCall(store.engine, name));
    if (tracing) call = tracing.storeCall(store.engine, name, call);
    return [name, call];
  });
  return Object.fromEntries(members) as Store;
}

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
