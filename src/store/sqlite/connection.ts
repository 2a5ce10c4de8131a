import { statSync } from 'node:fs';
import Database from 'libsql';
import { unavailable } from '../../errors.ts';

/**
 * What may be bound. Ids go as bigint, which alone is exact beyond 2^53; a plain number arrives as REAL, which an
 * INTEGER column turns back into an integer. A boolean would abort the process inside libsql.
 */
export type Value = string | number | bigint | null;

/** Errors of the disk or of other processes, by SQLite's primary result codes, not of what was asked. */
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

const FOREIGN_KEY_VIOLATION = 787;

const rawCode = (error: unknown): number => (error as { rawCode?: number } | null)?.rawCode ?? 0;

/** Whether a statement was refused because a foreign key would name nothing. */
export const isForeignKeyViolation = (error: unknown): boolean => rawCode(error) === FOREIGN_KEY_VIOLATION;

const translated = (error: unknown): unknown =>
  ENVIRONMENT_ERRORS.has(rawCode(error) & 0xff) ? unavailable(error) : error;

/** Who collects things during a transaction that it writes, all at once, just before the end of it. */
export interface Collector {
  /** How much it has collected. */
  readonly size: number;
  /** Forgets all that came after the first `size` things: what they belong to is undone. */
  truncate(size: number): void;
  /** Writes what it has, as the last part of the transaction. */
  write(): void;
  /** Told when what it wrote is committed. */
  onCommitted(): void;
}

/** The writes of one turn of the event loop, committed together. */
interface Group {
  committed: Promise<void>;
  resolve: () => void;
  reject: (error: unknown) => void;
}

type Statement = Database.Statement<[Value[]]>;

/**
 * One SQLite connection with its prepared statements, in libsql's fastest mode: a `get` of one raw row costs a tenth
 * of `all`, so a query that returns several records aggregates them into one JSON text.
 */
export class Connection {
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

  /** @param busyTimeout how many milliseconds to wait for another process that writes */
  constructor(file: string, busyTimeout: number) {
    this.#db = new Database(file);
    this.#file = file;
    this.#inode = inodeOf(file);
    // In WAL mode a commit is in the file system's hands before it is acknowledged, so a killed process loses none.
    this.#db.exec(`
      pragma busy_timeout = ${busyTimeout};
      pragma journal_mode = wal;
      pragma synchronous = normal;
      pragma foreign_keys = on;
      pragma cache_size = -65536;
      pragma temp_store = memory;
      pragma journal_size_limit = 67108864;
    `);
  }

  /**
   * A file that was deleted or replaced can still be written, and nobody would ever read that again.
   *
   * @throws UNAVAILABLE if the path leads to another file than the one that is open
   */
  checkFile(): void {
    if (inodeOf(this.#file) !== this.#inode)
      throw unavailable(new Error(`The data file ${this.#file} was deleted or replaced. Start again.`));
  }

  /** The first row, as an array of its columns. */
  get(sql: string, params: Value[]): unknown[] | undefined {
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

  /** Runs a statement that writes, and returns how many rows it changed. */
  run(sql: string, params: Value[]): number {
    this.#commitOpenGroup();
    try {
      const { changes } = this.#statement(sql).run(params);
      this.#changes++;
      return changes;
    } catch (error) {
      throw translated(error);
    }
  }

  /** Runs SQL without parameters and results; several statements may be given. */
  exec(sql: string): void {
    if (this.#closed) throw unavailable();
    try {
      this.#db.exec(sql);
    } catch (error) {
      throw translated(error);
    }
  }

  /** Runs `work` in a transaction; in one that is under way, in a savepoint. Whatever `work` throws undoes its writes. */
  transaction<T>(work: () => T): T {
    this.#commitOpenGroup();
    const depth = this.#depth;
    const changesBefore = this.#changes;
    const collected = this.#collector.size;
    this.exec(depth === 0 ? 'begin immediate' : `savepoint s${depth}`);
    this.#depth++;
    try {
      const result = work();
      if (typeof (result as { then?: unknown } | undefined)?.then === 'function') {
        throw new Error('A transaction of the embedded store must do its work at once, without a promise.');
      }
      if (depth === 0) {
        this.#commit();
        this.#collector.onCommitted();
      } else {
        this.exec(`release s${depth}`);
      }
      return result;
    } catch (error) {
      this.#collector.truncate(collected);
      // A full disk makes SQLite roll back by itself; then there is nothing left to undo.
      if (this.#db.inTransaction)
        this.exec(depth === 0 ? 'rollback' : `rollback to s${depth}; release s${depth}`);
      if (this.#changes !== changesBefore) for (const forget of this.#rollbackListeners) forget();
      throw error;
    } finally {
      this.#depth--;
    }
  }

  /**
   * Runs a write in one transaction with the others of this turn of the event loop, and answers when it is committed:
   * pages that several of them change are written once, which costs a fraction of a transaction each. A `work` that throws
   * must have written nothing, as a single statement or a `transaction` has.
   */
  async groupCommit<T>(work: () => T): Promise<T> {
    const group = this.#group ?? this.#openGroup();
    let result: T;
    this.#inGroup = true;
    try {
      result = work();
    } catch (error) {
      // Some errors make SQLite undo the whole transaction, and with it what others have written.
      if (!this.#db.inTransaction) this.#failGroup(group, error);
      throw error;
    } finally {
      this.#inGroup = false;
    }
    await group.committed;
    return result;
  }

  #openGroup(): Group {
    this.exec('begin immediate');
    this.#depth = 1;
    const { promise, resolve, reject } = withResolvers();
    const group: Group = { committed: promise, resolve, reject };
    // Who waits for it hears of a failure; a group whose every work threw has nobody who waits.
    promise.catch(() => {});
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
    if (this.#db.inTransaction) this.exec('rollback');
    for (const forget of this.#rollbackListeners) forget();
    group.reject(error);
  }

  /** Writes that don't wait for the group must not be lost with it. */
  #commitOpenGroup(): void {
    if (this.#group && !this.#inGroup) this.#commitGroup(this.#group);
  }

  /** From now on writes are collected by it too. */
  setCollector(collector: Collector): void {
    this.#collector = collector;
  }

  /** Registers what must be forgotten when writes are undone. */
  onRollback(forget: () => void): void {
    this.#rollbackListeners.push(forget);
  }

  close(): void {
    if (this.#closed) return;
    this.#commitOpenGroup();
    // libsql keeps the file open until the statements are garbage collected, so the log isn't folded in by closing.
    try {
      this.#db.exec('pragma wal_checkpoint(truncate)');
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

const inodeOf = (file: string): number | undefined => statSync(file, { throwIfNoEntry: false })?.ino;

/** Promise.withResolvers, which Node has from 22 on. */
function withResolvers(): { promise: Promise<void>; resolve: () => void; reject: (error: unknown) => void } {
  let resolve!: () => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<void>((settle, refuse) => {
    resolve = settle;
    reject = refuse;
  });
  return { promise, resolve, reject };
}
