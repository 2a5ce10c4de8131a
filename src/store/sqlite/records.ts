import { LRUCache } from 'lru-cache';
import { notFound } from '../../foundation/errors.ts';
import type { Id } from '../../foundation/id.ts';
import { lruCache } from '../../foundation/lru.ts';
import type { Meter } from '../../foundation/meter.ts';
import type { AnyRecord } from '../../foundation/record.ts';
import { windowOf } from '../indexes.ts';
import type { Check, Page, PageRequest } from '../table.ts';
import { type Column, columnsOf } from './columns.ts';
import { type Conditions, forEachParent, idList, type Where } from './conditions.ts';
import type { SqliteConnection, Value } from './connection.ts';
import { readOrderedPages } from './ordered-page.ts';

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
const MAX_ASKED = 1_000;

/** Builds a page from query results. One more record than requested means there are more. */
const toPage = <T>(
  text: string,
  decode: (row: readonly unknown[]) => T,
  { limit, backward }: PageRequest,
): Page<T> => {
  const rows = JSON.parse(text) as (readonly unknown[])[];
  const hasMore = rows.length > limit;
  if (hasMore) rows.pop();
  if (backward) rows.reverse();
  return { items: rows.map((row) => decode(row)), hasMore };
};

/**
 * Reads of one table. Every query returns a single JSON text, which crosses the native boundary
 * several times faster than rows of columns.
 *
 * Records are cached by id, and pages that are asked for again until the next write. That is correct only while
 * this process alone writes to the file. Cached records are returned without copying and therefore frozen.
 */
export class Records<T extends { id: Id }> {
  readonly #db: SqliteConnection;
  readonly #record: AnyRecord;
  readonly #codecs: readonly ReturnType<typeof codecOf>[];
  readonly #cache: LRUCache<Id, T> | undefined;
  /** Pages read since the last write to the table, by query. Bounded by their number of records. */
  readonly #pages: LRUCache<string, Page<T>[]> | undefined;
  /** Queries of pages that were asked for before. Only those are cached: an export asks for each page once. */
  readonly #asked = lruCache<true>(MAX_ASKED);
  /** SQL by query shape, so that each is built once. */
  readonly #sql = new Map<string, string>();
  readonly #columns: string;
  readonly #json: string;

  /** @param cacheSize number of records to cache by id */
  constructor(db: SqliteConnection, record: AnyRecord, cacheSize: number) {
    this.#db = db;
    this.#record = record;
    const columns = columnsOf(record);
    this.#codecs = columns.map(codecOf);
    this.#columns = ['id', ...columns.map(({ name }) => name)].join(', ');
    this.#json = `json_array(${[padded('cast(id as text)'), ...this.#codecs.map(({ sql }) => sql)].join(', ')})`;
    if (cacheSize > 0) {
      const cache = lruCache<T>(cacheSize);
      const pages = new LRUCache<string, Page<T>[]>({
        maxSize: cacheSize,
        sizeCalculation: (found) => found.reduce((size, { items }) => size + items.length, 1),
      });
      this.#cache = cache;
      this.#pages = pages;
      db.onRollback(() => {
        cache.clear();
        pages.clear();
      });
    }
  }

  peek(id: Id): T | undefined {
    return this.#cache?.get(id);
  }

  find(id: Id): T | null {
    const known = this.#cache?.get(id);
    if (known) return known;
    const row = this.#db.json<readonly unknown[]>(
      this.#statement('one', () => `select ${this.#json} from ${this.#record.plural} where id = ?`),
      [BigInt(id)],
    );
    return row === undefined ? null : this.cache(this.#decode(row));
  }

  /**
   * Reads the record to write.
   *
   * @throws NOT_FOUND, and whatever `check` throws
   */
  existing(id: Id, check: Check<T> | undefined): T {
    const current = this.find(id);
    if (!current) throw notFound(this.#record.kind, id);
    check?.(current);
    return current;
  }

  byIds(ids: readonly Id[]): (T | null)[] {
    if (ids.length === 1) return [this.find(ids[0]!)];
    const found = new Map<Id, T>();
    const missing: Id[] = [];
    for (const id of ids) {
      const known = this.#cache?.get(id);
      if (known) found.set(id, known);
      else missing.push(id);
    }
    if (missing.length > 0) {
      const rows = this.#db.json<(readonly unknown[])[]>(
        this.#statement(
          'some',
          () =>
            `select json_group_array(${this.#json}) from ${this.#record.plural} where id in (select value from json_each(?))`,
        ),
        [idList(missing)],
      )!;
      for (const row of rows) {
        const record = this.cache(this.#decode(row));
        found.set(record.id, record);
      }
    }
    return ids.map((id) => found.get(id) ?? null);
  }

