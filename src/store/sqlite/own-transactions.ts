import type { MaybePromise } from '../../foundation/maybe-promise.ts';
import { MAX_TURN, urgentTurn } from '../../foundation/turns.ts';
import type { SqliteConnection } from './connection.ts';

/** A transaction that has not begun. */
interface Waiting {
  /** @returns what to call when it is committed */
  run(): Promise<() => void>;
  fail(error: unknown): void;
}

/**
 * Runs transactions that may take time through a connection of their own, one after the other, so that others read
 * through the shared one meanwhile. Those that wait and are short share a commit.
 */
export class OwnTransactions {
  readonly #shared: SqliteConnection;
  readonly #connection: SqliteConnection;
  readonly #waiting: Waiting[] = [];
  #isUnderWay = false;

  /**
   * @param shared what everybody else reads and writes through
   * @param connection nobody else uses it
   */
  constructor(shared: SqliteConnection, connection: SqliteConnection) {
    this.#shared = shared;
    this.#connection = connection;
  }

  /** Resolves with what `work` returns, once it is committed. */
  run<T>(work: () => MaybePromise<T>): Promise<T> {
    return new Promise((resolve, fail) => {
      const run = async () => {
        const result = await this.#connection.transaction(work);
        return () => resolve(result);
      };
      this.#waiting.push({ run, fail });
      if (!this.#isUnderWay) void this.#runAll();
    });
  }

  async #runAll(): Promise<void> {
    this.#isUnderWay = true;
    while (this.#waiting.length > 0) {
      // Meanwhile, more may arrive that share the commit.
      await urgentTurn();
      const begun: Waiting[] = [];
      try {
        const committed = await this.#shared.hold(() =>
          this.#connection.transaction(() => this.#runSome(begun)),
        );
        for (const tell of committed) tell();
      } catch (error) {
        if (begun.length === 0) begun.push(this.#waiting.shift()!);
        for (const { fail } of begun) fail(error);
      }
    }
    this.#isUnderWay = false;
  }

  /** @param begun receives those that end with the transaction of all of them */
  async #runSome(begun: Waiting[]): Promise<(() => void)[]> {
    const committed: (() => void)[] = [];
    const began = performance.now();
    do {
      const waiting = this.#waiting.shift()!;
      begun.push(waiting);
      try {
        committed.push(await waiting.run());
      } catch (error) {
        // Some errors make SQLite roll back what others have written too.
        if (!this.#connection.isInTransaction) throw error;
        waiting.fail(error);
      }
    } while (this.#waiting.length > 0 && performance.now() - began < MAX_TURN);
    return committed;
  }
}
