import DataLoader from 'dataloader';
import { AppError } from '../foundation/errors.ts';
import type { Id } from '../foundation/id.ts';
import { andThen, type MaybePromise, ownTurn, Turns } from '../foundation/turns.ts';
import type { Meter } from '../foundation/meter.ts';
import type { AnyDeclaration, FieldNameOf, FilterOf, RecordOf } from '../foundation/record.ts';
import type { Transaction } from '../store/store.ts';
import type { Group, Page, PageRequest, Table, Tables } from '../foundation/table.ts';

/** When the reads of an operation must end: once its client has gone, or its meter is used up. */
export interface ReadLimits {
  /** The response to the client. Nothing more is read once the client has disconnected. */
  client?: { readonly destroyed: boolean } | undefined;
  /**
   * True to yield between the levels of a query, so that a large one doesn't block other requests or the detection of
   * its client's disconnect.
   */
  yieldsBetweenLevels: boolean;
  /** Counts reads. */
  meter: Meter;
}

/** Must be called before each read. @throws AppError if the client is gone or an allowance was exceeded */
function checkBeforeRead({ client, meter }: ReadLimits): void {
  // Never seen, since the client has disconnected.
  if (client?.destroyed) throw new AppError('BAD_REQUEST', 'The client disconnected.');
  meter.check();
}

/** Draws a page on the meter of these limits. @throws QUERY_TOO_COMPLEX */
function drawPage({ meter }: ReadLimits, { length }: readonly object[]): void {
  meter.draw('entries', length);
  meter.draw('records', length);
}

/** The source that loaders read from, and the limits of their reads. */
interface Source {
  readonly tables: Tables;
  readonly limits: ReadLimits;
  /** Set if other requests may run between the levels and entries of a query. */
  readonly turns: Turns | undefined;
}

/** Loads the value for an id, together with those for the other ids of its level. */
export type Load<T> = (id: Id) => MaybePromise<T>;

/** Creates a loader that batches reads, and stops when the client disconnects. */
function loaderFor<T>({ limits, turns }: Source, read: (ids: readonly Id[]) => MaybePromise<T[]>): Load<T> {
  const batch = async (ids: readonly Id[]) => {
    checkBeforeRead(limits);
    return read(ids);
  };
  if (!turns) {
    const loader = new DataLoader(batch);
    return (id) => loader.load(id);
  }
  const loader = new DataLoader(batch, { batchScheduleFn: (read) => void turns.read(read) });
  return (id) => loader.load(id).then((result) => turns.pass(result));
}

/** Loads records, synchronously if they are already loaded. */
class RecordLoader<T extends { id: Id }> {
  readonly #loaded = new Map<Id, MaybePromise<T | null>>();
  readonly #record: AnyDeclaration;
  #table: Pick<Table<AnyDeclaration>, 'byIds' | 'cached' | 'load'> | undefined;
  readonly #from: Source;
  /** Pages whose records are not indexed by id yet, which happens only when one is requested by id. */
  #pages: Page<T>[] = [];
  #load: Load<T | null> | undefined;

  constructor(declaration: AnyDeclaration, from: Source) {
    this.#record = declaration;
    this.#from = from;
  }

  load(id: Id): MaybePromise<T | null> {
    this.#look();
    const cached = this.#loaded.get(id);
    if (cached !== undefined) return cached;
    this.#table ??= this.#from.tables.table(this.#record);
    const table = this.#table;
    const { limits, turns } = this.#from;
    const { meter } = limits;
    let stored = table.cached(id) as MaybePromise<T | null> | undefined;
    if (stored === undefined && !turns && table.load) {
      checkBeforeRead(limits);
      stored = table.load(id) as MaybePromise<T | null>;
      this.#loaded.set(id, stored);
    }
    if (stored !== undefined) {
      meter.draw('records', 1);
      return stored;
    }
    this.#load ??= loaderFor<T | null>(this.#from, (ids) =>
      andThen(table.byIds(ids) as MaybePromise<never[]>, (records: (T | null)[]) => {
        for (let i = 0; i < ids.length; i++) this.#loaded.set(ids[i]!, records[i] ?? null);
        meter.draw('records', ids.length);
        return records;
      }),
    );
    return this.#load(id);
  }

  #look(): void {
    if (this.#pages.length === 0) return;
    for (const { items } of this.#pages) for (const record of items) this.#loaded.set(record.id, record);
    this.#pages = [];
  }

  add(page: Page<T>): void {
    this.#pages.push(page);
  }
}

/** The loaders of one request. Each record is read once, and each level of a query with one command. */
export class Loaders {
  readonly #from: Source;
  #lastTurn: Promise<unknown> | undefined;
  readonly #records: RecordLoader<never>[] = [];
  /** The loaders of values below parents, by the values: one loader, and so one command, for each. */
  #children: Map<string, Load<unknown>> | undefined;
  /** The latest lists below parents, for connections: the entries of a page request the same ones in turn. */
  latest: unknown;

