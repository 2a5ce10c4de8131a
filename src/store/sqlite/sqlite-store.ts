import { accessSync, closeSync, constants, existsSync, mkdirSync, openSync, realpathSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { AppError } from '../../foundation/errors.ts';
import type { Id } from '../../foundation/id.ts';
import type { MaybePromise } from '../../foundation/maybe-promise.ts';
import { merged } from '../slices.ts';
import type { IdempotentCall, OnMigrated, Outcome, Store, Transaction } from '../store.ts';
import { apiKeys } from './api-keys.ts';
import { Connection } from './connection.ts';
import type { DomainContext } from './domain.ts';
import { DOMAINS } from './domains.ts';
import { eventLog } from './event-log.ts';
import { idempotency } from './idempotency.ts';
import { lockDataFile } from './ownership.ts';
import { Records } from './records.ts';
import { LATEST, migrate } from './schema.ts';
import { usageLedger } from './usage-ledger.ts';

export interface SqliteOptions {
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

/** The embedded engine. Reads are synchronous; writes resolve when they are committed. */
export type SqliteStore = ReturnType<typeof openSqliteStore>;

/**
 * Opens the embedded store. Returned records must not be modified, because they are cached.
 *
 * @throws Error if another server has the file or it cannot be opened
 */
export function openSqliteStore(options: SqliteOptions) {
  const { role, now = Date.now, keepEvents = Number.POSITIVE_INFINITY } = options;
  const { busyTimeout = 2_000, cacheSizes = {} } = options;
  const isServer = role === 'server';
  let release = () => {};
  let db: Connection;
  try {
    const file = createFile(options.file);
    if (isServer) release = lockDataFile(file);
    db = new Connection(file, busyTimeout);
    const from = migrate(db);
    if (from > 0 && from < LATEST) options.onMigrated?.({ from, to: LATEST });
  } catch (error) {
    release();
    throw openingError(options.file, error);
  }

  const events = eventLog(db, now);
  if (isServer) events.keep(keepEvents);
  const tables = new Map<string, { find(id: Id): object | null }>();
  const context: DomainContext = {
    db,
    append: events.append,
    records(table) {
      const cacheSize = isServer ? (cacheSizes[table.name] ?? table.cacheSize) : 0;
      const records = new Records(db, { ...table, cacheSize });
      tables.set(table.name, records);
      return records;
    },
    exists: (table, id) => tables.get(table)!.find(id) !== null,
  };
  const domains = DOMAINS.map(({ open }) => open(context));
  const { charge, usage, flush, close } = usageLedger(db, now);
  const reads = merged(domains.map(({ reads }) => reads));
  const writes = merged(domains.map(({ writes }) => writes));
  const inTransaction = { ...reads, ...writes, isSynchronous: true } satisfies Transaction;
  const { once: runOnce } = idempotency(db, inTransaction);
  const once = <T>(
    call: IdempotentCall,
    work: (transaction: Transaction) => MaybePromise<T>,
  ): Promise<Outcome<T>> => db.groupCommit(() => runOnce(call, work));
  const transaction = <T>(work: (transaction: Transaction) => MaybePromise<T>): Promise<T> =>
    db.groupCommit(() => db.transaction(() => work(inTransaction) as T));

  return {
    engine: 'sqlite',
    hasTransactions: () => true,
    ...reads,
    ...(isServer
      ? { ...grouped(db, writes), once, transaction, charge }
      : serverOnly({ ...writes, once, transaction, charge })),
    ...events.store,
    ...apiKeys(db),
    usage,
    /** Writes the usage of all keys to the file now. */
    flush,
    ping(): void {
      db.checkFile();
      db.value('select 1 from event_log');
    },
    close(): void {
      events.close();
      try {
        close();
      } finally {
        db.close();
        release();
      }
    },
  } satisfies Store & Record<string, unknown>;
}

type Committed<W> = {
  [K in keyof W]: W[K] extends (...args: infer A) => infer R ? (...args: A) => Promise<R> : never;
};

/** Wraps writes so that they resolve when committed, together with concurrent ones. */
function grouped<W extends object>(db: Connection, writes: W): Committed<W> {
  const entries = Object.entries(writes) as [string, (...args: unknown[]) => unknown][];
  return Object.fromEntries(
    entries.map(([name, write]) => [name, (...args: unknown[]) => db.groupCommit(() => write(...args))]),
  ) as Committed<W>;
}

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
function createFile(file: string): string {
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
