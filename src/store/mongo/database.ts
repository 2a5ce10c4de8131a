import { type ClientSession, type Db, type Document, MongoClient } from 'mongodb';
import { unavailable } from '../../errors.ts';
import { isInvalidDocument, portError } from './errors.ts';
import { ServerClock } from './server-clock.ts';

/** How to open a MongoDB database. */
export interface MongoOptions {
  /** Connection string with the name of the database in it. */
  uri: string;
  /** The longest that a call may take, in milliseconds; then it is UNAVAILABLE. */
  timeoutMs?: number;
  /** `off` treats a replica set like a standalone server, for tests. */
  transactions?: 'auto' | 'off';
  /** Milliseconds since 1970. */
  now?: () => number;
  /** Lets `client` emit `commandStarted` and its like. */
  monitorCommands?: boolean;
  /** How many connections to have ready before they are needed, unless the connection string says so. */
  minPoolSize?: number;
}

/** What goes to each call of the driver. */
export interface CallOptions {
  session?: ClientSession;
  maxTimeMS: number;
}

export interface Database {
  readonly client: MongoClient;
  readonly db: Db;
  /** For each call of the driver that is not part of a transaction. */
  readonly options: CallOptions;
  readonly serverClock: ServerClock;
  /** The longest that a call may take, in milliseconds. */
  readonly timeoutMs: number;
  /** Whether the server has transactions; known once `prepared`. */
  readonly transactions: boolean;
  /** Wraps each method of the port: prepared, in time, errors translated. */
  execute<T>(work: () => Promise<T>): Promise<T>;
  /** Another client of the same database, whose calls may take as long as they like. */
  clientWithoutTimeout(): MongoClient;
}

/** Creates what is missing in the database. @returns whether anything had to be done to the validators */
export type Prepare = (hello: Document) => Promise<boolean>;

const DEFAULT_TIMEOUT = 10_000;
const SERVER_SELECTION_TIMEOUT = 2_500;
/** Shorter, so that a server that said it was going away is looked at again within one selection. */
const HEARTBEAT = 2_000;

/** The connection to one database, not yet opened. */
export function connectTo(settings: MongoOptions, prepare: Prepare): Database {
  const timeoutMs = settings.timeoutMs ?? DEFAULT_TIMEOUT;
  // The driver selects a server twice where it may retry. Both must end before the call does: else a write that was
  // given up as UNAVAILABLE would still be carried out once the database is back.
  const selectionMs = Math.min(SERVER_SELECTION_TIMEOUT, Math.ceil(timeoutMs / 3));
  const says = (name: string) => new RegExp(`[?&]${name}=`, 'i').test(settings.uri);
  // The driver's own timeoutMS has no effect any more (7.8), hence one limit for each stage here and one for all of
  // them together in `execute`.
  const clientOptions = {
    appName: 'petstore-graphql-gateway',
    useBigInt64: true,
    ignoreUndefined: true,
    retryWrites: true,
    retryReads: true,
    writeConcern: { w: 'majority', wtimeoutMS: timeoutMs },
    readPreference: 'primary',
    // Many instances on one database share its connections, so the URI has the last word.
    ...(!says('maxPoolSize') && { maxPoolSize: 50 }),
    ...(settings.minPoolSize !== undefined && !says('minPoolSize') && { minPoolSize: settings.minPoolSize }),
    serverSelectionTimeoutMS: selectionMs,
    heartbeatFrequencyMS: Math.min(HEARTBEAT, selectionMs),
    connectTimeoutMS: selectionMs,
    waitQueueTimeoutMS: timeoutMs,
    socketTimeoutMS: timeoutMs,
    monitorCommands: settings.monitorCommands ?? false,
  } as const;
  const client = new MongoClient(settings.uri, clientOptions);
  const db = client.db();
  const options = { maxTimeMS: timeoutMs };
  const serverClock = new ServerClock(
    async () => (await db.admin().command({ hello: 1, ...options })).localTime,
    settings.now ?? Date.now,
  );
  let transactions = false;
  let isPrepared = false;
  let preparation: Promise<boolean> | undefined;

  async function connectAndPrepare(): Promise<boolean> {
    // The driver connects by itself, but only once: after a first connection that failed it stays closed.
    await client.connect();
    const hello = await db.admin().command({ hello: 1 });
    transactions =
      settings.transactions !== 'off' && (hello.setName !== undefined || hello.msg === 'isdbgrid');
    await serverClock.measure();
    const changed = await prepare(hello);
    isPrepared = true;
    return changed;
  }

  function prepared(): Promise<boolean> {
    // A failed preparation is forgotten, so the next call tries again: the database may be back.
    preparation ??= connectAndPrepare().catch((error) => {
      preparation = undefined;
      throw error;
    });
    return preparation;
  }

  /** Whether an instance of an earlier version has put its validators back, which are ours again now. */
  async function regainedValidators(): Promise<boolean> {
    preparation = undefined;
    return await prepared().catch(() => false);
  }

  function execute<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const late = () => {
        reject(unavailable(new Error(`No answer from the database within ${timeoutMs} ms.`)));
      };
      const timer = setTimeout(late, timeoutMs).unref();
      (isPrepared ? work() : prepared().then(work)).then(
        (result) => {
          clearTimeout(timer);
          resolve(result);
        },
        async (error) => {
          const passes = isInvalidDocument(error) && (await regainedValidators());
          clearTimeout(timer);
          reject(passes ? unavailable(error) : portError(error));
        },
      );
    });
  }

  const database: Database = {
    client,
    db,
    options,
    serverClock,
    timeoutMs,
    get transactions() {
      return transactions;
    },
    execute,
    clientWithoutTimeout: () =>
      new MongoClient(settings.uri, { ...clientOptions, socketTimeoutMS: 0, minPoolSize: 0, maxPoolSize: 1 }),
  };
  return database;
}
