import { statSync } from 'node:fs';
import Database from 'libsql';
import { unavailable } from '../../foundation/errors.ts';
import {
  andThen,
  attempt,
  type Deferred,
  deferred,
  type MaybePromise,
} from '../../foundation/maybe-promise.ts';
import { inOwnTurn, MAX_TURN } from '../../foundation/turns.ts';
import { noteOpened } from './ownership.ts';

/**
 * Types that can be bound. Ids are bigints, the only exact type beyond 2^53. A plain number arrives as REAL,
 * which an INTEGER column converts back. A boolean would abort the process inside libsql.
 */
export type Value = string | number | bigint | null;

/** A value that JSON can represent. An integer column converts text, which is exact beyond 2^53. */
export type JsonValue = Exclude<Value, bigint>;

/** SQLite result codes for problems with the disk or other processes rather than the statement. */
const ENVIRONMENT_ERRORS = new Set([
  5, // BUSY
  6, // LOCKED
  7, // NOMEM
  8, // READONLY
  10, // IOERR
  11, // CORRUPT
  13, // FULL
  14, // CANTOPEN
  15, // PROTOCOL
  26, // NOTADB
]);

const rawCode = (error: unknown): number => (error as { rawCode?: number }).rawCode ?? 0;

const translated = (error: unknown): unknown =>
  ENVIRONMENT_ERRORS.has(rawCode(error) & 0xff) ? unavailable(error) : error;

/** Collects items during a transaction and writes them together just before its commit. */
export interface Collector {
  /** Number of items collected. */
  readonly size: number;
  /** Drops all but the first `size` items, because their writes were rolled back. */
  truncate(size: number): void;
  /** Writes the items, as the last part of the transaction. */
  write(): void;
  /** Called after the commit. */
  onCommitted(): void;
}

/** The writes of one turn of the event loop, committed together. */
type Group = Deferred<void>;

/** Inserts one row with its values as parameters, or many with all of them as one JSON text. */
export interface Insertion {
  readonly one: string;
  readonly many: string;
}

type Statement = Database.Statement<[Value[]]>;

/**
 * A SQLite connection with cached prepared statements, using libsql in its fastest mode: `get` of one raw row
 * costs a tenth of `all`, so queries for several records aggregate them into one JSON text.
 */
export class SqliteConnection {
  readonly #db: Database.Database;
  readonly #file: string;
  readonly #inode: number | undefined;
  readonly #statements = new Map<string, Statement>();
  readonly #rollbackListeners: (() => void)[] = [];
  #collector: Collector = { size: 0, truncate() {}, write() {}, onCommitted() {} };
  #depth = 0;
  #changes = 0;
  #closed = false;
  #group: Group | undefined;
  #inGroup = false;
  /** Whether writes wait for those of another connection. */
  #isHeld = false;
  readonly #writers: (() => void)[] = [];
  /** Rows that the next statement inserts first. */
  #waiting: { insertion: Insertion; rows: JsonValue[][] } | undefined;

  /**
   * @param busyTimeout how many milliseconds to wait for a lock held by another process
   * @param cacheKilobytes how much of the file to keep in memory
   */
  constructor(file: string, busyTimeout: number, cacheKilobytes = 2_048) {
    this.#db = new Database(file);
    noteOpened(file);
    this.#file = file;
    this.#inode = inodeOf(file);
    // In WAL mode, a commit reaches the file system before it is acknowledged, so killing the process loses
    // nothing. A checkpoint is the longest wait of a write and takes time in proportion to the WAL, which
    // therefore stays at SQLite's default of 4 MB. Pages that are not in this cache come from that of the file
    // system, at no measurable cost with 500,000 pets.
    this.#db.exec(`
      pragma busy_timeout = ${busyTimeout};
      pragma journal_mode = wal;
      pragma synchronous = normal;
      pragma foreign_keys = on;
      pragma cache_size = -${cacheKilobytes};
      pragma temp_store = memory;
      pragma journal_size_limit = 67108864;
    `);
  }

  /**
   * A deleted or replaced file can still be written to, but the data would be lost.
   *
   * @throws UNAVAILABLE if the path no longer leads to the open file
   */
  checkFile(): void {
    if (inodeOf(this.#file) !== this.#inode)
      throw unavailable(
        new Error(`The data file ${this.#file} was deleted or replaced. Restart the server.`),
      );
  }

