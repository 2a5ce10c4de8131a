import type { AnyRecord } from '../../src/foundation/record.ts';
import type { Store } from '../../src/store/store.ts';
import type { Tables } from '../../src/store/table.ts';

type Work = (tables: Tables) => unknown;

/**
 * A store some of whose methods fail, in transactions too. Nothing is served from its caches.
 *
 * @param names which: `charge`, or `pets.byIds` for a table
 * @param fail called in their place
 */
export function failing(store: Store, names: RegExp, fail: () => unknown): Store {
  const wrapped = <T extends object>(target: T, prefix: string): T =>
    new Proxy(target, {
      get(_, name) {
        const member = Reflect.get(target, name);
        if (name === 'cached') return () => undefined;
        if (typeof member !== 'function') return member;
        if (name === 'table') {
          return (record: AnyRecord) => wrapped((target as Tables).table(record), `${record.plural}.`);
        }
        if (name === 'transaction' || name === 'once') {
          return (...args: unknown[]) => {
            const work = args.pop() as Work;
            return member.call(target, ...args, (tables: Tables) => work(wrapped(tables, '')));
          };
        }
        return names.test(`${prefix}${String(name)}`) ? fail : member.bind(target);
      },
    });
  return wrapped(store, '');
}
