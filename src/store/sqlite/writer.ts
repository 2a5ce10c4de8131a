/*
 * Timeline of a write:
 *
 *   queued     `write` was called. The group begins at the end of this turn of the event loop, or after the one under way,
 *              and once no other process writes, which is waited for without occupying the event loop.
 *   running    `begin immediate` holds SQLite's write lock, and readers that ask `committed` wait. `single` writes run one
 *              after another until none is queued next or MAX_GROUP has passed; any other write is a group of its own.
 *   refused    It threw before it changed anything, so the rest of its group goes on.
 *   committed  Followers have written their part and the commit is on file. Only now are promises settled, those of
 *              refused writes included: nobody acts on what a rollback could still take back.
 *   undone     A write failed or exceeded MAX_WAIT after a change, or the commit failed: everything is rolled back, the last
 *              write of the group gets the error, and those before it UNAVAILABLE. If the transaction could not even
 *              begin, this happens to the whole queue.
 */

import { setImmediate as endOfTurn, setTimeout as sleep } from 'node:timers/promises';
import { isRefusal, unavailable } from '../../foundation/errors.ts';
import type { SqliteConnection } from './connection.ts';

/** The time between two attempts to begin while another process writes, in milliseconds. */
const RETRY = 2;
/** The time that writes may run before other work gets its turn, in milliseconds. */
const MAX_GROUP = 10;
/** The time that work which isn't `single` may take, in milliseconds: all other writes wait for it. */
const MAX_WAIT = 2_000;

/** Something that keeps in memory what it derives from the data file. */
export interface Follower {
  /** Called after another process has written, when memory may be out of date, and after a rollback. */
  refresh(): void;
  /** Writes what it has gathered, at the end of a transaction. */
  beforeCommit?(): void;
  /** Notifies others. Never throws. */
  onCommitted?(): void;
}

/** A function that is called before each use of the file. May wait or throw. */
export type Gate = () => Promise<void> | undefined;

interface Write {
  work: (within: Gate) => unknown;
  /** True if it may share a transaction with others. */
  isSingle: boolean;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/**
 * Group commit: the writes of a turn of the event loop run one after another, in one transaction at its end. Pages
 * changed by several are written once, at a fraction of the cost of separate transactions. Work awaits nothing but this
 * connection, so nothing else runs in between; if it does wait, readers of records wait for the commit, so uncommitted
 * data is never seen.
 */
export class Writer {
  /** The reason that a transaction could not be committed, until a ping finds that there is room again. */
  failure: unknown;
  readonly #db: SqliteConnection;
  readonly #followers: Follower[] = [];
  #queue: Write[] = [];
  /** Serves the queue while it has writes. */
  #running: Promise<void> | undefined;
  /** Resolves when the open transaction has ended, with the functions that settle its callers' promises. */
  #open: Promise<(() => void)[]> | undefined;
  /** Changes with every commit of another connection. */
  #version: unknown;

  constructor(db: SqliteConnection) {
    this.#db = db;
    this.#version = db.value('pragma data_version');
  }

  follow(follower: Follower): void {
    this.#followers.push(follower);
  }

  /** The gate for reads outside of a transaction: waits until no transaction is open. */
  readonly committed: Gate = () => this.#open?.then(this.committed);

  /**
   * Resolves to the result of `work` once its writes are committed.
   *
   * @param work gets the gate of its reads and writes, which throws once the work has ended by taking too long
   * @param how `single` if it makes at most one write, takes no time and cannot fail once it has written: the other
   * writes of the same transaction would be rolled back with it
   */
  write<T>(work: (within: Gate) => T | Promise<T>, how?: 'single'): Promise<T> {
    return new Promise((resolve, reject) => {
      const isSingle = how === 'single';
      this.#queue.push({ work, isSingle, resolve: resolve as Write['resolve'], reject });
      this.#running ??= this.#run();
    });
  }

  /** Refreshes the followers if another process has written. */
  catchUp(): void {
    const version = this.#db.value('pragma data_version');
    if (version === this.#version) return;
    this.#version = version;
    for (const follower of this.#followers) follower.refresh();
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      await endOfTurn();
      try {
        await this.#begin();
        this.#open = this.#commitGroup();
      } catch (error) {
        this.#open = Promise.resolve(this.#undo(this.#queue.splice(0), error));
      }
      const answers = await this.#open;
      this.#open = undefined;
      for (const answer of answers) answer();
    }
    this.#running = undefined;
  }

  /** @throws UNAVAILABLE if other processes write for too long, or the file is gone */
  async #begin(): Promise<void> {
    const deadline = performance.now() + this.#db.busyTimeout;
    while (!this.#db.tryBegin()) {
      if (performance.now() >= deadline)
        throw unavailable(new Error('Another process has kept the data file locked.'));
      await sleep(RETRY);
    }
    this.#db.checkFile();
    this.catchUp();
  }

  /** Runs as much of the queue as fits in one transaction. Never rejects. @returns functions that settle the callers' promises */
  async #commitGroup(): Promise<(() => void)[]> {
    const group: Write[] = [];
    const answers: (() => void)[] = [];
    try {
      const began = performance.now();
      for (;;) {
        const write = this.#queue.shift()!;
        group.push(write);
        const { changes } = this.#db;
        let hasEnded = false;
        const within: Gate = () => {
          if (hasEnded) throw unavailable(new Error('The transaction has ended.'));
          return undefined;
        };
        try {
          const result = write.work(within);
          const value = await (write.isSingle ? result : withinTime(result));
          answers.push(() => write.resolve(value));
        } catch (error) {
          // A write that was refused before it wrote anything doesn't affect the others.
          if (this.#db.changes !== changes || !this.#db.isInTransaction) throw error;
          answers.push(() => write.reject(error));
        } finally {
          hasEnded = true;
        }
        const isLast = !write.isSingle || !this.#queue[0]?.isSingle;
        if (isLast || performance.now() - began >= MAX_GROUP) break;
      }
      for (const follower of this.#followers) follower.beforeCommit?.();
      this.#db.exec('commit');
    } catch (error) {
      return this.#undo(group, error);
    }
    for (const follower of this.#followers) follower.onCommitted?.();
    return answers;
  }

  /** Takes a group of writes back. @returns functions that settle the callers' promises */
  #undo(group: readonly Write[], error: unknown): (() => void)[] {
    if (!isRefusal(error)) this.failure = error;
    try {
      this.#db.rollback();
      for (const follower of this.#followers) follower.refresh();
    } catch {
      // The file cannot even be read: everything is refreshed once it can be.
      this.#version = undefined;
    }
    // Only the last one can have caused the failure.
    return group.map((write) => () => write.reject(write === group.at(-1) ? error : unavailable(error)));
  }
}

/** Bounds the time of some work. @throws UNAVAILABLE if it takes longer than MAX_WAIT */
async function withinTime<T>(result: T | Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(unavailable(new Error('A transaction took too long.'))), MAX_WAIT);
  });
  return await Promise.race([result, late]).finally(() => clearTimeout(timer));
}
