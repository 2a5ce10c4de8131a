import { DAY } from '../../foundation/instant.ts';
import { existsSync } from 'node:fs';
import { bytesFor, memoized } from '../../foundation/cache.ts';
import { AppError } from '../../foundation/errors.ts';
import type { AnyDeclaration } from '../../foundation/record.ts';
import type { Engine } from '../engine.ts';
import { FOLLOW_WAIT } from '../events.ts';
import type { RequestJournal } from '../request-journal.ts';
import { storeOver } from '../rules.ts';
import type { Store } from '../store.ts';
import { shortenLog } from './checkpoints.ts';
import { type Durability, SqliteConnection } from './connection.ts';
import { createFile, locateFile, lockDataFile, unknownLayout } from './data-file.ts';
import { eventLog } from './event-log.ts';
import { fill, isBeingFilled } from './filling.ts';
import { lastAssigned } from './ids.ts';
import { objectsOf, removeExpired } from './objects.ts';
import { isPrepared, prepareRecords } from './record-schema.ts';
import { layoutOf, MIGRATIONS, migrate } from './schema.ts';
import { tableOf } from './record-table.ts';
import { fileJournal } from './request-journal.ts';
import { usageLedger } from './usage.ts';
import { Writer } from './writer.ts';

/** The number of expired objects removed at each housekeeping. */
const EXPIRED_AT_ONCE = 100;

export interface SqliteOptions {
  /** The records to store; none for a tool that leaves their tables alone. */
  records: readonly AnyDeclaration[];
  /** The data file. Created with its directory if missing. */
  file: string;
  /**
   * Only one `server` has a file at a time. A `tool` may run beside it; a `snapshot` is a tool that reads as of now.
   */
  role: 'server' | 'tool' | 'snapshot';
  /** Milliseconds since 1970. */
  now?: (() => number) | undefined;
  /** How long events are kept, in milliseconds; forever by default. */
  keepEvents?: number;
  /** How long opening and writes wait for another process's lock, in milliseconds. */
  busyTimeout?: number;
  durability?: Durability | undefined;
  /** The maximum size of cached records, and of cached pages, per kind of record; in bytes. */
  cacheBytes?: number;
  /** Migrations, for tests of later versions. */
  migrations?: readonly string[];
}

/** The embedded store and its connection. */
export interface SqliteStore extends Store {
  /** For operations that the port lacks. Nothing else may be in progress. */
  readonly db: SqliteConnection;
}

/**
 * Opens the embedded store. Returned records must not be modified, because they are cached.
 *
 * @throws Error if another server has the file, it is not one of ours, or it cannot be opened
 */
export function openSqliteStore(options: SqliteOptions): SqliteStore {
  const opened = open(options);
  return { ...storeOver(engineOver(opened, options), options.records), db: opened.db };
}

/** An open data file. */
interface Opened {
  db: SqliteConnection;
  /** Releases the file's lock. Set for a server, as the journal. */
  release?: (() => void) | undefined;
  journal?: RequestJournal | undefined;
}

