import { memoized } from '../foundation/cache.ts';
import { type AnyRecord, type Fields, filteredFields } from '../foundation/record.ts';

/** The most single-value lists that an engine merges into one ordered list. */
const MAX_MERGED = 8;

/**
 * The fields of the index for lists with conditions on some fields, in the order of the declaration, and ordered by one
 * (by default the id). A field with only one value in a list does not order it.
 */
export function indexFor(
  record: AnyRecord,
  filtered: readonly string[],
  sort: string | undefined,
): readonly string[] {
  const filters = Object.keys(record.fields as Fields).filter((field) => filtered.includes(field));
  return sort === undefined || filters.includes(sort) ? filters : [...filters, sort];
}

/**
 * The fields of an index for each order of lists with each combination of filters, so that a page or a count reads no
 * entries but its own.
 *
 * @param merged fields whose values the engine merges a list for, each: all indexes but those by id include them
 */
export function indexesOf(record: AnyRecord, merged: readonly string[] = []): readonly (readonly string[])[] {
  const sets = new Map<string, readonly string[]>();
  for (const sort of [undefined, ...record.sorts])
    for (const filters of record.combinations) {
      const fields = indexFor(record, filters, sort);
      if (sort === undefined || merged.every((field) => fields.includes(field)))
        sets.set(String(fields), fields);
    }
  sets.delete('');
  return [...sets.values()];
}

/**
 * The required fields with few possible values, each with these values. In orders other than by id, an engine that merges a
 * list per value can do without the indexes that lack them: a write changes 7 indexes of pets instead of 11.
 */
export const choiceFields = memoized((record: AnyRecord): Readonly<Record<string, readonly unknown[]>> => {
  const enumerated: Record<string, readonly unknown[]> = {};
  // Only if each can be added to every combination.
  if (record.combinations.length < 2 ** filteredFields(record).length) return enumerated;
  let merged = 1;
  for (const field of record.filters as readonly string[]) {
    const { kind, choices, presence } = (record.fields as Fields)[field]!;
    const values = kind === 'boolean' ? [false, true] : choices?.values;
    if (!values || presence === 'optional' || merged * values.length > MAX_MERGED) continue;
    merged *= values.length;
    enumerated[field] = values;
  }
  return enumerated;
});

/**
 * The fields by whose values records are counted for lists with conditions on some: those of few values too, over which
 * a count is summed, and last, so that what a list has conditions on comes first.
 */
export function countedSet(record: AnyRecord, fields: readonly string[]): readonly string[] {
  const few = Object.keys(choiceFields(record));
  return [...indexFor(record, fields, undefined).filter((field) => !few.includes(field)), ...few];
}

/** The sets of fields that an engine which keeps counts keeps them for: enough for each combination of filters. */
export const countedSets = (record: AnyRecord): readonly (readonly string[])[] => [
  ...new Map(
    record.combinations.map((fields) => countedSet(record, fields)).map((set) => [String(set), set]),
  ).values(),
];
