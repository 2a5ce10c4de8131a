import { once } from 'node:events';
import { statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import type LibSql from 'libsql';
import { lruCache } from '../../foundation/cache.ts';
import { isUnavailable, unavailable } from '../../foundation/errors.ts';

/** The types that can be bound. Ids are bigints, which are exact. A boolean would abort the process inside libsql. */
export type Value = string | number | bigint | null;

interface Statement {
  /** The first row. Integers beyond 2^53 must be cast to text. */
  get(params: readonly Value[]): unknown[] | undefined;
  all(params: readonly Value[]): unknown[][];
  /** @returns the number of rows changed */
  run(params: readonly Value[]): number;
}

/** A connection by either driver: `node:sqlite` where it is stable, else libsql. */
export interface Database {
  prepare(sql: string): Statement;
  exec(sql: string): void;
  readonly isInTransaction: boolean;
  close(): void;
}

/** The parts of `node:sqlite` in use, which the types of Node 20 lack. */
interface NodeSqlite {
  DatabaseSync: new (file: string) => {
    prepare(sql: string): {
      setReturnArrays(enabled: boolean): void;
      setReadBigInts(enabled: boolean): void;
      get(...params: readonly Value[]): unknown[] | undefined;
      all(...params: readonly Value[]): unknown[][];
      run(...params: readonly Value[]): { changes: number | bigint };
    };
    exec(sql: string): void;
    readonly isTransaction: boolean;
    close(): void;
  };
}

const [major, minor] = process.versions.node.split('.').map(Number) as [number, number];
/** Where it isn't stable, `node:sqlite` prints a warning when loaded, or doesn't exist. */
const isStable = major >= 26 || (major === 25 && minor >= 7) || (major === 24 && minor >= 15);
const nodeSqlite = isStable ? (process.getBuiltinModule('node:sqlite') as NodeSqlite | undefined) : undefined;

/** Opens a file, or creates it if missing. SQLite's errors have a {@link resultCode}. */
export const openDatabase = (file: string): Database =>
  nodeSqlite ? openNode(nodeSqlite, file) : openLibSql(file);

function openNode({ DatabaseSync }: NodeSqlite, file: string): Database {
  const db = new DatabaseSync(file);
  return {
    prepare(sql) {
      const statement = db.prepare(sql);
      statement.setReturnArrays(true);
      return {
        get: (params) => statement.get(...params),
        all: (params) => statement.all(...params),
        run(params) {
          // `run` also returns the last inserted id. From Node 26, it throws (after writing) if that exceeds 2^53.
          statement.setReadBigInts(true);
          return Number(statement.run(...params).changes);
        },
      };
    },
    exec: (sql) => db.exec(sql),
    get isInTransaction() {
      return db.isTransaction;
    },
    close: () => db.close(),
  };
}

/** For libsql, which is loaded only where it is used. */
const require = createRequire(import.meta.url);

function openLibSql(file: string): Database {
  const driver = require('libsql') as typeof LibSql;
  const db = new driver(file);
  return {
    prepare(sql) {
      const statement = db.prepare<[readonly Value[]]>(sql);
      if (statement.reader) statement.raw();
      return {
        get: (params) => statement.get(params) as unknown[] | undefined,
        all: (params) => statement.all(params) as unknown[][],
        run: (params) => statement.run(params).changes,
      };
    },
    exec: (sql) => void db.exec(sql),
    get isInTransaction() {
      return db.inTransaction;
    },
    close: () => void db.close(),
  };
}

/** SQLite's primary result code of an error of either driver; undefined for other errors. https://sqlite.org/rescode.html */
export function resultCode(error: unknown): number | undefined {
  const { errcode, rawCode } = error as { errcode?: number; rawCode?: number };
  const extended = errcode ?? rawCode;
  return extended === undefined ? undefined : extended & 0xff;
}

/** The result code of a file that another process has locked. */
export const BUSY = 5;
/** The result codes caused by the statement rather than the disk or other processes: SQLITE_ERROR, TOOBIG, CONSTRAINT, MISMATCH, MISUSE and RANGE. */
const STATEMENT_ERRORS: ReadonlySet<number | undefined> = new Set([undefined, 1, 18, 19, 20, 21, 25]);

/** The failures that a commit survives: of the process, or also of the machine (`full`). */
export type Durability = 'process' | 'full';

/** The pages in the write-ahead log at which a commit moves them to the file, which takes 10 ms. */
export const PAGES_PER_COMMIT = 1_000;

/**
 * Runs in a thread. Moves the log to the file, and again what was written meanwhile, until little is left. Sends false
 * if a reader of an older state prevents that.
 */
const CHECKPOINT = `
  const { parentPort, workerData: { file, libsql } } = require('node:worker_threads');
  const Database = libsql ? require(libsql) : require('node:sqlite').DatabaseSync;
  const db = new Database(file);
  const checkpoint = db.prepare('pragma wal_checkpoint(passive)');
  for (let pass = 0, before = 0; ; pass++) {
    const { log, checkpointed } = checkpoint.get();
    const isWhole = log === checkpointed;
    if (isWhole && log - before > ${PAGES_PER_COMMIT} && pass < 10) before = checkpointed;
    else {
      parentPort.postMessage(isWhole);
      break;
    }
  }
  db.close();
`;

/** The numbers of rows that are inserted by one statement. */
const ROWS_AT_ONCE = [50, 8, 1];
/** The maximum number of prepared statements: conditions and orders of lists can produce many. */
const MAX_STATEMENTS = 500;

/** A connection whose statements stay prepared. */
export class SqliteConnection {
  readonly #db: Database;
  readonly file: string;
  readonly busyTimeout: number;
  readonly #inode: number | undefined;
  readonly #statements = lruCache<Statement>(MAX_STATEMENTS);
  /** The texts of insertions, by what they insert into and the number of rows. */
  readonly #insertions = new Map<string, string[]>();
  /** The number of writing statements so far. */
  changes = 0;
  #closed = false;

  /**
   * @param busyTimeout milliseconds to wait for another process's lock, which blocks this process, until `waitNoLonger`
   */
  constructor(file: string, busyTimeout: number, durability: Durability = 'process') {
    this.#db = openDatabase(file);
    this.busyTimeout = busyTimeout;
    this.file = file;
    this.#inode = inodeOf(file);
    // In WAL mode, a commit reaches the file system before it is acknowledged, so killing the process loses nothing;
    // FULL waits for the disk too. Pages outside this cache come from the file system's: twice as much saves no time with
    // 200,000 pets.
    this.#db.exec(`
      pragma busy_timeout = ${busyTimeout};
      pragma journal_mode = wal;
      pragma synchronous = ${durability === 'full' ? 'full' : 'normal'};
      pragma foreign_keys = on;
      pragma cache_size = -8192;
      pragma temp_store = memory;
    `);
  }

  /** @throws UNAVAILABLE if the path no longer leads to the open file, whose writes would be lost */
  checkFile(): void {
    if (inodeOf(this.file) !== this.#inode)
      throw unavailable(new Error(`The data file ${this.file} was deleted or replaced. Restart the server.`));
  }

  /** Makes statements fail instead of waiting for another process's lock. Reads need none while a file is open. */
  waitNoLonger(): void {
    this.exec('pragma busy_timeout = 0');
  }

  /** Begins a write transaction. @returns false if another process has one */
  tryBegin(): boolean {
    try {
      this.exec('begin immediate');
      return true;
    } catch (error) {
      if (resultCode((error as Error).cause) === BUSY) return false;
      throw error;
    }
  }

  /** Limits the memory of a command: for the cache, and for sorting. */
  keepSmall(): void {
    this.exec('pragma cache_size = -4096');
  }

  /** The first row; undefined if no row matches. */
  row(sql: string, params: readonly Value[] = []): unknown[] | undefined {
    return this.#use(() => this.#statement(sql).get(params));
  }

  /** The first column of the first row; undefined if no row matches. */
  value(sql: string, params: readonly Value[] = []): unknown {
    return this.row(sql, params)?.[0];
  }

  /**
   * Reads rows of columns, in the order of `from`. libsql reads rows half as fast as a single JSON text of all rows;
   * node:sqlite reads them faster than that text.
   */
  rows(columns: string, from: string, params: readonly Value[] = []): unknown[][] {
    if (nodeSqlite) return this.#use(() => this.#statement(`select ${columns} from ${from}`).all(params));
    return this.json(`select json_group_array(json_array(${columns})) from ${from}`, params)!;
  }

  /** Like {@link value}, parsed as JSON. */
  json<T>(sql: string, params: readonly Value[] = []): T | undefined {
    const text = this.value(sql, params);
    return text === undefined ? undefined : (JSON.parse(text as string) as T);
  }

  /** Runs a writing statement. @returns the number of rows changed */
  run(sql: string, params: readonly Value[]): number {
    const changes = this.#use(() => this.#statement(sql).run(params));
    this.changes++;
    return changes;
  }

  /**
   * Inserts rows, many per statement, which takes half the time of one each. One that SQLite refuses ends the transaction:
   * it takes twice as long where triggers run and SQLite has to be able to take back a single statement.
   *
   * @param into the table and its columns
   */
  insert<T>(into: string, rows: readonly T[], params: (row: T, index: number) => Value[]): void {
    const statements = this.#insertions.get(into) ?? [];
    this.#insertions.set(into, statements);
    for (let n = 0; n < rows.length;) {
      const count = ROWS_AT_ONCE.find((most) => rows.length - n >= most)!;
      const values = params(rows[n]!, n);
      const row = () => `(${values.map(() => '?').join(', ')})`;
      statements[count] ??= `insert or rollback into ${into} values ${Array(count).fill(row()).join(', ')}`;
      for (const end = n++ + count; n < end; n++) values.push(...params(rows[n]!, n));
      this.run(statements[count], values);
    }
  }

  /** Runs one or more SQL statements without parameters or results. */
  exec(sql: string): void {
    this.#use(() => this.#db.exec(sql));
  }

  /** Runs statements, and ignores it if other processes prevent that. */
  tryExec(sql: string): void {
    try {
      this.exec(sql);
    } catch (error) {
      if (!isUnavailable(error)) throw error;
    }
  }

  /**
   * Moves the write-ahead log to the file in a thread, while this connection stays in use.
   *
   * @returns false if a reader of an older state kept part of the log; otherwise little is left
   */
  async checkpointInThread(): Promise<boolean> {
    const libsql = nodeSqlite ? undefined : require.resolve('libsql');
    const worker = new Worker(CHECKPOINT, {
      eval: true,
      execArgv: [],
      workerData: { file: this.file, libsql },
    });
    worker.unref();
    const [isWhole] = (await once(worker, 'message')) as [boolean];
    return isWhole;
  }

  /** Reads within one snapshot, so that the file is locked only once. */
  snapshot<T>(read: () => T): T {
    if (this.isInTransaction) return read();
    this.exec('begin');
    try {
      return read();
    } finally {
      this.rollback();
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

  /** Rolls back a transaction, unless SQLite already has, for example because the disk is full. */
  rollback(): void {
    if (this.isInTransaction) this.exec('rollback');
  }

  /** True if a transaction is open; false once closed, when asking libsql would crash the process. */
  get isInTransaction(): boolean {
    return !this.#closed && this.#db.isInTransaction;
  }

  /** @param isAlone true to truncate the log too, which blocks writes by other processes */
  close(isAlone = false): void {
    if (this.#closed) return;
    try {
      this.rollback();
      // Closing doesn't checkpoint: libsql keeps the file open until its statements are garbage collected.
      this.#db.exec('pragma wal_checkpoint(passive)');
      if (isAlone) this.#db.exec('pragma wal_checkpoint(truncate)');
    } finally {
      this.#closed = true;
      this.#statements.clear();
      this.#db.close();
    }
  }

  /** Runs work on the file. @throws UNAVAILABLE if it is closed, or the disk or another process prevents it */
  #use<T>(work: () => T): T {
    if (this.#closed) throw unavailable();
    try {
      return work();
    } catch (error) {
      throw STATEMENT_ERRORS.has(resultCode(error)) ? error : unavailable(error);
    }
  }

  #statement(sql: string): Statement {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

const inodeOf = (file: string): number | undefined => statSync(file, { throwIfNoEntry: false })?.ino;