  page(where: Where, request: PageRequest, meter?: Meter): Page<T> {
    if (!where) return { items: [], hasMore: false };
    if (isOrdered(where, request)) return this.#orderedPages(undefined, where, request, meter)[0]!;
    const params = pageParams(where, request);
    const shape = pageShape(where, request, '');
    const [page] = this.#pagesOf(shape, params, () => {
      const sql = this.#statement(shape, () => {
        const rows = this.#pageSql(where, request, undefined);
        return `select json_group_array(${this.#json}) from (${rows})`;
      });
      return [toPage(this.#db.value(sql, params) as string, this.#decode, request)];
    });
    return page!;
  }

  /** Reads one page per value of the column `parent`, each by its own index search. */
  pagesByParent(
    parent: string,
    parents: readonly Id[],
    where: Where,
    request: PageRequest,
    meter?: Meter,
  ): Page<T>[] {
    if (!where) return parents.map(() => ({ items: [], hasMore: false }));
    if (isOrdered(where, request))
      return this.#orderedPages({ column: parent, parents }, where, request, meter);
    const params = pageParams(where, request, idList(parents));
    const shape = pageShape(where, request, parent);
    return this.#pagesOf(shape, params, () => {
      const sql = this.#statement(shape, () => {
        const rows = this.#pageSql(where, request, parent);
        return forEachParent(`select json_group_array(${this.#json}) from (${rows})`, '?3');
      });
      const pages = this.#db.json<string[]>(sql, params)!;
      return pages.map((page) => toPage(page, this.#decode, request));
    });
  }

  #orderedPages(
    ofParents: { column: string; parents: readonly Id[] } | undefined,
    where: Conditions,
    request: PageRequest,
    meter: Meter | undefined,
  ): Page<T>[] {
    const most = windowOf(request, meter, 1);
    const key = JSON.stringify([ofParents, where, request], (_, value) =>
      typeof value === 'bigint' ? String(value) : value,
    );
    return this.#cachedPages(`ordered ${most} ${key}`, () => {
      const { pages, examined } = readOrderedPages(
        this.#db,
        this.#record,
        ofParents,
        where,
        request,
        most,
        this.#json,
        this.#decode,
      );
      meter?.spend('indexEntries', examined);
      return pages;
    });
  }

  #pagesOf(shape: string, params: Value[], read: () => Page<T>[]): Page<T>[] {
    return this.#pages ? this.#cachedPages(`${shape} ${params.join()}`, read) : read();
  }

  #cachedPages(key: string, read: () => Page<T>[]): Page<T>[] {
    if (!this.#pages) return read();
    let pages = this.#pages.get(key);
    if (!pages) {
      pages = read();
      if (this.#asked.get(key)) this.#pages.set(key, pages);
      else this.#asked.set(key, true);
    }
    return pages;
  }

  /** Must be called after writing a record. */
  written(record: T): T {
    this.#pages?.clear();
    return this.cache(record);
  }

  /** Caches a record as stored. */
  cache(record: T): T {
    if (!this.#cache) return record;
    this.#cache.set(record.id, Object.freeze(record));
    return record;
  }

  forgetPages(): void {
    this.#pages?.clear();
  }

  /** Must be called after deleting a record. */
  forget(id: Id): void {
    this.#pages?.clear();
    this.#cache?.delete(id);
  }

  /** Absent values are left out. */
  readonly #decode = (row: readonly unknown[]): T => {
    const record: Record<string, unknown> = { id: unpadded(row[0]) };
    for (let i = 0; i < this.#codecs.length; i++) {
      const value = row[i + 1];
      if (value === null) continue;
      const { field, read } = this.#codecs[i]!;
      record[field] = read ? read(value) : value;
    }
    return record as unknown as T;
  };

  #statement(shape: string, build: () => string): string {
    let sql = this.#sql.get(shape);
    if (sql === undefined) {
      sql = build();
      this.#sql.set(shape, sql);
    }
    return sql;
  }

  /** Parameters are numbered in the order of `pageParams`. */
  #pageSql(where: NonNullable<Where>, request: PageRequest, parent: string | undefined): string {
    let parameter = parent === undefined ? 2 : 3;
    const or = request.inclusive ? '=' : '';
    const conditions = [`id >${or} ?2`];
    if (parent !== undefined) conditions.push(`${parent} = parent.value`);
    if (request.before !== undefined) conditions.push(`id <${or} ?${++parameter}`);
    for (const [column] of where.equal) conditions.push(`${column} = ?${++parameter}`);
    const select = (condition?: string) =>
      `select ${this.#columns} from ${this.#record.plural} where ${[...conditions, condition ?? []].flat().join(' and ')}`;
    // Each value of `oneOf` has its own index range. SQLite merges them and stops at the limit, whereas `in
    // (…)` would sort all matches.
    const { oneOf } = where;
    const runs = oneOf ? oneOf.values.map(() => select(`${oneOf.column} = ?${++parameter}`)) : [select()];
    return `${runs.join(' union all ')} order by id${request.backward ? ' desc' : ''} limit ?1`;
  }
}

/** Whether a page is not simply in ascending order of ids. */
const isOrdered = ({ prefix }: Conditions, { order }: PageRequest): boolean =>
  order !== undefined || prefix !== undefined;

const pageShape = (
  { equal, oneOf }: NonNullable<Where>,
  { before, backward, inclusive }: PageRequest,
  parent: string,
): string => {
  let shape = `${parent}|${before === undefined ? '' : '<'}${backward ? '-' : ''}${inclusive ? '=' : ''}`;
  for (const [column] of equal) shape += `|${column}`;
  return oneOf ? `${shape}|${oneOf.column}*${oneOf.values.length}` : shape;
};

function pageParams(
  { equal, oneOf }: NonNullable<Where>,
  { limit, after, before }: PageRequest,
  parents?: string,
): Value[] {
  const params: Value[] = [limit + 1, after === undefined ? 0n : BigInt(after)];
  if (parents !== undefined) params.push(parents);
  if (before !== undefined) params.push(BigInt(before));
  for (const [, value] of equal) params.push(value);
  if (oneOf) params.push(...oneOf.values);
  return params;
}
