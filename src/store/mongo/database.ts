import { type ClientSession, type Db, type Document, MongoClient } from 'mongodb';
import { HOUR } from '../../foundation/instant.ts';
import type { AnyDeclaration } from '../../foundation/record.ts';
import type { ObjectKind } from '../objects.ts';
import { within } from './batching.ts';
import { portError } from './driver-errors.ts';

export interface MongoOptions {
  /** The connection string, with the name of the database. */
  uri: string;
  /** The records to store. */
  records: readonly AnyDeclaration[];
  /** The kinds of objects that features add. */
  objects?: readonly ObjectKind<never>[];
  /** The role of this process; defaults to server. */
  role?: Role;
  /** Maximum duration of a call in milliseconds, after which it fails with UNAVAILABLE. */
  timeoutMs?: number;
}

/** The role of a process: a server, a tool beside it, or an import that fills the database. */
export type Role = 'server' | 'tool' | 'import';

/** Options for every driver call. */
export interface CallOptions {
  session?: ClientSession;
  maxTimeMS: number;
}

export interface Database {
  readonly client: MongoClient;
  readonly db: Db;
  /** Options for driver calls outside transactions. */
  readonly options: CallOptions;
  /** Maximum duration of a call in milliseconds. */
  readonly timeoutMs: number;
  /** Runs a method of the port: prepares the database first, enforces the timeout and translates errors. */
  execute<T>(work: () => Promise<T>): Promise<T>;
}

const DEFAULT_TIMEOUT = 10_000;
/** The maximum time before a preparation counts as hanging, in milliseconds. */
const MAX_PATIENCE = HOUR;
const SERVER_SELECTION_TIMEOUT = 2_500;
/** The heartbeat in milliseconds: shorter than server selection, to recheck a server that is shutting down in time. */
const HEARTBEAT = 2_000;

/** The options for acknowledgement, reads and decoding, where the store depends on its own values. */
const OWN_OPTIONS =
  /^(?:readPreference\w*|maxStalenessSeconds|readConcernLevel|w|wtimeout(?:MS)?|j|journal|retry(?:Reads|Writes)|timeoutMS|promote\w+|bson\w+|raw|useBigInt64|ignoreUndefined|serializeFunctions|enableUtf8Validation|checkKeys|forceServerObjectId)=/i;

/** Removes {@link OWN_OPTIONS} from a connection string. */
function withoutOwnOptions(uri: string): string {
  const [address, query = ''] = uri.split('?', 2) as [string, string?];
  const others = query.split('&').filter((option) => !OWN_OPTIONS.test(option));
  return [address, others.join('&')].filter(Boolean).join('?');
}

/** Sets up the connection to a database without opening it. @param prepare creates whatever the database lacks */
export function connectTo(settings: MongoOptions, prepare: (hello: Document) => Promise<void>): Database {
  const timeoutMs = settings.timeoutMs ?? DEFAULT_TIMEOUT;
  // A retry makes the driver select a server twice. Both selections must end before the call times out; otherwise a
  // write reported as UNAVAILABLE could still happen once the database is back.
  const selectionMs = Math.min(SERVER_SELECTION_TIMEOUT, Math.ceil(timeoutMs / 3));
  // The driver's own timeoutMS has no effect (7.8). So each stage has a limit, and `execute` enforces one for the whole
  // call.
  const client = new MongoClient(withoutOwnOptions(settings.uri), {
    appName: 'petstore-graphql-gateway',
    useBigInt64: true,
    ignoreUndefined: true,
    writeConcern: { w: 'majority', wtimeoutMS: timeoutMs },
    readPreference: 'primary',
    readConcernLevel: 'local',
    // Many instances share the connections of one database, so the URI takes precedence.
    ...(!/[?&]maxPoolSize=/i.test(settings.uri) && { maxPoolSize: 50 }),
    serverSelectionTimeoutMS: selectionMs,
    heartbeatFrequencyMS: Math.min(HEARTBEAT, selectionMs),
    // A polling monitor (7.8) may send over a connection that has just ended and wait for `drain` of its socket
    // forever, so that no server would ever be found again.
    serverMonitoringMode: 'stream',
    connectTimeoutMS: selectionMs,
    waitQueueTimeoutMS: timeoutMs,
    socketTimeoutMS: timeoutMs,
  });
  const db = client.db();
  const options = { maxTimeMS: timeoutMs };
  let preparation: Promise<void> | undefined;
  let patience = timeoutMs;

  // The driver connects implicitly only once: after a first failure it stays closed.
  const prepared = (): Promise<void> => {
    if (preparation) return preparation;
    // A command may never end (see `gather`), and indexes may take long. So the next call after a late preparation
    // starts another one beside it, as another instance might, and waits longer.
    const late = setTimeout(() => {
      if (preparation === attempt) preparation = undefined;
      patience = Math.min(2 * patience, MAX_PATIENCE);
    }, patience).unref();
    const attempt = client
      .connect()
      .then(() => db.admin().command({ hello: 1 }))
      .then(prepare)
      .then(
        () => {
          preparation = attempt;
        },
        (error) => {
          // The next call retries.
          if (preparation === attempt) preparation = undefined;
          throw error;
        },
      )
      .finally(() => clearTimeout(late));
    return (preparation = attempt);
  };

  const execute = <T>(work: () => Promise<T>): Promise<T> =>
    within(
      timeoutMs,
      prepared()
        .then(work)
        .catch((error) => {
          throw portError(error);
        }),
    );

  return { client, db, options, timeoutMs, execute };
}
