import { type Id, parseId } from '../domains/id.ts';
import { type Issue, validationFailed } from '../errors.ts';
import type { MaybePromise } from '../maybe-promise.ts';
import type { Page, PageRequest } from '../store/store.ts';

export const DEFAULT_PAGE_SIZE = 20;
export const MAX_PAGE_SIZE = 100;

export interface ConnectionArguments {
  first?: number | null | undefined;
  last?: number | null | undefined;
  after?: string | null | undefined;
  before?: string | null | undefined;
}

/**
 * Reads the arguments of a connection. A cursor is the id of its item; `after: "0"` starts at the beginning.
 *
 * @throws VALIDATION_FAILED for sizes outside 1..100 (never clamped), for `first` with `last`, for foreign cursors
 */
function pageRequest({ first, last, after, before }: ConnectionArguments): PageRequest {
  const issues: Issue[] = [];
  checkSize('first', first, issues);
  checkSize('last', last, issues);
  if (first != null && last != null)
    issues.push({ path: 'last', message: 'must not be given together with first' });
  if (after !== '0') checkCursor('after', after, issues);
  checkCursor('before', before, issues);
  if (issues.length > 0) throw validationFailed(issues);
  const page: PageRequest = { limit: last ?? first ?? DEFAULT_PAGE_SIZE };
  if (after != null) page.after = after;
  if (before != null) page.before = before;
  if (last != null) page.backward = true;
  return page;
}

/**
 * How many items a page of a list has that is read forward only.
 *
 * @throws VALIDATION_FAILED outside 1..100
 */
export function pageSize(first: number | null | undefined): number {
  const issues: Issue[] = [];
  checkSize('first', first, issues);
  if (issues.length > 0) throw validationFailed(issues);
  return first ?? DEFAULT_PAGE_SIZE;
}

function checkSize(path: string, value: number | null | undefined, issues: Issue[]): void {
  if (value != null && (value < 1 || value > MAX_PAGE_SIZE)) {
    issues.push({ path, message: `must be an integer from 1 to ${MAX_PAGE_SIZE}` });
  }
}

function checkCursor(path: string, value: string | null | undefined, issues: Issue[]): void {
  if (value != null && parseId(value) === null) {
    issues.push({ path, message: 'must be a cursor that this list has given' });
  }
}

/** What a connection needs to know beyond its page. Each is asked only when a client selects it. */
export interface ConnectionSource<T> {
  idOf: (item: T) => Id;
  /** Another page of the same list. */
  pageOf: (page: PageRequest) => MaybePromise<Page<T>>;
  count: () => MaybePromise<number>;
}

/** A list that is known to have nothing, without a command to the database. */
export const emptySource = <T>(): ConnectionSource<T> => ({
  idOf: () => '0',
  pageOf: () => ({ items: [], hasMore: false }),
  count: () => 0,
});

/** A page as the Relay connection that clients see; edges and the far side's existence are worked out on demand. */
export class Connection<T> {
  readonly #page: Page<T>;
  readonly #request: PageRequest;
  readonly #source: ConnectionSource<T>;
  // Asked of the database once, under however many names a client selects them.
  #count: MaybePromise<number> | undefined;
  #hasEarlier: MaybePromise<boolean> | undefined;
  #hasLater: MaybePromise<boolean> | undefined;

  constructor(page: Page<T>, request: PageRequest, source: ConnectionSource<T>) {
    this.#page = page;
    this.#request = request;
    this.#source = source;
  }

  get nodes(): T[] {
    return this.#page.items;
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

  /** Its own page info, which has no field of the same name. */
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

  // Promises where the database has to be asked, which the resolvers of these fields hand on.
  get hasNextPage(): boolean {
    const { backward, before } = this.#request;
    this.#hasLater ??= (!backward && this.#page.hasMore) || this.#existsFrom(before);
    return this.#hasLater as boolean;
  }

  get hasPreviousPage(): boolean {
    const { backward, after } = this.#request;
    this.#hasEarlier ??= (backward && this.#page.hasMore) || this.#existsUpTo(after);
    return this.#hasEarlier as boolean;
  }

  /** Whether the list has an item at or after this cursor. */
  #existsFrom(cursor: Id | undefined): MaybePromise<boolean> {
    if (cursor === undefined) return false;
    return this.#exists({ limit: 0, after: String(BigInt(cursor) - 1n) });
  }

  /** Whether the list has an item at or before this cursor. */
  #existsUpTo(cursor: Id | undefined): MaybePromise<boolean> {
    if (cursor === undefined || cursor === '0') return false;
    const before = BigInt(cursor) + 1n;
    // The largest int64 has no successor: then every item counts.
    return this.#exists(before > 9223372036854775807n ? { limit: 0 } : { limit: 0, before: String(before) });
  }

  #exists(range: PageRequest): MaybePromise<boolean> {
    const page = this.#source.pageOf(range);
    return page instanceof Promise ? page.then(({ hasMore }) => hasMore) : page.hasMore;
  }
}

/** Reads one page of a list as a connection. */
export function connect<T>(
  args: ConnectionArguments,
  source: ConnectionSource<T>,
): MaybePromise<Connection<T>> {
  const request = pageRequest(args);
  const page = source.pageOf(request);
  if (page instanceof Promise) return page.then((found) => new Connection(found, request, source));
  return new Connection(page, request, source);
}
