import { accessSync, closeSync, constants, mkdirSync, openSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Id } from '../../domains/id.ts';
import { AppError } from '../../errors.ts';
import type { MaybePromise } from '../../maybe-promise.ts';
import { merged } from '../slices.ts';
import type { IdempotentCall, Outcome, PetstoreWrites, Store } from '../store.ts';
import { apiKeys } from './api-keys.ts';
import { Connection } from './connection.ts';
import type { DomainContext } from './domain.ts';
import { DOMAINS } from './domains.ts';
import { eventLog } from './event-log.ts';
import { idempotency } from './idempotency.ts';
import { lockDataFile } from './ownership.ts';
import { Records } from './records.ts';
import { migrate } from './schema.ts';
import { usageLedger } from './usage-ledger.ts';

export interface SqliteOptions {
  /** The data file; it and its directory are created when missing. */
  file: string;
  /** A `server` has the file to itself and may do everything; a `tool` only manages API keys, beside a server. */
  role: 'server' | 'tool';
  /** Milliseconds since 1970. */
  now?: (() => number) | undefined;
  /** How long events are kept, in milliseconds. */
  keepEvents?: number;
  /** How many milliseconds a write waits for another process, which stops everything else in this one. */
  busyTimeout?: number;
  /** By table, how many records to remember by id where that isn't what its domain says. */
  cacheSizes?: Readonly<Record<string, number>>;
}

const KEEP_EVENTS = 7 * 24 * 60 * 60 * 1000;

/** The embedded engine. Reads answer at once, writes when they are committed. */
export type SqliteStore = ReturnType<typeof openSqliteStore>;

/**
 * Opens the embedded store. Records it returns must not be changed: they may be handed out again.
 *
 * @throws Error if another server has the file, or it can't be opened
 */
export function openSqliteStore(options: SqliteOptions) {
  const { role, now = Date.now, busyTimeout = 2_000, cacheSizes = {} } = options;
  const isServer = role === 'server';
  let release = () => {};
  let db: Connection;
  try {
    const file = createFile(options.file);
    if (isServer) release = lockDataFile(file);
    db = new Connection(file, busyTimeout);
    migrate(db);
  } catch (error) {
    release();
    throw openingError(options.file, error);
  }

  const events = eventLog(db, now);
  if (isServer) events.keep(options.keepEvents ?? KEEP_EVENTS);
  const tables = new Map<string, { find(id: Id): object | null }>();
  const tools: DomainContext = {
    db,
    append: events.append,
    records(table) {
      const remembered = isServer ? (cacheSizes[table.name] ?? table.cacheSize) : 0;
      const records = new Records(db, { ...table, cacheSize: remembered });
      tables.set(table.name, records);
      return records;
    },
    exists: (table, id) => tables.get(table)!.find(id) !== null,
  };
  const domains = DOMAINS.map(({ open }) => open(tools));
  const { charge, usage, flush, close } = usageLedger(db, now);
  const writes = merged(domains.map(({ writes }) => writes)) satisfies PetstoreWrites;
  const { once: runOnce } = idempotency(db, writes);
  const once = <T>(
    call: IdempotentCall,
    work: (writes: PetstoreWrites) => MaybePromise<T>,
  ): Promise<Outcome<T>> => db.groupCommit(() => runOnce(call, work));
  const transaction = <T>(work: (writes: PetstoreWrites) => MaybePromise<T>): Promise<T> =>
    db.groupCommit(() => db.transaction(() => work(writes) as T));

  return {
    engine: 'sqlite',
    hasTransactions: () => true,
    ...merged(domains.map(({ reads }) => reads)),
    ...(isServer
      ? { ...grouped(db, writes), once, transaction, charge }
      : serverOnly({ ...writes, once, transaction, charge })),
    ...events.store,
    ...apiKeys(db),
    usage,
    /** Writes the use of the keys to the file now. */
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

/** The same writes, each answered when it is committed together with those that come at the same time. */
function grouped<W extends object>(db: Connection, writes: W): Committed<W> {
  const entries = Object.entries(writes) as [string, (...args: unknown[]) => unknown][];
  return Object.fromEntries(
    entries.map(([name, write]) => [name, (...args: unknown[]) => db.groupCommit(() => write(...args))]),
  ) as Committed<W>;
}

const UNWRITABLE = new Set(['EROFS', 'EACCES', 'EPERM', 'SQLITE_READONLY', 'SQLITE_FULL']);

/** What systems and SQLite say of a file they can't open, with its name; our own words as they are. */
function openingError(file: string, error: unknown): Error {
  const cause = (error instanceof AppError ? error.cause : error) as Error & { code?: unknown };
  if (cause.code === undefined) return cause;
  const what = UNWRITABLE.has(String(cause.code)) ? 'written' : 'opened';
  return new Error(`The data file ${file} cannot be ${what}: ${cause.message}`, { cause });
}

/** Creates the file readable for its owner alone (SQLite gives its side files the same mode); returns its real path. */
function createFile(file: string): string {
  mkdirSync(dirname(file), { recursive: true });
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  // SQLite would open what it can't write, and complain at the first write. It also makes files beside this one.
  for (const path of [file, dirname(file)]) accessSync(path, constants.W_OK);
  return realpathSync(file);
}

/** The same methods, none of which may be called: what they write would be unknown to the server's memory. */
function serverOnly<T extends object>(methods: T): T {
  const refuse = () => {
    throw new Error('Only the server may do this: it keeps what it reads of the data file in memory.');
  };
  return Object.fromEntries(Object.keys(methods).map((name) => [name, refuse])) as T;
}
