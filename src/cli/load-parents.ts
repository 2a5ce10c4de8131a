import { LRUCache } from 'lru-cache';
import { folded } from '../foundation/folded.ts';
import type { Id } from '../foundation/id.ts';
import {
  type AnyRecord,
  type Fields,
  parentField,
  type Referrer,
  referencesOf,
} from '../foundation/record.ts';
import type { Tables } from '../foundation/table.ts';

/** A reference that a file may give by its parent's name. */
export interface NamedReference extends Referrer {
  /** `category.name` instead of `categoryId`. */
  column: string;
}

/** The references of a record to parents that have names. */
export const namedReferencesOf = (record: AnyRecord): readonly NamedReference[] =>
  referencesOf(record)
    .filter(({ parent }) => parent.sorts.includes('name'))
    .map((reference) => ({ ...reference, column: `${parentField(reference.field)}.name` }));

/** The result of looking up a name: one record, more than one with that name, or none. */
export type Called = { id: Id } | 'several' | 'none';

/** Names whose records are cached. */
const MAX_REMEMBERED = 20_000;
/** Names that are looked up together. */
const AT_ONCE = 50;
/** Records that may begin with a name. */
const PAGE = 100;

/** True if a record can be created from its name alone. */
export const isNameEnough = ({ fields }: AnyRecord): boolean =>
  Object.entries(fields as Fields).every(
    ([field, { presence }]) => field === 'name' || presence !== 'required',
  );

/** Finds records by their names, and caches them. */
export class Names {
  readonly #tables: Tables;
  readonly #remembered = new LRUCache<string, { id: Id }>({ max: MAX_REMEMBERED });

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  /** @returns the result for each of the names */
  async find(parent: AnyRecord, names: Iterable<string>): Promise<Map<string, Called>> {
    const found = new Map<string, Called>();
    const wanted: string[] = [];
    for (const name of new Set(names)) {
      const one = this.#remembered.get(`${parent.plural} ${name}`);
      if (one) found.set(name, one);
      else wanted.push(name);
    }
    for (let n = 0; n < wanted.length; n += AT_ONCE)
      await Promise.all(
        wanted.slice(n, n + AT_ONCE).map(async (name) => {
          const called = await recordCalled(this.#tables, parent, name);
          found.set(name, called);
          if (typeof called === 'object') this.#remembered.set(`${parent.plural} ${name}`, called);
        }),
      );
    return found;
  }
}

/**
 * The record with a name: written the same way if only one is, or else as search by prefix finds it, whatever its case,
 * accents and normal form.
 */
export async function recordCalled(tables: Tables, parent: AnyRecord, name: string): Promise<Called> {
  const prefix = folded(name);
  // In the order of names, longer ones that begin with this one come later.
  const { items } = await tables.table(parent).page({ name: { prefix } } as never, {
    limit: PAGE,
    order: { field: 'name', descending: false },
  });
  const alike = (items as unknown as { id: Id; name: string }[]).filter(
    (item) => folded(item.name) === prefix,
  );
  const same = alike.filter((item) => item.name === name);
  const [one, another] = same.length > 0 ? same : alike;
  if (another) return 'several';
  return one ? { id: one.id } : 'none';
}
