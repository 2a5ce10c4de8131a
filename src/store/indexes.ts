import { type AnyRecord, referencesOf } from '../foundation/record.ts';

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
