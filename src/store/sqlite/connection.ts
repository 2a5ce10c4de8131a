import { statSync } from 'node:fs';
import Database from 'libsql';
import { lruCache } from '../../foundation/cache.ts';
import { isUnavailable, unavailable } from '../../foundation/errors.ts';

/** The types that can be bound: ids as bigints, which are exact. A boolean would abort the process inside libsql. */
export type Value = string | number | bigint | null;

/** The SQLite result codes caused by the disk or other processes, rather than by the statement. */
const ENVIRONMENT_ERROR = /^SQLITE_(?!ERROR|CONSTRAINT|MISMATCH|MISUSE|RANGE|TOOBIG)/;

/** The failure that a commit survives: of the process, or with `full` of the machine too. */
export type Durability = 'process' | 'full';

const ROWS_AT_ONCE = 50;
/** The most statements that stay prepared, of the many that conditions and orders of lists can produce. */
const MAX_STATEMENTS = 500;

type Statement = Database.Statement<[Value[]]>;

/** A connection whose statements stay prepared. One raw row costs a tenth of `all`, so many rows are read as one JSON text. */
export class SqliteConnection {
  readonly #db: Database.Database;
  readonly file: string;
  readonly #inode: number | undefined;
  readonly #statements = lruCache<Statement>(MAX_STATEMENTS);
  /** The number of writing statements so far. */
  changes = 0;
  #closed = false;

  /** @param busyTimeout milliseconds to wait for another process's lock, in which everything else in this one waits too */
  constructor(file: string, busyTimeout: number, durability: Durability = 'process') {
    this.#db = new Database(file);
    this.file = file;
    this.#inode = inodeOf(file);
    // In WAL mode, a commit reaches the file system before it is acknowledged, so killing the process loses
    // nothing; FULL waits for the disk too. Pages that are not in this cache come from that of the file system, at no
    // measurable cost with 500,000 pets; an import writes those of its indexes that don't fit several times.
    this.#db.exec(`
      pragma busy_timeout = ${busyTimeout};
      pragma journal_mode = wal;
      pragma synchronous = ${durability === 'full' ? 'full' : 'normal'};
      pragma foreign_keys = on;
      pragma cache_size = -16384;
      pragma temp_store = memory;
      pragma journal_size_limit = 67108864;
    `);
  }

  /** @throws UNAVAILABLE if the path no longer leads to the open file, to which writes would be lost */
  checkFile(): void {
    if (inodeOf(this.file) !== this.#inode)
      throw unavailable(new Error(`The data file ${this.file} was deleted or replaced. Restart the server.`));
  }

  /** The first column of the first row; undefined if there is no row. */
  value(sql: string, params: Value[] = []): unknown {
    return this.#use(() => (this.#statement(sql).get(params) as unknown[] | undefined)?.[0]);
  }

  /** The same column, parsed as JSON. */
  json<T>(sql: string, params: Value[] = []): T | undefined {
    const text = this.value(sql, params);
    return text === undefined ? undefined : (JSON.parse(text as string) as T);
  }

  /** Runs a writing statement. @returns the number of rows changed */
  run(sql: string, params: Value[]): number {
    const { changes } = this.#use(() => this.#statement(sql).run(params));
    this.changes++;
    return changes;
  }

  /** Inserts rows, many per statement, which takes half the time of one each. @param into the table and its columns */
  insert<T>(into: string, rows: readonly T[], params: (row: T, index: number) => Value[]): void {
    const width = rows.length > 0 ? params(rows[0]!, 0).length : 0;
    const row = `(${Array(width).fill('?').join(', ')})`;
    for (let n = 0; n < rows.length;) {
      const count = rows.length - n >= ROWS_AT_ONCE ? ROWS_AT_ONCE : 1;
      const values: Value[] = [];
      for (const end = n + count; n < end; n++) values.push(...params(rows[n]!, n));
      this.run(`insert into ${into} values ${Array(count).fill(row).join(', ')}`, values);
    }
  }

  /** Runs one or more SQL statements without parameters or results. */
  exec(sql: string): void {
    this.#use(() => this.#db.exec(sql));
  }

  /** Runs a statement that other processes may prevent, and ignores that. */
  tryExec(sql: string): void {
    try {
      this.exec(sql);
    } catch (error) {
      if (!isUnavailable(error)) throw error;
    }
  }

  /** Runs `work` in a transaction, which is rolled back if it throws. */
  transaction<T>(work: () => T): T {
    this.exec('begin immediate');
    try {
      const result = work();
      this.exec('commit');
      return result;
    } catch (error) {
      this.rollback();
      throw error;
    }
  }

  /** Rolls back a transaction, unless SQLite has done so on its own, for example because the disk is full. */
  rollback(): void {
    if (this.isInTransaction) this.exec('rollback');
  }

  /** True if a transaction is open; false once closed, when asking libsql would end the process. */
  get isInTransaction(): boolean {
    return !this.#closed && this.#db.inTransaction;
  }

  close(): void {
    if (this.#closed) return;
    try {
      this.rollback();
      // libsql keeps the file open until its statements are garbage collected, so closing doesn't checkpoint. The second
      // keeps other processes from writing, and has little left to do after the first.
      this.#db.exec('pragma wal_checkpoint(passive); pragma wal_checkpoint(truncate)');
    } finally {
      this.#closed = true;
      this.#statements.clear();
      this.#db.close();
    }
  }

  /** Runs work on the file. @throws UNAVAILABLE if the disk or another process is at fault, or it is closed */
  #use<T>(work: () => T): T {
    if (this.#closed) throw unavailable();
    try {
      return work();
    } catch (error) {
      throw ENVIRONMENT_ERROR.test(String((error as { code?: unknown }).code)) ? unavailable(error) : error;
    }
  }

  #statement(sql: string): Statement {
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
