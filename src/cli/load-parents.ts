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
import type { Values } from '../store/engine.ts';

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
/** Look-ups that are under way together. */
const AT_ONCE = 50;
/** Records that may begin with a name. */
const PAGE = 100;

/** True if a record can be created from its name alone. */
export const isNameEnough = ({ fields }: AnyRecord): boolean =>
  Object.entries(fields as Fields).every(
    ([field, { presence }]) => field === 'name' || presence !== 'required',
  );

/** Looks something up for each item. @returns the results in order */
export async function concurrently<T, R>(items: readonly T[], lookUp: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let n = 0; n < items.length; n += AT_ONCE)
    results.push(...(await Promise.all(items.slice(n, n + AT_ONCE).map(lookUp))));
  return results;
}

/** Finds records by their names, and caches them. */
export class Names {
  readonly #tables: Tables;
  readonly #remembered = new LRUCache<string, { id: Id }>({ max: MAX_REMEMBERED });

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  /** @returns the result for each of the names */
  async find(parent: AnyRecord, names: Iterable<string>): Promise<Map<string, Called>> {
    const results = new Map<string, Called>();
    const wanted: string[] = [];
    for (const name of new Set(names)) {
      const one = this.#remembered.get(`${parent.plural} ${name}`);
      if (one) results.set(name, one);
      else wanted.push(name);
    }
    await concurrently(wanted, async (name) => {
      const called = await recordCalled(this.#tables, parent, name);
      results.set(name, called);
      if (typeof called === 'object') this.#remembered.set(`${parent.plural} ${name}`, called);
    });
    return results;
  }
}

/**
 * The record with a name: written the same way if only one is, or else as search by prefix finds it, whatever its case,
 * accents and normal form.
 */
async function recordCalled(tables: Tables, parent: AnyRecord, name: string): Promise<Called> {
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

/**
 * Puts ids in place of the names that had no record when they were looked up outside of the transaction, and creates
 * those that still have none.
 *
 * @throws Error if a name leads to no single record, or to none that may be created
 */
export async function withParents(
  tables: Tables,
  { field, column, parent }: NamedReference,
  rows: readonly Values[],
  canCreate: boolean,
): Promise<{ rows: Values[]; created: number }> {
  const names = new Set(rows.map((values) => values[column] as string | undefined));
  const ids = new Map<string, Id>();
  const missing = new Map<string, string>();
  for (const name of names) {
    if (name === undefined) continue;
    const called = await recordCalled(tables, parent, name);
    if (typeof called === 'object') ids.set(name, called.id);
    else if (called === 'none' && canCreate && isNameEnough(parent)) missing.set(folded(name), name);
    else throw new Error(`${column}: no single ${parent.kind} is called ${name} any more`);
  }
  const created = await tables
    .table(parent)
    .insertAll([...missing.values()].map((name) => ({ name }) as never));
  const byFolded = new Map([...missing.keys()].map((key, n) => [key, created[n]!.id as Id]));
  return {
    created: created.length,
    rows: rows.map(({ [column]: name, ...values }) =>
      name === undefined
        ? values
        : { ...values, [field]: ids.get(name as string) ?? byFolded.get(folded(name as string)) },
    ),
  };
}
