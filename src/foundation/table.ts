import type { SortValue } from './cursor.ts';
import type { Id } from './id.ts';
import type { Meter } from './meter.ts';
import type { AnyRecord, FieldNameOf, FilterOf, NewOf, PatchOf, RecordOf } from './record.ts';

/**
 * A page of a list, by default ordered by ascending id. Both bounds are exclusive; `after` may be "0". `backward`
 * selects the last `limit` items of the range instead of the first, still in the order of the list.
 */
export interface PageRequest {
  /** 0..100; 0 only checks whether there are any. */
  limit: number;
  after?: Id | undefined;
  before?: Id | undefined;
  backward?: boolean | undefined;
  order?: Order | undefined;
  /** Includes the bounds. */
  inclusive?: boolean | undefined;
}

/** An order of a list. Equal values are ordered by id in the same direction, absent ones come last in either. */
export interface Order {
  /** The field that the list is ordered by; by default its id. */
  field?: string | undefined;
  descending: boolean;
  /** The values of the field at the bounds `after` and `before`, whether or not a record has them now. */
  afterValue?: SortValue | undefined;
  beforeValue?: SortValue | undefined;
}

export interface Page<T> {
  items: T[];
  /** Whether there are more items in the range, in the direction of the request. */
  hasMore: boolean;
}

/** Called with the current record, atomically with the write. Throws to prevent the write. */
export type Check<T> = (current: T) => void;

/**
 * The records of one kind. Each write is atomic, and its rules hold under concurrency. A write that changes something
 * appends one event to the log (`EventStore`); one that changes nothing writes nothing.
 */
export interface Table<R extends AnyRecord> {
  /** In the order of the ids, null where there is none. */
  byIds(ids: readonly Id[]): Promise<(RecordOf<R> | null)[]>;
  /** The record if the engine has it cached; undefined means nothing. */
  cached(id: Id): RecordOf<R> | undefined;
  page(filter: FilterOf<R>, page: PageRequest): Promise<Page<RecordOf<R>>>;
  /**
   * A page for each parent, in the order of the parents, with at most one database command.
   *
   * @param field the field that refers to the parent
   */
  pagesByParent(
    field: FieldNameOf<R>,
    parents: readonly Id[],
    filter: FilterOf<R>,
    page: PageRequest,
  ): Promise<Page<RecordOf<R>>[]>;
  /** @throws QUERY_TOO_COMPLEX if there are too many to count, or more than the meter allows */
  count(filter: FilterOf<R>, meter?: Meter): Promise<number>;
  /** A number for each parent, in the order of the parents, with at most one database command. */
  countsByParent(
    field: FieldNameOf<R>,
    parents: readonly Id[],
    filter: FilterOf<R>,
    meter?: Meter,
  ): Promise<number[]>;
  /** @throws UNKNOWN_REFERENCE, CONFLICT if the chosen id is taken or a unique combination exists */
  insert(input: NewOf<R>): Promise<RecordOf<R>>;
  /** The same with several, in a few commands of the database. */
  insertAll(inputs: readonly NewOf<R>[]): Promise<RecordOf<R>[]>;
  /**
   * A reference set by the patch must name a record. So must an existing one from now on, if the patch makes the record
   * hold off the deletion of its parent.
   *
   * @throws NOT_FOUND, whatever `check` throws, UNKNOWN_REFERENCE, CONFLICT if a unique combination exists
   */
  update(id: Id, patch: PatchOf<R>, check?: Check<RecordOf<R>>): Promise<RecordOf<R>>;
  /**
   * Adds to an integer. Concurrent ones add up.
   *
   * @throws NOT_FOUND, whatever `check` throws, CONFLICT if the result would be out of the field's range
   */
  adjust(id: Id, field: FieldNameOf<R>, amount: number, check?: Check<RecordOf<R>>): Promise<RecordOf<R>>;
  /** @throws NOT_FOUND, whatever `check` throws, CONFLICT while another record holds off the deletion */
  remove(id: Id, check?: Check<RecordOf<R>>): Promise<Id>;
}

/** The tables of a store, or of a transaction: then all they read and write belongs to it. */
export interface Tables {
  table<R extends AnyRecord>(record: R): Table<R>;
}
