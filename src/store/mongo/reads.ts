import type { Collection, Document, Filter } from 'mongodb';
import type { Id, OrderFilter, Page, PageRequest, PetFilter, PetstoreReads } from '../store.ts';
import type { Key, OrderDocument, PetDocument } from './collections.ts';
import type { Database } from './database.ts';
import { idOf, keyOf } from './ids.ts';
import { CATEGORY_FIELDS, ORDER_FIELDS, PET_FIELDS, toCategory, toOrder, toPet } from './records.ts';

/** How the documents of a collection become records. */
interface Kind<D extends { _id: Key }, T> {
  collection: Collection<D>;
  fields: Document;
  toRecord(document: D): T;
}

/** The reads of the port: each is one command, answered from an index in the order of the ids. */
export function mongoReads({ collections, options }: Database) {
  const pets = { collection: collections.pets, fields: PET_FIELDS, toRecord: toPet };
  const categories = { collection: collections.categories, fields: CATEGORY_FIELDS, toRecord: toCategory };
  const orders = { collection: collections.orders, fields: ORDER_FIELDS, toRecord: toOrder };

  async function byId<D extends { _id: Key }, T>(
    kind: Kind<D, T>,
    ids: readonly Id[],
  ): Promise<(T | null)[]> {
    const wanted = [...new Set(ids)];
    if (wanted.length === 0) return [];
    const found = await kind.collection
      .find({ _id: { $in: wanted.map(keyOf) } } as Filter<D>, {
        ...options,
        projection: kind.fields,
        batchSize: wanted.length + 1,
      })
      .toArray();
    const records = new Map(found.map((document) => [idOf(document._id), kind.toRecord(document as D)]));
    return ids.map((id) => records.get(id) ?? null);
  }

  async function page<D extends { _id: Key }, T>(
    kind: Kind<D, T>,
    filter: Document | null,
    request: PageRequest,
  ): Promise<Page<T>> {
    if (filter === null) return { items: [], hasMore: false };
    const found = await kind.collection
      .find({ ...filter, ...rangeOf(request) } as Filter<D>, {
        ...options,
        projection: kind.fields,
        sort: orderOf(request),
        limit: request.limit + 1,
        batchSize: request.limit + 2,
      })
      .toArray();
    return pageOf(found as D[], request, kind.toRecord);
  }

  async function pagesByParent<D extends { _id: Key }, T>(
    kind: Kind<D, T>,
    parentField: string,
    parentIds: readonly Id[],
    filter: Document | null,
    request: PageRequest,
  ): Promise<Page<T>[]> {
    const wanted = [...new Set(parentIds)];
    const pages = new Map<Id, Page<T>>();
    if (filter !== null && wanted.length > 0) {
      // Starts from a document that is always there and turns it into the list of parents, because a parent that has
      // been deleted can still be named by complete orders ($documents would say it better, but isn't in MongoDB 5.0).
      // localField with a pipeline gives each parent an index scan of its own, in order and cut at the limit.
      const rows = await collections.counters
        .aggregate<{ parent: Key; found: D[] }>(
          [
            { $match: { _id: 'pets' } },
            { $project: { _id: 0, parent: { $literal: wanted.map(keyOf) } } },
            { $unwind: '$parent' },
            {
              $lookup: {
                from: kind.collection.collectionName,
                localField: 'parent',
                foreignField: parentField,
                pipeline: [
                  { $match: { ...filter, ...rangeOf(request) } },
                  { $sort: orderOf(request) },
                  { $limit: request.limit + 1 },
                  { $project: kind.fields },
                ],
                as: 'found',
              },
            },
          ],
          { ...options, batchSize: wanted.length + 1 },
        )
        .toArray();
      for (const { parent, found } of rows) pages.set(idOf(parent), pageOf(found, request, kind.toRecord));
    }
    return parentIds.map((id) => pages.get(id) ?? { items: [], hasMore: false });
  }

  async function count<D extends Document>(
    collection: Collection<D>,
    filter: Document | null,
  ): Promise<number> {
    if (filter === null) return 0;
    // Not the collection's own count, which can be wrong after a crash and on a sharded cluster. Without a filter the
    // hint makes it a count of the index instead of a scan of the documents.
    const hint = Object.keys(filter).length === 0 ? { hint: '_id_' } : {};
    return await collection.countDocuments(filter as Filter<D>, { ...options, ...hint });
  }

  async function countsByParent<D extends Document>(
    collection: Collection<D>,
    parentField: string,
    parentIds: readonly Id[],
    filter: Document | null,
  ): Promise<number[]> {
    const wanted = [...new Set(parentIds)];
    if (filter === null || wanted.length === 0) return parentIds.map(() => 0);
    const rows = await collection
      .aggregate<{ _id: Key; count: number | bigint }>(
        [
          // Both conditions count: the filter may name a parent too.
          { $match: { $and: [{ [parentField]: { $in: wanted.map(keyOf) } }, filter] } },
          { $group: { _id: `$${parentField}`, count: { $sum: 1 } } },
        ],
        { ...options, batchSize: wanted.length + 1 },
      )
      .toArray();
    const counts = new Map(rows.map((row) => [idOf(row._id), Number(row.count)]));
    return parentIds.map((id) => counts.get(id) ?? 0);
  }

  return {
    petsById: (ids) => byId(pets, ids),
    categoriesById: (ids) => byId(categories, ids),
    ordersById: (ids) => byId(orders, ids),

    petPage: (filter, request) => page(pets, petsThat(filter), request),
    categoryPage: (request) => page(categories, {}, request),
    orderPage: (filter, request) => page(orders, ordersThat(filter), request),

    petPagesByCategory: (ids, filter, request) =>
      pagesByParent(pets, 'categoryId', ids, petsThat(filter), request),
    orderPagesByPet: (ids, filter, request) =>
      pagesByParent(orders, 'petId', ids, ordersThat(filter), request),

    petCount: (filter) => count(collections.pets, petsThat(filter)),
    categoryCount: () => count(collections.categories, {}),
    orderCount: (filter) => count(collections.orders, ordersThat(filter)),
    petCountsByCategory: (ids, filter) =>
      countsByParent(collections.pets, 'categoryId', ids, petsThat(filter)),
    orderCountsByPet: (ids, filter) => countsByParent(collections.orders, 'petId', ids, ordersThat(filter)),
  } satisfies PetstoreReads;
}

