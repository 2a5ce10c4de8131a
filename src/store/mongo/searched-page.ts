import type { Document } from 'mongodb';
import type { Field } from '../../foundation/fields.ts';
import type { MaybePromise } from '../../foundation/maybe-promise.ts';
import type { AnyRecord, Fields } from '../../foundation/record.ts';
import type { EventRecord } from '../events.ts';
import { indexFor } from '../indexes.ts';
import { type Range, readingOf, type SortKey } from '../order.ts';
import type { Page, PageRequest } from '../table.ts';
import { type DocumentCodec, indexKey, sortProperty } from './codec.ts';

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
    const { searches, descending } = readingOf(field, request, prefix?.text);
    const direction = descending ? -1 : 1;
    const $sort = { ...(property !== undefined && { [property]: direction }), _id: direction };
    this.searches = searches.map((ranges) => {
      const conditions = ranges.map((range) => bothOf(where, within(range, property, field)));
      const $match = conditions.length > 1 ? { $or: conditions } : conditions[0]!;
      return [{ $match }, { $sort }, { $limit: request.limit + 1 }, { $project: codec.projection }];
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

/**
 * The conditions of a range, which is in the order of an index.
 *
 * @param property the one that lists are ordered by, of this field; undefined for the id
 */
function within({ value, lower, upper }: Range, property = '_id', field?: Field): Document {
  const stored = (key: SortKey) =>
    field?.kind === 'instant' && typeof key === 'number' ? new Date(key) : key;
  const keys = {
    ...(lower && { [lower.inclusive ? '$gte' : '$gt']: stored(lower.key) }),
    ...(upper && { [upper.inclusive ? '$lte' : '$lt']: stored(upper.key) }),
  };
  const isBounded = lower !== undefined || upper !== undefined;
  if (value !== undefined)
    return { [property]: value === null ? null : stored(value), ...(isBounded && { _id: keys }) };
  // Comparisons match values of their own type alone.
  if (isBounded) return { [property]: keys };
  return property === '_id' ? {} : { [property]: { $ne: null } };
}

/** Both conditions: they may be on the same property. */
const bothOf = (where: Document, range: Document): Document =>
  Object.keys(range).some((name) => name in where) ? { $and: [where, range] } : { ...where, ...range };

/** The condition that folded texts begin with a prefix. */
export function matchOfPrefix(record: AnyRecord, { field, text }: { field: string; text: string }): Document {
  const declaration = (record.fields as Fields)[field]!;
  const [[range]] = readingOf(declaration, { limit: 0 }, text).searches as [[Range]];
  return within(range, sortProperty(field, declaration));
}
