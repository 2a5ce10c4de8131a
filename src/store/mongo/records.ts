import type { Collection, Document, Filter } from 'mongodb';
import type { Id } from '../../foundation/id.ts';
import type { Meter } from '../../foundation/meter.ts';
import type { AnyRecord } from '../../foundation/record.ts';
import { tooManyToCount } from '../conflicts.ts';
import { MAX_COUNTED } from '../indexes.ts';
import type { Page, PageRequest } from '../table.ts';
import type { Attempt } from './attempts.ts';
import { batch, dedupe, limitConcurrency, singleFlight } from './batching.ts';
import { type Key, toId, toKey } from './collection.ts';
import type { Database } from './database.ts';
import { isTimeExpired } from './errors.ts';
import { isList, type ListConditions, SearchedPage, searchOfPrefix } from './searched-page.ts';

/** Time limit for a count in milliseconds, because counting reads everything it counts. */
const COUNT_TIMEOUT = 1_000;
/** Records that an index counts as fast as one entry is examined, whose record has to be read. */
const COUNTED_PER_ENTRY = 20;
/** Concurrent counts per collection and instance. Each may keep a core of the server busy until its time limit. */
const MAX_COUNTS = 4;
/** Maximum ids per command. */
const MAX_IDS = 1_000;
/** Maximum pages per parent in one command. */
const MAX_LOOKUPS = 50;

/** How documents of a collection map to records of the port. */
export interface RecordKind<D extends { _id: Key }, T> {
  record: AnyRecord;
  collection: Collection<D>;
  /** The projection. Versions stay in the database. */
  fields: Document;
  toRecord(document: D): T;
}

/** How records refer to their parents. */
export interface ParentReference<D> {
  collection: Collection<{ _id: Key }>;
  /** The field of the child with the parent's key. */
  field: string & keyof D;
  /** Whether children may refer to a deleted parent. */
  mayBeDeleted: boolean;
}

/** Parents whose children are counted. */
interface ParentIds {
  /** The field of the child with the parent's key. */
  field: string;
  ids: readonly Id[];
}

/** Counts, and how many index entries were examined for all of them. */
interface Counted {
  counts: number[];
  examined: number;
}

/** A condition; null matches nothing and needs no command. */
export type Where<D> = Filter<D> | null;

/** A request for one page per parent. */
interface PageOfParents<D> {
  /** Identifies equal requests. */
  name: string;
  parents: ParentReference<D>;
  parentIds: readonly Id[];
  where: Filter<D>;
  request: PageRequest;
  prefix: ListConditions['prefix'];
}

