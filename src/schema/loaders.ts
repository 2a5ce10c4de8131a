import DataLoader from 'dataloader';
import { AppError } from '../foundation/errors.ts';
import type { Id } from '../foundation/id.ts';
import { andThen, type MaybePromise } from '../foundation/maybe-promise.ts';
import type { Meter } from '../foundation/meter.ts';
import type { AnyRecord, FieldNameOf, FilterOf, RecordOf } from '../foundation/record.ts';
import { inOwnTurn, ownTurn } from '../foundation/turns.ts';
import type { Transaction } from '../store/store.ts';
import type { Page, PageRequest, Table, Tables } from '../store/table.ts';

/** The caller that a request reads for. */
export interface Caller {
  /** Whether the client has disconnected, after which nothing more is read. */
  isDisconnected(): boolean;
  /**
   * Whether to yield between the levels of a query, so that a large one does not block other requests or the
   * detection of its client's disconnect.
   */
  yieldsBetweenLevels: boolean;
  /** Counts what is read. Absent for our own work. */
  meter?: Meter;
}

const INTERNAL_CALLER: Caller = { isDisconnected: () => false, yieldsBetweenLevels: false };

/** Requests up to this price cannot hold more than about ten megabytes. */
const MAX_UNWEIGHED_UNITS = 10;

/** Draws on what a request has paid for. @throws QUERY_TOO_COMPLEX */
function drawPage({ meter }: Caller, items: readonly object[]): void {
  if (!meter) return;
  meter.draw('entries', items.length);
  drawRecords(meter, items);
}

function drawRecords(meter: Meter, records: readonly (object | null)[]): void {
  meter.draw('records', records.length);
  if (meter.units <= MAX_UNWEIGHED_UNITS) return;
  let bytes = 0;
  for (const record of records) {
    // Text beyond Latin-1 takes two bytes a character in memory.
    for (const value of Object.values(record ?? {})) if (typeof value === 'string') bytes += 2 * value.length;
  }
  meter.draw('bytesHeld', bytes);
}

/** Into how many turns of the event loop what comes from one read is divided. */
const TURNS = 64;

/** Passes results on a few at a time, so that what follows from them does not all happen at once. */
class Turns {
  #waiting: (() => void)[] = [];

