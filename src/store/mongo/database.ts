import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientSession, type Db, MongoClient } from 'mongodb';
import { unavailable } from '../../errors.ts';
import { type Collections, collectionsOf, prepareCollections } from './collections.ts';
import { isUnavailable, LostRace, portFault } from './faults.ts';
import { ServerClock } from './server-clock.ts';
import { createTurns } from './turns.ts';

/** How to open a MongoDB database. */
export interface MongoOptions {
  /** Connection string with the name of the database in it. */
  uri: string;
  /** The longest that a call may take, in milliseconds; then it is UNAVAILABLE. */
  timeoutMs?: number;
  /** `off` treats a replica set like a standalone server, for tests. All instances on one database must agree. */
  transactions?: 'auto' | 'off';
  /** Standalone: how long a reference count must have been still before a deletion may distrust it, in milliseconds. */
  settleMs?: number;
  /** Milliseconds since 1970. */
  now?: () => number;
  /** Lets `client` emit `commandStarted` and its like. */
  monitorCommands?: boolean;
}

/**
 * One attempt at an operation of one or more writes: all in a transaction where the server has them, else one after
 * the other, in an order that can't break a rule, each with a way back.
 */
export interface Unit {
  /** Undefined without transactions. */
  readonly session: ClientSession | undefined;
  /** Goes to each call of the driver. */
  readonly options: { session?: ClientSession; maxTimeMS: number };
  /** Waits for this operation's turn to write a document that many refer to. */
  turn(name: string): Promise<void>;
  /** How to take back what was just written, should a later statement of the unit fail. */
  undo(statement: () => Promise<unknown>): void;
}

/** Runs an operation until it wins its races. `oneDocument`: it writes a single document, which is atomic by itself. */
export type RunUnit = <T>(work: (unit: Unit) => Promise<T>, scope?: 'oneDocument') => Promise<T>;

export interface Database {
  readonly client: MongoClient;
  readonly db: Db;
  readonly collections: Collections;
  /** For each call of the driver that is not part of a unit. */
  readonly options: { maxTimeMS: number };
  readonly settleMs: number;
  readonly serverClock: ServerClock;
  /** The longest that a call may take, in milliseconds. */
  readonly timeoutMs: number;
  /** Whether the server has transactions; known once `prepared`. */
  readonly transactions: boolean;
  /** Creates what is missing in the database, once it answers. */
  prepared(): Promise<void>;
  /** Wraps each method of the port: prepared, in time, faults translated. */
  answer<T>(work: () => Promise<T>): Promise<T>;
  run: RunUnit;
}

const DEFAULT_TIMEOUT = 10_000;
const SERVER_SELECTION_TIMEOUT = 2_500;
/** Shorter, so that a server that said it was going away is looked at again within one selection. */
const HEARTBEAT = 2_000;
/** Longer than any operation can be under way between its two writes. */
const DEFAULT_SETTLE = 60_000;
const FIRST_BACKOFF = 2;
const LONGEST_BACKOFF = 100;

