import type { Meter } from '../foundation/meter.ts';
import { type AnyRecord, type Fields, referencesOf } from '../foundation/record.ts';
import { isFolded } from './order.ts';
import type { PageRequest } from './table.ts';

/**
 * The combinations of fields that queries need an index for, each followed by the id: every filter, every
 * reference, and each pair of a reference and another filter.
 */
export function indexesOf(record: AnyRecord): readonly (readonly string[])[] {
  const references = referencesOf(record).map(({ field }) => field);
  const others = record.filters.filter((field: string) => !references.includes(field));
  // Where lists are ordered by the field itself, the index for the order is the same.
  const isOrder = (field: string) =>
    record.sorts.includes(field) && !isFolded((record.fields as Fields)[field]!);
  return [...others, ...references]
    .filter((field) => !isOrder(field))
    .map((field) => [field])
    .concat(references.flatMap((field) => others.map((other: string) => [field, other])));
}

/** Index entries that a page may examine if it has a filter and is not ordered by id. */
export const MAX_EXAMINED = 1_000;

/** How many each of some pages may examine: its share of what is left, but enough to lead on. */
export const windowOf = ({ limit }: PageRequest, meter: Meter | undefined, pages: number): number =>
  Math.min(
    MAX_EXAMINED,
    Math.max(limit + 1, Math.floor((meter?.left('indexEntries') ?? MAX_EXAMINED) / pages)),
  );

/** Index entries that a count may examine if no counts are kept for its filter. */
export const MAX_COUNTED = 20_000;
