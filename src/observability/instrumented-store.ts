import { AppError } from '../foundation/errors.ts';
import type { MaybePromise } from '../foundation/maybe-promise.ts';
import type { AnyRecord } from '../foundation/record.ts';
import type { Store } from '../store/store.ts';
import type { Table, Tables } from '../store/table.ts';
import type { CallOutcome, Metrics } from './metrics.ts';

/** Members that do not query the database: a look at the cache, and `close`. */
const NOT_A_CALL = new Set(['peek', 'close']);

type Method = (...args: unknown[]) => MaybePromise<unknown>;

/** Wraps a store so that every call is counted and timed. */
export const instrumentedStore = (store: Store, metrics: Metrics): Store =>
  withCalls(store, (name, call) => instrumented(call, metrics.storeCall(store.engine, name)));

/** Replaces every method of a store that queries the database. @param wrap names it: `charge`, `pets.page` */
export function withCalls<S extends Tables>(store: S, wrap: (name: string, call: Method) => Method): S {
  const tables: Table<AnyRecord>[] = [];
  const table = (record: AnyRecord) => {
    tables[record.index] ??= withMethods(store.table(record), `${record.plural}.`, wrap);
    return tables[record.index]!;
  };
  return { ...withMethods(store, '', wrap), table };
}

const withMethods = <T extends object>(
  members: T,
  prefix: string,
  wrap: (name: string, call: Method) => Method,
): T =>
  Object.fromEntries(
    Object.entries(members).map(([name, member]) => [
      name,
      typeof member === 'function' && !NOT_A_CALL.has(name) ? wrap(`${prefix}${name}`, member) : member,
    ]),
  ) as T;

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
