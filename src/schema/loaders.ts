import { setImmediate as nextTurn } from 'node:timers/promises';
import DataLoader from 'dataloader';
import { AppError } from '../foundation/errors.ts';
import type { Id } from '../foundation/id.ts';
import { andThen, type MaybePromise } from '../foundation/maybe-promise.ts';
import type { Page, PetstoreReads, Transaction } from '../store/store.ts';

/** The caller that a request reads for. */
export interface Caller {
  /** Whether the client has disconnected, after which nothing more is read. */
  isDisconnected(): boolean;
  /**
   * Whether to yield between the levels of a query, so that a large one does not block other requests or the
   * detection of its client's disconnect.
   */
  yieldsBetweenLevels: boolean;
}

const INTERNAL_CALLER: Caller = { isDisconnected: () => false, yieldsBetweenLevels: false };

/** Where loaders read, and for whom. */
interface Source {
  readonly store: PetstoreReads;
  readonly caller: Caller;
  /** Whether to read at once, in a transaction during which nothing else may run. */
  readonly isSynchronous: boolean;
}

type Load<T> = (id: Id) => MaybePromise<T>;

/** Creates a loader that stops reading when the client disconnects. It batches what it loads if it may wait. */
function loaderFor<T>(
  { caller: { isDisconnected, yieldsBetweenLevels }, isSynchronous }: Source,
  read: (ids: readonly Id[]) => MaybePromise<T[]>,
): Load<T> {
  if (isSynchronous) return (id) => (read([id]) as T[])[0]!;
  const batch = async (ids: readonly Id[]) => {
    if (isDisconnected()) throw clientDisconnected();
    return read(ids);
  };
  const loader = new DataLoader(batch, yieldsBetweenLevels ? { batchScheduleFn: setImmediate } : {});
  return (id) => loader.load(id);
}

/** Never sent, because the client is gone. */
const clientDisconnected = () => new AppError('BAD_REQUEST', 'The client went away.');

/** Number of sources. Each has its own slot in a request's loaders. */
let sources = 0;

/** How records of one kind are read by id. Defined once, beside their GraphQL type. */
export class RecordSource<T> {
  readonly slot = sources++;
  readonly read: (store: PetstoreReads, ids: readonly Id[]) => MaybePromise<(T | null)[]>;
  readonly peek: ((store: PetstoreReads, id: Id) => T | undefined) | undefined;

  /**
   * @param read reads any number of ids with one command
   * @param peek returns the record if the store has it cached
   */
  constructor(read: RecordSource<T>['read'], peek?: RecordSource<T>['peek']) {
    this.read = read;
    this.peek = peek;
  }
}

/**
 * How something that belongs to each parent is read: a page of its children or their number. Defined once,
 * like a {@link RecordSource}.
 */
export class ChildSource<T, Args extends readonly unknown[]> {
  readonly slot = sources++;
  readonly read: (store: PetstoreReads, parents: readonly Id[], ...args: Args) => MaybePromise<T[]>;

  /** @param read reads for any number of parents with one command */
  constructor(read: ChildSource<T, Args>['read']) {
    this.read = read;
  }
}

/** Loads records, and returns those already loaded synchronously. */
class RecordLoader<T> {
  readonly #primed = new Map<Id, T | null>();
  readonly #from: Source;
  readonly #source: RecordSource<T>;
  #load: Load<T | null> | undefined;

  constructor(from: Source, source: RecordSource<T>) {
    this.#from = from;
    this.#source = source;
  }

  load(id: Id): MaybePromise<T | null> {
    const known = this.#primed.get(id);
    if (known !== undefined) return known;
    const peeked = this.#source.peek?.(this.#from.store, id);
    if (peeked !== undefined) return peeked;
    this.#load ??= loaderFor(this.#from, (ids) =>
      andThen(this.#source.read(this.#from.store, ids), (records) => {
        for (let i = 0; i < ids.length; i++) this.#primed.set(ids[i]!, records[i] ?? null);
        return records;
      }),
    );
    return this.#load(id);
  }

  prime(id: Id, record: T): void {
    this.#primed.set(id, record);
  }
}

/** Loaders for children, one per distinct set of arguments, each of which issues one command. */
class ChildLoader<T, Args extends readonly unknown[]> {
  readonly #loaders = new Map<string, Load<T>>();
  readonly #from: Source;
  readonly #source: ChildSource<T, Args>;

  constructor(from: Source, source: ChildSource<T, Args>) {
    this.#from = from;
    this.#source = source;
  }

  load(parent: Id, args: Args): MaybePromise<T> {
    const key = JSON.stringify(args);
    let load = this.#loaders.get(key);
    if (!load) {
      load = loaderFor(this.#from, (parents) => this.#source.read(this.#from.store, parents, ...args));
      this.#loaders.set(key, load);
    }
    return load(parent);
  }
}

/**
 * The loaders of one request, created on demand. Each record is read once, and each level of a query with one
 * command.
 */
export class Loaders {
  readonly #from: Source;
  #lastTurn: Promise<unknown> | undefined;
  /** By the slots of their sources. */
  readonly #loaders: unknown[] = [];

  constructor(store: PetstoreReads, caller = INTERNAL_CALLER, isSynchronous = false) {
    this.#from = { store, caller, isSynchronous };
  }

  /** New loaders for the same caller, which read what a transaction sees. */
  within(transaction: Transaction): Loaders {
    return new Loaders(transaction, this.#from.caller, transaction.isSynchronous);
  }

  /** Where to read records, unless the client has disconnected. */
  get store(): PetstoreReads {
    const { store, caller } = this.#from;
    if (caller.isDisconnected()) throw clientDisconnected();
    return store;
  }

  /**
   * Runs reads that may take long one after the other, and lets other requests in between them: a document may
   * ask for many by aliases.
   */
  inTurn<T>(read: () => MaybePromise<T>): MaybePromise<T> {
    const readNow = () => {
      if (this.#from.caller.isDisconnected()) throw clientDisconnected();
      return read();
    };
    const found = this.#lastTurn ? this.#lastTurn.then(() => nextTurn()).then(readNow) : readNow();
    this.#lastTurn = Promise.resolve(found).catch(() => {});
    return found;
  }

  /** The record with this id; null if there is none. */
  record<T>(source: RecordSource<T>, id: Id): MaybePromise<T | null> {
    return this.#recordLoader(source).load(id);
  }

  /** Caches the records of a page, so that nested fields need not load them again. */
  prime<T extends { id: Id }>(source: RecordSource<T>, page: MaybePromise<Page<T>>): MaybePromise<Page<T>> {
    if (page instanceof Promise) return page.then((found) => this.prime(source, found));
    const loader = this.#recordLoader(source);
    for (const record of page.items) loader.prime(record.id, record);
    return page;
  }

  /** Loads a page of children or their number for one parent. */
  forParent<T, Args extends readonly unknown[]>(
    source: ChildSource<T, Args>,
    parent: Id,
    ...args: Args
  ): MaybePromise<T> {
    this.#loaders[source.slot] ??= new ChildLoader(this.#from, source);
    return (this.#loaders[source.slot] as ChildLoader<T, Args>).load(parent, args);
  }

  #recordLoader<T>(source: RecordSource<T>): RecordLoader<T> {
    this.#loaders[source.slot] ??= new RecordLoader(this.#from, source);
    return this.#loaders[source.slot] as RecordLoader<T>;
  }
}
