import type { Document } from 'mongodb';
import type { Field } from '../../foundation/fields.ts';
import type { MaybePromise } from '../../foundation/maybe-promise.ts';
import type { AnyRecord, Fields } from '../../foundation/record.ts';
import type { EventRecord } from '../events.ts';
import { indexFor } from '../indexes.ts';
import {
  type Bound,
  type Bounds,
  type Segment,
  type SortKey,
  segmentsOf,
  spansOf,
  withinPrefix,
} from '../order.ts';
import type { Page, PageRequest } from '../table.ts';
import { type DocumentCodec, indexKey, sortProperty } from './codec.ts';
import { toKey } from './collection.ts';

/** Conditions of a list: those on fields, and the start of a folded text. */
export interface ListConditions {
  where: Document;
  prefix?: { field: string; text: string } | undefined;
}

/**
 * How a page is read: by index searches one after the other, mostly by one, each of which is in the order of the index
 * with all conditions.
 */
export class SearchedPage {
  /** The pipelines of the searches. */
  readonly searches: readonly Document[][];
  /** The key of their index. */
  readonly hint: Record<string, 1>;
  readonly #codec: DocumentCodec;
  readonly #request: PageRequest;

  /** @param below the field with the parent, where a list of each of some parents is read */
  constructor(
    record: AnyRecord,
    codec: DocumentCodec,
    { where, prefix }: ListConditions,
    request: PageRequest,
    below?: string,
  ) {
    const sort = request.order?.field ?? prefix?.field;
    const field = sort === undefined ? undefined : (record.fields as Fields)[sort]!;
    const property = field && sortProperty(sort!, field);
    const filtered = [...Object.keys(where), ...(below === undefined ? [] : [below])];
    this.#codec = codec;
    this.#request = request;
    this.hint = indexKey(record, indexFor(record, filtered, sort));
    this.searches = segmentsOf(field, request, prefix?.text).flatMap((segment) => {
      const ranges = rangesOf(segment, property, field);
      if (ranges.length === 0) return [];
      const conditions = ranges.map((range) => bothOf(where, range));
      const $match = conditions.length > 1 ? { $or: conditions } : conditions[0]!;
      const direction = segment.descending ? -1 : 1;
      const $sort = { ...(property !== undefined && { [property]: direction }), _id: direction };
      return [[{ $match }, { $sort }, { $limit: request.limit + 1 }, { $project: codec.projection }]];
    });
  }

  /**
   * One search usually suffices: a second reads the absent values after the others.
   *
   * @param run gives the documents of the nth search
   */
  async read(run: (n: number) => MaybePromise<readonly Document[]>): Promise<Page<EventRecord>> {
    const { limit, backward } = this.#request;
    const all: Document[] = [];
    for (let n = 0; n < this.searches.length && all.length <= limit; n++) all.push(...(await run(n)));
    const items = all.slice(0, limit).map(this.#codec.toRecord);
    if (backward) items.reverse();
    return { items, hasMore: all.length > limit };
  }
}

/** The value of a key as documents have it. */
const stored = (field: Field | undefined, key: SortKey | undefined): unknown =>
  field?.kind === 'instant' ? new Date(key as number) : key;

/**
 * The conditions of the ranges that make up a segment, each of which is in the order of the index: a place among records
 * with the same value has one of its own.
 */
function rangesOf(segment: Segment, property: string | undefined, field: Field | undefined): Document[] {
  if (segment.values === 'any') return [idsWithin(segment)];
  if (segment.values === 'absent') return [{ [property!]: null, ...idsWithin(segment) }];
  return spansOf(segment).map((span) => {
    if (span.key !== undefined) return { [property!]: stored(field, span.key), ...idsWithin(span) };
    // Comparisons match values of their own type alone.
    const keys = within(span, ({ key }) => stored(field, key));
    return { [property!]: span.lower || span.upper ? keys : { $ne: null } };
  });
}

/** Both conditions: they may be on the same property. */
const bothOf = (where: Document, range: Document): Document =>
  Object.keys(range).some((name) => name in where) ? { $and: [where, range] } : { ...where, ...range };

/** The comparisons of a range. @param keyOf the value of a bound as stored */
const within = ({ lower, upper }: Bounds, keyOf: (bound: Bound) => unknown): Document => ({
  ...(lower && { [lower.inclusive ? '$gte' : '$gt']: keyOf(lower) }),
  ...(upper && { [upper.inclusive ? '$lte' : '$lt']: keyOf(upper) }),
});

/** The condition on ids of a range. */
function idsWithin(range: Bounds): Document {
  return range.lower || range.upper ? { _id: within(range, ({ id }) => toKey(id!)) } : {};
}

/** The condition that folded texts begin with a prefix. */
export function matchOfPrefix(record: AnyRecord, { field, text }: { field: string; text: string }): Document {
  const property = sortProperty(field, (record.fields as Fields)[field]!);
  return { [property]: within(withinPrefix(text), ({ key }) => key) };
}
