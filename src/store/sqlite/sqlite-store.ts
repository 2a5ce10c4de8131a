import { AppError, unavailable } from '../../foundation/errors.ts';
import type { Id } from '../../foundation/id.ts';
import type { Meter } from '../../foundation/meter.ts';
import type { AnyRecord } from '../../foundation/record.ts';
import type { Engine, EngineTransaction, KeptOutcome, Rows, Stored, Values } from '../engine.ts';
import { storeOver } from '../rules.ts';
import type { IdempotentCall, OnMigrated, Store } from '../store.ts';
import type { PageRequest, TableReads } from '../table.ts';
import { apiKeys } from './api-keys.ts';
import { type Durability, SqliteConnection } from './connection.ts';
import { lockDataFile, prepareFile, unknownLayout } from './data-file.ts';
import { eventLog } from './event-log.ts';
import { isPrepared, prepareRecords } from './record-schema.ts';
import { isKnown, latestOf, layoutOf, MIGRATIONS, migrate } from './schema.ts';
import { SqliteTable } from './table.ts';
import { documentLists } from './trusted-documents.ts';
import { usageHistory } from './usage-history.ts';
import { usageLedger } from './usage-ledger.ts';
import { webhooks } from './webhooks.ts';
import { Writer } from './writer.ts';

export interface SqliteOptions {
  /** The records to store. A tool that has none of them leaves their tables alone. */
  records: readonly AnyRecord[];
  /** The data file. Created with its directory if missing. */
  file: string;
  /** Only one `server` has a file at a time. A `tool` may run beside it. */
  role: 'server' | 'tool';
  /** Milliseconds since 1970. */
  now?: (() => number) | undefined;
  /** How long events are kept, in milliseconds; forever by default. */
  keepEvents?: number;
  /** How many milliseconds a write waits for another process. Everything else in this process waits too. */
  busyTimeout?: number;
  durability?: Durability | undefined;
  onMigrated?: OnMigrated;
  /** Overrides the number of cached records, by table. */
  cacheSizes?: Readonly<Record<string, number>>;
  /** Those of a later version, in tests. */
  migrations?: readonly string[];
}

/** Records to cache by id, for each table. */
const CACHE_SIZE = 10_000;
/** How often it is looked whether a tool has written, in milliseconds. Every write looks too. */
const CATCH_UP_INTERVAL = 200;
/** Expired outcomes removed per new one: more than one, so that the table shrinks. */
const PURGED_PER_CALL = 4;

/** The store over the embedded engine. Returned records must not be modified, because they are cached. */
export const openSqliteStore = (options: SqliteOptions): Store =>
  storeOver(openSqliteEngine(options), options.records);

/**
 * Opens the embedded engine.
 *
 * @throws Error if another server has the file, if it is not one of ours, or if it cannot be opened
 */
export function openSqliteEngine(options: SqliteOptions): Engine {
  const { role, records, now = Date.now, keepEvents = Number.POSITIVE_INFINITY, cacheSizes = {} } = options;
  const { db, release } = open(options);
  const isServer = role === 'server';
  const writer = new Writer(db);
  const events = eventLog(db, writer, now);
  const context = { db, writer, append: events.append };
  const tables: SqliteTable[] = [];
  const reads: TableReads<AnyRecord>[] = [];
  for (const record of records) {
    const table = new SqliteTable(context, record, cacheSizes[record.plural] ?? CACHE_SIZE);
    tables[record.index] = table;
    reads[record.index] = committedReads(table, writer) as unknown as TableReads<AnyRecord>;
  }
  const { reads: webhookStore, writes: webhookWrites } = webhooks(db, writer);
  const { charge, usage, flush } = usageLedger(db, writer);
  const timer = setInterval(() => attempted(() => writer.catchUp()), CATCH_UP_INTERVAL).unref();
  if (isServer) events.keep(keepEvents);

  return {
    engine: 'sqlite',
    reads: ({ index }) => reads[index]!,
    transaction: (work, several) =>
      writer.write(() => work(new SqliteTransaction({ db, writer, tables, webhookWrites })), several),
    ...events.store,
    ...apiKeys(db, writer),
    ...usageHistory(db, writer, now),
    ...documentLists(db, writer),
    ...webhookStore,
    charge,
    usage,
    async ping() {
      db.checkFile();
      // A disk that was full may have room again.
      if (writer.failure) await writer.write(() => db.run('update event_log set removed = removed', []));
      db.value('select 1 from event_log');
    },
    async close() {
      clearInterval(timer);
      events.close();
      try {
        await flush();
        // After all that waits.
        await writer.write(() => {});
      } finally {
        db.close();
        release?.();
      }
    },
  };
}

/** Opens the file, and brings it to what this program and its records need. */
function open(options: SqliteOptions): { db: SqliteConnection; release: (() => void) | undefined } {
  const { role, records, busyTimeout = 2_000, durability, migrations = MIGRATIONS } = options;
  let release: (() => void) | undefined;
  let db: SqliteConnection | undefined;
  try {
    const file = prepareFile(options.file, migrations);
    release = lockDataFile(file, role === 'server' ? busyTimeout : 0);
    if (!release && role === 'server')
      throw new Error(
        `The data file ${options.file} is in use by another server. Stop that server or use another file.`,
      );
    db = new SqliteConnection(file, { busyTimeout, durability });
    const layout = layoutOf(db);
    if (!isKnown(layout, migrations)) throw unknownLayout(options.file, layout, migrations);
    if (release) {
      if (layout < latestOf(migrations))
        options.onMigrated?.({ from: migrate(db, migrations), to: latestOf(migrations) });
      prepareRecords(db, records);
    } else if (layout < latestOf(migrations) || !isPrepared(db, records)) {
      // The server would go on with what it knows of the file.
      throw new Error(
        `The data file ${options.file} is in use by a server of an earlier version. Stop that server, or use the command of its version.`,
      );
    }
    if (role === 'tool') {
      release?.();
      release = undefined;
    }
    return { db, release };
  } catch (error) {
    db?.close();
    release?.();
    throw openingError(options.file, error);
  }
}

