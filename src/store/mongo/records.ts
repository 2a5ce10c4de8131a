import type { Collection, Document } from 'mongodb';
import type { Id } from '../../foundation/id.ts';
import type { Meter } from '../../foundation/meter.ts';
import { type AnyRecord, isPrefix, type Prefix, referencesOf } from '../../foundation/record.ts';
import { tooManyToCount } from '../conflicts.ts';
import type { EventRecord } from '../events.ts';
import type { Folding } from '../folding.ts';
import { indexFor } from '../indexes.ts';
import type { Page, PageRequest, TableReads } from '../table.ts';
import type { Attempt } from './attempts.ts';
import { batch, inTurn, limitConcurrency, type Send, singleFlight } from './batching.ts';
import { type Key, toId, toKey } from './collection.ts';
import type { Database } from './database.ts';
import { type DocumentCodec, indexKey, type RecordDocument } from './documents.ts';
import { isTimeExpired } from './errors.ts';
import { type ListConditions, matchOfPrefix, SearchedPage } from './searched-page.ts';

/** Time limit for a count in milliseconds, because counting reads everything it counts. */
const COUNT_TIMEOUT = 1_000;
/** Records that an index counts as fast as one entry is examined, whose record has to be read. */
const COUNTED_PER_ENTRY = 20;
/** Records that a count may be of. */
const MAX_COUNTED = 400_000;
/** Concurrent counts per collection and instance. Each may keep a core of the server busy until its time limit. */
const MAX_COUNTS = 4;
/** Maximum ids per command. */
const MAX_IDS = 1_000;
/** Maximum pages per parent in one command. */
const MAX_LOOKUPS = 50;

type Pages = Page<EventRecord>[];

/** The field of the child with the parent's key, and the parents. */
interface OfParents {
  field: string;
  ids: readonly Id[];
}

/** A request for a page of a list, or for one per parent. */
interface PagesRequest {
  parents?: OfParents | undefined;
  conditions: ListConditions;
  request: PageRequest;
}

/** Counts, and how many index entries were examined for all of them. */
interface Counted {
  counts: number[];
  examined: number;
}

