import type { SortValue } from '../foundation/cursor.ts';
import type { Field } from '../foundation/fields.ts';
import { isFolded } from '../foundation/fields.ts';
import { endOfPrefix, folded } from '../foundation/folded.ts';
import type { Id } from '../foundation/id.ts';
import { millisecondsOf } from '../foundation/instant.ts';
import type { PageRequest } from './table.ts';

/**
 * What a value is ordered by: the folded form of a text, the milliseconds of an instant, the number of an id, any other
 * value itself.
 */
export type SortKey = string | number | bigint | boolean;

/** @returns null if there is no value */
function sortKeyOf(field: Field, value: SortValue): SortKey | null {
  if (value === null) return null;
  if (isFolded(field)) return folded(value as string);
  if (field.kind === 'id') return BigInt(value as string);
  return field.kind === 'instant' ? millisecondsOf(value as string) : value;
}

/** Texts compare as databases do, by their bytes in UTF-8: JavaScript's `<` puts U+FFFD after U+10000. */
const compare = (a: SortKey, b: SortKey): number => {
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b as string));
  return a < b ? -1 : a > b ? 1 : 0;
};

/** One end of a range: at an id, at a value, or with both at that record among those with the same value. */
export interface Bound {
  key?: SortKey;
  id?: Id;
  inclusive: boolean;
}

export interface Bounds {
  lower?: Bound | undefined;
  upper?: Bound | undefined;
}

/**
 * A range of a list that one index search reads in order. Lists have one, or two if values may be absent: those are
 * after all others. Its bounds have a value if values are `present`, else an id.
 */
export interface Segment extends Bounds {
  values: 'present' | 'absent' | 'any';
  descending: boolean;
}

/**
 * The ranges that a page lies in, in the order in which it reads them. `descending` is the direction of reading.
 *
 * @param field the field that the list is ordered by; undefined for its id
 * @param prefix of the folded values
 */
export function segmentsOf(
  field: Field | undefined,
  { after, before, backward = false, inclusive = false, order }: PageRequest,
  prefix?: string,
): Segment[] {
  const isDescending = order?.descending ?? false;
  const descending = isDescending !== backward;
  const idBound = (id: Id | undefined): Bound | undefined =>
    id === undefined ? undefined : { id, inclusive };
  /** A list begins at the upper end of its values if it is descending. */
  const ends = (start: Bound | undefined, end: Bound | undefined): Bounds =>
    isDescending ? { lower: end, upper: start } : { lower: start, upper: end };
  if (!field) return [{ values: 'any', ...ends(idBound(after), idBound(before)), descending }];

  const bound = (id: Id | undefined, value: SortValue | undefined): Bound | null | undefined => {
    if (id === undefined || value === undefined) return undefined;
    const key = sortKeyOf(field, value);
    return key === null ? null : { key, id, inclusive };
  };
  const [start, end] = [bound(after, order?.afterValue), bound(before, order?.beforeValue)];
  const segments: Segment[] = [];
  if (start !== null) {
    const range = withinPrefix(prefix, ends(start, end ?? undefined));
    if (!range.lower || !range.upper || compare(range.lower.key!, range.upper.key!) <= 0)
      segments.push({ values: 'present', ...range, descending });
  }
  // A bound with a value comes before all records without one, which begin with no prefix.
  if (field.presence === 'optional' && prefix === undefined && !end) {
    const range = ends(
      start === null ? idBound(after) : undefined,
      end === null ? idBound(before) : undefined,
    );
    segments.push({ values: 'absent', ...range, descending });
  }
  return backward ? segments.reverse() : segments;
}

/** The narrower of two ranges: the given one, and that of a prefix. */
export function withinPrefix(prefix: string | undefined, { lower, upper }: Bounds = {}): Bounds {
  if (prefix === undefined) return { lower, upper };
  const end = endOfPrefix(prefix);
  return {
    lower: lower && compare(lower.key!, prefix) >= 0 ? lower : { key: prefix, inclusive: true },
    upper:
      end === undefined || (upper && compare(upper.key!, end) < 0) ? upper : { key: end, inclusive: false },
  };
}

/**
 * A part of a range with bounds at ids among those with one value, or without one at values. An index search finds
 * either without reading more.
 */
export interface Span extends Bounds {
  key?: SortKey;
}

/**
 * The parts of a range in the order of its values. A bound at a record separates those with the same value, which may
 * be all records, from the others.
 */
export function spansOf({ lower, upper }: Bounds): Span[] {
  if (lower && upper && lower.key === upper.key) {
    if ([lower, upper].some(({ id, inclusive }) => id === undefined && !inclusive)) return [];
    return [{ key: lower.key!, lower: idBoundOf(lower), upper: idBoundOf(upper) }];
  }
  const parts: Span[] = [{ lower: valueBoundOf(lower), upper: valueBoundOf(upper) }];
  if (lower?.id !== undefined) parts.unshift({ key: lower.key!, lower: idBoundOf(lower) });
  if (upper?.id !== undefined) parts.push({ key: upper.key!, upper: idBoundOf(upper) });
  return parts;
}

const idBoundOf = ({ id, inclusive }: Bound): Bound | undefined =>
  id === undefined ? undefined : { id, inclusive };

const valueBoundOf = (bound: Bound | undefined): Bound | undefined =>
  bound && { key: bound.key!, inclusive: bound.inclusive && bound.id === undefined };
