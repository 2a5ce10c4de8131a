import { isDeepStrictEqual } from 'node:util';
import type { Position } from '../foundation/cursor.ts';
import { type Issue, validationFailed } from '../foundation/errors.ts';
import type { Id } from '../foundation/id.ts';
import { andThen, type MaybePromise } from '../foundation/turns.ts';
import { DEFAULT_PAGE_SIZE } from '../foundation/meter.ts';
import type { AnyDeclaration } from '../foundation/record.ts';
import type { Page, PageRequest } from '../foundation/table.ts';
import { type ConnectionArguments, cursorOf, DEFAULT_SORT, readList, type Sort } from './list-arguments.ts';
import type { Load, Loaders } from './loaders.ts';

export const MAX_PAGE_SIZE = 100;

/** The rule for page sizes: 1 to 100, and never `first` together with `last`. */
export const connectionRule = ({ first, last }: ConnectionArguments): Issue[] => [
  ...sizeIssues('first', first),
  ...sizeIssues('last', last),
  ...(first != null && last != null ? [{ path: 'last', message: 'must not be combined with first' }] : []),
];

const sizeIssues = (path: string, value: number | null | undefined): Issue[] =>
  value != null && (value < 1 || value > MAX_PAGE_SIZE)
    ? [{ path, message: `must be an integer from 1 to ${MAX_PAGE_SIZE}` }]
    : [];

/** A list as selected by arguments, the same below all parents of a level. */
interface List {
  record: AnyDeclaration;
  request: PageRequest;
  sort: Sort;
  /** Reads a page of the list. */
  read(page: PageRequest, parent?: Id): MaybePromise<Page<{ id: Id }>>;
  count(parent?: Id): MaybePromise<number>;
}

/** The lists below the parents of a level, as selected by a field's arguments. */
interface ChildLists extends List {
  /** The field that refers to the parents. */
  field: string;
  args: ConnectionArguments;
  /** The only parent whose children match, if the filter names one. */
  only: unknown;
  /** Reads the requested page. */
  readPage: Load<Page<{ id: Id }>>;
}

/** A page of records as a Relay connection. Edges and facts beyond the page are read only if selected. */
export class Connection {
  readonly #page: Page<{ id: Id }>;
  readonly #list: List;
  readonly #parent: Id | undefined;
  // Each is queried at most once, however many aliases select it.
  #count: MaybePromise<number> | undefined;
  #hasEarlier: MaybePromise<boolean> | undefined;
  #hasLater: MaybePromise<boolean> | undefined;

  constructor(page: Page<{ id: Id }>, list: List, parent?: Id) {
    this.#page = page;
    this.#list = list;
    this.#parent = parent;
  }

  get nodes(): readonly { id: Id }[] {
    return this.#page.items;
  }

  get edges(): { node: { id: Id }; readonly cursor: string }[] {
    const { record, sort } = this.#list;
    return this.#page.items.map((node) => ({
      node,
      get cursor() {
        return cursorOf(record, sort, node);
      },
    }));
  }

  totalCount(): MaybePromise<number> {
    this.#count ??= this.#list.count(this.#parent);
    return this.#count;
  }

  /** The connection itself: the fields of PageInfo don't overlap with its own. */
  get pageInfo(): this {
    return this;
  }

  get startCursor(): string | null {
    return this.#cursorOf(this.#page.items[0]);
  }

  get endCursor(): string | null {
    return this.#cursorOf(this.#page.items.at(-1));
  }

  #cursorOf(item: { id: Id } | undefined): string | null {
    return item ? cursorOf(this.#list.record, this.#list.sort, item) : null;
  }

  // The next two are promises if the database must be queried; the resolvers of these fields pass them on.
  get hasNextPage(): boolean {
    const { backward, before, order } = this.#list.request;
    this.#hasLater ??= (!backward && this.#page.hasMore) || this.#exists('after', before, order?.beforeValue);
    return this.#hasLater as boolean;
  }

  get hasPreviousPage(): boolean {
    const { backward, after, order } = this.#list.request;
    this.#hasEarlier ??= (backward && this.#page.hasMore) || this.#exists('before', after, order?.afterValue);
    return this.#hasEarlier as boolean;
  }

  /** True if the list has an item at a position or on one side of it. */
  #exists(side: 'after' | 'before', id: Id | undefined, value: Position['value'] | undefined) {
    if (id === undefined) return false;
    const { order } = this.#list.request;
    const request: PageRequest = { limit: 0, [side]: id, inclusive: true };
    if (order) {
      const { field, descending } = order;
      request.order = { field, descending, [`${side}Value` as const]: value };
    }
    return andThen(this.#list.read(request, this.#parent), ({ hasMore }) => hasMore);
  }
}

/** Translates a list's arguments to a request to the store. @throws VALIDATION_FAILED if `readList` finds issues */
function readRequest(declaration: AnyDeclaration, args: ConnectionArguments, below?: string) {
  const { sort, filter, after, before, issues } = readList(declaration, args, args.filter ?? {}, below);
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

/** The connection of all records of a kind that match a filter. */
export function recordConnection(
  declaration: AnyDeclaration,
  args: ConnectionArguments,
  { loaders }: { loaders: Loaders },
): MaybePromise<Connection> {
  const { request, sort, filter } = readRequest(declaration, args);
  const read = (page: PageRequest) => loaders.page(declaration, filter as never, page);
  const count = () => loaders.count(declaration, filter as never);
  return andThen(
    read(request),
    (page) => new Connection(page, { record: declaration, request, sort, read, count }),
  );
}

function childLists(
  declaration: AnyDeclaration,
  field: string,
  args: ConnectionArguments,
  loaders: Loaders,
): ChildLists {
  const { request, sort, filter } = readRequest(declaration, args, field);
  const { [field]: only, ...rest } = filter;
  const load = (page: PageRequest) => loaders.pagesByParent(declaration, field as never, rest as never, page);
  const count = (parent: Id) => loaders.countsByParent(declaration, field as never, rest as never)(parent);
  const read = (page: PageRequest, parent: Id) => load(page)(parent);
  return {
    record: declaration,
    field,
    args,
    request,
    sort,
    only,
    readPage: load(request),
    read,
    count,
  } as ChildLists;
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
 * The connection of a parent's children that match a filter. The same lists below several parents are read together.
 */
export function childConnection(
  declaration: AnyDeclaration,
  field: string,
  parent: Id,
  args: ConnectionArguments,
  { loaders }: { loaders: Loaders },
): MaybePromise<Connection> {
  let lists = loaders.latest as ChildLists | undefined;
  if (lists?.record !== declaration || lists.field !== field || !isSame(lists.args, args)) {
    lists = childLists(declaration, field, args, loaders);
    loaders.latest = lists;
  }
  const list = lists;
  // Without this, a hundred aliases could count the children of a hundred different parents.
  if ((list.only ?? parent) !== parent)
    return new Connection(EMPTY, { ...list, read: () => EMPTY, count: () => 0 });
  return andThen(list.readPage(parent), (page) => new Connection(page, list, parent));
}