/** What is committed: reads wait for the end of a transaction that is open. */
function committedReads(table: SqliteTable, writer: Writer) {
  const read = async <T>(from: () => T): Promise<T> => {
    if (writer.isOpen) await writer.closed();
    return from();
  };
  return {
    // Spares what is read again and again all of the above.
    cached: (id: Id) => (writer.isOpen ? undefined : table.cached(id)),
    byIds: (ids: readonly Id[]) => read(() => table.byIds(ids)),
    page: (filter: Values, page: PageRequest) => read(() => table.page(filter, page)),
    pagesByParent: (field: string, parents: readonly Id[], filter: Values, page: PageRequest) =>
      read(() => table.pagesByParent(field, parents, filter, page)),
    count: (filter: Values, meter?: Meter) => read(() => table.count(filter, meter)),
    countsByParent: (field: string, parents: readonly Id[], filter: Values, meter?: Meter) =>
      read(() => table.countsByParent(field, parents, filter, meter)),
  };
}

/** What the transactions of an engine use. */
interface TransactionContext {
  db: SqliteConnection;
  writer: Writer;
  tables: readonly SqliteTable[];
  webhookWrites: EngineTransaction['webhookWrites'];
}

class SqliteTransaction implements EngineTransaction {
  readonly #context: TransactionContext;
  readonly #turn: number;

  constructor(context: TransactionContext) {
    this.#context = context;
    this.#turn = context.writer.turn;
  }

  /** @throws UNAVAILABLE if its work has ended, by taking too long */
  #use(): TransactionContext {
    if (this.#context.writer.turn !== this.#turn) throw unavailable(new Error('The transaction has ended.'));
    return this.#context;
  }

  get webhookWrites(): EngineTransaction['webhookWrites'] {
    return this.#use().webhookWrites;
  }

  rows({ index }: AnyRecord): Rows {
    return new TransactionRows(() => this.#use().tables[index]!) as unknown as Rows;
  }

  async outcome({ apiKeyId, idempotencyKey, now }: IdempotentCall): Promise<KeptOutcome | null> {
    const kept = this.#use().db.get(
      `select fingerprint, value from idempotency
       where api_key_id = ? and idempotency_key = ? and expires_at > ?`,
      [apiKeyId, idempotencyKey, now],
    ) as [string, string] | undefined;
    return kept ? { fingerprint: kept[0], value: kept[1] } : null;
  }

  async keepOutcome(
    { apiKeyId, idempotencyKey, fingerprint, now, keepFor }: IdempotentCall,
    value: string,
  ): Promise<void> {
    const { db } = this.#use();
    db.run('insert or replace into idempotency values (?, ?, ?, ?, ?)', [
      ...[apiKeyId, idempotencyKey, fingerprint, value],
      now + keepFor,
    ]);
    db.run(
      `delete from idempotency where rowid in (
         select rowid from idempotency where expires_at <= ? order by expires_at limit ${PURGED_PER_CALL}
       )`,
      [now],
    );
  }
}

/** The rows of one table within a transaction. */
class TransactionRows {
  readonly #table: () => SqliteTable;

  /** @param table throws once the transaction has ended */
  constructor(table: () => SqliteTable) {
    this.#table = table;
  }

  cached(id: Id) {
    return this.#table().cached(id);
  }

  async byIds(ids: readonly Id[]) {
    return this.#table().byIds(ids);
  }

  async page(filter: Values, page: PageRequest) {
    return this.#table().page(filter, page);
  }

  async pagesByParent(field: string, parents: readonly Id[], filter: Values, page: PageRequest) {
    return this.#table().pagesByParent(field, parents, filter, page);
  }

  async count(filter: Values, meter?: Meter) {
    return this.#table().count(filter, meter);
  }

  async countsByParent(field: string, parents: readonly Id[], filter: Values, meter?: Meter) {
    return this.#table().countsByParent(field, parents, filter, meter);
  }

  async exists(values: Values, except?: Id) {
    return this.#table().exists(values, except);
  }

  /** Nobody else writes before this transaction has ended. */
  async lock(id: Id) {
    return this.#table().find(id) !== null;
  }

  async nextId() {
    return this.#table().nextId();
  }

  async insert(record: Stored) {
    this.#table().insert(record);
  }

  async replace(before: Stored, after: Stored) {
    this.#table().replace(before, after);
  }

  async delete(record: Stored) {
    this.#table().delete(record);
  }
}

/** A file that is away is reported by whoever needs it. */
function attempted(work: () => void): void {
  try {
    work();
  } catch {}
}

/** Adds the file name to errors of the system and SQLite; leaves our own unchanged. */
function openingError(file: string, error: unknown): Error {
  const cause = (error instanceof AppError ? error.cause : error) as Error & { code?: unknown };
  if (cause.code === undefined) return cause;
  return new Error(`The data file ${file} cannot be opened: ${cause.message}`, { cause });
}
