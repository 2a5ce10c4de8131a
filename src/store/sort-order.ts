import type { SortValue } from '../foundation/cursor.ts';
import { type Field, isFolded } from '../foundation/fields.ts';
import { endOfPrefix, folded } from '../foundation/folded.ts';
import { type AnyDeclaration, type Fields, isPrefix, type OrderCondition } from '../foundation/record.ts';
import type { Group, PageRequest } from '../foundation/table.ts';

/**
 * The key that a value is sorted by: the folded form of a text, the milliseconds of an instant, the bigint of an int64,
 * or else the value itself.
 */
export type SortKey = string | number | bigint | boolean;

/** @returns null for no value */
function sortKeyOf(field: Field, value: SortValue): SortKey | null {
  if (value === null) return null;
  if (isFolded(field)) return folded(value as string);
  if (field.kind === 'id' || field.kind === 'bigInteger') return BigInt(value as string);
  return field.kind === 'instant' ? Date.parse(value as string) : value;
}

/** Compares keys, texts by their UTF-8 bytes as databases do: JavaScript's `<` puts U+FFFD after U+10000. */
const compare = (a: SortKey, b: SortKey): number => {
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b as string));
  return a < b ? -1 : a > b ? 1 : 0;
};

/** Sorts groups by some fields (never missing ones): an enumeration's values in its own order. */
export function inOrder(
  { fields }: AnyDeclaration,
  by: readonly string[],
  groups: readonly Group[],
): Group[] {
  const keyOf = ({ values }: Group, name: string) => {
    const field = (fields as Fields)[name]!;
    const value = values[name] as SortValue;
    return field.choices ? field.choices.values.indexOf(value as string) : sortKeyOf(field, value)!;
  };
  const distance = (a: readonly SortKey[], b: readonly SortKey[], n = 0): number =>
    n === by.length ? 0 : compare(a[n]!, b[n]!) || distance(a, b, n + 1);
  return groups
    .map((group) => ({ group, keys: by.map((name) => keyOf(group, name)) }))
    .sort((a, b) => distance(a.keys, b.keys))
    .map(({ group }) => group);
}

/** One end of a range. */
export interface Bound {
  key: SortKey;
  inclusive: boolean;
}

/**
 * A contiguous range of an index. With `value`: the records with this value (null: with none) whose ids are within the
 * bounds. Without: the records whose values are within the bounds (ids, in a list by id).
 */
export interface Range {
  value?: SortKey | null;
  lower?: Bound | undefined;
  upper?: Bound | undefined;
}

/**
 * Plans the reading of a page: one search after another, each over several ranges, until the page is full. A second
 * search is for absent values, which come after all others.
 *
 * @param field the field that orders the list; undefined for the id
 * @param condition a condition on the field
 */
export function rangeSearches(
  field: Field | undefined,
  { after, before, backward = false, inclusive = false, order }: PageRequest,
  condition?: OrderCondition,
): { searches: readonly (readonly Range[])[]; descending: boolean } {
  const isDescending = order?.descending ?? false;
  const descending = isDescending !== backward;
  /** The range between two bounds, which starts at the upper end if the list is descending. */
  const between = (start: Bound | undefined, end: Bound | undefined): Range =>
    isDescending ? { lower: end, upper: start } : { lower: start, upper: end };
  const bound = (key: SortKey | null | undefined, inclusive: boolean): Bound | undefined =>
    key == null ? undefined : { key, inclusive };
  const [start, end] = [after, before].map((id) => bound(id && BigInt(id), inclusive));
  if (!field) return { searches: [[between(start, end)]], descending };

  const keyOf = (at: Bound | undefined, value: SortValue | undefined) =>
    at && value !== undefined ? sortKeyOf(field, value) : undefined;
  const first = keyOf(start, order?.afterValue);
  const last = keyOf(end, order?.beforeValue);
  const ranges: Range[] = [];
  // Records with the same value as the bound, which may be all of them, are a range of their own.
  if (first !== undefined && first === last) ranges.push({ value: first, ...between(start, end) });
  else if (
    first === undefined ||
    last == null ||
    (first !== null && compare(first, last) < 0 !== isDescending)
  ) {
    if (first !== undefined) ranges.push({ value: first, ...between(start, undefined) });
    if (first !== null) ranges.push(between(bound(first, false), bound(last, false)));
    if (last !== undefined) ranges.push({ value: last, ...between(undefined, end) });
    else if (first !== null && field.presence === 'optional') ranges.push({ value: null });
  }
  const accepted = condition ? ranges.flatMap((range) => meeting(endsOf(field, condition), range)) : ranges;
  const searches = [
    accepted.filter(({ value }) => value !== null),
    accepted.filter(({ value }) => value === null),
  ];
  if (backward) searches.reverse();
  return { searches: searches.filter(({ length }) => length > 0), descending };
}

/** The bounds of the values that a condition accepts. */
export function endsOf(field: Field, condition: OrderCondition): Pick<Range, 'lower' | 'upper'> {
  const bound = (key: SortKey | undefined, inclusive: boolean) =>
    key === undefined ? undefined : { key, inclusive };
  if (isPrefix(condition)) {
    const { prefix } = condition;
    return { lower: bound(prefix, true), upper: bound(endOfPrefix(prefix), false) };
  }
  const [lower, upper] = [condition.min, condition.max].map((value) =>
    value === undefined ? undefined : bound(sortKeyOf(field, value as SortValue)!, true),
  );
  return { lower, upper };
}

/** The part of a range within the ends of a condition, without absent values. */
function meeting(ends: Pick<Range, 'lower' | 'upper'>, { value, lower, upper }: Range): Range[] {
  const isWithin = (key: SortKey, end: Bound | undefined, side: number): boolean => {
    const distance = end ? side * compare(key, end.key) : 1;
    return distance > 0 || (distance === 0 && end!.inclusive);
  };
  if (value !== undefined)
    return value !== null && isWithin(value, ends.lower, 1) && isWithin(value, ends.upper, -1)
      ? [{ value, lower, upper }]
      : [];
  // The range's own bounds exclude their keys.
  const isTighter = (own: Bound | undefined, end: Bound | undefined, side: number) =>
    own && (!end || side * compare(own.key, end.key) >= 0);
  return [
    {
      lower: isTighter(lower, ends.lower, 1) ? lower : ends.lower,
      upper: isTighter(upper, ends.upper, -1) ? upper : ends.upper,
    },
  ];
}
