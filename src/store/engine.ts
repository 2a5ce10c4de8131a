import type { Id } from '../foundation/id.ts';
import type { MaybePromise } from '../foundation/maybe-promise.ts';
import type { Meter } from '../foundation/meter.ts';
import type { AnyRecord, FilterOf } from '../foundation/record.ts';
import type { EventStore } from './events.ts';
import type { ObjectKind, ObjectReads, Objects } from './objects.ts';
import type { Group, Page, PageRequest } from '../foundation/table.ts';
import type { LimiterStore } from './limiter-algorithm.ts';

/** The values of some fields, by field. */
export type Values = Readonly<Record<string, unknown>>;

/** A record as an engine keeps it: values in their canonical form, absent ones left out. */
export type Stored = { readonly id: Id } & Values;

/** The last id that was assigned to each kind of record, by its plural. */
export type LastIds = Readonly<Record<string, Id>>;

/** Lists of records that are read together: a single one, or one below each of a set of parents. */
export interface Lists {
  /** Conditions on fields, as in {@link FilterOf}. No list of values is empty. */
  filter: Values;
  /** The field that refers to the parents, and their ids, at least one. */
  below?: { field: string; parents: readonly Id[] };
}

/** The records of one kind. */
export interface Reads {
  /** The records in the order of the ids, null for those that don't exist. */
  byIds(ids: readonly Id[]): MaybePromise<(Stored | null)[]>;
  /** The record if the engine has it cached; undefined says nothing about its existence. */
  cached(id: Id): Stored | undefined;
  /** The first record that a request asks for, where reading several together saves little. */
  readFirst?(id: Id): MaybePromise<Stored | null>;
  /** A page of each list, in the order of the parents, with at most one database command. */
  pages(lists: Lists, page: PageRequest): MaybePromise<Page<Stored>[]>;
  /**
   * The length of each list, in the order of the parents, with at most one database command.
   *
   * @throws QUERY_TOO_COMPLEX if there are too many to count, or more than the meter allows
   */
  counts(lists: Lists, meter?: Meter): Promise<number[]>;
  /**
   * Counts the records of a list by the values of some fields, which none of them lacks, as they are at one moment. In no
   * order.
   *
   * @param most how many groups are read at most
   * @throws QUERY_TOO_COMPLEX if there are too many records to count, or more than the meter allows
   */
  groups(filter: Values, by: readonly string[], most: number, meter?: Meter): Promise<Group[]>;
}

/**
 * The records of one kind within a transaction. Reads see the transaction's own writes. Nothing here
 * knows the rules, which are written once above both engines (`rules.ts`).
 */
export interface Rows extends Reads {
  /** True if there is a record with all these values. */
  exists(values: Values): Promise<boolean>;
  /**
   * Locks records until the transaction ends: `shared`, so that nobody else deletes them, or `alone`, so that nobody
   * else locks them at all. Does nothing where transactions exclude one another.
   *
   * @returns the ids of those that exist
   */
  lock(ids: readonly Id[], how?: 'shared' | 'alone'): Promise<ReadonlySet<Id>>;
  /**
   * Returns ids that no record has at this moment, and that were never assigned before.
   *
   * @throws CONFLICT if there are none left
   */
  nextIds(count: number): Promise<Id[]>;
  insert(records: readonly Stored[]): Promise<void>;
  /** @param before the record as it was read in this transaction */
  replace(before: Stored, after: Stored): Promise<void>;
  /**
   * Adds to an integer in one command, whatever its current value, if it stays within its range.
   *
   * @returns the record afterwards; null if there is none, or the result would be out of range
   */
  add(id: Id, field: string, amount: number): Promise<Stored | null>;
  /** @param record as it was read in this transaction */
  delete(record: Stored): Promise<void>;
}

/** Runs a write in its transaction. */
export type Run<Own = EngineTransaction> = <T>(write: (own: Own) => Promise<T>) => Promise<T>;

/** The interface that the work of a transaction uses. Not usable once the work has ended. */
export interface EngineTransaction {
  rows(record: AnyRecord): Rows;
  objects<T>(kind: ObjectKind<T>): Objects<T>;
}

/**
 * The engine port: rows, objects, transactions, ids, a feed of changes, and the limiter's charges. Each change of a record
 * is one event (`eventOf`), in the order of commitment.
 */
export interface Engine extends EventStore, LimiterStore {
  readonly engine: 'sqlite' | 'mongodb';
  /** True if only one process at a time serves the database. */
  readonly isExclusive: boolean;
  /** The committed records of one kind. */
  reads(record: AnyRecord): Reads;
  /** The committed objects of one kind. */
  objects<T>(kind: ObjectKind<T>): ObjectReads<T>;
  lastIds(): Promise<LastIds>;
  /** The database's clock, in milliseconds since 1970. */
  now(): Promise<number>;
  /**
   * Commits all writes of `work`, or none if it throws. Whatever its decisions rest on is unchanged at the commit:
   * otherwise the engine rolls back and runs it again, also if an id or a unique combination was taken meanwhile.
   *
   * @param how `single` if `work` makes at most one write, at its end, which is cheaper (`single-write.ts`)
   * @throws what `work` throws, UNAVAILABLE
   */
  transaction<T>(work: (transaction: EngineTransaction) => Promise<T>, how?: 'single'): Promise<T>;
  /**
   * Runs work that adds this many records of a kind in transactions. If it has the database to itself, lists of that kind
   * may be unreadable meanwhile.
   *
   * @param work gets a function that is called before each transaction, and returns true if no server waits for it
   */
  filling<T>(record: AnyRecord, rows: number, work: (isAlone: () => boolean) => Promise<T>): Promise<T>;
  /** @throws UNAVAILABLE if the database does not respond or cannot be written */
  ping(): Promise<void>;
  close(): Promise<void>;
}
