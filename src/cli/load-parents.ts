import { LRUCache } from 'lru-cache';
import { folded } from '../foundation/folded.ts';
import type { Id } from '../foundation/id.ts';
import {
  type AnyDeclaration,
  type Fields,
  parentField,
  type Referrer,
  referencesOf,
} from '../foundation/record.ts';
import type { Tables } from '../foundation/table.ts';
import type { Values } from '../store/engine.ts';

/** A reference that a file may contain as the parent's name. */
export interface NamedReference extends Referrer {
  /** `category.name` instead of `categoryId`. */
  column: string;
}

/** The references of a record to parents that have names. */
export const namedReferencesOf = (declaration: AnyDeclaration): readonly NamedReference[] =>
  referencesOf(declaration)
    .filter(({ parent }) => parent.sorts.includes('name'))
    .map((reference) => ({ ...reference, column: `${parentField(reference.field)}.name` }));

/** The result of looking up a name: one record, several, or none. */
export type Called = { id: Id } | 'several' | 'none';

/** The maximum number of cached names. */
const MAX_REMEMBERED = 20_000;
/** The maximum number of concurrent look-ups. */
const AT_ONCE = 50;
/** The maximum number of records read for a name. */
const PAGE = 100;

/** True if a record can be created from its name alone. */
export const isNameEnough = ({ fields }: AnyDeclaration): boolean =>
  Object.entries(fields as Fields).every(
    ([field, { presence }]) => field === 'name' || presence !== 'required',
  );

/** Looks up items concurrently. @returns the results in order */
export async function concurrently<T, R>(items: readonly T[], lookUp: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let n = 0; n < items.length; n += AT_ONCE)
    results.push(...(await Promise.all(items.slice(n, n + AT_ONCE).map(lookUp))));
  return results;
}

/** Finds records by name, and caches them. */
export class Names {
  readonly #tables: Tables;
  readonly #remembered = new LRUCache<string, { id: Id }>({ max: MAX_REMEMBERED });

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  /** @returns the result for each name */
  async find(parent: AnyDeclaration, names: Iterable<string>): Promise<Map<string, Called>> {
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

/** The record with exactly this name, or else with the same name regardless of case, accents and normal form. */
async function recordCalled(tables: Tables, parent: AnyDeclaration, name: string): Promise<Called> {
  const prefix = folded(name);
  // Ordered by name, since longer names with this prefix come later.
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
 * Resolves, within the transaction, names that had no record before, and creates the records that are still missing.
 *
 * @throws Error if a name matches several records, or none and may not be created
 */
export async function withParents(
  tables: Tables,
  { field, column, parent }: NamedReference,
  rows: readonly Values[],
  canCreate: boolean,
): Promise<{ rows: readonly Values[]; created: number }> {
  const names = new Set(rows.map((values) => values[column] as string | undefined));
  names.delete(undefined);
  if (names.size === 0) return { rows, created: 0 };
  const ids = new Map<string, Id>();
  const missing = new Map<string, string>();
  for (const name of names as Set<string>) {
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
