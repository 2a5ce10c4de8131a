import type { Document } from 'mongodb';
import type { Id } from '../../foundation/id.ts';
import { type AnyDeclaration, referencesOf } from '../../foundation/record.ts';
import { tooManyToCount } from '../conflicts.ts';
import type { Meter } from '../../foundation/meter.ts';
import type { Lists, Reads, StoredRow } from '../engine.ts';
import type { Page, PageRequest } from '../../foundation/table.ts';
import { batchByTurn } from './batching.ts';
import { codecOf, type RecordDocument, toId, toKey } from './codec.ts';
import type { Database } from './database.ts';
import { isTimeExpired } from './driver-errors.ts';
import { searchesOf } from './searches.ts';
import { alone } from './transactions.ts';

/** The time limit for a count, which reads everything it counts; in milliseconds. */
const COUNT_TIMEOUT = 1_000;
/** The maximum number of records in a count. */
const MAX_COUNTED = 400_000;

/**
 * Reads of one kind of record. Each is one command that uses an index.
 *
 * @param commands the transaction to read in; by default none
 */
export function readsOf(database: Database, declaration: AnyDeclaration, commands = alone(database)): Reads {
  const { db } = database;
  const { projection, toRecord } = codecOf(declaration);
  const collection = db.collection<RecordDocument>(declaration.plural);

  const byId = batchByTurn<Id, StoredRow | null>(async (ids) => {
    const keys = ids.map(toKey);
    const _id = keys.length === 1 ? keys[0]! : { $in: keys };
    const documents = await commands.send((options) =>
      collection.find({ _id }, { ...options, projection, batchSize: keys.length + 1 }).toArray(),
    );
    const records = new Map(documents.map((document) => [toId(document._id), toRecord(document)]));
    return ids.map((id) => records.get(id) ?? null);
  });

  /** Builds a page. @param documents the results of all searches */
  const pageOf = (documents: readonly Document[], { limit, backward }: PageRequest): Page<StoredRow> => {
    const items = documents.slice(0, limit).map(toRecord);
    if (backward) items.reverse();
    return { items, hasMore: documents.length > limit };
  };

  /**
   * Reads pages. With parents, an aggregation starts at their collection: on a sharded cluster, each shard then handles
   * its own parents, and lookups target only shards that can have the children.
   */
  async function read(lists: Lists, request: PageRequest): Promise<Page<StoredRow>[]> {
    const { below } = lists;
    const { matches, $sort, hint } = searchesOf(declaration, lists, request);
    const searches = matches.map(($match) => [
      { $match },
      { $sort },
      { $limit: request.limit + 1 },
      { $project: projection },
    ]);
    if (!below) {
      const documents: Document[] = [];
      for (const search of searches) {
        if (documents.length > request.limit) break;
        const matching = await commands.send((options) =>
          collection.aggregate(search, { ...options, hint, batchSize: request.limit + 2 }).toArray(),
        );
        documents.push(...matching);
      }
      return [pageOf(documents, request)];
    }
    const { parent } = referencesOf(declaration).find(({ field }) => field === below.field)!;
    const wanted = [...new Set(below.parents)];
    const pipeline = [
      { $match: { _id: { $in: wanted.map(toKey) } } },
      { $project: { _id: 1 } },
      // localField with a pipeline gives each parent an ordered index scan that stops at the limit.
      ...searches.map((pipeline, n) => ({
        $lookup: {
          from: declaration.plural,
          localField: '_id',
          foreignField: below.field,
          as: `${n}`,
          pipeline,
        },
      })),
    ];
    const parents = db.collection<RecordDocument>(parent.plural);
    const rows = await commands.send((options) =>
      parents.aggregate(pipeline, { ...options, batchSize: wanted.length + 1 }).toArray(),
    );
    const byParent = new Map(rows.map((row) => [toId(row._id), searches.flatMap((_, n) => row[n])]));
    return below.parents.map((id) => pageOf(byParent.get(id) ?? [], request));
  }

  const pages = batchByTurn((all: readonly (readonly [Lists, PageRequest])[]) =>
    Promise.all(all.map((one) => read(...one).catch((error: Error) => error))),
  );

  /**
   * Counts records grouped by some fields, in a snapshot: otherwise a record that moves in the index could be counted
   * twice. Counting needs only the index that has all conditions. Unlike in the embedded engine, no counts are kept,
   * since all creations would contend for them.
   *
   * @param most the maximum number of groups to read
   */
  async function countedBy(
    lists: Lists,
    by: readonly string[],
    meter: Meter | undefined,
    most = MAX_COUNTED + 1,
  ) {
    const { below } = lists;
    const { matches, hint } = searchesOf(declaration, lists, { limit: 0 }, by);
    const allowed = Math.min(MAX_COUNTED, meter?.left('counted') ?? MAX_COUNTED);
    const pipeline = [
      // Both apply: the filter may have a condition on the parent too.
      { $match: { $and: [below ? { [below.field]: { $in: below.parents.map(toKey) } } : {}, matches[0]] } },
      { $limit: allowed + 1 },
      { $group: { _id: Object.fromEntries(by.map((field) => [field, `$${field}`])), n: { $sum: 1 } } },
      { $limit: most },
    ];
    // Drawn in advance, because a count that fails has read as much.
    meter?.draw('counted', allowed);
    const counted = await commands.send((options) =>
      collection
        .aggregate<{ _id: Document; n: number | bigint }>(pipeline, {
          ...options,
          ...(!options.session && { readConcern: { level: 'snapshot' } }),
          hint,
          maxTimeMS: COUNT_TIMEOUT,
        })
        .map(({ _id, n }) => ({ _id, n: Number(n) }))
        .toArray()
        .catch((error) => {
          throw isTimeExpired(error) ? tooManyToCount(error) : error;
        }),
    );
    // Beyond the last group there may be as many as were allowed.
    const examined = counted.length === most ? allowed : counted.reduce((sum, { n }) => sum + n, 0);
    if (examined > MAX_COUNTED) throw tooManyToCount();
    meter?.draw('counted', examined - allowed);
    return counted;
  }

  return {
    byIds: (ids) => Promise.all(ids.map(byId)),
    cached: () => undefined,
    pages: (...request) => pages(request),

    async counts(lists, meter) {
      const { below } = lists;
      const by = below ? [below.field] : [];
      const rows = await countedBy(lists, by, meter);
      const counted = new Map(rows.map(({ _id, n }) => [String(_id[below?.field ?? '']), n]));
      return (below?.parents ?? [undefined]).map((group) => counted.get(String(group)) ?? 0);
    },

    async groups(filter, by, most, meter) {
      const rows = await countedBy({ filter }, by, meter, most);
      return rows.map(({ _id, n }) => {
        const { id: _, ...values } = toRecord({ ..._id, _id: 0n });
        return { values, count: n };
      });
    },
  };
}
