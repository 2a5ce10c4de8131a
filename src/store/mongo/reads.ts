import type { Collection, Document } from 'mongodb';
import type { Id } from '../../foundation/id.ts';
import type { Meter } from '../../foundation/meter.ts';
import { type AnyRecord, isPrefix, type Prefix, referencesOf } from '../../foundation/record.ts';
import { tooManyToCount } from '../conflicts.ts';
import type { Lists, Reads, Stored, Values } from '../engine.ts';
import { indexFor } from '../indexes.ts';
import type { Page, PageRequest } from '../table.ts';
import { batch } from './batching.ts';
import { codecOf, type DocumentCodec, indexKey, type RecordDocument } from './codec.ts';
import { type Key, toId, toKey } from './collection.ts';
import type { Database } from './database.ts';
import { isTimeExpired } from './errors.ts';
import { type ListConditions, matchOfPrefix, SearchedPage } from './searched-page.ts';
import { type Access, alone } from './transactions.ts';

/** Time limit for a count in milliseconds, because counting reads everything it counts. */
const COUNT_TIMEOUT = 1_000;
/** Records that a count may be of. */
const MAX_COUNTED = 400_000;

/** Reads of the records of one kind. Each is one command that is answered from an index. */
export class RecordReads implements Reads {
  readonly #db: Database['db'];
  protected readonly record: AnyRecord;
  protected readonly codec: DocumentCodec;
  protected readonly collection: Collection<RecordDocument>;
  readonly #access: Access;
  readonly #find = batch<readonly Id[], ReadonlyMap<Id, Stored>>(async (all) => {
    const records = await this.#recordsOf([...new Set(all.flat())]);
    return all.map(() => records);
  });

  /** @param access the transaction to read in; by default, each read is on its own */
  constructor(database: Database, record: AnyRecord, access = alone(database)) {
    this.#db = database.db;
    this.record = record;
    this.codec = codecOf(record);
    this.collection = database.db.collection<RecordDocument>(record.plural);
    this.#access = access;
  }

  readonly byIds = async (ids: readonly Id[]): Promise<(Stored | null)[]> => {
    if (ids.length === 0) return [];
    const records = await this.#find(ids);
    return ids.map((id) => records.get(id) ?? null);
  };

  readonly cached = () => undefined;

  readonly pages = async ({ filter, below }: Lists, request: PageRequest): Promise<Page<Stored>[]> => {
    const conditions = this.#conditionsOf(filter);
    return below
      ? await this.#lookUp(below, conditions, request)
      : [await this.#readPage(conditions, request)];
  };

  /**
   * Counts what matches.
   *
   * @param meter bounds what is examined
   * @throws QUERY_TOO_COMPLEX if there are too many to count, or more than the meter allows
   */
  readonly counts = async ({ filter, below }: Lists, meter?: Meter): Promise<number[]> => {
    const conditions = this.#conditionsOf(filter);
    const most = Math.min(MAX_COUNTED, meter?.left('counted') ?? MAX_COUNTED);
    const counted = await this.#count(conditions, below, most + 1);
    const examined = [...counted.values()].reduce((sum, n) => sum + n, 0);
    if (examined > MAX_COUNTED) throw tooManyToCount();
    meter?.draw('counted', examined);
    return (below?.parents ?? [true]).map((group) => counted.get(String(group)) ?? 0);
  };

  #conditionsOf(filter: Values): ListConditions {
    const given = Object.entries(filter).find(([, condition]) => isPrefix(condition));
    const prefix = given && { field: given[0], text: (given[1] as Prefix).prefix };
    const where: Document = {};
    for (const [field, value] of Object.entries(this.codec.stored(filter as Document))) {
      if (isPrefix(value)) continue;
      if (!Array.isArray(value)) where[field] = value;
      else where[field] = value.length === 1 ? value[0] : { $in: value };
    }
    return { where, prefix };
  }

  async #recordsOf(ids: readonly Id[]): Promise<ReadonlyMap<Id, Stored>> {
    const { projection, toRecord } = this.codec;
    const keys = ids.map(toKey);
    const _id = keys.length === 1 ? keys[0]! : { $in: keys };
    const options = { ...this.#access.options, projection, batchSize: keys.length + 1 };
    const documents = await this.#access.send(() => this.collection.find({ _id }, options).toArray());
    return new Map(documents.map((document) => [toId(document._id), toRecord(document)]));
  }

  #readPage(conditions: ListConditions, request: PageRequest): Promise<Page<Stored>> {
    const page = new SearchedPage(this.record, this.codec, conditions, request);
    const options = { ...this.#access.options, hint: page.hint, batchSize: request.limit + 2 };
    return page.read((n) =>
      this.#access.send(() => this.collection.aggregate(page.searches[n]!, options).toArray()),
    );
  }

  /**
   * Reads one page per parent. The aggregation starts at the parents' collection: on a sharded cluster each
   * shard then handles its own parents, and lookups target only shards that can have the children.
   */
  async #lookUp(
    { field, parents: ids }: Below,
    conditions: ListConditions,
    request: PageRequest,
  ): Promise<Page<Stored>[]> {
    const { parent } = referencesOf(this.record).find((reference) => reference.field === field)!;
    const wanted = [...new Set(ids)];
    const page = new SearchedPage(this.record, this.codec, conditions, request, field);
    const from = this.record.plural;
    const pipeline = [
      { $match: { _id: { $in: wanted.map(toKey) } } },
      { $project: { _id: 1 } },
      // With localField and pipeline, each parent gets an ordered index scan that stops at the limit.
      ...page.searches.map((search, n) => ({
        $lookup: { from, localField: '_id', foreignField: field, as: `page${n}`, pipeline: search },
      })),
    ];
    const parents = this.#db.collection(parent.plural);
    const rows = await this.#access.send(() =>
      parents.aggregate(pipeline, { ...this.#access.options, batchSize: wanted.length + 1 }).toArray(),
    );
    const pages = new Map<Id, Page<Stored>>();
    for (const row of rows) pages.set(toId(row._id), await page.read((n) => row[`page${n}`]));
    return ids.map((id) => pages.get(id) ?? NO_PAGE);
  }

  /** How many there are, by parent if there are any. */
  async #count(
    { where, prefix }: ListConditions,
    below: Lists['below'],
    most: number,
  ): Promise<Map<string, number>> {
    // Both conditions apply: the filter may contain a parent too.
    const conditions: Document[] = [
      ...(below ? [{ [below.field]: { $in: [...new Set(below.parents)].map(toKey) } }] : []),
      ...(Object.keys(where).length > 0 ? [where] : []),
      ...(prefix ? [matchOfPrefix(this.record, prefix)] : []),
    ];
    const $match = conditions.length > 0 ? { $and: conditions } : {};
    const _id = below ? `$${below.field}` : { $literal: true };
    const pipeline = [{ $match }, { $limit: most }, { $group: { _id, n: { $sum: 1 } } }];
    const filtered = [...Object.keys(where), ...(below ? [below.field] : [])];
    // An index alone counts what it has all conditions of, instead of documents.
    const hint = indexKey(this.record, indexFor(this.record, filtered, prefix?.field));
    const options = { ...this.#access.options, maxTimeMS: COUNT_TIMEOUT, hint };
    const rows = await this.#access
      .send(() =>
        this.collection
          .aggregate<{ _id: Key | boolean | null; n: number | bigint }>(pipeline, options)
          .toArray(),
      )
      .catch((error) => {
        throw isTimeExpired(error) ? tooManyToCount(error) : error;
      });
    return new Map(rows.map(({ _id, n }) => [String(_id), Number(n)]));
  }
}

type Below = NonNullable<Lists['below']>;

const NO_PAGE: Page<never> = { items: [], hasMore: false };
