import type { Issue } from '../foundation/errors.ts';
import { type Id, parseId } from '../foundation/id.ts';
import { MAX_INT64 } from '../foundation/integers.ts';
import type { MaybePromise } from '../foundation/maybe-promise.ts';
import type { AnyRecord, FieldNameOf, FilterOf, RecordOf } from '../foundation/record.ts';
import type { Page, PageRequest } from '../store/table.ts';
import type { Loaders } from './loaders.ts';

export const DEFAULT_PAGE_SIZE = 20;
export const MAX_PAGE_SIZE = 100;

export interface ConnectionArguments {
  first?: number | null | undefined;
  last?: number | null | undefined;
  after?: string | null | undefined;
  before?: string | null | undefined;
}

/**
 * The rule of a connection's arguments. It refuses sizes outside 1..100 (never clamped), `first` together with
 * `last`, and malformed cursors. A cursor is the id of its item, and `after: "0"` starts at the beginning.
 */
export function connectionRule({ first, last, after, before }: ConnectionArguments): Issue[] {
  const issues: Issue[] = [];
  checkSize('first', first, issues);
  checkSize('last', last, issues);
  if (first != null && last != null)
    issues.push({ path: 'last', message: 'must not be combined with first' });
  if (after !== '0') checkCursor('after', after, issues);
  checkCursor('before', before, issues);
  return issues;
}

/** @param args checked */
function pageRequest({ first, last, after, before }: ConnectionArguments): PageRequest {
  const page: PageRequest = { limit: last ?? first ?? DEFAULT_PAGE_SIZE };
  if (after != null) page.after = after;
  if (before != null) page.before = before;
  if (last != null) page.backward = true;
  return page;
}

/** The rule of the page size of a list that is only read forwards: 1..100. */
export function pageSizeRule({ first }: Pick<ConnectionArguments, 'first'>): Issue[] {
  const issues: Issue[] = [];
  checkSize('first', first, issues);
  return issues;
}

function checkSize(path: string, value: number | null | undefined, issues: Issue[]): void {
  if (value != null && (value < 1 || value > MAX_PAGE_SIZE)) {
    issues.push({ path, message: `must be an integer from 1 to ${MAX_PAGE_SIZE}` });
  }
}

function checkCursor(path: string, value: string | null | undefined, issues: Issue[]): void {
  if (value != null && parseId(value) === null) {
    issues.push({ path, message: 'must be a cursor from this list' });
  }
}

/** What a connection needs beyond its page. Each function is called only if a client selects the field. */
export interface ConnectionSource<T> {
  idOf: (item: T) => Id;
  /** Reads another page of the same list. */
  pageOf: (page: PageRequest) => MaybePromise<Page<T>>;
  count: () => MaybePromise<number>;
}

/** A list known to be empty, for which the database need not be queried. */
const emptySource = <T>(): ConnectionSource<T> => ({
  idOf: () => '0',
  pageOf: () => ({ items: [], hasMore: false }),
  count: () => 0,
});

/** A page as a Relay connection. Edges and page info beyond the page are computed on demand. */
export class Connection<T> {
  readonly #page: Page<T>;
  readonly #request: PageRequest;
  readonly #source: ConnectionSource<T>;
  // Queried at most once, however many aliases select them.
  #count: MaybePromise<number> | undefined;
  #hasEarlier: MaybePromise<boolean> | undefined;
  #hasLater: MaybePromise<boolean> | undefined;

  constructor(page: Page<T>, request: PageRequest, source: ConnectionSource<T>) {
    this.#page = page;
    this.#request = request;
    this.#source = source;
  }

  get edges(): { cursor: string; node: T }[] {
    return this.#page.items.map((node) => ({ cursor: this.#source.idOf(node), node }));
  }

  get totalCount(): () => MaybePromise<number> {
    return () => {
      this.#count ??= this.#source.count();
      return this.#count;
    };
  }

  /** A connection is its own PageInfo: their fields do not overlap. */
  get pageInfo(): this {
    return this;
  }

  get startCursor(): string | null {
    const first = this.#page.items[0];
    return first === undefined ? null : this.#source.idOf(first);
  }

  get endCursor(): string | null {
    const last = this.#page.items.at(-1);
    return last === undefined ? null : this.#source.idOf(last);
  }

  // May hold promises if the database has to be queried; the resolvers of these fields pass them on.
  get hasNextPage(): boolean {
    const { backward, before } = this.#request;
    this.#hasLater ??= (!backward && this.#page.hasMore) || this.#hasItemsFrom(before);
    return this.#hasLater as boolean;
  }

  get hasPreviousPage(): boolean {
    const { backward, after } = this.#request;
    this.#hasEarlier ??= (backward && this.#page.hasMore) || this.#hasItemsUpTo(after);
    return this.#hasEarlier as boolean;
  }

  /** Whether the list has an item at or after this cursor. */
  #hasItemsFrom(cursor: Id | undefined): MaybePromise<boolean> {
    if (cursor === undefined) return false;
    return this.#exists({ limit: 0, after: String(BigInt(cursor) - 1n) });
  }

  /** Whether the list has an item at or before this cursor. */
  #hasItemsUpTo(cursor: Id | undefined): MaybePromise<boolean> {
    if (cursor === undefined || cursor === '0') return false;
    const before = BigInt(cursor) + 1n;
    // The largest int64 has no successor, so every item counts.
    return this.#exists(before > MAX_INT64 ? { limit: 0 } : { limit: 0, before: String(before) });
  }

  #exists(range: PageRequest): MaybePromise<boolean> {
    const page = this.#source.pageOf(range);
    return page instanceof Promise ? page.then(({ hasMore }) => hasMore) : page.hasMore;
  }
}

/** Reads a page of a list as a connection, by arguments that `connectionRule` accepts. */
export function connect<T>(
  args: ConnectionArguments,
  source: ConnectionSource<T>,
): MaybePromise<Connection<T>> {
  const request = pageRequest(args);
  const page = source.pageOf(request);
  if (page instanceof Promise) return page.then((found) => new Connection(found, request, source));
  return new Connection(page, request, source);
}

const idOf = ({ id }: { id: Id }): Id => id;

/** All records of a kind that match a filter, as a connection. */
export const recordConnection = <R extends AnyRecord>(
  record: R,
  args: ConnectionArguments,
  filter: FilterOf<R>,
  { loaders }: { loaders: Loaders },
): MaybePromise<Connection<RecordOf<R>>> =>
  connect(args, {
    idOf,
    pageOf: (page) => loaders.page(record, filter, page),
    count: () => loaders.count(record, filter),
  });

/**
 * The records that refer to a parent by a field and match a filter, as a connection. The same lists of several
 * parents are read together.
 */
export function childConnection<R extends AnyRecord>(
  record: R,
  field: FieldNameOf<R>,
  parent: Id,
  args: ConnectionArguments,
  filter: FilterOf<R>,
  { loaders }: { loaders: Loaders },
): MaybePromise<Connection<RecordOf<R>>> {
  const { [field]: given = parent, ...others } = filter as Record<string, unknown>;
  // Otherwise a hundred aliases could count the children of a hundred other parents.
  if (given !== parent) return connect<RecordOf<R>>(args, emptySource());
  const rest = others as FilterOf<R>;
  return connect(args, {
    idOf,
    pageOf: (page) => loaders.pageOf(record, field, parent, rest, page),
    count: () => loaders.countOf(record, field, parent, rest),
  });
}
