import { LRUCache } from 'lru-cache';
import { notFound, unknownReferences } from '../../foundation/errors.ts';
import type { Field } from '../../foundation/fields.ts';
import type { Id } from '../../foundation/id.ts';
import { lruCache } from '../../foundation/lru.ts';
import type { Meter } from '../../foundation/meter.ts';
import {
  type AnyRecord,
  checkRules,
  holdersOf,
  isHolding,
  type RecordOf,
  type Referrer,
  referencesOf,
} from '../../foundation/record.ts';
import { idTaken, notUnique, stillReferred } from '../conflicts.ts';
import { type EventType, eventTypesOf, updateTypeOf } from '../events.ts';
import type { Check, Page, PageRequest, Table } from '../table.ts';
import { type Column, columnName, columnsOf, foldedColumnsOf, insertionOf } from './columns.ts';
import { idList, whereOf } from './conditions.ts';
import type { SqliteConnection, Value } from './connection.ts';
import { countRecords, countsOf } from './counts.ts';
import type { Append } from './event-log.ts';
import type { AssignIds } from './ids.ts';
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
/** Characters of a query of pages that is remembered: enough for 100 parents. A filter may repeat its values at will. */
const MAX_KEY_LENGTH = 2_500;

/** A record of any kind. */
export type Stored = Record<string, unknown> & { id: Id };

type Values = Readonly<Record<string, unknown>>;

/**
 * The records of one kind in the embedded engine. Every method is synchronous. Every query returns a single JSON
 * text, which crosses the native boundary several times faster than rows of columns. Writes that consist of several
 * statements are transactions or savepoints, so none is left half done.
 *
 * Records are cached by id, and pages that are asked for again until the next write. That is correct only while
 * this process alone writes to the file. Cached records are returned without copying and therefore frozen.
 */
export class SqliteTable<R extends AnyRecord> implements Table<R> {
  readonly #db: SqliteConnection;
  readonly #record: R;
  readonly #tables: readonly SqliteTable<AnyRecord>[];
  readonly #append: Append;
  readonly #ids: AssignIds;
  readonly #columns: readonly Column[];
  /** With the folded forms of names. */
  readonly #stored: readonly Column[];
  readonly #references: ReturnType<typeof referencesOf>;
  readonly #counts: ReturnType<typeof countsOf>;
  readonly #created: EventType;
  readonly #insertion: ReturnType<typeof insertionOf>;
  readonly #codecs: readonly ReturnType<typeof codecOf>[];
  readonly #form: RowForm<Stored>;
  readonly #cache: LRUCache<Id, Stored> | undefined;
  /** Pages read since the last write to the table, by query. Bounded by their number of records. */
  readonly #pages: LRUCache<string, Page<Stored>[]> | undefined;
  /** Queries of pages that were asked for before. Only those are cached: an export asks for each page once. */
  readonly #requested = lruCache<true>(MAX_REQUESTED);

  /**
   * @param tables those of all records
   * @param append logs a change, in the transaction that makes it
   * @param ids assigns the ids of new records
   * @param cacheSize number of records to cache by id
   */
  constructor(
    db: SqliteConnection,
    record: R,
    tables: readonly SqliteTable<AnyRecord>[],
    append: Append,
    ids: AssignIds,
    cacheSize: number,
  ) {
    this.#db = db;
    this.#record = record;
    this.#tables = tables;
    this.#append = append;
    this.#ids = ids;
    this.#columns = columnsOf(record);
    this.#stored = [...this.#columns, ...foldedColumnsOf(record)];
    this.#references = referencesOf(record);
    this.#counts = countsOf(record);
    this.#created = eventTypesOf(record).created;
    this.#insertion = insertionOf(record);
    this.#codecs = this.#columns.map(codecOf);
    this.#form = {
      columns: ['id', ...this.#columns.map(({ name }) => name)].join(', '),
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

  #find(id: Id): Stored | null {
    const known = this.#cache?.get(id);
    if (known) return known;
    const row = this.#db.json<readonly unknown[]>(
      `select ${this.#form.json} from ${this.#record.plural} where id = ?`,
      [BigInt(id)],
    );
    return row === undefined ? null : this.#keep(this.#decode(row));
  }

