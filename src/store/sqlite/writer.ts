import { setImmediate as endOfTurn } from 'node:timers/promises';
import { isRefusal, unavailable } from '../../foundation/errors.ts';
import type { SqliteConnection } from './connection.ts';

/** How long writes go on before others get their turn, in milliseconds. */
const MAX_GROUP = 10;
/** How long work that makes several writes may take, in milliseconds: all others wait for it. */
const MAX_WAIT = 2_000;

/** Keeps in memory what follows from the data file. */
export interface Follower {
  /** Another process has written: what is in memory may be out of date. Also called after a rollback. */
  refresh(): void;
  /** Writes what it has gathered, as the last part of a transaction. */
  beforeCommit?(): void;
  /** Tells others. Never throws. */
  onCommitted?(): void;
}

/** Passed before the file is used. May wait or throw. */
export type Gate = () => Promise<void> | undefined;

interface Write {
  work: (within: Gate) => unknown;
  /** Whether it shares a transaction with others. */
  isSingle: boolean;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/**
 * Group commit: the writes of a turn of the event loop run one after the other, in one transaction at its end. Pages
 * changed by several are written once, at a fraction of the cost of separate transactions. Work waits for nothing but
 * this connection, so that nobody else runs in between; should it wait, whoever reads records waits for the commit, so
 * nothing is ever seen that is not committed.
 */
export class Writer {
  /** Why a transaction could not be committed, until a ping has found that there is room again. */
  failure: unknown;
  readonly #db: SqliteConnection;
  readonly #followers: Follower[] = [];
  #queue: Write[] = [];
  /** Serves the queue while it has writes. */
  #running: Promise<void> | undefined;
  /** Resolves when the open transaction has ended, with what answers those who wait. */
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

  /** For what reads on its own: waits for the end of a transaction that is open. */
  readonly committed: Gate = () => this.#open?.then(this.committed);

  /**
   * Resolves when what `work` has written is committed, with what it returned.
   *
   * @param work is given what its reads and writes pass: they throw once it has ended, by taking too long
   * @param how `single` if it makes one write at most, takes no time and cannot fail once it has written: what others
   * write in the same transaction would be taken back with it
   */
  write<T>(work: (within: Gate) => T | Promise<T>, how?: 'single'): Promise<T> {
    return new Promise((resolve, reject) => {
      const isSingle = how === 'single';
      this.#queue.push({ work, isSingle, resolve: resolve as Write['resolve'], reject });
      this.#running ??= this.#run();
    });
  }

  /** Takes notice of what other processes have written. */
  catchUp(): void {
    const version = this.#db.value('pragma data_version');
    if (version === this.#version) return;
    this.#version = version;
    for (const follower of this.#followers) follower.refresh();
  }

  async #run(): Promise<void> {
    while (this.#queue.length > 0) {
      await endOfTurn();
      this.#open = this.#commitGroup();
      const answers = await this.#open;
      this.#open = undefined;
      for (const answer of answers) answer();
    }
    this.#running = undefined;
  }

  /** Runs what is waiting in one transaction, as far as it fits. Never rejects. @returns what answers those who wait */
  async #commitGroup(): Promise<(() => void)[]> {
    const group: Write[] = [];
    const answers: (() => void)[] = [];
    try {
      this.#db.checkFile();
      this.#db.exec('begin immediate');
      this.catchUp();
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
          // A write that was refused before it wrote anything leaves the others alone.
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
      if (!isRefusal(error)) this.failure = error;
      this.#undo();
      // Only the last one can have failed by a fault of its own.
      const all = group.length > 0 ? group : this.#queue.splice(0);
      return all.map((write) => () => write.reject(write === all.at(-1) ? error : unavailable(error)));
    }
    for (const follower of this.#followers) follower.onCommitted?.();
    return answers;
  }

  #undo(): void {
    try {
      this.#db.rollback();
      for (const follower of this.#followers) follower.refresh();
    } catch {
      // The file cannot even be read: all is refreshed once it can.
      this.#version = undefined;
    }
  }
}

/** @throws UNAVAILABLE if it takes too long */
async function withinTime<T>(result: T | Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(unavailable(new Error('A transaction took too long.'))), MAX_WAIT);
  });
  return await Promise.race([result, late]).finally(() => clearTimeout(timer));
}
