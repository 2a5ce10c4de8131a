import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientSession } from 'mongodb';
import { unavailable } from '../../foundation/errors.ts';
import { inTurn, type Send } from './batching.ts';
import type { CallOptions, Database } from './database.ts';
import { isCommitUnknown, isTransient, isUnavailable, WriteConflict } from './errors.ts';

/** One attempt at a single-document write or a transaction. */
export interface Attempt {
  /** Undefined outside of transactions. */
  readonly session: ClientSession | undefined;
  /** Options for every driver call of the attempt. */
  readonly options: CallOptions;
  /** Sends a read. MongoDB does not support concurrent commands in one transaction, so there they take turns. */
  readonly send: Send;
  /** Records written by the transaction (`pets/7`), whose new state is visible only inside it. */
  readonly written: Set<string>;
  /** When the writes must be done, in terms of `performance.now()`. */
  deadline: number;
  /** Called once it is known that the writes are done or never will be. Not called if that remains unknown. */
  readonly onSettled: (() => unknown)[];
}

/** Runs writes, retrying on conflicts. */
export type RunAttempts = <T>(work: (attempt: Attempt) => Promise<T>) => Promise<T>;

const FIRST_PAUSE = 2;
const MAX_PAUSE = 100;

/** Runs writes individually or as one transaction. Conflicting writes are retried until the call times out. */
export function createAttempts({ client, options, timeoutMs }: Database) {
  async function make<T>(
    work: (attempt: Attempt) => Promise<T>,
    deadline: number,
    session?: ClientSession,
  ): Promise<T> {
    const attempt: Attempt = {
      session,
      options: session ? { ...options, session } : options,
      send: session ? inTurn() : (command) => command(),
      written: new Set(),
      deadline,
      onSettled: [],
    };
    const end = () => Promise.all(attempt.onSettled.map((step) => step()));
    try {
      const result = await (session ? commit(session, attempt, deadline, work) : work(attempt));
      await end();
      return result;
    } catch (error) {
      // The write may have been carried out, so what it relies on must stay.
      if (!isUnavailable(error)) await end();
      throw error;
    }
  }

  /** The driver's `withTransaction` would retry a commit later than a deletion may be carried out. */
  async function commit<T>(
    session: ClientSession,
    attempt: Attempt,
    deadline: number,
    work: (attempt: Attempt) => Promise<T>,
  ): Promise<T> {
    const throwIfLate = (error: unknown) => {
      if (performance.now() > attempt.deadline) throw error;
    };
    try {
      session.startTransaction({
        readConcern: { level: 'snapshot' },
        writeConcern: { w: 'majority', wtimeoutMS: timeoutMs },
        readPreference: 'primary',
        maxCommitTimeMS: timeoutMs,
      });
      const result = await work(attempt);
      throwIfLate(attempt.deadline < deadline ? new WriteConflict() : unavailable());
      for (;;) {
        try {
          await session.commitTransaction();
          return result;
        } catch (error) {
          if (!isCommitUnknown(error)) throw error;
          throwIfLate(error);
        }
      }
    } catch (error) {
      // A failed execution may leave reads behind.
      await attempt.send(async () => {
        if (session.inTransaction()) await session.abortTransaction().catch(() => {});
      });
      throw isTransient(error) && !isCommitUnknown(error) ? new WriteConflict({ cause: error }) : error;
    }
  }

  async function retryConflicts<T>(makeUntil: (deadline: number) => Promise<T>): Promise<T> {
    const deadline = performance.now() + timeoutMs;
    for (let lost = 0; ; lost += 1) {
      try {
        return await makeUntil(deadline);
      } catch (error) {
        if (!(error instanceof WriteConflict)) throw error;
        const pause = Math.random() * Math.min(MAX_PAUSE, FIRST_PAUSE * 2 ** lost);
        if (performance.now() + pause > deadline) throw unavailable(error);
        await sleep(pause);
      }
    }
  }

  return {
    /** Runs a single-document write. */
    run: (work) => retryConflicts((deadline) => make(work, deadline)),
    /** Runs several writes atomically. Requires transactions. */
    runTogether: (work) =>
      retryConflicts((deadline) => client.withSession((session) => make(work, deadline, session))),
  } satisfies Record<string, RunAttempts>;
}
