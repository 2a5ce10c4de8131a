import type { Id } from '../foundation/id.ts';
import type { MaybePromise } from '../foundation/turns.ts';
import type { Meter } from '../foundation/meter.ts';
import type { AnyDeclaration, FilterOf } from '../foundation/record.ts';
import type { EventStore } from './events.ts';
import type { ObjectKind, ObjectReads, Objects } from './objects.ts';
import type { RequestJournal } from './request-journal.ts';
import type { Group, Page, PageRequest } from '../foundation/table.ts';
import type { LimiterStore } from './limiter-algorithm.ts';

/** Values by field. */
export type Values = Readonly<Record<string, unknown>>;

/** A record as engines store it: values in canonical form, without absent ones. */
export type StoredRow = { readonly id: Id } & Values;

/** The last assigned id of each kind of record, by plural. */
export type LastIds = Readonly<Record<string, Id>>;

/** Lists of records that are read together: a single list, or the lists of children of a set of parents. */
export interface Lists {
  /** Conditions on fields, as in {@link FilterOf}. No list of values is empty. */
  filter: Values;
  /** The field that refers to the parents, and the parents' ids, at least one. */
  below?: { field: string; parents: readonly Id[] };
}

/** Reads of one kind of record. */
export interface Reads {
  /** Reads records in the order of the ids; null for a record that doesn't exist. */
  byIds(ids: readonly Id[]): MaybePromise<(StoredRow | null)[]>;
  /** The record if it is cached; undefined says nothing about its existence. */
  cached(id: Id): StoredRow | undefined;
  /** Reads a record together with those that other requests read. Unset if a request must collect its own. */
  load?(id: Id): MaybePromise<StoredRow | null>;
  /** Reads a page of each list, in the order of the parents, with at most one database command. */
  pages(lists: Lists, page: PageRequest): MaybePromise<Page<StoredRow>[]>;
  /**
   * Counts each list, in the order of the parents, with at most one database command.
   *
   * @throws QUERY_TOO_COMPLEX if there are too many to count, or more than the meter allows
   */
  counts(lists: Lists, meter?: Meter): Promise<number[]>;
  /**
   * Counts the records of a list grouped by the values of some fields (never missing ones), in one snapshot. In no
   * order.
   *
   * @param most the maximum number of groups to read
   * @throws QUERY_TOO_COMPLEX if there are too many records to count, or more than the meter allows
   */
  groups(filter: Values, by: readonly string[], most: number, meter?: Meter): Promise<Group[]>;
}

/**
 * The records of one kind within a transaction. Reads see the transaction's own writes. The rules of records are
 * written once, above both engines (`rules.ts`).
 */
export interface RowWrites extends Reads {
  /** True if a record has all these values. */
  exists(values: Values): MaybePromise<boolean>;
  /**
   * Locks records until the transaction ends: `shared` keeps others from deleting them, `alone` from locking them at
   * all. Does nothing where transactions exclude one another.
   *
   * @returns the ids of the records that exist
   */
  lock(ids: readonly Id[], how?: 'shared' | 'alone'): MaybePromise<ReadonlySet<Id>>;
  /**
   * Assigns ids that no record has and that were never assigned before.
   *
   * @throws CONFLICT if no ids are left
   */
  nextIds(count: number): MaybePromise<Id[]>;
  insert(records: readonly StoredRow[]): MaybePromise<void>;
  /** @param before the record as it was read in this transaction */
  replace(before: StoredRow, after: StoredRow): Promise<void>;
  /**
   * Adds to an integer in one command, unless that takes it out of its range. Unset where transactions exclude one another.
   *
   * @returns the changed record; null if it doesn't exist or the result would be out of range
   */
  add?(id: Id, field: string, amount: number): Promise<StoredRow | null>;
  /** @param record as it was read in this transaction */
  delete(record: StoredRow): Promise<void>;
}

/** Runs a write in a transaction. */
export type Run<Own = EngineTransaction> = <T>(write: (own: Own) => Promise<T>) => Promise<T>;

/** The interface for the work of a transaction, unusable once the work has ended. */
export interface EngineTransaction {
  rows(declaration: AnyDeclaration): RowWrites;
  objects<T>(kind: ObjectKind<T>): Objects<T>;
  /** Called before each write of records. @throws Error if that may not be, a programmer's error */
  beforeWrite?(): void;
}

/**
 * The engine port: rows, objects, transactions, ids, a feed of changes, and the limiter's charges. Each change of a
 * record is an event (`eventOf`), in commit order.
 */
export interface Engine extends EventStore, LimiterStore {
  readonly engine: 'sqlite' | 'mongodb';
  /** True if only one process at a time may serve the database. */
  readonly isExclusive: boolean;
  /** Set if requests are stored by key only minutes later. A process that is killed leaves its journal to the next one. */
  readonly requestJournal?: RequestJournal | undefined;
  /** The committed records of one kind. */
  reads(declaration: AnyDeclaration): Reads;
  /** The committed objects of one kind. */
  objects<T>(kind: ObjectKind<T>): ObjectReads<T>;
  lastIds(): Promise<LastIds>;
  /** The database's clock, in milliseconds since 1970. */
  now(): Promise<number>;
  /**
   * Commits all writes of `work`, or none if it throws. If anything that it read has changed by the commit, or an id or
   * unique combination was taken, the engine rolls back and runs it again.
   *
   * @param how `single` if `work` makes at most one write, at its end, which is cheaper ({@link singleWrite})
   * @throws what `work` throws, UNAVAILABLE
   */
  transaction<T>(work: (transaction: EngineTransaction) => Promise<T>, how?: 'single'): Promise<T>;
  /**
   * Runs work that adds this many records of a kind, in transactions. With no other process on the database, lists of
   * that kind may be unreadable meanwhile.
   *
   * @param work gets a function to call before each transaction, which returns true if no server is waiting
   */
  filling<T>(
    declaration: AnyDeclaration,
    rows: number,
    work: (isAlone: () => boolean) => Promise<T>,
  ): Promise<T>;
  /** @throws UNAVAILABLE if the database does not respond or cannot be written */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Limits a transaction to the single write that was announced. Engines commit a single write without a real
 * transaction, so a second one would be committed separately.
 *
 * @returns the same transaction, whose second write throws, as a programming error
 */
export function singleWrite({ rows, objects }: EngineTransaction): EngineTransaction {
  let hasWritten = false;
  const beforeWrite = (): void => {
    if (hasWritten) throw new Error('A single write was followed by another: leave out `single`.');
    hasWritten = true;
  };
  const write = async <T>(command: () => Promise<T>): Promise<T> => {
    beforeWrite();
    return await command();
  };
  return {
    rows,
    beforeWrite,
    objects(kind) {
      const own = objects(kind);
      return {
        ...own,
        put: (put) => write(() => own.put(put)),
        delete: (keys) => write(() => own.delete(keys)),
        deleteBefore: (keys) => write(() => own.deleteBefore(keys)),
      };
    },
  };
}

/** Makes an engine enforce that `single` transactions make one write. */
export const withSingleWrites = <E extends Pick<Engine, 'transaction'>>(engine: E): E => ({
  ...engine,
  transaction: ((work, how) =>
    engine.transaction(
      how === 'single' ? (own) => work(singleWrite(own)) : work,
      how,
    )) satisfies Engine['transaction'],
});
