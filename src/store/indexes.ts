import type { Meter } from '../foundation/meter.ts';
import { type AnyRecord, referencesOf } from '../foundation/record.ts';
import type { PageRequest } from './table.ts';

/**
 * The combinations of fields that queries need an index for, each followed by the id: every filter, every
 * reference, and each pair of a reference and another filter.
 */
export function indexesOf(record: AnyRecord): readonly (readonly string[])[] {
  const references = referencesOf(record).map(({ field }) => field);
  const others = record.filters.filter((field: string) => !references.includes(field));
  return [
    ...others.map((field: string) => [field]),
    ...references.flatMap((field) => [[field], ...others.map((other: string) => [field, other])]),
  ];
}

/** An index for an order: records with the same values in some fields, by the value of another and then the id. */
export interface SortIndex {
  equal: readonly string[];
  sort: string;
}

/** The indexes for lists that are not ordered by id: one for each order, and one within each parent. */
export const sortIndexesOf = (record: AnyRecord): readonly SortIndex[] =>
  record.sorts.map((sort: string) => ({ equal: [], sort }));

/** Index entries that a page may examine if its filter has no index for its order. */
export const MAX_EXAMINED = 1_000;

/** How many each of some pages may examine: its share of what is left, but enough to lead on. */
export const windowOf = ({ limit }: PageRequest, meter: Meter | undefined, pages: number): number =>
  Math.min(
    MAX_EXAMINED,
    Math.max(limit + 1, Math.floor((meter?.left('indexEntries') ?? MAX_EXAMINED) / pages)),
  );

/** Index entries that a count may examine if no counts are kept for its filter. */
export const MAX_COUNTED = 20_000;

/** How a page is read in an order other than by id. */
export interface SortPlan {
  index: SortIndex;
  /** Whether the index has all conditions of the filter. If not, the page examines at most {@link MAX_EXAMINED}. */
  isExact: boolean;
}

/**
 * Chooses the index for a filter and an order.
 *
 * @param equal the fields for which the filter gives one value
 * @param conditions the number of conditions of the filter, without the prefix
 */
export function planOf(
  record: AnyRecord,
  sort: string,
  equal: readonly string[],
  conditions: number,
): SortPlan {
  const usable = sortIndexesOf(record).filter(
    (index) => index.sort === sort && index.equal.every((field) => equal.includes(field)),
  );
  const index = usable.reduce((best, other) => (other.equal.length > best.equal.length ? other : best));
  return { index, isExact: index.equal.length === conditions };
}
