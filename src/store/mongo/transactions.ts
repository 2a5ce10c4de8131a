import { randomUUID } from 'node:crypto';
import type { Binary, ClientSession, TransactionOptions } from 'mongodb';
import { unavailable } from '../../foundation/errors.ts';
import type { CallOptions, Database } from './database.ts';
import { isDuplicateKey, writeConflict } from './errors.ts';

/** An instance that makes transactions, or did until it died. */
interface InstanceDocument {
  _id: string;
  /** Its last sign of life by the server's clock. */
  seenAt: Date;
  /** The ids of the sessions that its transactions use. */
  sessions: Binary[];
}

/** How often an instance gives a sign of life, in milliseconds. */
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
  const instances = db.collection<InstanceDocument>('sessions');
  const _id = randomUUID();
  const idle: ClientSession[] = [];
  const published = new Set<ClientSession>();
  let timer: NodeJS.Timeout | undefined;
  let lookedAt = 0;

  const sign = () => {
    const sessions = [...published].map(({ id }) => id!.id);
    const update = { $set: { sessions }, $currentDate: { seenAt: true } } as const;
    return instances.updateOne({ _id }, update, { ...options, upsert: true });
  };

  async function endDead(): Promise<void> {
    // Once for all that wait.
    if (performance.now() < lookedAt + LOOK_INTERVAL / 2) return;
    lookedAt = performance.now();
    const isDead = { $lt: [{ $toLong: '$seenAt' }, { $subtract: [{ $toLong: '$$NOW' }, DEAD_AFTER] }] };
    const dead = await instances.find({ _id: { $ne: _id }, $expr: isDead }, options).toArray();
    if (dead.length === 0) return;
    const killSessions = dead.flatMap(({ sessions }) => sessions.map((id) => ({ id })));
    await db.admin().command({ killSessions, ...options });
    await instances.deleteMany({ $or: dead.map(({ _id, seenAt }) => ({ _id, seenAt })) }, options);
  }

  return {
    /** Lends a session to work that may have to wait for what a dead instance has locked. */
    async lend<T>(work: (session: ClientSession) => Promise<T>): Promise<T> {
      const session = idle.pop() ?? client.startSession({ causalConsistency: false });
      // Without the command the server ends them itself, after a minute.
      const looking = setInterval(() => void endDead().catch(() => {}), LOOK_INTERVAL);
      try {
        return await work(session);
      } finally {
        clearInterval(looking);
        idle.push(session);
      }
    },

    /** Publishes a session before a transaction of it begins. */
    async publish(session: ClientSession): Promise<void> {
      if (published.has(session)) return;
      published.add(session);
      timer ??= setInterval(() => void sign().catch(() => {}), SIGN_INTERVAL).unref();
      await sign();
    },

    /** Ends the signs of life: others end the sessions, which the client has ended, without effect. */
    close: () => clearInterval(timer),
  };
}

/** How commands are sent: each on its own, or all in an attempt at some work, whose writes are committed together or not. */
export interface Access {
  /** Runs a command with its options, now or when it is its turn. */
  send: <T>(command: (options: CallOptions) => Promise<T>) => Promise<T>;
  /**
   * Begins a transaction, in which all that follows is done. A single write that rests on nothing but the version of
   * its document needs none.
   */
  readonly begin: () => Promise<void>;
  /** How long the work has been tried, in milliseconds. */
  readonly elapsed: number;
}

/** How what belongs to no transaction is sent. */
export const alone = ({ options, execute }: Database): Access => ({
  send: (command) => execute(() => command(options)),
  begin: async () => {},
  elapsed: 0,
});

/** Runs work atomically, and again while it loses to concurrent writes, until the call times out. */
export function createTransactions(database: Database) {
  const { options, timeoutMs } = database;
  const sessions = createSessions(database);
  // The rest as for all that the client does.
  const settings: TransactionOptions = { readConcern: { level: 'snapshot' }, maxCommitTimeMS: timeoutMs };

  const run = <T>(work: (access: Access) => Promise<T>): Promise<T> => {
    const began = performance.now();
    const elapsed = (): number => {
      const time = performance.now() - began;
      // Nothing is begun or committed once the caller has been told that it failed.
      if (time > timeoutMs) throw unavailable();
      return time;
    };
    const attemptIn = async (session: ClientSession): Promise<T> => {
      let last: Promise<unknown> | undefined;
      const access: Access = {
        send: (command) => command(options),
        async begin() {
          if (last) return;
          last = sessions.publish(session);
          // MongoDB runs one command of a transaction at a time.
          access.send = (command) => {
            const result = last!.then(() => command({ ...options, session }));
            last = result.catch(() => {});
            return result;
          };
          await last;
        },
        elapsed: elapsed(),
      };
      try {
        const result = await work(access);
        elapsed();
        return result;
      } catch (error) {
        // Another attempt finds what was there first.
        throw isDuplicateKey(error) ? writeConflict(error) : error;
      } finally {
        // Reads may be left behind that were not awaited.
        access.send = () => Promise.reject(new Error('The transaction has ended.'));
        await last;
      }
    };
    return sessions.lend((session) => session.withTransaction(() => attemptIn(session), settings));
  };

  return { run, close: sessions.close };
}