/** Reads common to all records. Each is one command that is answered from an index in id order. */
export class Records<D extends { _id: Key }, T> {
  readonly #kind: RecordKind<D, T>;
  readonly #options: Database['options'];
  readonly #send: Attempt['send'];
  readonly #find: (ids: readonly Id[]) => Promise<ReadonlyMap<Id, T>>;
  readonly #pages = dedupe<Page<T>>();
  // One promise per request, so that a failed command does not affect the others.
  readonly #pagesOfParents = batch<PageOfParents<D>, { pages: Promise<Page<T>[]> }>(async (all) =>
    this.#readPagesOfParents(all),
  );
  readonly #counts = singleFlight<Counted>();
  readonly #counting = limitConcurrency<Counted>(MAX_COUNTS);
  readonly #lastCounts = new WeakMap<Meter, Promise<unknown>>();

  /** @param transaction to read what it sees */
  constructor(kind: RecordKind<D, T>, { options }: Database, transaction?: Attempt) {
    this.#kind = kind;
    this.#options = transaction?.options ?? options;
    this.#send = transaction?.send ?? ((command) => command());
    const findTogether = batch<readonly Id[], ReadonlyMap<Id, T>>(async (all) => {
      const found = await this.#findAll(all.length === 1 ? all[0]! : all.flat());
      return all.map(() => found);
    });
    this.#find = (ids) => (ids.length > MAX_IDS ? this.#findAll(ids) : findTogether(ids));
  }

  async byId(ids: readonly Id[]): Promise<(T | null)[]> {
    if (ids.length === 0) return [];
    const records = await this.#find(ids);
    return ids.map((id) => records.get(id) ?? null);
  }

  async #findAll(ids: readonly Id[]): Promise<ReadonlyMap<Id, T>> {
    const { collection, fields, toRecord } = this.#kind;
    const wanted = [...new Set(ids)];
    const records = new Map<Id, T>();
    if (wanted.length === 1) {
      const filter = { _id: toKey(wanted[0]!) } as Filter<D>;
      const found = await this.#send(() =>
        collection.findOne(filter, { ...this.#options, projection: fields }),
      );
      if (found) records.set(wanted[0]!, toRecord(found as D));
      return records;
    }
    for (let i = 0; i < wanted.length; i += MAX_IDS) {
      const some = wanted.slice(i, i + MAX_IDS);
      const found = await this.#send(() =>
        collection
          .find({ _id: { $in: some.map(toKey) } } as Filter<D>, {
            ...this.#options,
            projection: fields,
            batchSize: some.length + 1,
          })
          .toArray(),
      );
      for (const document of found) records.set(toId(document._id), toRecord(document as D));
    }
    return records;
  }

  #pageOf(conditions: ListConditions, request: PageRequest): SearchedPage {
    return new SearchedPage(this.#kind.record, conditions, request);
  }

  /** @param prefix the start of a folded text, besides the other conditions */
  async page(where: Where<D>, request: PageRequest, prefix?: ListConditions['prefix']): Promise<Page<T>> {
    if (where === null) return { items: [], hasMore: false };
    return await this.#pages(cacheKey([where, request, prefix]), () =>
      this.#readPage(this.#pageOf({ where, prefix }, request)),
    );
  }

  /** One search usually suffices: a second reads the absent values after the others, or where a search ended. */
  async #readPage(page: SearchedPage): Promise<Page<T>> {
    const { collection, fields, toRecord } = this.#kind;
    const options = { ...this.#options, batchSize: page.limit + 2 };
    const all: Document[] = [];
    for (const search of page.searches) {
      const { match, sort, hint } = search;
      const hinted = { ...options, ...(hint && { hint }) };
      const { found, end } = page.pipelines(search, fields);
      const exact = { ...hinted, projection: fields, sort, limit: page.limit + 1 };
      const rows = await this.#send(() =>
        end
          ? collection.aggregate<Document>(found, hinted).toArray()
          : collection.find<Document>(match as Filter<D>, exact).toArray(),
      );
      all.push(...rows);
      if (page.isFull(all)) break;
      const [last] = end ? await this.#send(() => collection.aggregate(end, hinted).toArray()) : [];
      if (last) return page.toPage(all as D[], last, toRecord);
    }
    return page.toPage(all as D[], undefined, toRecord);
  }

  /**
   * Reads one page per parent. The aggregation starts at the parents' collection: on a sharded cluster each
   * shard then handles its own parents, and lookups target only shards that can have the children.
   *
   * @param parents how the children refer to their parents
   */
  async pagesByParent(
    parents: ParentReference<D>,
    parentIds: readonly Id[],
    where: Where<D>,
    request: PageRequest,
    prefix?: ListConditions['prefix'],
  ): Promise<Page<T>[]> {
    if (where === null || parentIds.length === 0) {
      return parentIds.map(() => ({ items: [], hasMore: false }));
    }
    const name = cacheKey([parentIds, where, request, prefix]);
    return await (await this.#pagesOfParents({ name, parents, parentIds, where, request, prefix })).pages;
  }

  /** Combines requests for the same parents: a document may request a hundred pages of one parent by aliases. */
  #readPagesOfParents(all: readonly PageOfParents<D>[]): { pages: Promise<Page<T>[]> }[] {
    const wanted = new Map(all.map((one) => [one.name, one]));
    const groups = new Map<string, PageOfParents<D>[]>();
    for (const one of wanted.values()) {
      const ids = cacheKey(one.parentIds);
      groups.set(ids, [...(groups.get(ids) ?? []), one]);
    }
    const read = new Map<string, Promise<Page<T>[]>>();
    for (const group of groups.values()) {
      for (let i = 0; i < group.length; i += MAX_LOOKUPS) {
        const some = group.slice(i, i + MAX_LOOKUPS);
        const pages = this.#lookUp(some);
        for (const [n, { name }] of some.entries())
          read.set(
            name,
            pages.then((found) => found[n]!),
          );
      }
    }
    return all.map(({ name }) => ({ pages: read.get(name)! }));
  }

  /** @param all requests for the same parents. @returns for each request, one page per parent */
  async #lookUp(all: readonly PageOfParents<D>[]): Promise<Page<T>[][]> {
    const { parents, parentIds } = all[0]!;
    const { collection, field, mayBeDeleted } = parents;
    const wanted = [...new Set(parentIds)];
    const asked = all.map(({ where, request, prefix }) => this.#pageOf({ where, prefix }, request));
    const lookups = asked.flatMap((page, n) =>
      page.searches.flatMap((search, i): [as: string, pipeline: Document[]][] => {
        const { found, end } = page.pipelines(search, this.#kind.fields);
        return [[`found${n}_${i}`, found], ...(end ? [[`end${n}_${i}`, end] as [string, Document[]]] : [])];
      }),
    );
    const rows = await this.#send(() =>
      collection
        .aggregate<{ _id: Key; [found: string]: unknown }>(
          [
            { $match: { _id: { $in: wanted.map(toKey) } } },
            { $project: { _id: 1 } },
            // With localField and pipeline, each parent gets an ordered index scan that stops at the limit.
            ...lookups.map(([as, pipeline]) => ({
              $lookup: {
                from: this.#kind.collection.collectionName,
                localField: '_id',
                foreignField: field,
                pipeline,
                as,
              },
            })),
          ],
          { ...this.#options, batchSize: wanted.length + 1 },
        )
        .toArray(),
    );
    return await Promise.all(
      all.map(async ({ where, request, prefix }, n) => {
        const pages = new Map<Id, Page<T>>();
        for (const row of rows) pages.set(toId(row._id), pageIn(row, n, asked[n]!, this.#kind.toRecord));
        for (const id of mayBeDeleted ? wanted : []) {
          if (pages.has(id)) continue;
          const ofThis = { ...where, [field]: toKey(id) } as Filter<D>;
          pages.set(id, await this.#readPage(this.#pageOf({ where: ofThis, prefix }, request)));
        }
        return parentIds.map((id) => pages.get(id) ?? { items: [], hasMore: false });
      }),
    );
  }

  /**
   * Counts what matches: one count for each of some parents, or a single one.
   *
   * @param meter bounds what is examined
   * @throws QUERY_TOO_COMPLEX if there are too many to count, or more than the meter allows
   */
  async counts(
    where: Where<D>,
    prefix: ListConditions['prefix'],
    ofParents: ParentIds | undefined,
    meter: Meter | undefined,
  ): Promise<number[]> {
    if (where === null || ofParents?.ids.length === 0) return ofParents?.ids.map(() => 0) ?? [0];
    // An index alone counts what it has all conditions of.
    const perEntry = prefix ? 1 : COUNTED_PER_ENTRY;
    const max = prefix ? MAX_COUNTED : COUNTED_PER_ENTRY * MAX_COUNTED;
    return await this.#inTurn(meter, async () => {
      const most = Math.min(max, perEntry * (meter?.left('indexEntries') ?? max));
      const { counts, examined } = await this.#counts(cacheKey([where, prefix, ofParents, most]), () =>
        this.#counting(() => this.#count(where, prefix, ofParents, most + 1)),
      );
      if (examined > max) throw tooManyToCount();
      meter?.draw('indexEntries', Math.ceil(examined / perEntry));
      return counts;
    });
  }

  /** Counts for one request one after the other, so that each is bounded by what those before it have left. */
  #inTurn<R>(meter: Meter | undefined, count: () => Promise<R>): Promise<R> {
    if (!meter) return count();
    const counted = (this.#lastCounts.get(meter) ?? Promise.resolve()).then(count);
    this.#lastCounts.set(
      meter,
      counted.catch(() => {}),
    );
    return counted;
  }

  async #count(
    where: Filter<D>,
    prefix: ListConditions['prefix'],
    ofParents: ParentIds | undefined,
    most: number,
  ): Promise<Counted> {
    const { collection, record } = this.#kind;
    // Both conditions apply: the filter may contain a parent too.
    const conditions: Document[] = [
      ...(ofParents ? [{ [ofParents.field]: { $in: [...new Set(ofParents.ids)].map(toKey) } }] : []),
      ...(Object.keys(where).length > 0 ? [where] : []),
    ];
    // Without a filter, the hint counts the index instead of scanning documents.
    const all = { match: {}, hint: { _id: 1 } };
    const exact = conditions.length === 0 ? all : { match: { $and: conditions }, hint: undefined };
    const search = prefix ? searchOfPrefix(record, prefix) : exact;
    const matches = prefix ? { $and: conditions.flatMap(expressionsOf) } : true;
    const rows = await withCountTimeout((maxTimeMS) =>
      this.#send(() =>
        collection
          .aggregate<{ _id: Key | boolean | null; n: number | bigint }>(
            [
              { $match: search.match },
              { $limit: most },
              {
                $group: {
                  _id: ofParents ? { $cond: [matches, `$${ofParents.field}`, null] } : matches,
                  n: { $sum: 1 },
                },
              },
            ],
            { ...this.#options, maxTimeMS, ...(search.hint && { hint: search.hint }) },
          )
          .toArray(),
      ),
    );
    const found = new Map(rows.map(({ _id, n }) => [String(_id), Number(n)]));
    const examined = [...found.values()].reduce((sum, n) => sum + n, 0);
    const counts = (ofParents?.ids ?? [true]).map((group) => found.get(String(group)) ?? 0);
    return { counts, examined };
  }
}

