import { LRUCache } from 'lru-cache';
import { notFound } from '../../foundation/errors.ts';
import type { Id } from '../../foundation/id.ts';
import { lruCache } from '../../foundation/lru.ts';
import type { Meter } from '../../foundation/meter.ts';
import type { AnyRecord, RecordOf } from '../../foundation/record.ts';
import type { Folding } from '../folding.ts';
import { windowOf } from '../indexes.ts';
import type { Check, Page, PageRequest, TableReads } from '../table.ts';
import { type Column, columnName, columnsOf } from './columns.ts';
import { type Conditions, idList, type Where, whereOf } from './conditions.ts';
import type { SqliteConnection, Value } from './connection.ts';
import { Counts } from './counts.ts';
import { type Parents, type RowForm, readPages } from './pages.ts';

/**
 * What follows ids and texts in the JSON of a query. V8 keeps one copy of every string of up to 10 characters that it
 * reads from JSON, until the next full collection: a list of a million records took 100 MB, and half of its time.
 */
const PADDING = ' '.repeat(10);
const padded = (sql: string): string => `${sql} || '${PADDING}'`;
const unpadded = (value: unknown): string => (value as string).slice(0, -PADDING.length);

/** How a column is selected and read. */
function codecOf({ name, field, declaration, read }: Column) {
  if (declaration.kind === 'id') return { field, sql: padded(`cast(${name} as text)`), read: unpadded };
  // Few values are better shared.
  if (declaration.kind === 'text' && !declaration.choices)
    return { field, sql: padded(name), read: unpadded };
  return { field, sql: name, read };
}

/** Queries of pages remembered to tell those that are repeated. */
const MAX_REQUESTED = 1_000;

/** A record of any kind. */
export type Stored = Record<string, unknown> & { id: Id };

type Values = Readonly<Record<string, unknown>>;

/**
 * Reads of one table. Every query returns a single JSON text, which crosses the native boundary
 * several times faster than rows of columns.
 *
 * Records are cached by id, and pages that are asked for again until the next write. That is correct only while
 * this process alone writes to the file. Cached records are returned without copying and therefore frozen.
 */
export class RecordReads<R extends AnyRecord> implements TableReads<R> {
  protected readonly db: SqliteConnection;
  protected readonly record: R;
  protected readonly columns: readonly Column[];
  readonly #folding: Pick<Folding, 'require'>;
  readonly #counts: Counts;
  readonly #codecs: readonly ReturnType<typeof codecOf>[];
  readonly #cache: LRUCache<Id, Stored> | undefined;
  /** Pages read since the last write to the table, by query. Bounded by their number of records. */
  readonly #pages: LRUCache<string, Page<Stored>[]> | undefined;
  /** Queries of pages that were asked for before. Only those are cached: an export asks for each page once. */
  readonly #requested = lruCache<true>(MAX_REQUESTED);
  readonly #form: RowForm<Stored>;