/** Reads of the records of one kind. Each is one command that is answered from an index. */
export class RecordReads implements TableReads<AnyRecord> {
  readonly #record: AnyRecord;
  readonly #codec: DocumentCodec;
  readonly #db: Database['db'];
  readonly #collection: Collection<RecordDocument>;
  readonly #folding: Folding;
  readonly #options: Database['options'];
  readonly #send: Send;
  readonly #find = batch<readonly Id[], ReadonlyMap<Id, EventRecord>>(async (all) => {
    const records = await this.#recordsOf([...new Set(all.flat())]);
    return all.map(() => records);
  });
  readonly #page = batch<PagesRequest, Pages>(
    // A promise each, so that one that fails does not affect the others.
    async (all) => all.map(async (request) => [await this.#readPage(request)]) as unknown as Pages[],
    { nameOf: cacheKey },
  );
  /** By parents. A document may request a hundred pages of one parent by aliases. */
  readonly #pagesOfParents = new Map<string, (request: PagesRequest) => Promise<Pages>>();
  readonly #counts = singleFlight<Counted>();
  readonly #counting = limitConcurrency<Counted>(MAX_COUNTS);
  readonly #turns = new WeakMap<Meter, Send>();

  /** @param attempt the transaction to read in; by default, each read is on its own */
  constructor(
    { db, options }: Database,
    record: AnyRecord,
    codec: DocumentCodec,
    folding: Folding,
    attempt?: Attempt,
  ) {
    this.#db = db;
    this.#record = record;
    this.#codec = codec;
    this.#collection = db.collection<RecordDocument>(record.plural);
    this.#folding = folding;
    this.#options = attempt?.options ?? options;
    this.#send = attempt?.send ?? ((command) => command());
  }

  readonly byIds = async (ids: readonly Id[]): Promise<never[]> => {
    if (ids.length === 0) return [];
    const records = await this.#find(ids);
    return ids.map((id): EventRecord | null => records.get(id) ?? null) as never[];
  };

  readonly cached = () => undefined;

  readonly page = async (filter: object, request: PageRequest): Promise<never> =>
    (await this.#pages(filter, request, undefined))[0] as never;

  readonly pagesByParent = async (
    field: string,
    ids: readonly Id[],
    filter: object,
    request: PageRequest,
  ): Promise<never[]> => (await this.#pages(filter, request, { field, ids })) as never[];

  readonly count = async (filter: object, meter?: Meter): Promise<number> =>
    (await this.#countsOf(filter, undefined, meter))[0]!;

  readonly countsByParent = (
    field: string,
    ids: readonly Id[],
    filter: object,
    meter?: Meter,
  ): Promise<number[]> => this.#countsOf(filter, { field, ids }, meter);

  /**
   * The conditions of a filter; null if nothing can match.
   *
   * @throws UNAVAILABLE while names that the list needs are being folded
   */
  #conditionsOf(filter: object, request?: PageRequest): ListConditions | null {
    const given = Object.entries(filter).find(([, condition]) => isPrefix(condition));
    const prefix = given && { field: given[0], text: (given[1] as Prefix).prefix };
    if (prefix || request?.order?.field !== undefined) this.#folding.require(this.#record);
    const where: Document = {};
    for (const [field, value] of Object.entries(this.#codec.stored(filter as Document))) {
      if (isPrefix(value)) continue;
      if (!Array.isArray(value)) where[field] = value;
      else if (value.length === 0) return null;
      else where[field] = value.length === 1 ? value[0] : { $in: value };
    }
    return { where, prefix };
  }

  async #recordsOf(ids: readonly Id[]): Promise<ReadonlyMap<Id, EventRecord>> {
    const { projection, toRecord } = this.#codec;
    const records = new Map<Id, EventRecord>();
    for (let i = 0; i < ids.length; i += MAX_IDS) {
      const keys = ids.slice(i, i + MAX_IDS).map(toKey);
      const _id = keys.length === 1 ? keys[0]! : { $in: keys };
      const options = { ...this.#options, projection, batchSize: keys.length + 1 };
      const documents = await this.#send(() => this.#collection.find({ _id }, options).toArray());
      for (const document of documents) records.set(toId(document._id), toRecord(document));
    }
    return records;
  }

  /** Reads a page of a list, or one per parent. */
  async #pages(filter: object, request: PageRequest, parents: OfParents | undefined): Promise<Pages> {
    const conditions = this.#conditionsOf(filter, request);
    const number = parents?.ids.length ?? 1;
    if (!conditions || number === 0) return Array(number).fill(NO_PAGE);
    const load = parents ? this.#loaderOf(parents) : this.#page;
    return await load({ parents, conditions, request });
  }

  /** Combines requests for pages of these parents. */
  #loaderOf(parents: OfParents): (request: PagesRequest) => Promise<Pages> {
    const name = cacheKey(parents);
    let loader = this.#pagesOfParents.get(name);
    if (!loader) {
      const lookUp = (all: readonly PagesRequest[]) => {
        this.#pagesOfParents.delete(name);
        return this.#lookUp(parents, all);
      };
      loader = batch(lookUp, { nameOf: cacheKey, max: MAX_LOOKUPS });
      this.#pagesOfParents.set(name, loader);
    }
    return loader;
  }

  #readPage({ conditions, request }: PagesRequest): Promise<Page<EventRecord>> {
    const page = new SearchedPage(this.#record, this.#codec, conditions, request);
    const options = { ...this.#options, hint: page.hint, batchSize: request.limit + 2 };
    return page.read((n) =>
      this.#send(() => this.#collection.aggregate(page.searches[n]!, options).toArray()),
    );
  }

  /**
   * Reads one page per parent. The aggregation starts at the parents' collection: on a sharded cluster each
   * shard then handles its own parents, and lookups target only shards that can have the children.
   *
   * @returns for each request, one page per parent
   */
  async #lookUp({ field, ids }: OfParents, all: readonly PagesRequest[]): Promise<Pages[]> {
    const { parent, holds } = referencesOf(this.#record).find((reference) => reference.field === field)!;
    const wanted = [...new Set(ids)];
    const requested = all.map(
      ({ conditions, request }) => new SearchedPage(this.#record, this.#codec, conditions, request, field),
    );
    const lookups = requested.flatMap(({ searches }, n) =>
      searches.map((search, i) => ({ as: `page${n}_${i}`, pipeline: search })),
    );
    const from = this.#record.plural;
    const pipeline = [
      { $match: { _id: { $in: wanted.map(toKey) } } },
      { $project: { _id: 1 } },
      // With localField and pipeline, each parent gets an ordered index scan that stops at the limit.
      ...lookups.map((lookup) => ({ $lookup: { from, localField: '_id', foreignField: field, ...lookup } })),
    ];
    const parents = this.#db.collection(parent.plural);
    const rows = await this.#send(() =>
      parents.aggregate(pipeline, { ...this.#options, batchSize: wanted.length + 1 }).toArray(),
    );
    const rowOf = new Map(rows.map((row) => [toId(row._id), row]));
    const pageOf = (id: Id, n: number): Promise<Page<EventRecord>> | Page<never> => {
      const row = rowOf.get(id);
      if (row) return requested[n]!.read((i) => row[`page${n}_${i}`]);
      // A child may outlive its parent, unless every child holds off the deletion.
      if (holds.where === undefined) return NO_PAGE;
      const { conditions, ...rest } = all[n]!;
      const where = { ...conditions.where, [field]: toKey(id) };
      return this.#readPage({ ...rest, conditions: { ...conditions, where } });
    };
    return await Promise.all(
      all.map(async (_, n) => {
        const pages = await Promise.all(wanted.map((id) => pageOf(id, n)));
        const byId = new Map(wanted.map((id, i) => [id, pages[i]!]));
        return ids.map((id) => byId.get(id)!);
      }),
    );
  }

  /**
   * Counts what matches: one count for each of some parents, or a single one.
   *
   * @param meter bounds what is examined
   * @throws QUERY_TOO_COMPLEX if there are too many to count, or more than the meter allows
   */
  async #countsOf(
    filter: object,
    ofParents: OfParents | undefined,
    meter: Meter | undefined,
  ): Promise<number[]> {
    const conditions = this.#conditionsOf(filter);
    if (!conditions || ofParents?.ids.length === 0) return ofParents?.ids.map(() => 0) ?? [0];
    return await this.#turnOf(meter)(async () => {
      const most = Math.min(MAX_COUNTED, COUNTED_PER_ENTRY * (meter?.left('indexEntries') ?? MAX_COUNTED));
      const { counts, examined } = await this.#counts(cacheKey([conditions, ofParents, most]), () =>
        this.#counting(() => this.#count(conditions, ofParents, most + 1)),
      );
      if (examined > MAX_COUNTED) throw tooManyToCount();
      meter?.draw('indexEntries', Math.ceil(examined / COUNTED_PER_ENTRY));
      return counts;
    });
  }

  /** Counts for one request one after the other, so that each is bounded by what those before it have left. */
  #turnOf(meter: Meter | undefined): Send {
    if (!meter) return (count) => count();
    const turn = this.#turns.get(meter) ?? inTurn();
    this.#turns.set(meter, turn);
    return turn;
  }

  async #count(
    { where, prefix }: ListConditions,
    ofParents: OfParents | undefined,
    most: number,
  ): Promise<Counted> {
    // Both conditions apply: the filter may contain a parent too.
    const conditions: Document[] = [
      ...(ofParents ? [{ [ofParents.field]: { $in: [...new Set(ofParents.ids)].map(toKey) } }] : []),
      ...(Object.keys(where).length > 0 ? [where] : []),
      ...(prefix ? [matchOfPrefix(this.#record, prefix)] : []),
    ];
    const $match = conditions.length > 0 ? { $and: conditions } : {};
    const _id = ofParents ? `$${ofParents.field}` : { $literal: true };
    const pipeline = [{ $match }, { $limit: most }, { $group: { _id, n: { $sum: 1 } } }];
    const filtered = [...Object.keys(where), ...(ofParents ? [ofParents.field] : [])];
    // An index alone counts what it has all conditions of, instead of documents.
    const hint = indexKey(this.#record, indexFor(this.#record, filtered, prefix?.field), prefix?.field);
    const options = { ...this.#options, maxTimeMS: COUNT_TIMEOUT, hint };
    const rows = await this.#send(() =>
      this.#collection
        .aggregate<{ _id: Key | boolean | null; n: number | bigint }>(pipeline, options)
        .toArray(),
    ).catch((error) => {
      throw isTimeExpired(error) ? tooManyToCount(error) : error;
    });
    const counted = new Map(rows.map(({ _id, n }) => [String(_id), Number(n)]));
    const examined = [...counted.values()].reduce((sum, n) => sum + n, 0);
    const counts = (ofParents?.ids ?? [true]).map((group) => counted.get(String(group)) ?? 0);
    return { counts, examined };
  }
}

const NO_PAGE: Page<never> = { items: [], hasMore: false };

function cacheKey(value: unknown): string {
  return JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? String(part) : part));
}