function engineOver({ db, release, journal }: Opened, options: SqliteOptions): Engine {
  const { role, records, now = Date.now } = options;
  const { cacheBytes = Math.floor(bytesFor('records') / (2 * records.length + 1)) } = options;
  const writer = new Writer(db);
  const keepEvents = role === 'server' ? options.keepEvents : undefined;
  const { append, housekeep, ...events } = eventLog(db, writer, records, now, keepEvents);
  const rowsOf = memoized((declaration: AnyDeclaration) =>
    tableOf(declaration, db, writer, append, cacheBytes),
  );
  const { flush, ...usage } = usageLedger(db, writer);
  const shorten = release && shortenLog(db, writer);
  const tick = () => {
    try {
      // Makes writes by tools visible even if nothing is written here.
      writer.catchUp();
      housekeep();
      shorten?.();
      // Additions remove some too, but kinds that are rarely added to would keep theirs.
      if (release && db.value('select 1 from stored_objects where expires_at <= ?', [now()]) !== undefined)
        writer.write(() => removeExpired(db, now(), EXPIRED_AT_ONCE), 'single').catch(() => {});
    } catch {
      // The next call that needs the file reports the error.
    }
  };
  const timer = setInterval(tick, FOLLOW_WAIT).unref();
  // A transaction sees nothing that is written after its first read.
  if (role === 'snapshot') db.exec('begin; select 1 from event_log');

  return {
    engine: 'sqlite',
    isExclusive: true,
    requestJournal: journal,
    reads: (record) => rowsOf(record)(writer.committed),
    objects: (kind) => objectsOf(db, kind, now, writer.committed),
    lastIds: async () =>
      Object.fromEntries(records.map((record) => [record.plural, lastAssigned(db, record)])),
    now: async () => now(),
    transaction: (work, how) =>
      writer.write((within) => {
        const rows = (declaration: AnyDeclaration) => rowsOf(declaration)(within);
        return work({ rows, objects: (kind) => objectsOf(db, kind, now, within) });
      }, how),
    filling: (record, rows, work) => fill(db, record, rows, work),
    ...events,
    ...usage,
    async ping() {
      db.checkFile();
      // Checks whether a full disk has room again, for more than the smallest write.
      if (writer.failure) {
        await writer.write(
          () => db.run(`insert or replace into stored_objects values ('', '', ?, 0)`, ['-'.repeat(65_536)]),
          'single',
        );
        writer.failure = undefined;
      }
      db.value('select 1 from event_log');
    },
    async close() {
      clearInterval(timer);
      if (role === 'snapshot') db.rollback();
      try {
        await flush();
        // Waits for all earlier writes.
        await writer.write(() => {}, 'single');
      } finally {
        db.close(release !== undefined);
        release?.();
      }
    },
  };
}

/** How long a tool waits for another to fill the file, in milliseconds. */
const UNTIL_FILLED = DAY;

/** Opens the file and brings it to the current layout. */
function open(options: SqliteOptions): Opened {
  const { role, records, busyTimeout = 2_000, durability, migrations = MIGRATIONS, now = Date.now } = options;
  let release: (() => void) | undefined;
  let db: SqliteConnection | undefined;
  try {
    const latest = 1 + migrations.length;
    const file = locateFile(options.file, latest);
    release = lockDataFile(file, role === 'server' || !existsSync(file) ? busyTimeout : 0);
    if (release && !existsSync(file)) createFile(file, latest);
    // An import may be about to create the file.
    if (!release && (role === 'server' || !existsSync(file))) throw inUse(options.file);
    db = new SqliteConnection(file, busyTimeout, durability);
    if (role !== 'server') db.keepSmall();
    const layout = layoutOf(db);
    if (layout > latest) throw unknownLayout(options.file, layout, latest);
    // Another tool may be preparing or filling the file.
    if (!release && layout >= 1 && !isPrepared(db, records))
      release = lockDataFile(file, isBeingFilled(db) ? UNTIL_FILLED : busyTimeout);
    if (release) {
      if (layout < latest) migrate(db, migrations);
      prepareRecords(db, records);
    } else if (layout < latest || !isPrepared(db, records)) {
      // The running server relies on the current layout.
      throw new Error(
        `The data file ${options.file} is in use by a server of an earlier version. Stop that server, or use the command of its version.`,
      );
    }
    if (role !== 'server') {
      release?.();
      release = undefined;
    }
    db.waitNoLonger();
    return { db, release, journal: release && fileJournal(file, now) };
  } catch (error) {
    db?.close();
    release?.();
    throw openingError(options.file, error);
  }
}

export const inUse = (file: string): Error =>
  new Error(
    `The data file ${file} is in use by another server, or by an import or load that fills it. Stop that or use another file.`,
  );

/** Adds the file name to errors of the system and SQLite, and passes on our own. */
function openingError(file: string, error: unknown): Error {
  const cause = (error instanceof AppError ? error.cause : error) as Error & { code?: unknown };
  if (cause.code === undefined) return cause;
  return new Error(`The data file ${file} cannot be opened: ${cause.message}`, { cause });
}