/** Whether a page is not simply in ascending order of ids. */
export const isOrdered = ({ order }: PageRequest, prefix: ListConditions['prefix']): boolean =>
  order !== undefined || prefix !== undefined;

/** The nth page in the row of one parent. */
function pageIn<D, T>(row: Document, n: number, page: SearchedPage, toRecord: (document: D) => T): Page<T> {
  const all: D[] = [];
  for (let i = 0; row[`found${n}_${i}`] !== undefined && !page.isFull(all); i++) {
    all.push(...(row[`found${n}_${i}`] as D[]));
    const last = (row[`end${n}_${i}`] as Document[] | undefined)?.[0];
    if (last && !page.isFull(all)) return page.toPage(all, last, toRecord);
  }
  return page.toPage(all, undefined, toRecord);
}

async function withCountTimeout<R>(count: (maxTimeMS: number) => Promise<R>): Promise<R> {
  try {
    return await count(COUNT_TIMEOUT);
  } catch (error) {
    throw isTimeExpired(error) ? tooManyToCount(error) : error;
  }
}

/** Conditions as an expression has them. */
const expressionsOf = (conditions: Document): Document[] =>
  Object.entries(conditions).map(([name, condition]) =>
    isList(condition)
      ? { $in: [`$${name}`, condition.$in.map(($literal) => ({ $literal }))] }
      : { $eq: [`$${name}`, { $literal: condition }] },
  );

const cacheKey = (value: unknown): string =>
  JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? String(part) : part));