/** Null matches nothing, and needs no command to know it. */
function petsThat({ status, categoryId }: PetFilter): Filter<PetDocument> | null {
  if (status?.length === 0) return null;
  return {
    ...(status && { status: status.length === 1 ? status[0]! : { $in: [...status] } }),
    ...(categoryId !== undefined && { categoryId: keyOf(categoryId) }),
  };
}

const ordersThat = ({ petId, complete }: OrderFilter): Filter<OrderDocument> => ({
  ...(petId !== undefined && { petId: keyOf(petId) }),
  ...(complete !== undefined && { complete }),
});

function rangeOf({ after, before }: PageRequest): Document {
  if (after === undefined && before === undefined) return {};
  return {
    _id: {
      ...(after !== undefined && { $gt: keyOf(after) }),
      ...(before !== undefined && { $lt: keyOf(before) }),
    },
  };
}

const orderOf = ({ backward }: PageRequest): { _id: 1 | -1 } => ({ _id: backward ? -1 : 1 });

/** Makes a page of the documents found, which are one more than asked for if there are more. */
function pageOf<D, T>(found: D[], { limit, backward }: PageRequest, toRecord: (document: D) => T): Page<T> {
  const items = found.slice(0, limit).map(toRecord);
  if (backward) items.reverse();
  return { items, hasMore: found.length > limit };
}
