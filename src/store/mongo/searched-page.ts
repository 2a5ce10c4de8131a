import type { Document } from 'mongodb';
import type { Position, SortValue } from '../../foundation/cursor.ts';
import type { Field } from '../../foundation/fields.ts';
import type { AnyRecord, Fields } from '../../foundation/record.ts';
import { MAX_EXAMINED } from '../indexes.ts';
import {
  type IdBound,
  isFolded,
  type Segment,
  type SortKey,
  segmentsOf,
  spansOf,
  withinPrefix,
} from '../order.ts';
import type { Order, PageRequest } from '../table.ts';
import { toId, toKey } from './collection.ts';

/** The property that a field is ordered by: for a text, the one with its folded form. */
export const sortProperty = (field: string, declaration: Field): string =>
  isFolded(declaration) ? `${field}Folded` : field;

/** The key of the index for an order. */
export const sortIndexKey = ({ fields }: AnyRecord, sort: string): Record<string, 1> => ({
  [sortProperty(sort, (fields as Fields)[sort]!)]: 1,
  _id: 1,
});

/** Conditions of a list: those on fields, and the start of a folded text. */
export interface ListConditions {
  where: Document;
  prefix?: { field: string; text: string } | undefined;
}

/** One index search of a page. */
export interface Search {
  /** The conditions that the index has. */
  match: Document;
  /** Those that it does not have. */
  others: Document | undefined;
  sort: Record<string, 1 | -1>;
  hint: Record<string, 1> | undefined;
}

/** How a page is read: by index searches one after the other, mostly by one. */
export class SearchedPage {
  readonly limit: number;
  readonly #examine: number;
  readonly searches: readonly Search[];
  /** The field that the list is ordered by; undefined for its id. */
  readonly #sort: string | undefined;
  readonly #backward: boolean;

  constructor(record: AnyRecord, { where, prefix }: ListConditions, request: PageRequest) {
    const sort = request.order?.field ?? prefix?.field;
    const order: Order = request.order ?? { field: sort, descending: false };
    const field = sort === undefined ? undefined : (record.fields as Fields)[sort]!;
    this.limit = request.limit;
    this.#examine = request.examine ?? MAX_EXAMINED;
    this.#sort = sort;
    this.#backward = request.backward ?? false;
    // The indexes for orders have no conditions.
    const [inIndex, others] = sort === undefined ? [where, undefined] : [{}, where];
    const property = field && sortProperty(sort!, field);
    this.searches = segmentsOf(field, { ...request, order }, prefix?.text).flatMap((segment) => {
      const match = matching(segment, property, field, inIndex);
      const direction = segment.descending ? -1 : 1;
      return match === null
        ? []
        : {
            match,
            others: others && Object.keys(others).length > 0 ? others : undefined,
            sort: { ...(property !== undefined && { [property]: direction }), _id: direction } as const,
            hint: sort === undefined ? undefined : sortIndexKey(record, sort),
          };
    });
  }

  /** The pipelines for the documents of a search and, if its index lacks conditions, for its end. */
  pipelines(
    { match, others, sort }: Search,
    projection: Document,
  ): { matching: Document[]; end?: Document[] } {
    const entries = [{ $match: match }, { $sort: sort }];
    const limited = [{ $limit: this.limit + 1 }, { $project: projection }];
    if (!others) return { matching: [...entries, ...limited] };
    const last = { $project: { _id: 1, ...(this.#sort !== undefined && { [this.#sort]: 1 }) } };
    return {
      matching: [...entries, { $limit: this.#examine }, { $match: others }, ...limited],
      end: [...entries, { $skip: this.#examine - 1 }, { $limit: 1 }, last],
    };
  }

  /** Whether a page is complete with these documents, so that no further search is needed. */
  isFull(documents: readonly unknown[]): boolean {
    return documents.length > this.limit;
  }

  /**
   * @param documents the documents of the searches, in their order
   * @param end the last entry examined, if a search ended there
   * @param read converts a value of the field that the list is ordered by
   */
  toPage<T>(documents: readonly Document[], end: Document | undefined, toRecord: (document: Document) => T) {
    const isFull = this.isFull(documents);
    const items = documents.slice(0, this.limit).map(toRecord);
    if (this.#backward) items.reverse();
    const position = !isFull && end ? { end: this.#positionOf(end, toRecord as never) } : {};
    return { items, hasMore: isFull || end !== undefined, ...position };
  }

  #positionOf(end: Document, toRecord: (document: Document) => Record<string, SortValue>): Position {
    const value = this.#sort === undefined ? null : (toRecord(end)[this.#sort] ?? null);
    return { id: toId(end._id), value };
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
function matching(
  segment: Segment,
  property: string | undefined,
  field: Field | undefined,
  where: Document,
): Document | null {
  if (segment.values !== 'present') {
    return {
      ...where,
      ...(segment.values === 'absent' && { [property!]: null }),
      ...idsWithin(segment),
    };
  }
  const branches = spansOf(segment).map((span): Document => {
    if (span.key !== undefined)
      return { ...where, [property!]: stored(field!, span.key), ...idsWithin(span) };
    const { lower, upper } = span;
    return {
      ...where,
      [property!]: {
        ...(lower ? { [lower.inclusive ? '$gte' : '$gt']: stored(field!, lower.key) } : anyValue(field!)),
        ...(upper && { [upper.inclusive ? '$lte' : '$lt']: stored(field!, upper.key) }),
      },
    };
  });
  return branches.length > 1 ? { $or: branches } : (branches[0] ?? null);
}

/** The condition on ids of a range. */
const idsWithin = ({
  lower,
  upper,
}: {
  lower?: IdBound | undefined;
  upper?: IdBound | undefined;
}): Document =>
  lower || upper
    ? {
        _id: {
          ...(lower && { [lower.inclusive ? '$gte' : '$gt']: toKey(lower.id) }),
          ...(upper && { [upper.inclusive ? '$lte' : '$lt']: toKey(upper.id) }),
        },
      }
    : {};

/** How the index entries of the folded texts that begin with a prefix are found. */
export function searchOfPrefix(
  record: AnyRecord,
  { field, text }: { field: string; text: string },
): { match: Document; hint: Record<string, 1> } {
  const { lower, upper } = withinPrefix(text);
  const property = sortProperty(field, (record.fields as Fields)[field]!);
  return {
    match: { [property]: { $gte: lower!.key, ...(upper && { $lt: upper.key }) } },
    hint: sortIndexKey(record, field),
  };
}
