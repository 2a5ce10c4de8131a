import type { SortValue } from './cursor.ts';
import type { Id } from './id.ts';
import type { MaybePromise } from './maybe-promise.ts';
import type { Meter } from './meter.ts';
import type { AnyRecord, FieldNameOf, FilterOf, NewOf, PatchOf, RecordOf } from './record.ts';

/**
 * A page of a list, by default ordered by ascending id. Both bounds are exclusive; `after` may be "0". `backward`
 * selects the last `limit` items of the range instead of the first, still in the order of the list.
 */
export interface PageRequest {
  /** 0..100; 0 only checks if there are any. */
  limit: number;
  after?: Id | undefined;
  before?: Id | undefined;
  backward?: boolean | undefined;
  order?: Order | undefined;
  /** True to include the bounds. */
  inclusive?: boolean | undefined;
}

/** An order of a list. Equal values are ordered by id in the same direction; absent ones come last in both. */
export interface Order {
  /** The field that the list is ordered by; by default its id. */
  field?: string | undefined;
  descending: boolean;
  /** The values of the field at the bounds `after` and `before`, which no record has to have now. */
  afterValue?: SortValue | undefined;
  beforeValue?: SortValue | undefined;
}

export interface Page<T> {
  items: T[];
  /** True if there are more items in the range, in the direction of the request. */
  hasMore: boolean;
}

/** The number of records with these values, one of each field that they were counted by; at least one. */
export interface Group {
  values: Readonly<Record<string, unknown>>;
  count: number;
}

/** Called with the current record, atomically with the write. Throws to prevent the write. */
export type Check<T> = (current: T) => void;

/**
 * The records of one kind. Each write is atomic, and its rules hold under concurrency. A write that changes something
 * appends one event to the log (`EventStore`); one that changes nothing writes nothing.
 */
export interface Table<R extends AnyRecord> {
  /** The records in the order of the ids, null for those that don't exist. */
  byIds(ids: readonly Id[]): MaybePromise<(RecordOf<R> | null)[]>;
  /** The record if the engine has it cached; undefined says nothing about its existence. */
  cached(id: Id): RecordOf<R> | undefined;
  /** The first record that a request asks for, where reading several together saves little. */
  readFirst?: ((id: Id) => MaybePromise<RecordOf<R> | null>) | undefined;
  page(filter: FilterOf<R>, page: PageRequest): MaybePromise<Page<RecordOf<R>>>;
  /**
   * Reads a page for each parent, in the order of the parents, with at most one database command.
   *
   * @param field the field that refers to the parent
   */
  pagesByParent(
    field: FieldNameOf<R>,
    parents: readonly Id[],
    filter: FilterOf<R>,
    page: PageRequest,
  ): MaybePromise<Page<RecordOf<R>>[]>;
  /** @throws QUERY_TOO_COMPLEX if there are too many to count, or more than the meter allows */
  count(filter: FilterOf<R>, meter?: Meter): Promise<number>;
  /** Counts the children of each parent, in the order of the parents, with at most one database command. */
  countsByParent(
    field: FieldNameOf<R>,
    parents: readonly Id[],
    filter: FilterOf<R>,
    meter?: Meter,
  ): Promise<number[]>;
  /**
   * Counts the records that match by the values of some fields, which none of them lacks, as they are at one moment: the
   * groups that there are, in the order of their values.
   *
   * @throws QUERY_TOO_COMPLEX if there are more groups than MAX_GROUPS, or as {@link Table.count}
   */
  countsBy(by: readonly FieldNameOf<R>[], filter: FilterOf<R>, meter?: Meter): Promise<Group[]>;
  /** @throws UNKNOWN_REFERENCE, CONFLICT if the chosen id is taken or a unique combination exists */
  insert(input: NewOf<R>): Promise<RecordOf<R>>;
  /** Inserts several records in a few database commands. Throws like `insert`. */
  insertAll(inputs: readonly NewOf<R>[]): Promise<RecordOf<R>[]>;
  /**
   * A reference set by the patch must name an existing record. So must the references that stay, if the patch makes the
   * record block the deletion of a parent.
   *
   * @throws NOT_FOUND, whatever `check` throws, UNKNOWN_REFERENCE, CONFLICT if a unique combination exists
   */
  update(id: Id, patch: PatchOf<R>, check?: Check<RecordOf<R>>): Promise<RecordOf<R>>;
  /**
   * Adds to an integer. Concurrent adjustments add up.
   *
   * @throws NOT_FOUND, whatever `check` throws, CONFLICT if the result would be out of the field's range
   */
  adjust(id: Id, field: FieldNameOf<R>, amount: number, check?: Check<RecordOf<R>>): Promise<RecordOf<R>>;
  /** @throws NOT_FOUND, whatever `check` throws, CONFLICT while another record blocks the deletion */
  remove(id: Id, check?: Check<RecordOf<R>>): Promise<Id>;
}

/** The tables of a store, or of a transaction, to which everything read and written through them then belongs. */
export interface Tables {
  table<R extends AnyRecord>(record: R): Table<R>;
}
