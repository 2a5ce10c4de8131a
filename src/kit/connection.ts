import { isDeepStrictEqual } from 'node:util';
import { type Issue, validationFailed } from '../foundation/errors.ts';
import type { Id } from '../foundation/id.ts';
import { andThen, type MaybePromise } from '../foundation/maybe-promise.ts';
import { DEFAULT_PAGE_SIZE } from '../foundation/meter.ts';
import type { AnyRecord, FilterOf, RecordOf } from '../foundation/record.ts';
import type { Page, PageRequest } from '../store/table.ts';
import { type ConnectionArguments, cursorOf, DEFAULT_SORT, readList, type Sort } from './list-arguments.ts';
import type { ChildLists, Loaders } from './loaders.ts';

export const MAX_PAGE_SIZE = 100;

/** The rule for page sizes: 1 to 100, and never `first` together with `last`. */
export const connectionRule = ({ first, last }: ConnectionArguments): Issue[] => [
  ...sizeIssues('first', first),
  ...sizeIssues('last', last),
  ...(first != null && last != null ? [{ path: 'last', message: 'must not be combined with first' }] : []),
];

/** Translates the arguments of a list for the store. @throws VALIDATION_FAILED if `readList` finds issues */
function readRequest(record: AnyRecord, args: ConnectionArguments, below?: string) {
  const { sort, filter, after, before, issues } = readList(record, args, args.filter ?? {}, below);
  if (issues.length > 0) throw validationFailed(issues);
  const { first, last } = args;
  const request: PageRequest = { limit: last ?? first ?? DEFAULT_PAGE_SIZE };
  if (after) request.after = after.id;
  if (before) request.before = before.id;
  if (last != null) request.backward = true;
  if (sort !== DEFAULT_SORT) {
    const { field, descending } = sort;
    request.order = { field, descending, afterValue: after?.value, beforeValue: before?.value };
  }
  return { request, sort, filter };
}

const sizeIssues = (path: string, value: number | null | undefined): Issue[] =>
  value != null && (value < 1 || value > MAX_PAGE_SIZE)
    ? [{ path, message: `must be an integer from 1 to ${MAX_PAGE_SIZE}` }]
    : [];

/** What a connection needs beyond its page. Each function is called only if a client selects the field. */
export interface ConnectionSource<T extends { id: Id }> {
  /** The records and the order of the list, to which its cursors belong. */
  record: AnyRecord;
  sort: Sort;
  /** Reads another page of the same list. */
  readPage: (page: PageRequest) => MaybePromise<Page<T>>;
  count: () => MaybePromise<number>;
}

/** A page of records as a Relay connection. Edges and page info beyond the page are computed on demand. */
export class Connection<T extends { id: Id }> {
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

  get nodes(): readonly T[] {
    return this.#page.items;
  }

  get edges(): { node: T; readonly cursor: string }[] {
    const { record, sort } = this.#source;
    return this.#page.items.map((node) => ({
      node,
      get cursor() {
        return cursorOf(record, sort, node);
      },
    }));
  }

  get totalCount(): () => MaybePromise<number> {
    return () => (this.#count ??= this.#source.count());
  }

  /** A connection is its own PageInfo: their fields do not overlap. */
  get pageInfo(): this {
    return this;
  }

  get startCursor(): string | null {
    return this.#cursorOf(this.#page.items[0]);
  }

  get endCursor(): string | null {
    return this.#cursorOf(this.#page.items.at(-1));
  }

  #cursorOf(item: T | undefined): string | null {
    return item ? cursorOf(this.#source.record, this.#source.sort, item) : null;
  }

  // May hold promises if the database has to be queried; the resolvers of these fields pass them on.
  get hasNextPage(): boolean {
    const { backward, before } = this.#request;
    this.#hasLater ??= (!backward && this.#page.hasMore) || this.#exists('after', before);
    return this.#hasLater as boolean;
  }

  get hasPreviousPage(): boolean {
    const { backward, after } = this.#request;
    this.#hasEarlier ??= (backward && this.#page.hasMore) || this.#exists('before', after);
    return this.#hasEarlier as boolean;
  }

  /** Whether the list has an item at this cursor or on one side of it. */
  #exists(side: 'after' | 'before', cursor: Id | undefined): MaybePromise<boolean> {
    if (cursor === undefined || cursor === '0') return false;
    const { order } = this.#request;
    const value = side === 'after' ? order?.beforeValue : order?.afterValue;
    const page = this.#source.readPage({
      limit: 0,
      [side]: cursor,
      inclusive: true,
      ...(order && {
        order: { field: order.field, descending: order.descending, [`${side}Value` as const]: value },
      }),
    });
    return andThen(page, ({ hasMore }) => hasMore);
  }
}

/** All records of a kind that match a filter, as a connection. */
export function recordConnection<R extends AnyRecord>(
  record: R,
  args: ConnectionArguments,
  { loaders }: { loaders: Loaders },
): MaybePromise<Connection<RecordOf<R>>> {
  const { request, sort, filter: wanted } = readRequest(record, args);
  const filter = wanted as FilterOf<R>;
  const readPage = (page: PageRequest) => loaders.page(record, filter, page);
  const count = () => loaders.count(record, filter);
  return andThen(
    readPage(request),
    (page) => new Connection(page, request, { record, sort, readPage, count }),
  );
}

function childLists(
  record: AnyRecord,
  field: string,
  args: ConnectionArguments,
  loaders: Loaders,
): ChildLists {
  const { request, sort, filter } = readRequest(record, args, field);
  const { [field]: only, ...rest } = filter;
  const read = (page: PageRequest) => loaders.pagesByParent(record, field as never, rest as never, page);
  const count = () => loaders.countsByParent(record, field as never, rest as never);
  return { record, field, args, request, sort, only, read, readPage: read(request), count };
}

const isSame = (a: ConnectionArguments, b: ConnectionArguments): boolean =>
  a.first === b.first &&
  a.last === b.last &&
  a.after === b.after &&
  a.before === b.before &&
  a.sort === b.sort &&
  (a.filter === b.filter || isDeepStrictEqual(a.filter, b.filter));

const EMPTY = { items: [], hasMore: false };

/**
 * The records that refer to a parent by a field and match a filter, as a connection. The same lists of several
 * parents are read together.
 */
export function childConnection(
  record: AnyRecord,
  field: string,
  parent: Id,
  args: ConnectionArguments,
  { loaders }: { loaders: Loaders },
): MaybePromise<Connection<{ id: Id }>> {
  let lists = loaders.latest;
  if (lists?.record !== record || lists.field !== field || !isSame(lists.args, args)) {
    lists = childLists(record, field, args, loaders);
    loaders.latest = lists;
  }
  const { request, sort, only, read, readPage, count } = lists;
  // Otherwise a hundred aliases could count the children of a hundred other parents.
  if ((only ?? parent) !== parent)
    return new Connection(EMPTY, request, { record, sort, readPage: () => EMPTY, count: () => 0 });
  // Written out: a spread here would take a third of the time of a nested query.
  const source = {
    record,
    sort,
    readPage: (page: PageRequest) => read(page)(parent),
    count: () => count()(parent),
  };
  return andThen(readPage(parent), (page) => new Connection(page, request, source));
}
