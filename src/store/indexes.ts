import { memoized } from '../foundation/cache.ts';
import { type AnyRecord, type Fields, filteredFields } from '../foundation/record.ts';

/** Lists of single values that an engine merges for one in order, at most. */
const MAX_MERGED = 8;

/** What one index of records is for: the lists with conditions on some fields in one order. */
export interface ListIndex {
  /** Those with conditions, in the order of the declaration, and the one that the lists are ordered by. */
  fields: readonly string[];
  /** The field that the lists are ordered by; undefined for the id. */
  sort: string | undefined;
}

/** The index for lists with conditions on these fields. One that has only one value in a list does not order it. */
export function indexFor(
  record: AnyRecord,
  filtered: readonly string[],
  sort: string | undefined,
): ListIndex {
  const filters = Object.keys(record.fields as Fields).filter((field) => filtered.includes(field));
  return { fields: sort === undefined || filters.includes(sort) ? filters : [...filters, sort], sort };
}

/**
 * An index for each order of lists with each combination of filters, so that a page reads what it has and no more, and
 * a count what it counts.
 */
export const indexesOf = memoized((record: AnyRecord): readonly ListIndex[] => {
  const found = new Map<string, ListIndex>();
  for (const sort of [undefined, ...record.sorts])
    for (const filters of record.combinations) {
      const index = indexFor(record, filters, sort);
      const key = String(index.fields);
      if (key !== '' && !found.has(key)) found.set(key, index);
    }
  return [...found.values()];
});

/**
 * The required fields of few values, each with these. In an order other than by id, an engine that merges a list for
 * each value can do without the indexes that lack them: a write changes 7 indexes of pets instead of 11.
 */
export const fewValued = memoized((record: AnyRecord): ReadonlyMap<string, readonly unknown[]> => {
  const found = new Map<string, readonly unknown[]>();
  // Only if each can be added to all combinations.
  if (record.combinations.length < 2 ** filteredFields(record).length) return found;
  let merged = 1;
  for (const field of record.filters as readonly string[]) {
    const { kind, choices, presence } = (record.fields as Fields)[field]!;
    const values = kind === 'boolean' ? [false, true] : choices?.values;
    if (!values || presence === 'optional' || merged * values.length > MAX_MERGED) continue;
    merged *= values.length;
    found.set(field, values);
  }
  return found;
});

/** The indexes that an engine needs which merges the lists of each of the few values. */
export const mergedIndexesOf = (record: AnyRecord): readonly ListIndex[] =>
  indexesOf(record).filter(
    ({ fields, sort }) =>
      sort === undefined || [...fewValued(record).keys()].every((field) => fields.includes(field)),
  );