  /**
   * Reads the record to write.
   *
   * @throws NOT_FOUND, and whatever `check` throws
   */
  #existing(id: Id, check: Check<RecordOf<R>> | undefined): Stored {
    const current = this.#find(id);
    if (!current) throw notFound(this.#record.kind, id);
    check?.(current as RecordOf<R>);
    return current;
  }

  readonly byIds = (ids: readonly Id[]): (RecordOf<R> | null)[] => {
    if (ids.length === 1) return [this.#find(ids[0]!) as RecordOf<R> | null];
    const records = new Map<Id, Stored>();
    const missing: Id[] = [];
    for (const id of ids) {
      const known = this.#cache?.get(id);
      if (known) records.set(id, known);
      else missing.push(id);
    }
    if (missing.length > 0) {
      const rows = this.#db.json<(readonly unknown[])[]>(
        `select json_group_array(${this.#form.json}) from ${this.#record.plural} where id in (select value from json_each(?))`,
        [idList(missing)],
      )!;
      for (const row of rows) {
        const record = this.#keep(this.#decode(row));
        records.set(record.id, record);
      }
    }
    return ids.map((id) => (records.get(id) as RecordOf<R> | undefined) ?? null);
  };

  readonly page = (filter: Values, request: PageRequest): Page<RecordOf<R>> =>
    this.#read(filter, request, undefined)[0]!;

  readonly pagesByParent = (
    field: string,
    parents: readonly Id[],
    filter: Values,
    request: PageRequest,
  ): Page<RecordOf<R>>[] => this.#read(filter, request, { field, column: columnName(field), parents });

