import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientSession } from 'mongodb';
import { unavailable } from '../../foundation/errors.ts';
import type { EngineTransaction } from '../engine.ts';
import { inTurn, type Send } from './batching.ts';
import type { CollectionDefinition } from './collection.ts';
import type { CallOptions, Database } from './database.ts';
import { isCommitUnknown, isDuplicateKey, isTransient, WriteConflict } from './errors.ts';
import { createSessions } from './sessions.ts';

/** How reads and writes are sent: on their own, or in a transaction. */
export interface Access {
  /** Options for every driver call. */
  readonly options: CallOptions;
  readonly send: Send;
}

/** An attempt at some work, whose writes are committed together or not at all. */
export interface Attempt extends Access {
  /** How long the work has been tried, in milliseconds. */
  readonly elapsed: number;
  /**
   * Begins a transaction, in which all that follows is done. A single write that rests on nothing but the version of
   * its document needs none.
   */
  begin(): Promise<void>;
  /** Keys of records that it has created (`pets/7`), which nobody else can see. */
  readonly created: Set<string>;
}

/** Makes several writes all or none. */
export type Together = (work: (options: CallOptions) => Promise<unknown>) => Promise<void>;

const FIRST_PAUSE = 2;
const MAX_PAUSE = 100;

export type Transactions = ReturnType<typeof createTransactions>;

/** Runs work atomically, and again while it loses to concurrent writes, until the call times out. */
export function createTransactions(database: Database) {
  const { options, timeoutMs } = database;
  const sessions = createSessions(database);

  async function attemptTo<T>(work: (attempt: Attempt) => Promise<T>, began: number): Promise<T> {
    let session: ClientSession | undefined;
    const attempt = {
      options,
      send: ((command) => command()) as Send,
      elapsed: performance.now() - began,
      created: new Set<string>(),
      async begin() {
        if (session) return;
        session = await sessions.start();
        session.startTransaction({
          readConcern: { level: 'snapshot' },
          writeConcern: { w: 'majority', wtimeoutMS: timeoutMs },
          readPreference: 'primary',
          maxCommitTimeMS: timeoutMs,
        });
        attempt.options = { ...options, session };
        // MongoDB runs one command of a transaction at a time.
        attempt.send = inTurn();
      },
    };
    try {
      const result = await work(attempt);
      if (session) await commit(session, began);
      return result;
    } catch (error) {
      // Reads may be left behind that were not awaited.
      await attempt.send(async () => {
        if (session?.inTransaction()) await session.abortTransaction().catch(() => {});
      });
      throw error;
    } finally {
      if (session) await sessions.end(session);
    }
  }

  async function commit(session: ClientSession, began: number): Promise<void> {
    if (performance.now() - began > timeoutMs) throw unavailable();
    for (;;) {
      try {
        return await session.commitTransaction();
      } catch (error) {
        if (!isCommitUnknown(error) || performance.now() - began > timeoutMs) throw error;
      }
    }
  }

  async function retried<T>(work: (attempt: Attempt) => Promise<T>): Promise<T> {
    const began = performance.now();
    for (let lost = 0; ; lost += 1) {
      try {
        return await attemptTo(work, began);
      } catch (error) {
        if (!isConflict(error)) throw error;
        const pause = Math.random() * Math.min(MAX_PAUSE, FIRST_PAUSE * 2 ** lost);
        if (performance.now() - began + pause > timeoutMs) throw unavailable(error);
        await sleep(pause);
      }
    }
  }

  const run = <T>(work: (attempt: Attempt) => Promise<T>): Promise<T> =>
    sessions.whileEndingDead(() => retried(work));

  return {
    run,

    together: (async (work) => {
      await run(async (attempt) => {
        await attempt.begin();
        await work(attempt.options);
      });
    }) satisfies Together,

    close: (): Promise<void> => sessions.close(),
  };
}

/** Whether work has lost to a concurrent write and nothing of it was written. */
const isConflict = (error: unknown): boolean =>
  error instanceof WriteConflict || isDuplicateKey(error) || (isTransient(error) && !isCommitUnknown(error));

interface IdempotencyDocument {
  _id: { apiKeyId: string; idempotencyKey: string };
  fingerprint: string;
  /** JSON text, because BSON would alter some values. */
  value: string;
  expiresAt: Date;
}

export const idempotencyCollection: CollectionDefinition = {
  name: 'idempotency',
  indexes: [{ key: { expiresAt: 1 }, expireAfterSeconds: 0 }],
};

/**
 * The kept outcomes of idempotent calls. Of parallel duplicates, all but one conflict, and then find the outcome of
 * that one.
 */
export function mongoOutcomes({ db }: Database, attempt: Attempt) {
  const outcomes = db.collection<IdempotencyDocument>(idempotencyCollection.name);
  return {
    async outcome({ apiKeyId, idempotencyKey, now }) {
      await attempt.begin();
      const _id = { apiKeyId, idempotencyKey };
      const kept = await attempt.send(() => outcomes.findOne({ _id }, attempt.options));
      // The database removes a document only within a minute after it has expired.
      return kept && kept.expiresAt.getTime() > now ? kept : null;
    },

    async keepOutcome({ apiKeyId, idempotencyKey, fingerprint, now, keepFor }, value) {
      const _id = { apiKeyId, idempotencyKey };
      const kept = { fingerprint, value, expiresAt: new Date(now + keepFor) };
      await attempt.send(() => outcomes.replaceOne({ _id }, kept, { ...attempt.options, upsert: true }));
    },
  } satisfies Pick<EngineTransaction, 'outcome' | 'keepOutcome'>;
}