/** The connection to one database, not yet opened. */
export function connectTo(settings: MongoOptions): Database {
  const timeoutMs = settings.timeoutMs ?? DEFAULT_TIMEOUT;
  // The driver selects a server twice where it may retry. Both must end before the call does: else a write that was
  // given up as UNAVAILABLE would still be carried out once the database is back.
  const selectionMs = Math.min(SERVER_SELECTION_TIMEOUT, Math.ceil(timeoutMs / 3));
  // The driver's own timeoutMS has no effect any more (7.8), hence one limit for each stage here and one for all of
  // them together in `answer`.
  const client = new MongoClient(settings.uri, {
    appName: 'petstore-graphql-gateway',
    useBigInt64: true,
    ignoreUndefined: true,
    retryWrites: true,
    retryReads: true,
    writeConcern: { w: 'majority', wtimeoutMS: timeoutMs },
    readPreference: 'primary',
    // Many instances on one database share its connections, so the URI has the last word.
    ...(!/[?&]maxPoolSize=/i.test(settings.uri) && { maxPoolSize: 50 }),
    serverSelectionTimeoutMS: selectionMs,
    heartbeatFrequencyMS: Math.min(HEARTBEAT, selectionMs),
    connectTimeoutMS: selectionMs,
    waitQueueTimeoutMS: timeoutMs,
    socketTimeoutMS: timeoutMs,
    monitorCommands: settings.monitorCommands ?? false,
  });
  const db = client.db();
  const collections = collectionsOf(db);
  const options = { maxTimeMS: timeoutMs };
  const turns = createTurns();
  const serverClock = new ServerClock(
    async () => (await db.admin().command({ hello: 1, ...options })).localTime,
    settings.now ?? Date.now,
  );
  let transactions = false;
  let preparation: Promise<void> | undefined;

  async function prepare(): Promise<void> {
    // The driver connects by itself, but only once: after a first connection that failed it stays closed.
    await client.connect();
    const hello = await db.admin().command({ hello: 1 });
    transactions =
      settings.transactions !== 'off' && (hello.setName !== undefined || hello.msg === 'isdbgrid');
    await serverClock.measure();
    await prepareCollections(db, collections);
  }

  function prepared(): Promise<void> {
    // A failed preparation is forgotten, so the next call tries again: the database may be back.
    preparation ??= prepare().catch((fault) => {
      preparation = undefined;
      throw fault;
    });
    return preparation;
  }

  async function answer<T>(work: () => Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const message = `No answer from the database within ${timeoutMs} ms.`;
      timer = setTimeout(() => reject(unavailable(new Error(message))), timeoutMs).unref();
    });
    try {
      return await Promise.race([prepared().then(work), late]);
    } catch (fault) {
      throw portFault(fault);
    } finally {
      clearTimeout(timer);
    }
  }

  async function inTransaction<T>(work: (unit: Unit) => Promise<T>, deadline: number): Promise<T> {
    let conflict: unknown;
    // The driver alone would go on for two minutes after the caller has been told UNAVAILABLE.
    const inTime = () => {
      if (performance.now() > deadline) throw unavailable(conflict);
    };
    const turn = turns.start();
    const takeTurn = async (name: string) => {
      await turn.take(name);
      inTime();
    };
    const attempt = async (session: ClientSession) => {
      inTime();
      try {
        return await work({ session, options: { ...options, session }, turn: takeTurn, undo: () => {} });
      } catch (fault) {
        conflict = fault;
        throw fault;
      }
    };
    const settings = {
      readConcern: { level: 'snapshot' },
      writeConcern: { w: 'majority', wtimeoutMS: timeoutMs },
      readPreference: 'primary',
    } as const;
    try {
      return await client.withSession((session) => session.withTransaction(attempt, settings));
    } finally {
      turn.end();
    }
  }
  async function inOrder<T>(work: (unit: Unit) => Promise<T>): Promise<T> {
    const undo: (() => Promise<unknown>)[] = [];
    try {
      return await work({
        session: undefined,
        options,
        turn: async () => {},
        undo: (statement) => undo.push(statement),
      });
    } catch (fault) {
      // A statement without an answer may have been carried out: to take back what it relies on could break a rule.
      // What is left behind then is at worst a reference count that is too high, which `references.ts` can bear.
      if (!isUnavailable(fault)) for (const statement of undo.reverse()) await statement().catch(() => {});
      throw fault;
    }
  }

  const run: RunUnit = async (work, scope) => {
    const deadline = performance.now() + timeoutMs;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await (transactions && scope !== 'oneDocument'
          ? inTransaction(work, deadline)
          : inOrder(work));
      } catch (fault) {
        if (!(fault instanceof LostRace)) throw fault;
        const pause = Math.random() * Math.min(LONGEST_BACKOFF, FIRST_BACKOFF * 2 ** attempt);
        if (performance.now() + pause > deadline) throw unavailable(fault);
        await sleep(pause);
      }
    }
  };

  return {
    client,
    db,
    collections,
    options,
    settleMs: settings.settleMs ?? DEFAULT_SETTLE,
    serverClock,
    timeoutMs,
    get transactions() {
      return transactions;
    },
    prepared,
    answer,
    run,
  };
}
