import type { SortValue } from './cursor.ts';
import type { Id } from './id.ts';
import type { MaybePromise } from './turns.ts';
import type { Meter } from './meter.ts';
import type { AnyDeclaration, AnyHooks, FieldNameOf, FilterOf, NewOf, PatchOf, RecordOf } from './record.ts';

/**
 * A page of a list, by default in ascending order of id. Bounds are exclusive unless `inclusive`; `after` may be "0".
 * `backward` selects the last `limit` items of the range instead of the first, still in the order of the list.
 */
export interface PageRequest {
  /** 0..100; 0 only checks whether there are any items. */
  limit: number;
  after?: Id | undefined;
  before?: Id | undefined;
  backward?: boolean | undefined;
  order?: Order | undefined;
  /** True to include the bounds. */
  inclusive?: boolean | undefined;
}

/** The order of a list. Equal values are ordered by id in the same direction; missing values come last in both. */
export interface Order {
  /** The field to order by; defaults to the id. */
  field?: string | undefined;
  descending: boolean;
  /** The field's values at the bounds `after` and `before`. No record needs to have them now. */
  afterValue?: SortValue | undefined;
  beforeValue?: SortValue | undefined;
}

export interface Page<T> {
  items: T[];
  /** True if there are more items in the range, in the direction of the request. */
  hasMore: boolean;
}

/** The number of records with the same values of the grouped fields; at least one. */
export interface Group {
  values: Readonly<Record<string, unknown>>;
  count: number;
}

/** Runs with the current record, atomically with the write. Throws to prevent it. */
export type Check<T> = (current: T) => void;

/**
 * The records of one kind. Writes are atomic, and their rules hold under concurrency. A write that changes something
 * appends an event to the log (`EventStore`); any other writes nothing.
 */
export interface Table<R extends AnyDeclaration> {
  /** Reads records in the order of the ids; null for a record that doesn't exist. */
  byIds(ids: readonly Id[]): MaybePromise<(RecordOf<R> | null)[]>;
  /** The record if it is cached; undefined says nothing about its existence. */
  cached(id: Id): RecordOf<R> | undefined;
  /** Reads a record together with those that other requests read. Unset if a request must collect its own. */
  load?: ((id: Id) => MaybePromise<RecordOf<R> | null>) | undefined;
  page(filter: FilterOf<R>, page: PageRequest): MaybePromise<Page<RecordOf<R>>>;
  /**
   * Reads a page of children for each parent, in the order of the parents, with at most one database command.
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
   * Counts matching records grouped by the values of some fields (never missing ones), in one snapshot. Groups are
   * ordered by value.
   *
   * @throws QUERY_TOO_COMPLEX for more groups than MAX_GROUPS, and like {@link Table.count}
   */
  countsBy(by: readonly FieldNameOf<R>[], filter: FilterOf<R>, meter?: Meter): Promise<Group[]>;
  /** @throws UNKNOWN_REFERENCE, CONFLICT if the chosen id is taken or a unique combination exists */
  insert(input: NewOf<R>): Promise<RecordOf<R>>;
  /**
   * Inserts several records in a few database commands. Throws like `insert`.
   *
   * @param reserved returns those of some ids that must not be assigned; none by default
   */
  insertAll(
    inputs: readonly NewOf<R>[],
    reserved?: (ids: readonly Id[]) => ReadonlySet<Id>,
  ): Promise<RecordOf<R>[]>;
  /**
   * Updates a record. References set by the patch must exist, as must all others if the patch makes the record block
   * the deletion of a parent.
   *
   * @throws NOT_FOUND, whatever `check` throws, UNKNOWN_REFERENCE, CONFLICT if a unique combination exists
   */
  update(id: Id, patch: PatchOf<R>, check?: Check<RecordOf<R>>): Promise<RecordOf<R>>;
  /**
   * Adds to an integer, atomically.
   *
   * @throws NOT_FOUND, whatever `check` throws, CONFLICT if the result is out of the field's range
   */
  adjust(id: Id, field: FieldNameOf<R>, amount: number, check?: Check<RecordOf<R>>): Promise<RecordOf<R>>;
  /** @throws NOT_FOUND, whatever `check` throws, CONFLICT while another record blocks the deletion */
  remove(id: Id, check?: Check<RecordOf<R>>): Promise<Id>;
}

/** The tables of a store or transaction. All reads and writes through them belong to it. */
export interface Tables {
  table<R extends AnyDeclaration>(record: R): Table<R>;
}

/** The change of a record: a creation has no `before`, a deletion no `after`. */
export interface Change<R> {
  before: R | undefined;
  after: R | undefined;
}

/** A change before it is written: a new record has an id only if the client chose one. */
type Planned<R> = Change<R> | { before: undefined; after: Omit<R, 'id'> & { id?: Id } };

/**
 * A shop's own rules for a kind of record. They run in the transaction of every change except imports, and refuse a
 * change by throwing one of their refusals or passing on a table's error.
 */
export interface Hooks<R> extends AnyHooks {
  /** Runs before the record is written, once its own rules and references hold. Must not write the record itself. */
  before?(change: Planned<R>, tables: Tables): void | Promise<void>;
  /** Runs after the record is written, in the same commit. */
  after?(change: Change<R>, tables: Tables): void | Promise<void>;
}
