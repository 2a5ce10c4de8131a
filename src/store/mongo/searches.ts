import type { Document } from 'mongodb';
import type { Field } from '../../foundation/fields.ts';
import {
  type AnyDeclaration,
  type Fields,
  isOrderCondition,
  type OrderCondition,
} from '../../foundation/record.ts';
import type { Lists } from '../engine.ts';
import { indexFor } from '../indexes.ts';
import { type Range, rangeSearches, type SortKey } from '../sort-order.ts';
import type { PageRequest } from '../../foundation/table.ts';
import { codecOf, indexKey, sortProperty } from './codec.ts';

/** The searches that read lists. */
interface Searches {
  /**
   * The conditions of consecutive searches, without those on parents: usually one, and a second for absent values,
   * which come last. Each yields results in the order of the index.
   */
  matches: readonly Document[];
  $sort: Document;
  /** The key of the index of all conditions followed by the order. */
  hint: Document;
}

/**
 * Plans the searches that read lists. By default, lists with an order condition have its field's order.
 *
 * @param by more fields for the index
 */
export function searchesOf(
  declaration: AnyDeclaration,
  { filter, below }: Lists,
  request: PageRequest,
  by: readonly string[] = [],
): Searches {
  const where: Document = {};
  const filtered = below ? [below.field] : [];
  let sort = request.order?.field;
  let condition: OrderCondition | undefined;
  for (const [name, value] of Object.entries(codecOf(declaration).stored(filter))) {
    const wanted = filter[name];
    if (isOrderCondition(wanted)) {
      sort ??= name;
      condition = wanted;
    } else {
      filtered.push(name);
      where[name] = !Array.isArray(value) ? value : value.length === 1 ? value[0] : { $in: value };
    }
  }
  const field = sort === undefined ? undefined : (declaration.fields as Fields)[sort];
  const property = field && sortProperty(declaration, sort!);
  const { searches, descending } = rangeSearches(field, request, condition);
  const direction = descending ? -1 : 1;
  return {
    matches: searches.map((ranges) => {
      const conditions = ranges.map((range) => bothOf(where, conditionsOf(range, property, field)));
      return conditions.length > 1 ? { $or: conditions } : conditions[0]!;
    }),
    $sort: { ...(property !== undefined && { [property]: direction }), _id: direction },
    hint: indexKey(declaration, indexFor(declaration, [...filtered, ...by], sort)),
  };
}

/**
 * The conditions of a contiguous range of an index.
 *
 * @param property the property that orders lists, of this field; defaults to the id's
 */
function conditionsOf({ value, lower, upper }: Range, property = '_id', field?: Field): Document {
  const stored = (key: SortKey | null) =>
    field?.kind === 'instant' && typeof key === 'number' ? new Date(key) : key;
  const keys = {
    ...(lower && { [lower.inclusive ? '$gte' : '$gt']: stored(lower.key) }),
    ...(upper && { [upper.inclusive ? '$lte' : '$lt']: stored(upper.key) }),
  };
  const isBounded = lower !== undefined || upper !== undefined;
  if (value !== undefined) return { [property]: stored(value), ...(isBounded && { _id: keys }) };
  // Comparisons only match values of their own type.
  if (isBounded) return { [property]: keys };
  return property === '_id' ? {} : { [property]: { $ne: null } };
}

/** Combines two conditions, which may be on the same property. */
const bothOf = (where: Document, range: Document): Document =>
  Object.keys(range).some((name) => name in where) ? { $and: [where, range] } : { ...where, ...range };
