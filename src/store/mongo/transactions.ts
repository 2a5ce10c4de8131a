/*
 * Timeline of an attempt at some work:
 *
 *   apart      Until `begin`, each command is sent on its own. Work that never begins has nothing to commit.
 *   published  The instance has written the session's id to `sessions`, before the session's first transaction.
 *   open       Commands run in the transaction, one at a time; everything it has written is locked for others.
 *   committed  All at once, acknowledged by the majority.
 *   lost       A concurrent write won, or the session was killed: `run` retries the whole work until the call times out.
 *              Work of this instance that has lost the same document takes turns, joined by work that comes to write it
 *              meanwhile, so that many writes of a document take two attempts each.
 *   orphaned   The instance died with the transaction open, and gives no more signs of life. DEAD_AFTER the last one,
 *              another instance kills its sessions: the server aborts the transaction, and waiters for its locks go on
 *              within about three seconds instead of a minute.
 *   failed     Its commit or abort may not have reached the server: the instance itself kills the session after its next
 *              sign of life, unless it has begun another transaction in it, which has the same effect.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Binary, ClientSession, TransactionOptions } from 'mongodb';
import { unavailable } from '../../foundation/errors.ts';
import { deferred } from '../../foundation/turns.ts';
import { within } from './batching.ts';
import type { CallOptions, Database } from './database.ts';
import { isDuplicateKey, isTransient, isUnknownCommit, writeConflict } from './driver-errors.ts';

/** An instance that runs transactions, or did before it died. */
interface InstanceDocument {
  _id: string;
  /** The last sign of life, by the server's clock. */
  seenAt: Date;
  /** The ids of the sessions of its transactions. */
  sessions: Binary[];
}

/** The interval between signs of life, in milliseconds. */
const SIGN_INTERVAL = 1_000;
/** The time without a sign of life after which an instance counts as dead, in milliseconds. */
const DEAD_AFTER = 2_500;

/**
 * The sessions of transactions. If an instance dies, the server keeps its transactions open for a minute
 * (transactionLifetimeLimitSeconds), with everything they wrote locked. So instances publish their sessions, and living
 * ones kill those of the dead. An instance that was merely slow loses its transaction and retries it.
 */
function createSessions({ client, db, options, timeoutMs }: Database) {
  const instances = db.collection<InstanceDocument>('sessions');
  const _id = randomUUID();
  const idle: ClientSession[] = [];
  const published = new Set<ClientSession>();
  /** Sessions whose last work failed, and whose transaction may still be open on the server. */
  const failed = new Set<ClientSession>();
  let timer: NodeJS.Timeout | undefined;

  async function sign(): Promise<void> {
    const sessions = [...published].map(({ id }) => id!.id);
    const update = { $set: { sessions }, $currentDate: { seenAt: true } } as const;
    await instances.updateOne({ _id }, update, { ...options, upsert: true });
  }

  /** Gives a sign of life, and kills the sessions of dead instances and of failed work. */
  async function keepUp(): Promise<void> {
    await sign();
    const isDead = { $lt: [{ $toLong: '$seenAt' }, { $subtract: [{ $toLong: '$$NOW' }, DEAD_AFTER] }] };
    const dead = await instances.find({ _id: { $ne: _id }, $expr: isDead }, options).toArray();
    const own = [...failed];
    const ids = [...dead.flatMap(({ sessions }) => sessions), ...own.map(({ id }) => id!.id)];
    if (ids.length === 0) return;
    failed.clear();
    const killSessions = ids.map((id) => ({ id }));
    await db
      .admin()
      .command({ killSessions, ...options })
      .catch((error) => {
        for (const session of own) failed.add(session);
        throw error;
      });
    for (const { _id, seenAt } of dead) await instances.deleteOne({ _id, seenAt }, options);
  }

  return {
    /** Lends a session to work, for at most the timeout. */
    async lend<T>(work: (session: ClientSession) => Promise<T>): Promise<T> {
      // Failures are retried after the interval.
      timer ??= setInterval(() => void keepUp().catch(() => {}), SIGN_INTERVAL).unref();
      const session = idle.pop() ?? client.startSession({ causalConsistency: false });
      // The work may never end (see `gather`).
      const done = work(session).finally(() => idle.push(session));
      try {
        return await within(timeoutMs, done);
      } catch (error) {
        if (published.has(session)) failed.add(session);
        throw error;
      }
    },

    /** Publishes a session, before its first transaction begins. */
    async publish(session: ClientSession): Promise<void> {
      failed.delete(session);
      if (published.has(session)) return;
      published.add(session);
      await sign();
    },

    /** Stops the signs of life. Other instances then kill the sessions, which the client has already ended. */
    close: () => clearInterval(timer),
  };
}