  /** The first row as an array of columns. */
  get(sql: string, params: Value[]): unknown[] | undefined {
    this.#insertWaiting();
    try {
      return this.#statement(sql).get(params) as unknown[] | undefined;
    } catch (error) {
      throw translated(error);
    }
  }

  /** The only column of the only row. */
  value(sql: string, params: Value[] = []): unknown {
    return this.get(sql, params)?.[0];
  }

  /** The only column of the only row, which is JSON; undefined if there is no row. */
  json<T>(sql: string, params: Value[] = []): T | undefined {
    const text = this.value(sql, params);
    return text === undefined ? undefined : (JSON.parse(text as string) as T);
  }

  /** Runs a writing statement. @returns the number of rows changed */
  run(sql: string, params: Value[]): number {
    this.#commitOpenGroup();
    this.#insertWaiting();
    try {
      const { changes } = this.#statement(sql).run(params);
      this.#changes++;
      return changes;
    } catch (error) {
      throw translated(error);
    }
  }

  /**
   * Inserts a row of which nothing is unknown that could refuse it: in a transaction together with those that follow
   * it, before any other statement.
   */
  insert(insertion: Insertion, row: JsonValue[]): void {
    if (!this.#inGroup && this.#depth === 0) {
      this.run(insertion.one, row);
      return;
    }
    if (this.#waiting?.insertion !== insertion) this.#insertWaiting();
    this.#waiting ??= { insertion, rows: [] };
    this.#waiting.rows.push(row);
    this.#changes++;
  }

  #insertWaiting(): void {
    if (!this.#waiting) return;
    const { insertion, rows } = this.#waiting;
    this.#waiting = undefined;
    try {
      if (rows.length === 1) this.#statement(insertion.one).run(rows[0]!);
      else this.#statement(insertion.many).run([JSON.stringify(rows)]);
    } catch (error) {
      // Those that gave the rows went on as if they were there.
      if (this.isInTransaction) this.#db.exec('rollback');
      if (this.#group && !this.#inGroup) this.#failGroup(this.#group, error);
      else throw translated(error);
    }
  }

  /** Runs one or more SQL statements without parameters or results. */
  exec(sql: string): void {
    if (this.#closed) throw unavailable();
    this.#insertWaiting();
    try {
      this.#db.exec(sql);
    } catch (error) {
      throw translated(error);
    }
  }

  /**
   * Runs `work` in a transaction, or in a savepoint if one is open. Rolls back if `work` throws. It may only be
   * asynchronous if nobody else uses the connection meanwhile.
   */
  transaction<T>(work: () => T): T {
    this.#commitOpenGroup();
    const depth = this.#depth;
    const changesBefore = this.#changes;
    const collected = this.#collector.size;
    this.exec(depth === 0 ? 'begin immediate' : `savepoint s${depth}`);
    this.#depth++;
    const begin = (): T => {
      const result = work();
      if (this.#inGroup && result instanceof Promise)
        throw new Error('Writes that are committed together with others must be synchronous.');
      return result;
    };
    const end = (result: Awaited<T>): Awaited<T> => {
      if (depth === 0) {
        this.#commit();
        this.#collector.onCommitted();
      } else {
        this.exec(`release s${depth}`);
      }
      this.#depth = depth;
      return result;
    };
    const undo = (error: unknown): never => {
      this.#depth = depth;
      this.#collector.truncate(collected);
      this.#waiting = undefined;
      // When the disk is full, SQLite rolls back on its own.
      if (this.isInTransaction)
        this.exec(depth === 0 ? 'rollback' : `rollback to s${depth}; release s${depth}`);
      if (this.#changes !== changesBefore) for (const forget of this.#rollbackListeners) forget();
      throw error;
    };
    return attempt(() => andThen(begin() as MaybePromise<Awaited<T>>, end), undo) as T;
  }

  /** False once it is closed: libsql ends the process if it is asked then. */
  get isInTransaction(): boolean {
    return !this.#closed && this.#db.inTransaction;
  }

  /**
   * Runs work that writes through another connection of this process. Until it ends, what writes through this one
   * waits, in order, whereas reads see what was committed before.
   */
  hold<T>(work: () => MaybePromise<T>): MaybePromise<T> {
    return this.whenFree(async () => {
      this.#isHeld = true;
      try {
        this.#commitOpenGroup();
        this.checkFile();
        return await work();
      } finally {
        this.#release();
      }
    });
  }

  /** Runs a write as soon as no other connection is held for: at once if there is none. */
  whenFree<T>(write: () => MaybePromise<T>): MaybePromise<T> {
    if (!this.#isHeld) return write();
    return new Promise((resolve, reject) => {
      this.#writers.push(() => void attempt(() => resolve(write()), reject));
    });
  }

  /** Lets those write who have waited, until one of them holds the connection again. */
  readonly #release = (): void => {
    const began = performance.now();
    this.#isHeld = false;
    while (this.#writers.length > 0 && !this.#isHeld) {
      this.#writers.shift()!();
      if (this.#isHeld || performance.now() - began < MAX_TURN) continue;
      this.#isHeld = true;
      inOwnTurn(this.#release, true);
    }
  };

  /**
   * Group commit: runs a write in one transaction with the others of this turn of the event loop, and
   * resolves once it is committed. Pages changed by several writes are written once, at a fraction of the
   * cost of separate transactions. A `work` that throws must not have written anything; a single statement or
   * a `transaction` guarantees that.
   */
  async groupCommit<T>(work: () => T): Promise<T> {
    if (this.#isHeld) return this.whenFree(() => this.groupCommit(work));
    const group = this.#group ?? this.#openGroup();
    let result: T;
    this.#inGroup = true;
    try {
      result = work();
    } catch (error) {
      // Some errors make SQLite roll back the whole transaction, including the writes of others.
      if (!this.isInTransaction) this.#failGroup(group, error);
      throw error;
    } finally {
      this.#inGroup = false;
    }
    await group.promise;
    return result;
  }

  #openGroup(): Group {
    this.exec('begin immediate');
    this.#depth = 1;
    const group: Group = deferred();
    // Waiting callers get the error. If every write of a group threw, nobody is waiting.
    group.promise.catch(() => {});
    this.#group = group;
    setImmediate(() => this.#commitGroup(group));
    return group;
  }

  #commitGroup(group: Group): void {
    if (this.#group !== group) return;
    try {
      this.#inGroup = true;
      this.#commit();
    } catch (error) {
      this.#failGroup(group, error);
      return;
    } finally {
      this.#inGroup = false;
    }
    this.#group = undefined;
    this.#depth = 0;
    this.#collector.onCommitted();
    group.resolve();
  }

  #commit(): void {
    this.checkFile();
    this.#collector.write();
    this.exec('commit');
  }

  #failGroup(group: Group, error: unknown): void {
    this.#group = undefined;
    this.#depth = 0;
    this.#collector.truncate(0);
    this.#waiting = undefined;
    if (this.isInTransaction) this.exec('rollback');
    for (const forget of this.#rollbackListeners) forget();
    group.reject(error);
  }

  /** Writes outside the group must not be rolled back with it. */
  #commitOpenGroup(): void {
    if (this.#group && !this.#inGroup) this.#commitGroup(this.#group);
  }

  /** Sets the collector of items to write with each transaction. */
  setCollector(collector: Collector): void {
    this.#collector = collector;
  }

  /** Registers a listener that is called after a rollback. */
  onRollback(forget: () => void): void {
    this.#rollbackListeners.push(forget);
  }

  /** @param isLast whether to empty the WAL, which waits for a connection that is still writing */
  close(isLast = true): void {
    if (this.#closed) return;
    this.#commitOpenGroup();
    // libsql keeps the file open until its statements are garbage collected, so closing does not checkpoint
    // the WAL.
    try {
      if (this.isInTransaction) this.#db.exec('rollback');
      // The second keeps other processes from writing, and has little left to do after the first.
      if (isLast) this.#db.exec('pragma wal_checkpoint(passive); pragma wal_checkpoint(truncate)');
    } finally {
      this.#closed = true;
      this.#statements.clear();
      this.#db.close();
    }
  }

  #statement(sql: string): Statement {
    if (this.#closed) throw unavailable();
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#db.prepare<[Value[]]>(sql);
      if (statement.reader) statement.raw();
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/** Writes that resolve when they are committed. */
export type Committed<W> = {
  [K in keyof W]: W[K] extends (...args: infer Args) => infer T
    ? (...args: Args) => Promise<Awaited<T>>
    : never;
};

/** Commits each write together with concurrent ones. */
export const committed = <W extends object>(db: SqliteConnection, writes: W): Committed<W> =>
  Object.fromEntries(
    Object.entries(writes).map(([name, write]) => [
      name,
      (...args: unknown[]) => db.groupCommit(() => write(...args)),
    ]),
  ) as Committed<W>;

const inodeOf = (file: string): number | undefined => statSync(file, { throwIfNoEntry: false })?.ino;
