import { LRUCache } from 'lru-cache';
import { lruCache } from '../../foundation/cache.ts';
import type { Id } from '../../foundation/id.ts';
import type { Meter } from '../../foundation/meter.ts';
import type { AnyRecord } from '../../foundation/record.ts';
import type { Lists, Stored, Values } from '../engine.ts';
import { eventOf, type StoredEvent } from '../events.ts';
import type { Page, PageRequest } from '../table.ts';
import { allColumnsOf, type Column, columnsOf, insertionOf } from './columns.ts';
import { allOf, conditionsOf } from './conditions.ts';
import type { SqliteConnection } from './connection.ts';
import { idsOf } from './ids.ts';
import { countMatching, idList, type RowForm, readPages } from './pages.ts';
import type { Writer } from './writer.ts';

/** Characters of a query of pages that is remembered: enough for 100 parents. A filter may repeat its values at will. */
const MAX_KEY_LENGTH = 2_500;

/** A column as a value of JSON, in which ids are exact as text alone. */
const jsonOf = ({ name, declaration }: Column): string =>
  declaration.kind === 'id' ? `cast(${name} as text)` : name;

/** What the tables of a data file share. */
export interface TableContext {
  db: SqliteConnection;
  writer: Writer;
  /** Logs a change, in the transaction that makes it. */
  append(event: Pick<StoredEvent, 'type' | 'record'>): void;
}

/**
 * The records of one kind in the embedded engine. Every query returns a single JSON text, which crosses the native
 * boundary several times faster than rows of columns.
 *
 * Records are cached by id, and pages that are asked for again until the next write. Cached records are returned
 * without copying and therefore frozen.
 */
export class SqliteTable {
  readonly #db: SqliteConnection;
  readonly #record: AnyRecord;
  readonly #context: TableContext;
  readonly #insertion: ReturnType<typeof insertionOf>;
  readonly #columns: readonly Column[];
  readonly #form: RowForm<Stored>;
  readonly #cache: LRUCache<Id, Stored>;
  /**
   * Pages read since the last write to the table, by query: none at first, since an export asks for each page once.
   * Bounded by their number of records.
   */
  readonly #pages: LRUCache<string, Page<Stored>[]>;
  /** Assigns an id. */
  readonly nextId: () => Id;

  /** @param cacheSize number of records to cache by id */
  constructor(context: TableContext, record: AnyRecord, cacheSize: number) {
    const { db, writer } = context;
    this.#db = db;
    this.#record = record;
    this.#context = context;
    this.nextId = idsOf(db, writer, record);
    this.#insertion = insertionOf(record);
    this.#columns = columnsOf(record);
    this.#form = {
      columns: ['id', ...this.#columns.map(({ name }) => name)].join(', '),
      json: `json_array(cast(id as text), ${this.#columns.map(jsonOf).join(', ')})`,
      decode: this.#decode,
    };
    this.#cache = lruCache<Stored>(cacheSize);
    this.#pages = new LRUCache<string, Page<Stored>[]>({
      maxSize: cacheSize,
      sizeCalculation: (pages) => pages.reduce((size, { items }) => size + items.length, 1),
    });
    writer.follow({
      refresh: () => {
        this.#cache.clear();
        this.#pages.clear();
      },
    });
  }

  cached(id: Id): Stored | undefined {
    return this.#cache.get(id);
  }

  find(id: Id): Stored | null {
    const known = this.#cache.get(id);
    if (known) return known;
    const row = this.#db.json<readonly unknown[]>(
      `select ${this.#form.json} from "${this.#record.plural}" where id = ?`,
      [BigInt(id)],
    );
    return row ? this.#keep(this.#decode(row)) : null;
  }

  byIds(ids: readonly Id[]): (Stored | null)[] {
    if (ids.length === 1) return [this.find(ids[0]!)];
    const records = new Map<Id, Stored>();
    const missing: Id[] = [];
    for (const id of ids) {
      const known = this.#cache.get(id);
      if (known) records.set(id, known);
      else missing.push(id);
    }
    if (missing.length > 0) {
      const rows = this.#db.json<(readonly unknown[])[]>(
        `select json_group_array(${this.#form.json}) from "${this.#record.plural}" where id in (select value from json_each(?))`,
        [idList(missing)],
      )!;
      for (const row of rows) {
        const record = this.#keep(this.#decode(row));
        records.set(record.id, record);
      }
    }
    return ids.map((id) => records.get(id) ?? null);
  }

  counts(lists: Lists, meter?: Meter): number[] {
    return countMatching(this.#db, this.#record, lists, meter);
  }

  pages(lists: Lists, request: PageRequest): Page<Stored>[] {
    const query = JSON.stringify([lists, request]);
    const key = query.length <= MAX_KEY_LENGTH ? query : undefined;
    const known = key && this.#pages.get(key);
    if (known && known.length > 0) return known;
    const pages = readPages(this.#db, this.#record, lists, request, this.#form);
    if (key) this.#pages.set(key, known ? pages : []);
    return pages;
  }

  exists(values: Values, except: Id = NO_ID): boolean {
    const { sql, params } = allOf(conditionsOf(this.#record, { filter: values }).equal);
    const conditions = ['id <> ?', ...sql].join(' and ');
    const query = `select 1 from "${this.#record.plural}" where ${conditions} limit 1`;
    return this.#db.value(query, [BigInt(except), ...params]) !== undefined;
  }

  /** Nobody else writes before a transaction has ended. */
  lock(id: Id): boolean {
    return this.find(id) !== null;
  }

  insert(record: Stored): void {
    this.#db.run(this.#insertion.sql, this.#insertion.params(record));
    this.#changed(undefined, record);
  }

  replace(before: Stored, after: Stored): void {
    // SQLite rewrites the indexes of every column in the statement, so what stays the same is left out.
    const written = allColumnsOf(this.#record).filter(
      ({ field, stored }) => stored(after[field]) !== stored(before[field]),
    );
    this.#db.run(
      `update "${this.#record.plural}" set ${written.map(({ name }) => `${name} = ?`).join(', ')} where id = ?`,
      [...written.map(({ field, stored }) => stored(after[field])), BigInt(after.id)],
    );
    this.#changed(before, after);
  }

  delete(record: Stored): void {
    this.#db.run(`delete from "${this.#record.plural}" where id = ?`, [BigInt(record.id)]);
    this.#changed(record, undefined);
  }

  #changed(before: Stored | undefined, after: Stored | undefined): void {
    this.#context.append(eventOf(this.#record, before, after));
    this.#pages.clear();
    if (after) this.#keep(after);
    else this.#cache.delete(before!.id);
  }

  /** Caches a record. */
  #keep(record: Stored): Stored {
    this.#cache.set(record.id, Object.freeze(record));
    return record;
  }

  /** Absent values are left out. */
  readonly #decode = (row: readonly unknown[]): Stored => {
    const record: Record<string, unknown> & { id: Id } = { id: row[0] as Id };
    for (let i = 0; i < this.#columns.length; i++) {
      const value = row[i + 1];
      if (value === null) continue;
      const { field, read } = this.#columns[i]!;
      record[field] = read ? read(value) : value;
    }
    return record;
  };
}

/** No record has it. */
const NO_ID: Id = '0';
