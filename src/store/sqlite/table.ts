import { unknownReference } from '../../foundation/errors.ts';
import type { Field } from '../../foundation/fields.ts';
import type { Id } from '../../foundation/id.ts';
import {
  type AnyRecord,
  holdersOf,
  isHolding,
  type RecordOf,
  type Referrer,
  referencesOf,
} from '../../foundation/record.ts';
import { idTaken, notUnique, stillReferred } from '../conflicts.ts';
import { type EventType, eventTypesOf, updateTypeOf } from '../events.ts';
import type { Folding } from '../folding.ts';
import type { Check, Table } from '../table.ts';
import { type Column, foldedColumnsOf, insertionOf } from './columns.ts';
import { whereOf } from './conditions.ts';
import type { SqliteConnection, Value } from './connection.ts';
import type { Append } from './event-log.ts';
import type { AssignIds } from './ids.ts';
import { RecordReads } from './records.ts';

type Values = Readonly<Record<string, unknown>>;
/**
 * The records of one kind in the embedded engine. Every method is synchronous. Writes that consist of several
 * statements are transactions or savepoints, so none is left half done.
 */
export class SqliteTable<R extends AnyRecord> extends RecordReads<R> implements Table<R> {
  readonly #tables: readonly SqliteTable<AnyRecord>[];
  readonly #append: Append;
  /** With the folded forms of names. */
  readonly #stored: readonly Column[];
  readonly #ids: AssignIds;
  readonly #references: ReturnType<typeof referencesOf>;
  readonly #created: EventType;
  readonly #insertion: ReturnType<typeof insertionOf>;

  /**
   * @param tables those of all records
   * @param append logs a change, in the transaction that makes it
   * @param folding whether names can be ordered by
   * @param ids assigns the ids of new records
   * @param cacheSize number of records to cache by id
   */
  constructor(
    db: SqliteConnection,
    record: R,
    tables: readonly SqliteTable<AnyRecord>[],
    append: Append,
    folding: Folding,
    ids: AssignIds,
    cacheSize: number,
  ) {
    super(db, record, folding, cacheSize);
    this.#tables = tables;
    this.#append = append;
    this.#stored = [...this.columns, ...foldedColumnsOf(record)];
    this.#references = referencesOf(record);
    this.#created = eventTypesOf(record).created;
    this.#insertion = insertionOf(record);
    this.#ids = ids;
  }

  readonly insert = (input: Values): RecordOf<R> => {
    const values = this.#normalised(input, {});
    this.#checkReferences(values, undefined);
    const chosen = this.record.choosesId ? (input.id as Id | undefined) : undefined;
    if (chosen !== undefined && this.find(chosen)) throw idTaken(this.record, chosen);
    if (this.record.unique.length > 0) this.#checkUnique(values, NO_ID);
    const id = this.#ids(this.db, chosen, this.#insertion, values);
    const record = { id, ...values };
    this.#append(this.#created, record);
    return this.written(record);
  };

  readonly update = (id: Id, patch: Values, check?: Check<RecordOf<R>>): RecordOf<R> => {
    const current = this.existing(id, check);
    const values = this.#normalised(patch, current);
    const changed = this.columns.filter(({ field }) => values[field] !== current[field]);
    if (changed.length === 0) return current as RecordOf<R>;
    this.#checkReferences(values, current);
    if (this.record.unique.some((fields) => changed.some(({ field }) => fields.includes(field))))
      this.#checkUnique(values, id);
    // SQLite rewrites the indexes of every column in the statement, so what stays the same is left out.
    const written = this.#stored.filter(
      ({ field, stored }) => stored(values[field]) !== stored(current[field]),
    );
    this.db.run(
      `update ${this.record.plural} set ${written.map(({ name }) => `${name} = ?`).join(', ')} where id = ?`,
      [...written.map(({ field, stored }) => stored(values[field])), BigInt(id)],
    );
    const next = { id, ...values };
    this.#append(
      updateTypeOf(
        this.record,
        changed.map(({ field }) => field),
      ),
      next,
    );
    return this.written(next);
  };

  readonly remove = (id: Id, check?: Check<RecordOf<R>>): Id => {
    this.existing(id, check);
    for (const holder of holdersOf(this.record)) {
      if (this.#tables[holder.child.index]?.holds(holder, id)) throw stillReferred(this.record, id, holder);
    }
    this.db.run(`delete from ${this.record.plural} where id = ?`, [BigInt(id)]);
    this.#append(eventTypesOf(this.record).deleted, { id });
    this.forget(id);
    return id;
  };

  has(id: Id): boolean {
    return this.find(id) !== null;
  }

  /** Whether a record of this table holds off the deletion of its parent. */
  holds({ field, holds }: Referrer, parent: Id): boolean {
    const where = whereOf(this.columns, { ...holds.where, [field]: parent })!;
    return this.#exists(where.equal, NO_ID);
  }

  /** Whether there is a record with these values, apart from the one with this id. */
  #exists(equal: readonly (readonly [string, Value])[], except: Id): boolean {
    const conditions = ['id <> ?', ...equal.map(([name]) => `${name} = ?`)].join(' and ');
    const params = [BigInt(except), ...equal.map(([, value]) => value)];
    const sql = `select 1 from ${this.record.plural} where ${conditions} limit 1`;
    return this.db.value(sql, params) !== undefined;
  }

  /** The values of a record after a change (null removes, undefined keeps), without absent ones. */
  #normalised(change: Values, current: Values): Values {
    const values: Record<string, unknown> = {};
    for (const { field, declaration, stored, read } of this.columns) {
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
    for (const reference of this.#references) {
      const { field, parent } = reference;
      const id = values[field] as Id | undefined;
      if (id === undefined) continue;
      const isSettled =
        id === current?.[field] && (isHolding(reference, current) || !isHolding(reference, values));
      if (!isSettled && !this.#tables[(parent as AnyRecord).index]!.has(id))
        throw unknownReference(field, parent.kind, id);
    }
  }

  /** @throws CONFLICT if another record has the same values in fields that are unique together */
  #checkUnique(values: Values, id: Id): void {
    for (const fields of this.record.unique) {
      if (fields.some((field) => values[field] === undefined)) continue;
      const { equal } = whereOf(
        this.columns,
        Object.fromEntries(fields.map((field) => [field, values[field]])),
      )!;
      if (this.#exists(equal, id)) throw notUnique(this.record, fields);
    }
  }
}

/** No record has it. */
const NO_ID: Id = '0';

const defaultOf = ({ presence, default: value }: Field): unknown =>
  presence === 'defaulted' ? value : undefined;