  readonly count = (filter: Values, meter?: Meter): number => {
    const where = whereOf(this.#record, filter);
    return where ? countRecords(this.#db, this.#record, this.#counts, where, undefined, meter)[0]! : 0;
  };

  readonly countsByParent = (
    field: string,
    parents: readonly Id[],
    { [field]: parent, ...others }: Values,
    meter?: Meter,
  ): number[] => {
    const where = whereOf(this.#record, others);
    if (!where) return parents.map(() => 0);
    const ofParents = { field, column: columnName(field), parents };
    const counts = countRecords(this.#db, this.#record, this.#counts, where, ofParents, meter);
    return parent === undefined ? counts : counts.map((n, i) => (parents[i] === parent ? n : 0));
  };

  /** Reads a page: of one list, or of that of each parent. */
  #read(filter: Values, request: PageRequest, ofParents: Parents | undefined): Page<never>[] {
    const query = this.#pages && JSON.stringify([filter, request, ofParents]);
    const key = query && query.length <= MAX_KEY_LENGTH ? query : undefined;
    const known = key && this.#pages!.get(key);
    if (known) return known as Page<never>[];
    const where = whereOf(this.#record, filter);
    if (!where) return (ofParents?.parents ?? [0]).map(() => ({ items: [], hasMore: false }));
    const pages = readPages(this.#db, this.#record, ofParents, where, request, this.#form);
    if (!key) return pages as Page<never>[];
    if (this.#requested.get(key)) this.#pages!.set(key, pages);
    else this.#requested.set(key, true);
    return pages as Page<never>[];
  }

  readonly insert = (input: Values): RecordOf<R> => {
    const values = this.#normalised(input, {});
    checkRules(this.#record, values);
    this.#checkReferences(values, undefined);
    const chosen = this.#record.choosesId ? (input.id as Id | undefined) : undefined;
    if (chosen !== undefined && this.#find(chosen)) throw idTaken(this.#record, chosen);
    if (this.#record.unique.length > 0) this.#checkUnique(values, NO_ID);
    const id = this.#ids(this.#db, chosen, this.#insertion, values);
    const record = { id, ...values };
    this.#append(this.#created, record);
    return this.#written(record);
  };

  readonly update = (id: Id, patch: Values, check?: Check<RecordOf<R>>): RecordOf<R> => {
    const current = this.#existing(id, check);
    const values = this.#normalised(patch, current);
    const changed = this.#columns.filter(({ field }) => values[field] !== current[field]);
    if (changed.length === 0) return current as RecordOf<R>;
    checkRules(this.#record, values);
    this.#checkReferences(values, current);
    if (this.#record.unique.some((fields) => changed.some(({ field }) => fields.includes(field))))
      this.#checkUnique(values, id);
    // SQLite rewrites the indexes of every column in the statement, so what stays the same is left out.
    const written = this.#stored.filter(
      ({ field, stored }) => stored(values[field]) !== stored(current[field]),
    );
    this.#db.run(
      `update ${this.#record.plural} set ${written.map(({ name }) => `${name} = ?`).join(', ')} where id = ?`,
      [...written.map(({ field, stored }) => stored(values[field])), BigInt(id)],
    );
    const next = { id, ...values };
    this.#append(
      updateTypeOf(
        this.#record,
        changed.map(({ field }) => field),
      ),
      next,
    );
    return this.#written(next);
  };

  readonly remove = (id: Id, check?: Check<RecordOf<R>>): Id => {
    this.#existing(id, check);
    for (const holder of holdersOf(this.#record)) {
      if (this.#tables[holder.child.index]?.holds(holder, id)) throw stillReferred(this.#record, id, holder);
    }
    this.#db.run(`delete from ${this.#record.plural} where id = ?`, [BigInt(id)]);
    this.#append(eventTypesOf(this.#record).deleted, { id });
    this.forget(id);
    return id;
  };

  /** Must be called after writing a record. */
  #written(record: Stored): RecordOf<R> {
    this.#pages?.clear();
    return this.#keep(record) as RecordOf<R>;
  }

  /** Caches a record as stored. */
  #keep(record: Stored): Stored {
    if (!this.#cache) return record;
    this.#cache.set(record.id, Object.freeze(record));
    return record;
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

  /** Whether a record of this table holds off the deletion of its parent. */
  holds({ field, holds }: Referrer, parent: Id): boolean {
    const where = whereOf(this.#record, { ...holds.where, [field]: parent })!;
    return this.#exists(where.equal, NO_ID);
  }

  /** Whether there is a record with these values, apart from the one with this id. */
  #exists(equal: readonly (readonly [string, Value])[], except: Id): boolean {
    const conditions = ['id <> ?', ...equal.map(([name]) => `${name} = ?`)].join(' and ');
    const params = [BigInt(except), ...equal.map(([, value]) => value)];
    const sql = `select 1 from ${this.#record.plural} where ${conditions} limit 1`;
    return this.#db.value(sql, params) !== undefined;
  }

  /** The values of a record after a change (null removes, undefined keeps), without absent ones. */
  #normalised(change: Values, current: Values): Values {
    const values: Record<string, unknown> = {};
    for (const { field, declaration, stored, read } of this.#columns) {
      const given = change[field];
      const value = given === undefined ? (current[field] ?? defaultOf(declaration)) : given;
      // A round trip normalises instants. Adding 0 turns -0 into 0.
      if (value != null)
        values[field] = read ? read(stored(value)) : typeof value === 'number' ? value + 0 : value;
    }
    return values;
  }

  /** @throws UNKNOWN_REFERENCE if a reference that is new, or holds its parent from now on, names nothing */
  #checkReferences(values: Values, current: Values | undefined): void {
    const unknown: [field: string, kind: string, id: Id][] = [];
    for (const reference of this.#references) {
      const { field, parent } = reference;
      const id = values[field] as Id | undefined;
      if (id === undefined) continue;
      const isSettled =
        id === current?.[field] && (isHolding(reference, current) || !isHolding(reference, values));
      if (!isSettled && !this.#tables[(parent as AnyRecord).index]!.#find(id))
        unknown.push([field, parent.kind, id]);
    }
    if (unknown.length > 0) throw unknownReferences(unknown);
  }

  /** @throws CONFLICT if another record has the same values in fields that are unique together */
  #checkUnique(values: Values, id: Id): void {
    for (const fields of this.#record.unique) {
      if (fields.some((field) => values[field] === undefined)) continue;
      const { equal } = whereOf(
        this.#record,
        Object.fromEntries(fields.map((field) => [field, values[field]])),
      )!;
      if (this.#exists(equal, id)) throw notUnique(this.#record, fields);
    }
  }
}

/** No record has it. */
const NO_ID: Id = '0';

const defaultOf = ({ presence, default: value }: Field): unknown =>
  presence === 'defaulted' ? value : undefined;
