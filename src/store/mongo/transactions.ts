import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Binary, ClientSession } from 'mongodb';
import { unavailable } from '../../foundation/errors.ts';
import { inTurn, type Send } from './batching.ts';
import type { CollectionDefinition } from './collection.ts';
import type { CallOptions, Database } from './database.ts';
import { isCommitUnknown, isDuplicateKey, isTransient, WriteConflict } from './errors.ts';

/** An instance that has transactions open, or had when it died. */
interface InstanceDocument {
  _id: string;
  /** Its last sign of life by the server's clock. */
  seenAt: Date;
  /** The ids of the sessions that its transactions use. */
  sessions: Binary[];
}

export const sessionsCollection: CollectionDefinition = {
  name: 'sessions',
  indexes: [{ key: { seenAt: 1 }, expireAfterSeconds: 3_600 }],
};

/** How often an instance with open transactions gives a sign of life, in milliseconds. */
const SIGN_INTERVAL = 1_000;
/** How long after the last one it counts as dead, in milliseconds. */
const DEAD_AFTER = 2_500;
/** How long a write waits before it looks for dead instances, and between two looks, in milliseconds. */
const LOOK_INTERVAL = 500;

/**
 * The sessions of transactions. The server keeps a transaction of an instance that dies open, with all that it has
 * written locked, for a minute (transactionLifetimeLimitSeconds). So instances publish which sessions they use, and
 * whoever waits for long ends those of the dead. One that was only slow loses its transaction too, and repeats it.
 */
function createSessions({ client, db, options }: Database) {
  const instances = db.collection<InstanceDocument>(sessionsCollection.name);
  const _id = randomUUID();
  /** Published sessions, by id. */
  const published = new Map<string, Binary>();
  let [open, wasUsed] = [0, false];

  const publish = () =>
    instances.updateOne(
      { _id },
      { $set: { sessions: [...published.values()] }, $currentDate: { seenAt: true } },
      { ...options, upsert: true },
    );

  async function retire(): Promise<void> {
    if (published.size === 0) return;
    published.clear();
    await instances.deleteOne({ _id }, options);
  }

  const timer = setInterval(() => {
    const isUsed = open > 0 || wasUsed;
    wasUsed = false;
    (isUsed ? publish() : retire()).catch(() => {});
  }, SIGN_INTERVAL).unref();

  async function endDead(): Promise<void> {
    const isDead = { $lt: [{ $toLong: '$seenAt' }, { $subtract: [{ $toLong: '$$NOW' }, DEAD_AFTER] }] };
    const dead = await instances.find({ _id: { $ne: _id }, $expr: isDead }, options).toArray();
    if (dead.length === 0) return;
    const killSessions = dead.flatMap(({ sessions }) => sessions.map((id) => ({ id })));
    await db.admin().command({ killSessions, ...options });
    await instances.deleteMany({ $or: dead.map(({ _id, seenAt }) => ({ _id, seenAt })) }, options);
  }

  return {
    /** Starts a session for a transaction, to be ended by `end`. */
    async start(): Promise<ClientSession> {
      const session = client.startSession();
      open += 1;
      wasUsed = true;
      try {
        const { id } = session.id!;
        const name = id.toString('hex');
        if (!published.has(name)) {
          published.set(name, id);
          await publish();
        }
        return session;
      } catch (error) {
        await this.end(session);
        throw error;
      }
    },

    async end(session: ClientSession): Promise<void> {
      open -= 1;
      await session.endSession();
    },

    /** Does work that may have to wait for what a dead instance has locked. */
    async whileEndingDead<T>(work: () => Promise<T>): Promise<T> {
      // Without the privilege the server ends them itself, after a minute.
      const looking = setInterval(() => void endDead().catch(() => {}), LOOK_INTERVAL);
      try {
        return await work();
      } finally {
        clearInterval(looking);
      }
    },

    async close(): Promise<void> {
      clearInterval(timer);
      await retire().catch(() => {});
    },
  };
}

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

    close: (): Promise<void> => sessions.close(),
  };
}

/** Whether work has lost to a concurrent write and nothing of it was written. */
const isConflict = (error: unknown): boolean =>
  error instanceof WriteConflict || isDuplicateKey(error) || (isTransient(error) && !isCommitUnknown(error));