  constructor(tables: Tables, limits: ReadLimits) {
    const turns = limits.yieldsBetweenLevels ? new Turns(() => checkBeforeRead(limits)) : undefined;
    this.#from = { tables, limits: limits, turns };
  }

  /**
   * Passes on the entries of a list a few at a time, if other requests may run between them. Entries that are still
   * loading are passed on by their loader: a read waits for all entries to be passed on before it.
   */
  entries<T>(list: readonly T[]): readonly MaybePromise<T>[] {
    const { turns } = this.#from;
    return turns ? list.map((entry) => (entry instanceof Promise ? entry : turns.pass(entry))) : list;
  }

  /** New loaders with the same limits that read within an attempt at a transaction and draw on the attempt's meter. */
  within(transaction: Transaction, meter: Meter): Loaders {
    return new Loaders(transaction, { ...this.#from.limits, meter });
  }

  /**
   * Runs potentially long reads one after another, and lets other requests run between them: aliases may request many.
   */
  inTurn<T>(read: () => MaybePromise<T>): MaybePromise<T> {
    const readNow = () => this.#readNow(read);
    const result = this.#lastTurn ? this.#lastTurn.then(ownTurn).then(readNow) : readNow();
    this.#lastTurn = Promise.resolve(result).catch(() => {});
    return result;
  }

  /** Reads a list that is no page of a table, in its turn, and meters its entries as records. */
  list<T>(read: () => MaybePromise<readonly T[]>): MaybePromise<readonly T[]> {
    return andThen(this.inTurn(read), (list) => {
      this.#from.limits.meter.draw('records', list.length);
      return list;
    });
  }

  #readNow<T>(read: () => T): T {
    checkBeforeRead(this.#from.limits);
    return read();
  }

  /** The record with this id; null if it doesn't exist. */
  record<R extends AnyDeclaration>(record: R, id: Id): MaybePromise<RecordOf<R> | null> {
    return this.#recordLoader(record).load(id);
  }

  /** Reads a page of records. Nested fields then load them from memory. */
  page<R extends AnyDeclaration>(
    record: R,
    filter: FilterOf<R>,
    request: PageRequest,
  ): MaybePromise<Page<RecordOf<R>>> {
    const { limits, tables } = this.#from;
    const read = () => tables.table(record).page(filter, request);
    const loader = this.#recordLoader(record);
    const page = limits.yieldsBetweenLevels ? this.inTurn(read) : this.#readNow(read);
    return andThen(page, (read) => {
      drawPage(limits, read.items);
      loader.add(read);
      return read;
    });
  }

  count<R extends AnyDeclaration>(record: R, filter: FilterOf<R>): MaybePromise<number> {
    const { limits, tables } = this.#from;
    return this.inTurn(() => tables.table(record).count(filter, limits.meter));
  }

  countsBy<R extends AnyDeclaration>(
    record: R,
    by: readonly FieldNameOf<R>[],
    filter: FilterOf<R>,
  ): MaybePromise<readonly Group[]> {
    const { limits, tables } = this.#from;
    return this.list(() => tables.table(record).countsBy(by, filter, limits.meter));
  }

  /** The loader of pages of children by a field: the same page for all parents at once. */
  pagesByParent<R extends AnyDeclaration>(
    record: R,
    field: FieldNameOf<R>,
    filter: FilterOf<R>,
    request: PageRequest,
  ): Load<Page<RecordOf<R>>> {
    const { limits, tables } = this.#from;
    const list = `page ${JSON.stringify(request)} ${JSON.stringify(filter)}`;
    return this.#ofParents(record, field, list, (parents) =>
      andThen(tables.table(record).pagesByParent(field, parents, filter, request), (pages) => {
        for (const page of pages) {
          drawPage(limits, page.items);
          this.#recordLoader(record).add(page);
        }
        return pages;
      }),
    );
  }

  /** The loader of counts of children by a field. */
  countsByParent<R extends AnyDeclaration>(
    record: R,
    field: FieldNameOf<R>,
    filter: FilterOf<R>,
  ): Load<number> {
    const { limits, tables } = this.#from;
    return this.#ofParents(record, field, `count ${JSON.stringify(filter)}`, (parents) =>
      this.inTurn(() => tables.table(record).countsByParent(field, parents, filter, limits.meter)),
    );
  }

  /** The loader of values by the parent's id. */
  #ofParents<T>(
    declaration: AnyDeclaration,
    field: string,
    what: string,
    read: (parents: readonly Id[]) => MaybePromise<T[]>,
  ): Load<T> {
    const key = `${declaration.index} ${field} ${what}`;
    this.#children ??= new Map();
    const load = this.#children.get(key) ?? loaderFor(this.#from, read);
    this.#children.set(key, load);
    return load as Load<T>;
  }

  #recordLoader<R extends AnyDeclaration>(record: R): RecordLoader<RecordOf<R>> {
    this.#records[record.index] ??= new RecordLoader<never>(record, this.#from);
    return this.#records[record.index] as RecordLoader<RecordOf<R>>;
  }
}
