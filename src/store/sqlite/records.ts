import { LRUCache } from 'lru-cache';
import { notFound } from '../../foundation/errors.ts';
import type { Id } from '../../foundation/id.ts';
import type { Check, Page, PageRequest } from '../store.ts';
import type { Connection, Value } from './connection.ts';

/** A filter on columns; null matches nothing. */
export type Where = {
  equal: readonly (readonly [column: string, value: Value])[];
  /** Distinct values of one column, at least one. */
  oneOf?: { column: string; values: readonly Value[] };
} | null;

export interface RecordTable<T> {
  name: string;
  /** The name of a record in errors: `pet`. */
  kind: string;
  /**
   * Columns in the order that `decode` expects. Ids are read as text, because JSON numbers would be rounded.
   */
  columns: readonly { name: string; isId?: boolean }[];
  decode(row: readonly never[]): T;
  /** Number of records to cache by id. */
  cacheSize: number;
}

/** Builds a page from query results. One more record than requested means there are more. */
const toPage = <T>(
  text: string,
  decode: (row: readonly never[]) => T,
  { limit, backward }: PageRequest,
): Page<T> => {
  const rows = JSON.parse(text) as (readonly never[])[];
  const hasMore = rows.length > limit;
  if (hasMore) rows.pop();
  if (backward) rows.reverse();
  return { items: rows.map((row) => decode(row)), hasMore };
};

/**
 * Reads common to all tables. Every query returns a single JSON text, which crosses the native boundary
 * several times faster than rows of columns.
 *
 * Records are cached by id, and pages until the next write. That is correct only while this process alone
 * writes to the file. Cached records are returned without copying and therefore frozen.
 */
export class Records<T extends { id: Id }> {
  readonly #db: Connection;
  readonly #table: RecordTable<T>;
  readonly #cache: LRUCache<Id, T> | undefined;
  /** Pages read since the last write to the table, by query. Bounded by their number of records. */
  readonly #pages: LRUCache<string, Page<T>[]> | undefined;
  /** SQL by query shape, so that each is built once. */
  readonly #sql = new Map<string, string>();
  readonly #columns: string;
  readonly #json: string;

  constructor(db: Connection, table: RecordTable<T>) {
    this.#db = db;
    this.#table = table;
    this.#columns = table.columns.map(({ name }) => name).join(', ');
    this.#json = `json_array(${table.columns.map(({ name, isId }) => (isId ? `cast(${name} as text)` : name)).join(', ')})`;
    if (table.cacheSize > 0) {
      const cache = new LRUCache<Id, T>({ max: table.cacheSize });
      const pages = new LRUCache<string, Page<T>[]>({
        maxSize: table.cacheSize,
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
    const text = this.#db.value(
      this.#statement('one', () => `select ${this.#json} from ${this.#table.name} where id = ?`),
      [BigInt(id)],
    );
    return text === undefined ? null : this.cache(this.#table.decode(JSON.parse(text as string)));
  }

  /**
   * Reads the record to write.
   *
   * @throws NOT_FOUND, and whatever `check` throws
   */
  existing(id: Id, check: Check<T> | undefined): T {
    const current = this.find(id);
    if (!current) throw notFound(this.#table.kind, id);
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
      const text = this.#db.value(
        this.#statement(
          'some',
          () =>
            `select json_group_array(${this.#json}) from ${this.#table.name} where id in (select value from json_each(?))`,
        ),
        [idList(missing)],
      );
      for (const row of JSON.parse(text as string)) {
        const record = this.cache(this.#table.decode(row));
        found.set(record.id, record);
      }
    }
    return ids.map((id) => found.get(id) ?? null);
  }

  page(where: Where, request: PageRequest): Page<T> {
    if (!where) return { items: [], hasMore: false };
    const params = pageParams(where, request);
    const shape = pageShape(where, request, '');
    const [page] = this.#pagesOf(shape, params, () => {
      const sql = this.#statement(shape, () => {
        const rows = this.#pageSql(where, request, undefined);
        return `select json_group_array(${this.#json}) from (${rows})`;
      });
      return [toPage(this.#db.value(sql, params) as string, this.#table.decode, request)];
    });
    return page!;
  }

  /** Reads one page per value of the column `parent`, each by its own index search. */
  pagesByParent(parent: string, parents: readonly Id[], where: Where, request: PageRequest): Page<T>[] {
    if (!where) return parents.map(() => ({ items: [], hasMore: false }));
    const params = pageParams(where, request, idList(parents));
    const shape = pageShape(where, request, parent);
    return this.#pagesOf(shape, params, () => {
      const sql = this.#statement(shape, () => {
        const rows = this.#pageSql(where, request, parent);
        return `select json_group_array(page) from (
        select (select json_group_array(${this.#json}) from (${rows})) as page from json_each(?3) as parent order by parent.key
      )`;
      });
      const pages = JSON.parse(this.#db.value(sql, params) as string) as string[];
      return pages.map((page) => toPage(page, this.#table.decode, request));
    });
  }

  #pagesOf(shape: string, params: Value[], read: () => Page<T>[]): Page<T>[] {
    if (!this.#pages) return read();
    const key = `${shape} ${params.join()}`;
    let pages = this.#pages.get(key);
    if (!pages) {
      pages = read();
      this.#pages.set(key, pages);
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

  /** Must be called after deleting a record. */
  forget(id: Id): void {
    this.#pages?.clear();
    this.#cache?.delete(id);
  }

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
    const conditions = ['id > ?2'];
    if (parent !== undefined) conditions.push(`${parent} = parent.value`);
    if (request.before !== undefined) conditions.push(`id < ?${++parameter}`);
    for (const [column] of where.equal) conditions.push(`${column} = ?${++parameter}`);
    const select = (condition?: string) =>
      `select ${this.#columns} from ${this.#table.name} where ${[...conditions, condition ?? []].flat().join(' and ')}`;
    // Each value of `oneOf` has its own index range. SQLite merges them and stops at the limit, whereas `in
    // (…)` would sort all matches.
    const { oneOf } = where;
    const runs = oneOf ? oneOf.values.map(() => select(`${oneOf.column} = ?${++parameter}`)) : [select()];
    return `${runs.join(' union all ')} order by id${request.backward ? ' desc' : ''} limit ?1`;
  }
}

const pageShape = (
  { equal, oneOf }: NonNullable<Where>,
  { before, backward }: PageRequest,
  parent: string,
): string => {
  let shape = `${parent}|${before === undefined ? '' : '<'}${backward ? '-' : ''}`;
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

/** Ids as a JSON array of integers, which `json_each` reads exactly. */
export const idList = (ids: readonly Id[]): string => `[${ids.join(',')}]`;
