import { memoized } from '../foundation/cache.ts';
import type { AnyDeclaration } from '../foundation/record.ts';
import type { ObjectKind } from '../store/objects.ts';
import type { Store } from '../store/store.ts';
import type { MaybePromise } from '../foundation/turns.ts';
import type { Table } from '../foundation/table.ts';
import type { Metrics } from './metrics.ts';

/** Members that are not single calls to the database: cache look-ups, kinds of objects, following the log, `close`. */
const NOT_A_CALL = new Set(['cached', 'objects', 'followEvents', 'close']);

type Method = (...args: unknown[]) => MaybePromise<unknown>;

/** Wraps a store to count and time every call. */
export const instrumentedStore = (store: Store, metrics: Metrics): Store =>
  withCalls(store, (name, call) =>
    watched(call, () => performance.now(), metrics.storeCall(store.engine, name)),
  );

/** Wraps every method of a store that queries the database. @param wrap gets its name: `charge`, `pets.page` */
export function withCalls<S extends Pick<Store, 'table' | 'objects'>>(
  store: S,
  wrap: (name: string, call: Method) => Method,
): S {
  const tables: Table<AnyDeclaration>[] = [];
  const table = (declaration: AnyDeclaration) => {
    tables[declaration.index] ??= withMethods(store.table(declaration), `${declaration.plural}.`, wrap);
    return tables[declaration.index]!;
  };
  const objects = memoized((kind: ObjectKind<unknown>) =>
    withMethods(store.objects(kind), `${kind.name}.`, wrap),
  );
  return { ...withMethods(store, '', wrap), table, objects };
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

/**
 * Wraps a method to observe its calls.
 *
 * @param end receives the result of `begin`, and the error of a failed call
 */
export function watched<T>(call: Method, begin: () => T, end: (began: T, error?: unknown) => void): Method {
  return (...args) => {
    const began = begin();
    let result: unknown;
    try {
      result = call(...args);
    } catch (error) {
      end(began, error);
      throw error;
    }
    if (result instanceof Promise)
      result.then(
        () => end(began),
        (error) => end(began, error),
      );
    else end(began);
    return result;
  };
}