/** Sends commands: each on its own, or in a transaction that commits all writes or none. */
export interface Commands {
  /** Runs a command with its options, now or when its turn comes. */
  send: <T>(command: (options: CallOptions) => Promise<T>) => Promise<T>;
  /**
   * Begins a transaction for all later commands. A single write that depends only on its document's version needs none.
   */
  readonly begin: () => Promise<void>;
  /** Names a document before it is written. If others win or wait for it, the work is retried when its turn comes. */
  readonly contend: (document: string) => void;
  /** The time from the start of the first attempt to that of this one, in milliseconds. */
  readonly elapsed: number;
}

/** Sends commands outside any transaction. */
export const alone = ({ options, execute }: Database): Commands => ({
  send: (command) => execute(() => command(options)),
  begin: async () => {},
  contend: () => {},
  elapsed: 0,
});

/** Queues for documents. Each caller waits for the earlier ones. */
function createQueues() {
  const last = new Map<string, Promise<void>>();
  return {
    /** True while a caller has its turn. */
    isOpen: (document: string): boolean => last.has(document),

    /** Waits for its turn. @returns a function that ends it */
    async enter(document: string): Promise<() => void> {
      const before = last.get(document);
      const { promise, resolve } = deferred();
      last.set(document, promise);
      await before;
      return () => {
        if (last.get(document) === promise) last.delete(document);
        resolve();
      };
    },
  };
}

/**
 * Runs work atomically, and retries it while it loses to concurrent writes, until the call times out. The driver's
 * `withTransaction` would retry for two minutes, long after the caller was told of the failure.
 */
export function createTransactions(database: Database) {
  const { options, timeoutMs } = database;
  const sessions = createSessions(database);
  const queues = createQueues();
  // Everything else is set on the client.
  const settings: TransactionOptions = { readConcern: { level: 'snapshot' }, maxCommitTimeMS: timeoutMs };

  function run<T>(work: (commands: Commands) => Promise<T>): Promise<T> {
    const began = performance.now();
    const elapsed = (): number => {
      const time = performance.now() - began;
      // Nothing may begin or commit after the caller has got an error.
      if (time > timeoutMs) throw unavailable();
      return time;
    };
    let contended: string | undefined;
    let endTurn: (() => void) | undefined;

    async function attempt(session: ClientSession): Promise<T> {
      if (contended !== undefined) endTurn ??= await queues.enter(contended);
      let last: Promise<unknown> | undefined;
      const commands: Commands = {
        send: (command) => command(options),
        async begin() {
          if (last) return;
          session.startTransaction(settings);
          last = sessions.publish(session);
          // MongoDB runs one command of a transaction at a time.
          commands.send = (command) => {
            const result = last!.then(() => command({ ...options, session }));
            last = result.catch(() => {});
            return result;
          };
          await last;
        },
        contend(document) {
          contended = document;
          // Work that has lost the document before comes first.
          if (!endTurn && queues.isOpen(document)) throw writeConflict();
        },
        elapsed: elapsed(),
      };
      try {
        return await work(commands);
      } catch (error) {
        // The next attempt sees the other document.
        throw isDuplicateKey(error) ? writeConflict(error) : error;
      } finally {
        // Reads that nobody awaited may still be in progress.
        commands.send = () => Promise.reject(new Error('The transaction has ended.'));
        await last;
      }
    }

    /** Commits, again while the outcome is unknown. */
    async function commit(session: ClientSession): Promise<void> {
      elapsed();
      await session.commitTransaction().catch((error) => {
        if (!isUnknownCommit(error)) throw error;
        return commit(session);
      });
    }

    async function repeat(session: ClientSession): Promise<T> {
      for (let attempts = 1; ; attempts++) {
        try {
          const result = await attempt(session);
          if (session.inTransaction()) await commit(session);
          return result;
        } catch (error) {
          if (session.inTransaction()) await session.abortTransaction();
          if (!isTransient(error)) throw error;
        }
        // The back-off that the driver specifications give `withTransaction`.
        await sleep(Math.random() * Math.min(5 * 1.5 ** attempts, 500));
      }
    }

    const leave = () => endTurn?.();
    // The turn may come after the timeout, and the work may never end (see `gather`).
    return sessions.lend((session) => repeat(session).finally(leave)).finally(leave);
  }

  return { run, close: sessions.close };
}
