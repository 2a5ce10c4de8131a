import type { AnyDeclaration } from '../../src/foundation/record.ts';
import type { ObjectKind } from '../../src/store/objects.ts';
import type { Store } from '../../src/store/store.ts';
import type { Tables } from '../../src/foundation/table.ts';

type Work = (tables: Tables) => unknown;

/**
 * A store some of whose methods fail, in transactions too. Nothing is served from its caches.
 *
 * @param names which: `charge`, `pets.byIds` for a table, `webhooks.find` for a kind of objects
 * @param fail called in their place, with what they were called with and what they would have done
 */
export function failing(
  store: Store,
  names: RegExp,
  fail: (args: never[], method: () => unknown) => unknown,
): Store {
  const wrapped = <T extends object>(target: T, prefix: string): T =>
    new Proxy(target, {
      get(_, name) {
        const member = Reflect.get(target, name);
        if (name === 'cached') return () => undefined;
        if (name === 'load') return undefined;
        if (typeof member !== 'function') return member;
        if (name === 'table') {
          return (record: AnyDeclaration) => wrapped((target as Tables).table(record), `${record.plural}.`);
        }
        if (name === 'objects') {
          return (kind: ObjectKind<unknown>) =>
            wrapped((target as unknown as Pick<Store, 'objects'>).objects(kind), `${kind.name}.`);
        }
        if (name === 'transaction' || name === 'once') {
          return (...args: unknown[]) =>
            member.call(
              target,
              ...args.map((arg) =>
                typeof arg === 'function' ? (tables: Tables) => (arg as Work)(wrapped(tables, '')) : arg,
              ),
            );
        }
        if (!names.test(`${prefix}${String(name)}`)) return member.bind(target);
        return (...args: never[]) => fail(args, () => member.apply(target, args));
      },
    });
  return wrapped(store, '');
}
