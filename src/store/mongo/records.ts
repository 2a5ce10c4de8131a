import type { Collection, Document } from 'mongodb';
import type { Id } from '../../foundation/id.ts';
import type { Meter } from '../../foundation/meter.ts';
import { type AnyRecord, isPrefix, type Prefix, referencesOf } from '../../foundation/record.ts';
import { tooManyToCount } from '../conflicts.ts';
import type { EventRecord } from '../events.ts';
import type { Folding } from '../folding.ts';
import { MAX_COUNTED, windowOf } from '../indexes.ts';
import type { Page, PageRequest, TableReads } from '../table.ts';
import type { Attempt } from './attempts.ts';
import { batch, dedupe, limitConcurrency, singleFlight } from './batching.ts';
import { type Key, type RecordDocument, toId, toKey } from './collection.ts';
import type { Database } from './database.ts';
import type { DocumentCodec } from './documents.ts';
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

type Records = (EventRecord | null)[];
type Pages = Page<EventRecord>[];

/** The field of the child with the parent's key, and the parents. */
interface OfParents {
  field: string;
  ids: readonly Id[];
}

/** A request for one page per parent. */
interface PagesOfParents {
  /** Identifies equal requests. */
  name: string;
  parents: OfParents;
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
  readonly #send: Attempt['send'];
  readonly #findTogether = batch<readonly Id[], ReadonlyMap<Id, EventRecord>>(async (all) => {
    const records = await this.#find(all.length === 1 ? all[0]! : all.flat());
    return all.map(() => records);
  });
  readonly #pages = dedupe<Pages>();
  readonly #pagesOfParents = batch<PagesOfParents, Pages>(async (all) => this.#readPagesOfParents(all));
  readonly #counts = singleFlight<Counted>();
  readonly #counting = limitConcurrency<Counted>(MAX_COUNTS);
  readonly #lastCounts = new WeakMap<Meter, Promise<unknown>>();

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
    const records = await (ids.length > MAX_IDS ? this.#find(ids) : this.#findTogether(ids));
    return ids.map((id): Records[number] => records.get(id) ?? null) as never[];
  };

  readonly cached = () => undefined;

  readonly page = async (filter: object, request: PageRequest, meter?: Meter): Promise<never> => {
    const conditions = this.#conditionsOf(filter, request);
    if (!conditions) return NO_PAGE as never;
    const [page] = await bounded(conditions, request, meter, 1, (request) =>
      this.#pages(cacheKey([conditions, request]), async () => [await this.#readPage(conditions, request)]),
    );
    return page as never;
  };

  readonly pagesByParent = async (
    field: string,
    ids: readonly Id[],
    filter: object,
    request: PageRequest,
    meter?: Meter,
  ): Promise<never[]> => {
    const conditions = this.#conditionsOf(filter, request);
    if (!conditions || ids.length === 0) return ids.map(() => NO_PAGE) as never[];
    const parents = { field, ids };
    return (await bounded(conditions, request, meter, ids.length, (request) => {
      const name = cacheKey([parents, conditions, request]);
      return this.#pagesOfParents({ name, parents, conditions, request });
    })) as never[];
  };

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

  async #find(ids: readonly Id[]): Promise<ReadonlyMap<Id, EventRecord>> {
    const { projection, toRecord } = this.#codec;
    const wanted = [...new Set(ids)];
    const records = new Map<Id, EventRecord>();
    if (wanted.length === 1) {
      const document = await this.#send(() =>
        this.#collection.findOne({ _id: toKey(wanted[0]!) }, { ...this.#options, projection }),
      );
      if (document) records.set(wanted[0]!, toRecord(document));
      return records;
    }
    for (let i = 0; i < wanted.length; i += MAX_IDS) {
      const some = wanted.slice(i, i + MAX_IDS);
      const options = { ...this.#options, projection, batchSize: some.length + 1 };
      const documents = await this.#send(() =>
        this.#collection.find({ _id: { $in: some.map(toKey) } }, options).toArray(),
      );
      for (const document of documents) records.set(toId(document._id), toRecord(document));
    }
    return records;
  }

  /** One search usually suffices: a second reads the absent values after the others, or where a search ended. */
  async #readPage(conditions: ListConditions, request: PageRequest): Promise<Page<EventRecord>> {
    const { projection, toRecord } = this.#codec;
    const page = new SearchedPage(this.#record, conditions, request);
    const options = { ...this.#options, batchSize: page.limit + 2 };
    const all: Document[] = [];
    for (const search of page.searches) {
      const { match, sort, hint } = search;
      const hinted = { ...options, ...(hint && { hint }) };
      const { matching, end } = page.pipelines(search, projection);
      const exact = { ...hinted, projection, sort, limit: page.limit + 1 };
      const rows = await this.#send(() =>
        end
          ? this.#collection.aggregate<Document>(matching, hinted).toArray()
          : this.#collection.find<Document>(match, exact).toArray(),
      );
      all.push(...rows);
      if (page.isFull(all)) break;
      const [last] = end ? await this.#send(() => this.#collection.aggregate(end, hinted).toArray()) : [];
      if (last) return page.toPage(all, last, toRecord);
    }
    return page.toPage(all, undefined, toRecord);
  }

  /**
   * Combines requests for the same parents: a document may request a hundred pages of one parent by aliases.
   *
   * @returns a promise per request, so that a failed command does not affect the others
   */
  #readPagesOfParents(all: readonly PagesOfParents[]): Pages[] {
    const read = new Map<string, Promise<Pages>>();
    const groups = new Map<string, Map<string, PagesOfParents>>();
    for (const one of all) {
      const parents = cacheKey(one.parents);
      groups.set(parents, (groups.get(parents) ?? new Map()).set(one.name, one));
    }
    for (const group of groups.values()) {
      const wanted = [...group.values()];
      for (let i = 0; i < wanted.length; i += MAX_LOOKUPS) {
        const some = wanted.slice(i, i + MAX_LOOKUPS);
        const pages = this.#lookUp(some);
        for (const [n, { name }] of some.entries())
          read.set(
            name,
            pages.then((all) => all[n]!),
          );
      }
    }
    return all.map(({ name }) => read.get(name) as unknown as Pages);
  }

  /**
   * Reads one page per parent. The aggregation starts at the parents' collection: on a sharded cluster each
   * shard then handles its own parents, and lookups target only shards that can have the children.
   *
   * @param all requests for the same parents. @returns for each request, one page per parent
   */
  async #lookUp(all: readonly PagesOfParents[]): Promise<Pages[]> {
    const { toRecord, projection } = this.#codec;
    const { field, ids } = all[0]!.parents;
    const { parent, holds } = referencesOf(this.#record).find((reference) => reference.field === field)!;
    const wanted = [...new Set(ids)];
    const searched = all.map(
      ({ conditions, request }) => new SearchedPage(this.#record, conditions, request),
    );
    const lookups = searched.flatMap((page, n) =>
      page.searches.flatMap((search, i): [as: string, pipeline: Document[]][] => {
        const { matching, end } = page.pipelines(search, projection);
        return [
          [`matching${n}_${i}`, matching],
          ...(end ? [[`end${n}_${i}`, end] as [string, Document[]]] : []),
        ];
      }),
    );
    const from = this.#record.plural;
    const pipeline = [
      { $match: { _id: { $in: wanted.map(toKey) } } },
      { $project: { _id: 1 } },
      // With localField and pipeline, each parent gets an ordered index scan that stops at the limit.
      ...lookups.map(([as, pipeline]) => ({
        $lookup: { from, localField: '_id', foreignField: field, pipeline, as },
      })),
    ];
    const parents = this.#db.collection<{ _id: Key }>(parent.plural);
    const rows = await this.#send(() =>
      parents.aggregate<{ _id: Key }>(pipeline, { ...this.#options, batchSize: wanted.length + 1 }).toArray(),
    );
    return await Promise.all(
      all.map(async ({ conditions, request }, n) => {
        const pages = new Map<Id, Page<EventRecord>>();
        for (const row of rows) pages.set(toId(row._id), pageIn(row, n, searched[n]!, toRecord));
        // Those of parents that are deleted.
        for (const id of holds.where !== undefined ? wanted : []) {
          if (pages.has(id)) continue;
          const where = { ...conditions.where, [field]: toKey(id) };
          pages.set(id, await this.#readPage({ ...conditions, where }, request));
        }
        return ids.map((id) => pages.get(id) ?? NO_PAGE);
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
    // An index alone counts what it has all conditions of.
    const perEntry = conditions.prefix ? 1 : COUNTED_PER_ENTRY;
    const max = perEntry * MAX_COUNTED;
    return await this.#inTurn(meter, async () => {
      const most = Math.min(max, perEntry * (meter?.left('indexEntries') ?? max));
      const { counts, examined } = await this.#counts(cacheKey([conditions, ofParents, most]), () =>
        this.#counting(() => this.#count(conditions, ofParents, most + 1)),
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
    { where, prefix }: ListConditions,
    ofParents: OfParents | undefined,
    most: number,
  ): Promise<Counted> {
    // Both conditions apply: the filter may contain a parent too.
    const conditions: Document[] = [
      ...(ofParents ? [{ [ofParents.field]: { $in: [...new Set(ofParents.ids)].map(toKey) } }] : []),
      ...(Object.keys(where).length > 0 ? [where] : []),
    ];
    // Without a filter, the hint counts the index instead of scanning documents.
    const all = { match: {}, hint: { _id: 1 } };
    const exact = conditions.length === 0 ? all : { match: { $and: conditions }, hint: undefined };
    const search = prefix ? searchOfPrefix(this.#record, prefix) : exact;
    const matches = prefix ? { $and: conditions.flatMap(expressionsOf) } : true;
    const _id = ofParents ? { $cond: [matches, `$${ofParents.field}`, null] } : matches;
    const pipeline = [{ $match: search.match }, { $limit: most }, { $group: { _id, n: { $sum: 1 } } }];
    const options = {
      ...this.#options,
      maxTimeMS: COUNT_TIMEOUT,
      ...(search.hint && { hint: search.hint }),
    };
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

/**
 * Reads pages that share what is left to examine. Others may be read meanwhile, so what they may examine is
 * spent before, and what they did not is given back.
 */
async function bounded(
  { prefix }: ListConditions,
  request: PageRequest,
  meter: Meter | undefined,
  pages: number,
  read: (request: PageRequest) => Promise<Pages>,
): Promise<Pages> {
  if (!meter || (prefix === undefined && request.order === undefined)) return await read(request);
  const examine = windowOf(request, meter, pages);
  meter.spend('indexEntries', pages * examine);
  const examined = await read({ ...request, examine });
  for (const { items, end } of examined)
    meter.spend('indexEntries', (end ? examine : items.length) - examine);
  return examined;
}

/** The nth page in the row of one parent. */
function pageIn(
  row: Document,
  n: number,
  page: SearchedPage,
  toRecord: DocumentCodec['toRecord'],
): Page<EventRecord> {
  const all: Document[] = [];
  for (let i = 0; row[`matching${n}_${i}`] !== undefined && !page.isFull(all); i++) {
    all.push(...(row[`matching${n}_${i}`] as Document[]));
    const last = (row[`end${n}_${i}`] as Document[] | undefined)?.[0];
    if (last && !page.isFull(all)) return page.toPage(all, last, toRecord);
  }
  return page.toPage(all, undefined, toRecord);
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
