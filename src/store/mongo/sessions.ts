import { randomUUID } from 'node:crypto';
import type { Binary, ClientSession } from 'mongodb';
import type { CollectionDefinition } from './collection.ts';
import type { Database } from './database.ts';

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

export type Sessions = ReturnType<typeof createSessions>;

/**
 * The sessions of transactions. The server keeps a transaction of an instance that dies open, with all that it has
 * written locked, for a minute (transactionLifetimeLimitSeconds). So instances publish which sessions they use, and
 * whoever waits for long ends those of the dead. One that was only slow loses its transaction too, and repeats it.
 */
export function createSessions({ client, db, options }: Database) {
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
