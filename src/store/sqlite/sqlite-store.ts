import { accessSync, closeSync, constants, existsSync, mkdirSync, openSync, realpathSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { AppError } from '../../foundation/errors.ts';
import type { MaybePromise } from '../../foundation/maybe-promise.ts';
import type { AnyRecord } from '../../foundation/record.ts';
import { recordOf } from '../events.ts';
import type { IdempotentCall, OnMigrated, Outcome, Store, Transaction } from '../store.ts';
import type { Table, TableReads, TableWrites } from '../table.ts';
import { apiKeys } from './api-keys.ts';
import { type Committed, committed, SqliteConnection } from './connection.ts';
import { type Append, eventLog } from './event-log.ts';
import { idempotency } from './idempotency.ts';
import { assignIdsOf } from './ids.ts';
import { OwnTransactions } from './own-transactions.ts';
import { lockDataFile, type Ownership } from './ownership.ts';
import { prepareRecords } from './record-schema.ts';
import { LATEST, migrate } from './schema.ts';
import { SqliteTable } from './table.ts';
import { documentLists } from './trusted-documents.ts';
import { usageHistory } from './usage-history.ts';
import { usageLedger } from './usage-ledger.ts';
import { webhooks } from './webhooks.ts';

export interface SqliteOptions {
  /** The records to store. A tool that has none of them leaves their tables alone. */
  records: readonly AnyRecord[];
  /** The data file. Created with its directory if missing. */
  file: string;
  /** A `server` has exclusive use of the file. A `tool` only manages API keys, beside a server. */
  role: 'server' | 'tool';
  /** Milliseconds since 1970. */
  now?: (() => number) | undefined;
  /** How long events are kept, in milliseconds; forever by default. */
  keepEvents?: number;
  /** How many milliseconds a write waits for another process. Everything else in this process waits too. */
  busyTimeout?: number;
  onMigrated?: OnMigrated;
  /** Overrides the number of cached records, by table. */
  cacheSizes?: Readonly<Record<string, number>>;
}

/** Records to cache by id, for each table. */
const CACHE_SIZE = 10_000;

/** The embedded engine. Reads are synchronous; writes resolve when they are committed. */
export type SqliteStore = ReturnType<typeof openSqliteStore>;

/**
 * Opens the embedded store. Returned records must not be modified, because they are cached.
 *
 * @throws Error if another server has the file or it cannot be opened
 */
export function openSqliteStore(options: SqliteOptions) {
  const { role, records, now = Date.now, keepEvents = Number.POSITIVE_INFINITY } = options;
  const { busyTimeout = 2_000, cacheSizes = {} } = options;
  const isServer = role === 'server';
  let ownership: Ownership | undefined;
  let db: SqliteConnection | undefined;
  let file: string;
  try {
    file = createFile(options.file);
    if (isServer) ownership = lockDataFile(file, busyTimeout);
    db = new SqliteConnection(file, busyTimeout);
    ownership?.confirm((sql) => db!.value(sql));
    const from = migrate(db);
    if (from > 0 && from < LATEST) options.onMigrated?.({ from, to: LATEST });
    prepareRecords(db, records);
  } catch (error) {
    db?.close();
    ownership?.release();
    throw openingError(options.file, error);
  }

  const events = eventLog(db, now);
  if (isServer) events.keep(keepEvents);
  const ids = records.map(assignIdsOf);
  /** What reads and writes over a connection. */
  const openOver = (connection: SqliteConnection, append: Append, isCached: boolean) => {
    const tables: SqliteTable<AnyRecord>[] = [];
    for (const [i, record] of records.entries()) {
      const cacheSize = isCached ? (cacheSizes[record.plural] ?? CACHE_SIZE) : 0;
      tables[record.index] = new SqliteTable(connection, record, tables, append, ids[i]!, cacheSize);
    }
    const { reads, writes } = webhooks(connection);
    const transaction: Transaction = {
      table: ({ index }) => tables[index] as unknown as Table<never>,
      webhookWrites: writes,
    };
    return { tables, webhooks: { reads, writes }, transaction, once: idempotency(connection, transaction) };
  };
  const shared = openOver(db, events.append, isServer);
  /** Opens a connection for the transactions beside which others read. It caches nothing. */
  const openOwn = () => {
    const connection = new SqliteConnection(file, busyTimeout);
    const append = events.appendTo(connection, ({ type, record: { id } }) =>
      shared.tables[recordOf(records, type)!.index]!.forget(id),
    );
    return {
      transactions: new OwnTransactions(db, connection),
      connection,
      ...openOver(connection, append, false),
    };
  };
  let opened: ReturnType<typeof openOwn> | undefined;
  const own = () => {
    // SQLite would create a file that is gone.
    if (!opened) db.checkFile();
    opened ??= openOwn();
    return opened;
  };
  const tables = shared.tables.map((table) => {
    const { insert, update, remove } = table;
    const writes = { insert, update, remove };
    return { ...table, ...(isServer ? committed(db, writes) : serverOnly(writes)) };
  });
  const { reads: webhookStore, writes: webhooksWithin } = shared.webhooks;
  const { charge, usage, close } = usageLedger(db, now);
  const once = <T>(
    call: IdempotentCall,
    work: (transaction: Transaction) => MaybePromise<T>,
  ): Promise<Outcome<T>> => {
    if (!call.takesTime) return db.groupCommit(() => shared.once(call, work) as Outcome<T>);
    const { transactions, once } = own();
    return transactions.run(() => once(call, work));
  };
  const transaction = <T>(work: (transaction: Transaction) => MaybePromise<T>): Promise<T> => {
    const { transactions, transaction } = own();
    return transactions.run(() => work(transaction));
  };

  return {
    engine: 'sqlite',
    table: <R extends AnyRecord>(record: R) => tables[record.index] as unknown as CommittedTable<R>,
    ...(isServer ? { once, transaction, charge } : serverOnly({ once, transaction, charge })),
    ...events.store,
    ...apiKeys(db),
    ...usageHistory(db, now),
    ...documentLists(db),
    webhookWrites: committed(db, webhooksWithin),
    ...webhookStore,
    usage,
    ping(): void {
      db.checkFile();
      db.value('select 1 from event_log');
    },
    close(): void {
      events.close();

      opened?.connection.close(false);
      try {
        close();
      } finally {
        db.close();
        ownership?.release();
      }
    },
  } satisfies Store & Record<string, unknown>;
}

/** A table whose writes resolve when they are committed, together with concurrent ones. */
type CommittedTable<R extends AnyRecord> = Pick<SqliteTable<R>, keyof TableReads<R>> &
  Committed<TableWrites<R>>;

/** Adds the file name to errors of the system and SQLite; leaves our own unchanged. */
function openingError(file: string, error: unknown): Error {
  const cause = (error instanceof AppError ? error.cause : error) as Error & { code?: unknown };
  if (cause.code === undefined) return cause;
  return new Error(`The data file ${file} cannot be opened: ${cause.message}`, { cause });
}

/**
 * Creates the file with access for its owner only, which SQLite copies to its side files.
 *
 * @returns its real path
 * @throws Error if its folder does not exist, except for one called `data`
 */
export function createFile(file: string): string {
  const folder = resolve(dirname(file));
  // A mistyped path must not start an empty store beside the one meant.
  if (!existsSync(folder) && !(basename(folder) === 'data' && existsSync(dirname(folder))))
    throw new Error(`The data file ${file} cannot be opened: its folder ${folder} does not exist.`);
  mkdirSync(folder, { recursive: true });
  // SQLite would open a read-only file and fail at the first write. It also creates files beside this one.
  closeSync(openSync(file, 'a', 0o600));
  accessSync(dirname(file), constants.W_OK);
  return realpathSync(file);
}

/** Replaces methods with ones that throw: writes by a tool would bypass the server's caches. */
function serverOnly<T extends object>(methods: T): T {
  const refuse = () => {
    throw new Error('Only the server may do this, because it caches the data file in memory.');
  };
  return Object.fromEntries(Object.keys(methods).map((name) => [name, refuse])) as T;
}
