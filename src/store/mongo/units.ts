import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientSession } from 'mongodb';
import { unavailable } from '../../errors.ts';
import type { CallOptions, Database } from './database.ts';
import { isCommitUnknown, isTransient, isUnavailable, WriteConflict } from './errors.ts';

/** One attempt at writes that belong together: a single document's, or those of a transaction. */
export interface Unit {
  /** Undefined outside of transactions. */
  readonly session: ClientSession | undefined;
  /** Goes to each call of the driver that belongs to the unit. */
  readonly options: CallOptions;
  /** The records that the transaction has written, `pets/7`: only inside of it they are as they will be. */
  readonly written: Set<string>;
  /** When its writes must be done, by `performance.now()`. */
  deadline: number;
  /** What to do when it is known that all its writes are done, or will never be; not done where that can't be known. */
  readonly onSettled: (() => unknown)[];
}

/** Runs writes until they win their races. */
export type RunUnit = <T>(work: (unit: Unit) => Promise<T>) => Promise<T>;

const FIRST_PAUSE = 2;
const MAX_PAUSE = 100;

/**
 * Runs each write by itself, or several as one transaction. Who loses a race starts again, until the time of the call is over.
 */
export function createUnitRunners(database: Database) {
  const { client, options, timeoutMs } = database;

  const unitUntil = (deadline: number, session?: ClientSession): Unit => ({
    session,
    options: session ? { ...options, session } : options,
    written: new Set(),
    deadline,
    onSettled: [],
  });

  function throwIfLate(error: unknown, { deadline }: Unit): void {
    if (performance.now() > deadline) throw error;
  }

  async function attempt<T>(unit: Unit, work: (unit: Unit) => Promise<T>): Promise<T> {
    try {
      const result = await work(unit);
      await end(unit);
      return result;
    } catch (error) {
      // What a write without an answer relies on stays, since it may have been carried out.
      if (!isUnavailable(error)) await end(unit);
      throw error;
    }
  }

  const end = (unit: Unit) => Promise.all(unit.onSettled.map((step) => step()));

  async function runAlone<T>(work: (unit: Unit) => Promise<T>, deadline: number): Promise<T> {
    return await attempt(unitUntil(deadline), work);
  }

  async function inTransaction<T>(work: (unit: Unit) => Promise<T>, deadline: number): Promise<T> {
    return await client.withSession(async (session) => {
      session.startTransaction({
        readConcern: { level: 'snapshot' },
        writeConcern: { w: 'majority', wtimeoutMS: timeoutMs },
        readPreference: 'primary',
        maxCommitTimeMS: timeoutMs,
      });
      return await attempt(unitUntil(deadline, session), async (unit) => {
        try {
          const result = await work(unit);
          throwIfLate(unit.deadline < deadline ? new WriteConflict() : unavailable(), unit);
          await commit(session, unit);
          return result;
        } catch (error) {
          if (session.inTransaction()) await session.abortTransaction().catch(() => {});
          throw isTransient(error) && !isCommitUnknown(error) ? new WriteConflict({ cause: error }) : error;
        }
      });
    });
  }

  async function commit(session: ClientSession, unit: Unit): Promise<void> {
    for (;;) {
      try {
        await session.commitTransaction();
        return;
      } catch (error) {
        if (!isCommitUnknown(error)) throw error;
        throwIfLate(error, unit);
      }
    }
  }

  async function retryConflicts<T>(attempt: (deadline: number) => Promise<T>): Promise<T> {
    const deadline = performance.now() + timeoutMs;
    for (let lost = 0; ; lost += 1) {
      try {
        return await attempt(deadline);
      } catch (error) {
        if (!(error instanceof WriteConflict)) throw error;
        const pause = Math.random() * Math.min(MAX_PAUSE, FIRST_PAUSE * 2 ** lost);
        if (performance.now() + pause > deadline) throw unavailable(error);
        await sleep(pause);
      }
    }
  }

  return {
    /** Runs a write that is one document. */
    run: (work) => retryConflicts((deadline) => runAlone(work, deadline)),
    /** Runs writes that happen all or none; only where there are transactions. */
    runTogether: (work) => retryConflicts((deadline) => inTransaction(work, deadline)),
  } satisfies Record<string, RunUnit>;
}