  /**
   * @param folding whether names can be ordered by
   * @param cacheSize number of records to cache by id
   */
  constructor(db: SqliteConnection, record: R, folding: Pick<Folding, 'require'>, cacheSize: number) {
    this.db = db;
    this.record = record;
    this.columns = columnsOf(record);
    this.#folding = folding;
    this.#counts = new Counts(db, record);
    this.#codecs = this.columns.map(codecOf);
    this.#form = {
      columns: ['id', ...this.columns.map(({ name }) => name)].join(', '),
      json: `json_array(${[padded('cast(id as text)'), ...this.#codecs.map(({ sql }) => sql)].join(', ')})`,
      decode: this.#decode,
    };
    if (cacheSize > 0) {
      const cache = lruCache<Stored>(cacheSize);
      const pages = new LRUCache<string, Page<Stored>[]>({
        maxSize: cacheSize,
        sizeCalculation: (pages) => pages.reduce((size, { items }) => size + items.length, 1),
      });
      this.#cache = cache;
      this.#pages = pages;
      db.onRollback(() => {
        cache.clear();
        pages.clear();
      });
    }
  }

  readonly cached = (id: Id): RecordOf<R> | undefined => this.#cache?.get(id) as RecordOf<R> | undefined;

  protected find(id: Id): Stored | null {
    const known = this.#cache?.get(id);
    if (known) return known;
    const row = this.db.json<readonly unknown[]>(
      `select ${this.#form.json} from ${this.record.plural} where id = ?`,
      [BigInt(id)],
    );
    return row === undefined ? null : this.#keep(this.#decode(row));
  }

  /**
   * Reads the record to write.
   *
   * @throws NOT_FOUND, and whatever `check` throws
   */
  protected existing(id: Id, check: Check<RecordOf<R>> | undefined): Stored {
    const current = this.find(id);
    if (!current) throw notFound(this.record.kind, id);
    check?.(current as RecordOf<R>);
    return current;
  }

  readonly byIds = (ids: readonly Id[]): (RecordOf<R> | null)[] => {
    if (ids.length === 1) return [this.find(ids[0]!) as RecordOf<R> | null];
    const records = new Map<Id, Stored>();
    const missing: Id[] = [];
    for (const id of ids) {
      const known = this.#cache?.get(id);
      if (known) records.set(id, known);
      else missing.push(id);
    }
    if (missing.length > 0) {
      const rows = this.db.json<(readonly unknown[])[]>(
        `select json_group_array(${this.#form.json}) from ${this.record.plural} where id in (select value from json_each(?))`,
        [idList(missing)],
      )!;
      for (const row of rows) {
        const record = this.#keep(this.#decode(row));
        records.set(record.id, record);
      }
    }
    return ids.map((id) => (records.get(id) as RecordOf<R> | undefined) ?? null);
  };

  readonly page = (filter: Values, request: PageRequest, meter?: Meter): Page<RecordOf<R>> =>
    this.#read(filter, request, meter, undefined)[0]!;

  readonly pagesByParent = (
    field: string,
    parents: readonly Id[],
    filter: Values,
    request: PageRequest,
    meter?: Meter,
  ): Page<RecordOf<R>>[] => this.#read(filter, request, meter, { column: columnName(field), parents });

  readonly count = (filter: Values, meter?: Meter): number => {
    const where = this.#where(filter);
    return where ? this.#counts.count(where, meter) : 0;
  };

  readonly countsByParent = (
    field: string,
    parents: readonly Id[],
    filter: Values,
    meter?: Meter,
  ): number[] => {
    const { [field]: parent, ...others } = filter;
    const where = this.#where(others);
    if (!where) return parents.map(() => 0);
    const counts = this.#counts.countsByParent(columnName(field), parents, where, meter);
    return parent === undefined ? counts : counts.map((n, i) => (parents[i] === parent ? n : 0));
  };

  /** @throws UNAVAILABLE while names that it needs are being folded */
  #where(filter: Values, request?: PageRequest): Where {
    const where = whereOf(this.columns, filter);
    if (where?.prefix || request?.order?.field !== undefined) this.#folding.require(this.record);
    return where;
  }

  /** Reads a page: of one list, or of that of each parent. */
  #read(
    filter: Values,
    request: PageRequest,
    meter: Meter | undefined,
    ofParents: Parents | undefined,
  ): Page<never>[] {
    const where = this.#where(filter, request);
    if (!where) return (ofParents?.parents ?? [0]).map(() => ({ items: [], hasMore: false }));
    const isBounded = request.order !== undefined || where.prefix !== undefined;
    const most = isBounded ? windowOf(request, meter, 1) : 0;
    const key = this.#pages && keyOf(where, request, most, ofParents);
    const known = key && this.#pages!.get(key);
    if (known) return known as Page<never>[];
    const { pages, examined } = readPages(this.db, this.record, ofParents, where, request, most, this.#form);
    meter?.spend('indexEntries', examined);
    if (!key) return pages as Page<never>[];
    if (this.#requested.get(key)) this.#pages!.set(key, pages);
    else this.#requested.set(key, true);
    return pages as Page<never>[];
  }

  /** Must be called after writing a record. */
  protected written(record: Stored): RecordOf<R> {
    this.#pages?.clear();
    return this.#keep(record) as RecordOf<R>;
  }

  /** Caches a record as stored. */
  #keep(record: Stored): Stored {
    if (!this.#cache) return record;
    this.#cache.set(record.id, Object.freeze(record));
    return record;
  }

  /** Must be called when the order of records has changed without a write. */
  forgetPages(): void {
    this.#pages?.clear();
  }

  /** Must be called after deleting a record, and when another connection has written it. */
  forget(id: Id): void {
    this.#pages?.clear();
    this.#cache?.delete(id);
  }

  /** Absent values are left out. */
  readonly #decode = (row: readonly unknown[]): Stored => {
    const record: Stored = { id: unpadded(row[0]) };
    for (let i = 0; i < this.#codecs.length; i++) {
      const value = row[i + 1];
      if (value === null) continue;
      const { field, read } = this.#codecs[i]!;
      record[field] = read ? read(value) : value;
    }
    return record;
  };
}

/** Identifies a query of pages. */
function keyOf(
  { equal, oneOf, prefix }: Conditions,
  { limit, after, before, backward, inclusive, order }: PageRequest,
  most: number,
  ofParents: Parents | undefined,
): string {
  let key = `${limit} ${after ?? ''} ${before ?? ''} ${backward ? '-' : ''}${inclusive ? '=' : ''} ${most}`;
  if (ofParents) key += ` ${ofParents.column} ${ofParents.parents.join()}`;
  for (const [column, value] of equal) key += ` ${column} ${textOf(value)}`;
  if (oneOf) key += ` ${oneOf.column}: ${oneOf.values.map(textOf).join()}`;
  return prefix || order ? `${key} ${JSON.stringify([prefix, order])}` : key;
}

const textOf = (value: Value): string => (typeof value === 'string' ? JSON.stringify(value) : String(value));
