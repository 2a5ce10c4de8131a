/*
 * Timeline of a write:
 *
 *   queued     `write` was called. A group begins at the end of this turn of the event loop, or after the running group,
 *              once no other process writes. Waiting for that does not block the event loop.
 *   running    `begin immediate` holds SQLite's write lock, and reads at the gate `committed` wait. `single` writes run one
 *              after another until the next is another kind or MAX_GROUP has passed; any other write is a group of its own.
 *   refused    The write threw before it changed anything. The rest of its group goes on.
 *   committed  Followers have written their part and the commit is on file. Only now are promises settled, even those of
 *              refused writes, so that nobody acts on anything that could still be rolled back.
 *   undone     A write failed or exceeded MAX_WAIT after a change, or the commit failed: everything is rolled back. The last
 *              write of the group gets the error, and the others UNAVAILABLE. If the transaction could not even begin,
 *              this happens to the whole queue.
 */

import { setImmediate as endOfTurn, setTimeout as sleep } from 'node:timers/promises';
import { isRefusal, unavailable } from '../../foundation/errors.ts';
import type { SqliteConnection } from './connection.ts';

/** The delay between attempts to begin while another process writes, in milliseconds. */
const RETRY = 2;
/** How long writes may run before they yield, in milliseconds. */
const MAX_GROUP = 10;
/** The time limit for work that isn't `single`, in milliseconds, since all other writes wait for it. */
const MAX_WAIT = 2_000;

/** Anything that keeps data derived from the file in memory. */
export interface Follower {
  /** Called after a rollback, and after another process has written, when memory may be out of date. */
  refresh(): void;
  /** Writes collected data, at the end of a transaction. */
  beforeCommit?(): void;
  /** Notifies others. Never throws. */
  onCommitted?(): void;
}

/** A function to call before each use of the file. May wait or throw. */
export type Gate = () => Promise<void> | undefined;

interface Write {
  work: (within: Gate) => unknown;
  /** True if the write may share a transaction with others. */
  isSingle: boolean;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/**
 * Group commit: the writes of a turn of the event loop run one after another, in one transaction at its end. Pages
 * changed by several writes are written once, at a fraction of the cost of separate transactions. Work normally awaits
 * nothing but this connection, so nothing else runs in between. If it does wait, reads of records wait for the commit,
 * so that uncommitted data is never seen.
 */
export class Writer {
  /** The error of a failed commit, until a ping finds that the disk has room again. */
  failure: unknown;
  readonly #db: SqliteConnection;
  readonly #followers: Follower[] = [];
  #queue: Write[] = [];
  /** The processing of the queue, while it has writes. */
  #running: Promise<void> | undefined;
  /** Resolves when the open transaction has ended, with functions that settle the callers' promises. */
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

  /** The gate for reads outside transactions: waits until no transaction is open. */
  readonly committed: Gate = () => this.#open?.then(this.committed);

  /**
   * Resolves to the result of `work` once its writes are committed.
   *
   * @param work gets the gate for its reads and writes, which throws once the work has ended or taken too long
   * @param how `single` if `work` makes at most one write, takes no time, and cannot fail after it has written, which
   * would roll back the other writes of the transaction
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

  /** Begins a transaction. @throws UNAVAILABLE if other processes write for too long, or the file is gone */
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
          // A write that fails before it changes anything doesn't affect the others.
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

  /** Rolls back a group of writes. @returns functions that settle the callers' promises */
  #undo(group: readonly Write[], error: unknown): (() => void)[] {
    if (!isRefusal(error)) this.failure = error;
    try {
      this.#db.rollback();
      for (const follower of this.#followers) follower.refresh();
    } catch {
      // Followers are refreshed once the file is readable again.
      this.#version = undefined;
    }
    // Only the last write can have caused the failure.
    return group.map((write) => () => write.reject(write === group.at(-1) ? error : unavailable(error)));
  }
}

/** Limits the duration of work. @throws UNAVAILABLE if it takes longer than MAX_WAIT */
async function withinTime<T>(result: T | Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(unavailable(new Error('A transaction took too long.'))), MAX_WAIT);
  });
  return await Promise.race([result, late]).finally(() => clearTimeout(timer));
}
