import type { SortValue } from '../foundation/cursor.ts';
import { type Field, isFolded } from '../foundation/fields.ts';
import { endOfPrefix, folded } from '../foundation/folded.ts';
import { type AnyRecord, type Fields, isPrefix, type OrderCondition } from '../foundation/record.ts';
import type { PageRequest } from '../foundation/table.ts';
import type { Values } from './engine.ts';

/**
 * The key by which a value is ordered: the folded form of a text, the milliseconds of an instant, the number of an int64, or
 * else the value itself.
 */
export type SortKey = string | number | bigint | boolean;

/** @returns null if there is no value */
function sortKeyOf(field: Field, value: SortValue): SortKey | null {
  if (value === null) return null;
  if (isFolded(field)) return folded(value as string);
  if (field.kind === 'id' || field.kind === 'bigInteger') return BigInt(value as string);
  return field.kind === 'instant' ? Date.parse(value as string) : value;
}

/** Texts compare as databases do, by their bytes in UTF-8: JavaScript's `<` puts U+FFFD after U+10000. */
const compare = (a: SortKey, b: SortKey): number => {
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b as string));
  return a < b ? -1 : a > b ? 1 : 0;
};

/** Orders records by the values of some fields, none of which is absent: those of a closed set in its order. */
export function compareValues({ fields }: AnyRecord, by: readonly string[], a: Values, b: Values): number {
  const keyOf = (name: string, value: unknown) => {
    const field = (fields as Fields)[name]!;
    return field.choices
      ? field.choices.values.indexOf(value as string)
      : sortKeyOf(field, value as SortValue)!;
  };
  for (const name of by) {
    const distance = compare(keyOf(name, a[name]), keyOf(name, b[name]));
    if (distance !== 0) return distance;
  }
  return 0;
}

/** One end of a range. */
export interface Bound {
  key: SortKey;
  inclusive: boolean;
}

/**
 * A contiguous piece of an index. With `value`: the records with this value (without any if it is null) whose ids are
 * within the bounds. Without it: the records whose values are within the bounds, or whose ids are in a list by id.
 */
export interface Range {
  value?: SortKey | null;
  lower?: Bound | undefined;
  upper?: Bound | undefined;
}

/**
 * Plans how a page is read: from the ranges of one search after another until it is full. There is one search, or a second
 * if values may be absent, since those come after all others.
 *
 * @param field the field that the list is ordered by; undefined for its id
 * @param condition on the field
 */
export function rangeSearches(
  field: Field | undefined,
  { after, before, backward = false, inclusive = false, order }: PageRequest,
  condition?: OrderCondition,
): { searches: readonly (readonly Range[])[]; descending: boolean } {
  const isDescending = order?.descending ?? false;
  const descending = isDescending !== backward;
  /** The range between two bounds, which begins at the upper end if the list is descending. */
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
  // Records with the bound's own value, which may be all of them, are a range apart from the others.
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
function endsOf(field: Field, condition: OrderCondition): Pick<Range, 'lower' | 'upper'> {
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

/** The part of a range within the ends of a condition, which excludes absent values. */
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
