import { LRUCache } from 'lru-cache';
import { lruCache } from '../../foundation/cache.ts';
import type { Id } from '../../foundation/id.ts';
import type { Meter } from '../../foundation/meter.ts';
import type { AnyRecord } from '../../foundation/record.ts';
import type { Lists, Rows, Stored, Values } from '../engine.ts';
import { eventOf, type StoredEvent } from '../events.ts';
import type { Page, PageRequest } from '../table.ts';
import { allColumnsOf, insertionOf, rowForm } from './columns.ts';
import type { SqliteConnection } from './connection.ts';
import { idsOf } from './ids.ts';
import type { Gate } from './objects.ts';
import { conditionsOf, countMatching, idList, readPages } from './pages.ts';
import type { Writer } from './writer.ts';

/** Characters of a query of pages that is remembered: enough for 100 parents. A filter may repeat its values at will. */
const MAX_KEY_LENGTH = 2_500;

/** What is kept in memory of the records of one kind, and where else they are. */
export interface TableState {
  record: AnyRecord;
  db: SqliteConnection;
  /** Logs a change, in the transaction that makes it. */
  append(event: Pick<StoredEvent, 'type' | 'record'>): void;
  /** Records by id. They are handed out without copying and therefore frozen. */
  cache: LRUCache<Id, Stored>;
  /**
   * Pages read since the last write to the table, by query: none at first, since an export asks for each page once.
   * Bounded by their number of records.
   */
  pages: LRUCache<string, Page<Stored>[]>;
  /** Assigns an id. */
  nextId(): Id;
}

/** @param cacheSize number of records to cache by id */
export function tableState(
  record: AnyRecord,
  db: SqliteConnection,
  writer: Writer,
  append: TableState['append'],
  cacheSize: number,
): TableState {
  const cache = lruCache<Stored>(cacheSize);
  const pages = new LRUCache<string, Page<Stored>[]>({
    maxSize: cacheSize,
    sizeCalculation: (pages) => pages.reduce((size, { items }) => size + items.length, 1),
  });
  writer.follow({
    refresh() {
      cache.clear();
      pages.clear();
    },
  });
  return { record, db, append, cache, pages, nextId: idsOf(db, writer, record) };
}

/**
 * The records of one kind in the embedded engine. Every query returns a single JSON text, which crosses the native
 * boundary several times faster than rows of columns.
 */
export class SqliteRows implements Rows {
  readonly #state: TableState;
  readonly #gate: Gate;

  constructor(state: TableState, gate: Gate) {
    this.#state = state;
    this.#gate = gate;
  }

  cached(id: Id): Stored | undefined {
    return this.#gate() ? undefined : this.#state.cache.get(id);
  }

  #find(id: Id): Stored | null {
    const known = this.#state.cache.get(id);
    if (known) return known;
    const { json, decode } = rowForm(this.#state.record);
    const row = this.#state.db.json<readonly unknown[]>(
      `select ${json} from "${this.#state.record.plural}" where id = ?`,
      [BigInt(id)],
    );
    return row ? this.#keep(decode(row)) : null;
  }

  async byIds(ids: readonly Id[]): Promise<(Stored | null)[]> {
    await this.#gate();
    if (ids.length === 1) return [this.#find(ids[0]!)];
    const { cache } = this.#state;
    const { json, decode } = rowForm(this.#state.record);
    const records = new Map<Id, Stored | null>(ids.map((id) => [id, cache.get(id) ?? null]));
    const missing = [...records.keys()].filter((id) => !records.get(id));
    if (missing.length > 0) {
      const rows = this.#state.db.json<(readonly unknown[])[]>(
        `select json_group_array(${json}) from "${this.#state.record.plural}" where id in (select value from json_each(?))`,
        [idList(missing)],
      )!;
      for (const row of rows) {
        const record = this.#keep(decode(row));
        records.set(record.id, record);
      }
    }
    return ids.map((id) => records.get(id)!);
  }

  async counts(lists: Lists, meter?: Meter): Promise<number[]> {
    await this.#gate();
    return countMatching(this.#state.db, this.#state.record, lists, meter);
  }

  async pages(lists: Lists, request: PageRequest): Promise<Page<Stored>[]> {
    await this.#gate();
    const { pages } = this.#state;
    const query = JSON.stringify([lists.filter, lists.below, request]);
    const key = query.length <= MAX_KEY_LENGTH ? query : undefined;
    const known = key && pages.get(key);
    if (known && known.length > 0) return known;
    const found = readPages(this.#state.db, this.#state.record, lists, request);
    if (key) pages.set(key, known ? found : []);
    return found;
  }

  async exists(values: Values): Promise<boolean> {
    await this.#gate();
    const { sql, params } = conditionsOf(this.#state.record, { filter: values }).where;
    const query = `select 1 from "${this.#state.record.plural}" where ${sql.join(' and ')} limit 1`;
    return this.#state.db.value(query, [...params]) !== undefined;
  }

  /** Nobody else writes before a transaction has ended. */
  async lock(id: Id): Promise<boolean> {
    await this.#gate();
    return this.#find(id) !== null;
  }

  async nextId(): Promise<Id> {
    await this.#gate();
    return this.#state.nextId();
  }

  async insert(record: Stored): Promise<void> {
    await this.#gate();
    const { sql, params } = insertionOf(this.#state.record);
    this.#state.db.run(sql, params(record));
    this.#changed(undefined, record);
  }

  async replace(before: Stored, after: Stored): Promise<void> {
    await this.#gate();
    // SQLite rewrites the indexes of every column in the statement, so what stays the same is left out.
    const written = allColumnsOf(this.#state.record).filter(
      ({ field, stored }) => stored(after[field]) !== stored(before[field]),
    );
    this.#state.db.run(
      `update "${this.#state.record.plural}" set ${written.map(({ name }) => `${name} = ?`).join(', ')} where id = ?`,
      [...written.map(({ field, stored }) => stored(after[field])), BigInt(after.id)],
    );
    this.#changed(before, after);
  }

  async delete(record: Stored): Promise<void> {
    await this.#gate();
    this.#state.db.run(`delete from "${this.#state.record.plural}" where id = ?`, [BigInt(record.id)]);
    this.#changed(record, undefined);
  }

  #changed(before: Stored | undefined, after: Stored | undefined): void {
    this.#state.append(eventOf(this.#state.record, before, after));
    this.#state.pages.clear();
    if (after) this.#keep(after);
    else this.#state.cache.delete(before!.id);
  }

  /** Caches a record. */
  #keep(record: Stored): Stored {
    this.#state.cache.set(record.id, Object.freeze(record));
    return record;
  }
}
