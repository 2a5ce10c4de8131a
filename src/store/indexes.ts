import { memoized } from '../foundation/cache.ts';
import { type AnyDeclaration, type Fields, filteredFields } from '../foundation/record.ts';

/** The maximum number of single-value lists that an engine merges into one ordered list. */
const MAX_MERGED = 8;

/**
 * The fields of the index for lists filtered by some fields and ordered by another (by default the id): the filters as
 * declared, then the sort, unless it is a filter and so has the same value throughout.
 */
export function indexFor(
  declaration: AnyDeclaration,
  filtered: readonly string[],
  sort: string | undefined,
): readonly string[] {
  const filters = Object.keys(declaration.fields as Fields).filter((field) => filtered.includes(field));
  return sort === undefined || filters.includes(sort) ? filters : [...filters, sort];
}

/**
 * The fields of an index for each order and combination of filters, so that a page or count reads only its own entries.
 *
 * @param merged fields for which the engine merges a list per value: all indexes except those by id include them
 */
export function indexesOf(
  declaration: AnyDeclaration,
  merged: readonly string[] = [],
): readonly (readonly string[])[] {
  const sets = new Map<string, readonly string[]>();
  for (const sort of [undefined, ...declaration.sorts])
    for (const filters of declaration.combinations) {
      const fields = indexFor(declaration, filters, sort);
      if (sort === undefined || merged.every((field) => fields.includes(field)))
        sets.set(String(fields), fields);
    }
  sets.delete('');
  return [...sets.values()];
}

/**
 * The required fields with few possible values, and those values. An engine that merges a list per value needs no
 * indexes without these fields, except by id: a write of a pet updates 7 indexes instead of 11.
 */
export const choiceFields = memoized(
  (declaration: AnyDeclaration): Readonly<Record<string, readonly unknown[]>> => {
    const enumerated: Record<string, readonly unknown[]> = {};
    // Each must be allowed in every combination.
    if (declaration.combinations.length < 2 ** filteredFields(declaration).length) return enumerated;
    let merged = 1;
    for (const field of declaration.filters as readonly string[]) {
      const { kind, choices, presence } = (declaration.fields as Fields)[field]!;
      const values = kind === 'boolean' ? [false, true] : choices?.values;
      if (!values || presence === 'optional' || merged * values.length > MAX_MERGED) continue;
      merged *= values.length;
      enumerated[field] = values;
    }
    return enumerated;
  },
);

/**
 * The fields that counts are grouped by for lists filtered by `fields`: first those, then the ones with few values,
 * over which a count sums.
 */
export function countedSet(declaration: AnyDeclaration, fields: readonly string[]): readonly string[] {
  const few = Object.keys(choiceFields(declaration));
  return [...indexFor(declaration, fields, undefined).filter((field) => !few.includes(field)), ...few];
}

/** The sets of fields for which an engine maintains counts: enough for each combination of filters. */
export const countedSets = (declaration: AnyDeclaration): readonly (readonly string[])[] => [
  ...new Map(
    declaration.combinations
      .map((fields) => countedSet(declaration, fields))
      .map((set) => [String(set), set]),
  ).values(),
];
