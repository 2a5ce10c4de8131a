import type { Document } from 'mongodb';
import type { SortValue } from '../../foundation/cursor.ts';
import type { Field } from '../../foundation/fields.ts';
import type { MaybePromise } from '../../foundation/maybe-promise.ts';
import type { AnyRecord, Fields } from '../../foundation/record.ts';
import type { EventRecord } from '../events.ts';
import { MAX_EXAMINED } from '../indexes.ts';
import {
  type Bound,
  type Bounds,
  type Segment,
  type SortKey,
  segmentsOf,
  spansOf,
  withinPrefix,
} from '../order.ts';
import type { Order, Page, PageRequest } from '../table.ts';
import { toId, toKey } from './collection.ts';
import { type DocumentCodec, sortIndexKey, sortProperty } from './documents.ts';

/** Conditions of a list: those on fields, and the start of a folded text. */
export interface ListConditions {
  where: Document;
  prefix?: { field: string; text: string } | undefined;
}

/** One index search of a page. */
interface Search {
  /** The pipeline for its documents. */
  matching: Document[];
  /** The pipeline for the last entry that it examines, if its index lacks conditions. */
  end: Document[] | undefined;
  hint: Record<string, 1> | undefined;
}

/** How a page is read: by index searches one after the other, mostly by one. */
export class SearchedPage {
  readonly searches: readonly Search[];
  readonly #codec: DocumentCodec;
  readonly #request: PageRequest;
  /** The field that the list is ordered by; undefined for its id. */
  readonly #sort: string | undefined;

  /** @param examine index entries to examine if no index has all conditions in this order */
  constructor(
    record: AnyRecord,
    codec: DocumentCodec,
    { where, prefix }: ListConditions,
    request: PageRequest,
    examine = MAX_EXAMINED,
  ) {
    const sort = request.order?.field ?? prefix?.field;
    const order: Order = request.order ?? { field: sort, descending: false };
    const { limit } = request;
    const field = sort === undefined ? undefined : (record.fields as Fields)[sort]!;
    const property = field && sortProperty(sort!, field);
    // The indexes for orders have no conditions.
    const [inIndex, others] = sort === undefined ? [where, {}] : [{}, where];
    const isBounded = Object.keys(others).length > 0;
    const limited = [{ $limit: limit + 1 }, { $project: codec.projection }];
    const hint = sort === undefined ? undefined : sortIndexKey(record, sort);
    this.#codec = codec;
    this.#request = request;
    this.#sort = sort;
    this.searches = segmentsOf(field, { ...request, order }, prefix?.text).flatMap((segment) => {
      const $match = conditionsOf(segment, property, field, inIndex);
      if ($match === null) return [];
      const direction = segment.descending ? -1 : 1;
      const $sort = { ...(property !== undefined && { [property]: direction }), _id: direction };
      const entries = [{ $match }, { $sort }];
      if (!isBounded) return { matching: [...entries, ...limited], end: undefined, hint };
      const last = { $project: { _id: 1, ...(sort !== undefined && { [sort]: 1 }) } };
      return {
        matching: [...entries, { $limit: examine }, { $match: others }, ...limited],
        end: [...entries, { $skip: examine - 1 }, { $limit: 1 }, last],
        hint,
      };
    });
  }

  /**
   * One search usually suffices: a second reads the absent values after the others.
   *
   * @param run gives the documents of a pipeline of the nth search
   */
  async read(
    run: (n: number, pipeline: 'matching' | 'end') => MaybePromise<readonly Document[]>,
  ): Promise<Page<EventRecord>> {
    const { limit, backward } = this.#request;
    const all: Document[] = [];
    let last: Document | undefined;
    for (const [n, { end }] of this.searches.entries()) {
      all.push(...(await run(n, 'matching')));
      if (all.length > limit) break;
      [last] = end ? await run(n, 'end') : [];
      if (last) break;
    }
    const items = all.slice(0, limit).map(this.#codec.toRecord);
    if (backward) items.reverse();
    if (!last) return { items, hasMore: all.length > limit };
    const value = this.#sort === undefined ? null : (this.#codec.toRecord(last)[this.#sort] ?? null);
    return { items, hasMore: true, end: { id: toId(last._id), value: value as SortValue } };
  }
}

/** Whether a condition allows several values. */
export const isList = (condition: unknown): condition is { $in: readonly unknown[] } =>
  typeof condition === 'object' && condition !== null && '$in' in condition;

/** Matches any value. Comparisons match values of their own type alone; no instant is the earliest. */
const anyValue = ({ kind }: Field): Document =>
  kind === 'instant' ? { $ne: null } : { $gte: kind === 'integer' ? Number.NEGATIVE_INFINITY : '' };

const stored = ({ kind }: Field, key: SortKey): unknown => (kind === 'instant' ? new Date(key) : key);

/**
 * The conditions of a range. A place among records with the same value needs a branch of its own, each of which
 * is in the order of the index.
 *
 * @returns null if nothing can be in it
 */
function conditionsOf(
  segment: Segment,
  property: string | undefined,
  field: Field | undefined,
  where: Document,
): Document | null {
  if (segment.values !== 'present')
    return {
      ...where,
      ...(segment.values === 'absent' && { [property!]: null }),
      ...idsWithin(segment),
    };
  const branches = spansOf(segment).map((span): Document => {
    if (span.key !== undefined)
      return { ...where, [property!]: stored(field!, span.key), ...idsWithin(span) };
    const key = within(span, ({ key }) => stored(field!, key!));
    return { ...where, [property!]: span.lower ? key : { ...anyValue(field!), ...key } };
  });
  return branches.length > 1 ? { $or: branches } : (branches[0] ?? null);
}

/** The comparisons of a range. @param keyOf the value of a bound as stored */
const within = ({ lower, upper }: Bounds, keyOf: (bound: Bound) => unknown): Document => ({
  ...(lower && { [lower.inclusive ? '$gte' : '$gt']: keyOf(lower) }),
  ...(upper && { [upper.inclusive ? '$lte' : '$lt']: keyOf(upper) }),
});

/** The condition on ids of a range. */
function idsWithin(range: Bounds): Document {
  return range.lower || range.upper ? { _id: within(range, ({ id }) => toKey(id!)) } : {};
}

/** How the index entries of the folded texts that begin with a prefix are found. */
export function searchOfPrefix(
  record: AnyRecord,
  { field, text }: { field: string; text: string },
): { match: Document; hint: Record<string, 1> } {
  const property = sortProperty(field, (record.fields as Fields)[field]!);
  return {
    match: { [property]: within(withinPrefix(text), ({ key }) => key) },
    hint: sortIndexKey(record, field),
  };
}
