import { memoized } from '../foundation/memoized.ts';
import type { AnyRecord, Fields } from '../foundation/record.ts';

/** What one index of records is for: the lists with conditions on these fields in one order. */
export interface ListIndex {
  /** The fields with conditions, in the order of the declaration. */
  filters: readonly string[];
  /** The field that the lists are ordered by; undefined for the id. */
  sort: string | undefined;
}

/** The fields of an index, before the id. A field that has only one value in a list does not order it. */
export const fieldsOfIndex = ({ filters, sort }: ListIndex): readonly string[] =>
  sort === undefined || filters.includes(sort) ? filters : [...filters, sort];

/**
 * An index for each order of lists with each combination of filters, so that a page reads what it has and no more, and
 * a count what it counts.
 */
export const indexesOf = memoized((record: AnyRecord): readonly ListIndex[] => {
  const all = [undefined, ...record.sorts].flatMap((sort) =>
    record.combinations.map((filters: readonly string[]): ListIndex => ({ filters, sort })),
  );
  const known = new Set(['']);
  return all.filter((index) => {
    const fields = String(fieldsOfIndex(index));
    return !known.has(fields) && known.add(fields);
  });
});

/** The index for lists with conditions on these fields. */
export const indexFor = ({ fields }: AnyRecord, filtered: readonly string[], sort: string | undefined) =>
  fieldsOfIndex({ filters: Object.keys(fields as Fields).filter((field) => filtered.includes(field)), sort });