  take<T>(result: T): Promise<T> {
    return new Promise((resolve) => {
      if (this.#waiting.push(() => resolve(result)) === 1) inOwnTurn(() => this.#begin());
    });
  }

  #begin(): void {
    const size = Math.ceil(this.#waiting.length / TURNS);
    const next = () => {
      for (const pass of this.#waiting.splice(0, size)) pass();
      if (this.#waiting.length > 0) inOwnTurn(next);
    };
    next();
  }
}

/** Where loaders read, and for whom. */
interface Source {
  readonly tables: Tables;
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
  if (!yieldsBetweenLevels) {
    const loader = new DataLoader(batch);
    return (id) => loader.load(id);
  }
  const loader = new DataLoader(batch, { batchScheduleFn: inOwnTurn });
  const turns = new Turns();
  return (id) => loader.load(id).then((result) => turns.take(result));
}

/** Never sent, because the client is gone. */
const clientDisconnected = () => new AppError('BAD_REQUEST', 'The client went away.');

/** Loads records, and returns those already loaded synchronously. */
class RecordLoader<T extends { id: Id }> {
  readonly #known = new Map<Id, T | null>();
  readonly #table: Pick<Table<AnyRecord>, 'byIds' | 'peek'>;
  readonly #from: Source;
  /** Pages read, whose records are looked at only if one is asked for by id. */
  #pages: Page<T>[] = [];
  #load: Load<T | null> | undefined;

  constructor(table: Table<AnyRecord>, from: Source) {
    this.#table = table;
    this.#from = from;
  }

  load(id: Id): MaybePromise<T | null> {
    if (this.#pages.length > 0) {
      for (const { items } of this.#pages) for (const record of items) this.#known.set(record.id, record);
      this.#pages = [];
    }
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const peeked = this.#table.peek(id);
    if (peeked !== undefined) return peeked as unknown as T;
    this.#load ??= loaderFor(this.#from, (ids) =>
      andThen(this.#table.byIds(ids) as MaybePromise<never[]>, (records: (T | null)[]) => {
        if (this.#from.caller.meter) drawRecords(this.#from.caller.meter, records);
        for (let i = 0; i < ids.length; i++) this.#known.set(ids[i]!, records[i] ?? null);
        return records;
      }),
    );
    return this.#load(id);
  }

  add(page: Page<T>): void {
    this.#pages.push(page);
  }
}

/**
 * The loaders of one request, created on demand. Each record is read once, and each level of a query with one
 * command.
 */
export class Loaders {
  readonly #from: Source;
  #lastTurn: Promise<unknown> | undefined;
  /** By record. */
  readonly #records: RecordLoader<never>[] = [];
  /** What belongs to parents, by what it is: one loader, and so one command, for each. */
  readonly #children = new Map<string, Load<unknown>>();

  constructor(tables: Tables, caller = INTERNAL_CALLER, isSynchronous = false) {
    this.#from = { tables, caller, isSynchronous };
  }

  /** New loaders for the same caller, which read what a transaction sees. */
  within(transaction: Transaction): Loaders {
    return new Loaders(transaction, this.#from.caller, transaction.isSynchronous);
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
    const found = this.#lastTurn ? this.#lastTurn.then(() => ownTurn()).then(readNow) : readNow();
    this.#lastTurn = Promise.resolve(found).catch(() => {});
    return found;
  }

  /** The record with this id; null if there is none. */
  record<R extends AnyRecord>(record: R, id: Id): MaybePromise<RecordOf<R> | null> {
    return this.#recordLoader(record).load(id);
  }

  /** Reads a page of records, which nested fields need not load again. */
  page<R extends AnyRecord>(
    record: R,
    filter: FilterOf<R>,
    request: PageRequest,
  ): MaybePromise<Page<RecordOf<R>>> {
    const { caller, tables } = this.#from;
    const read = () => {
      if (caller.isDisconnected()) throw clientDisconnected();
      return tables.table(record).page(filter, request);
    };
    const loader = this.#recordLoader(record);
    const page = caller.yieldsBetweenLevels ? this.inTurn(read) : read();
    return andThen(page, (found) => {
      drawPage(caller, found.items);
      loader.add(found);
      return found;
    });
  }

  count<R extends AnyRecord>(record: R, filter: FilterOf<R>): MaybePromise<number> {
    return this.#from.tables.table(record).count(filter);
  }

  /** Reads a page of the records that refer to a parent by a field. */
  pageOf<R extends AnyRecord>(
    record: R,
    field: FieldNameOf<R>,
    parent: Id,
    filter: FilterOf<R>,
    request: PageRequest,
  ): MaybePromise<Page<RecordOf<R>>> {
    const list = `page ${JSON.stringify(request)} ${JSON.stringify(filter)}`;
    return this.#ofParent(record, field, list, parent, (table, parents) =>
      andThen(table.pagesByParent(field, parents, filter, request), (pages) => {
        for (const { items } of pages) drawPage(this.#from.caller, items);
        return pages;
      }),
    );
  }

  /** Counts the records that refer to a parent by a field. */
  countOf<R extends AnyRecord>(
    record: R,
    field: FieldNameOf<R>,
    parent: Id,
    filter: FilterOf<R>,
  ): MaybePromise<number> {
    return this.#ofParent(record, field, `count ${JSON.stringify(filter)}`, parent, (table, parents) =>
      table.countsByParent(field, parents, filter),
    );
  }

  #ofParent<R extends AnyRecord, T>(
    record: R,
    field: string,
    what: string,
    parent: Id,
    read: (table: Table<R>, parents: readonly Id[]) => MaybePromise<T[]>,
  ): MaybePromise<T> {
    const key = `${record.index} ${field} ${what}`;
    let load = this.#children.get(key);
    if (!load) {
      load = loaderFor<unknown>(this.#from, (parents) => read(this.#from.tables.table(record), parents));
      this.#children.set(key, load);
    }
    return load(parent) as MaybePromise<T>;
  }

  #recordLoader<R extends AnyRecord>(record: R): RecordLoader<RecordOf<R>> {
    this.#records[record.index] ??= new RecordLoader<never>(
      this.#from.tables.table(record) as never,
      this.#from,
    );
    return this.#records[record.index] as RecordLoader<RecordOf<R>>;
  }
}
