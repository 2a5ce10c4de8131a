import { existsSync } from 'node:fs';
import type { Logger } from 'pino';
import type { AnyDeclaration } from '../foundation/record.ts';
import type { ObjectKind } from './objects.ts';
import type { Store } from './store.ts';

/** The location and durability of a store. */
export interface StoreSettings {
  /** The URI of the database; undefined for the embedded store. */
  MONGODB_URI?: string | undefined;
  /** The file of the embedded store. */
  DATA_FILE: string;
  /** How long the embedded store keeps events, in milliseconds. */
  EVENTS_KEEP: number;
  /** The failures that a commit survives: of the process, or also of the machine (`full`). */
  DURABILITY: 'process' | 'full';
}

/** The contents of a store: records (none for a tool that needs only keys), and the kinds of objects of features. */
export interface Contents {
  records: readonly AnyDeclaration[];
  objects: readonly ObjectKind<never>[];
}

/**
 * Opens the configured store.
 *
 * @param role only one server at a time may open an embedded store, but tools may run beside it. A `snapshot` is a tool
 * that reads an embedded store as of now
 */
export async function openStore(
  config: StoreSettings,
  { records, objects }: Contents,
  role: 'server' | 'tool' | 'snapshot',
): Promise<Store> {
  // Loads only the driver in use.
  if (config.MONGODB_URI !== undefined) {
    const { openMongoStore } = await import('./mongo/mongo-store.ts');
    return openMongoStore({
      uri: config.MONGODB_URI,
      records,
      objects,
      role: role === 'server' ? role : 'tool',
    });
  }
  const { openSqliteStore } = await import('./sqlite/sqlite-store.ts');
  return openSqliteStore({
    file: config.DATA_FILE,
    records,
    role,
    keepEvents: config.EVENTS_KEEP,
    durability: config.DURABILITY,
  });
}

/** Opens the configured store for an import. @throws Error if it is not empty, or embedded and in use */
export async function openDumpTarget(
  { MONGODB_URI, DATA_FILE }: Pick<StoreSettings, 'MONGODB_URI' | 'DATA_FILE'>,
  { records, objects }: Contents,
) {
  if (MONGODB_URI === undefined)
    return (await import('./sqlite/dump.ts')).openSqliteTarget(DATA_FILE, records);
  return (await import('./mongo/dump.ts')).openMongoTarget({ uri: MONGODB_URI, records, objects });
}

/**
 * Copies an embedded store to a new file, even while a server uses it.
 *
 * @returns the size of the copy in bytes
 * @throws Error if the store is on MongoDB, or copying fails
 */
export async function backUpStore(
  { MONGODB_URI, DATA_FILE }: Pick<StoreSettings, 'MONGODB_URI' | 'DATA_FILE'>,
  file: string,
): Promise<number> {
  if (MONGODB_URI !== undefined)
    throw new Error(
      'The store is on MongoDB (MONGODB_URI): back it up with mongodump --oplog, or a snapshot.',
    );
  if (!existsSync(DATA_FILE)) throw missingFile(DATA_FILE);
  return (await import('./sqlite/dump.ts')).backUp(DATA_FILE, file);
}

/** The error for a missing data file that a command would only read. */
export const missingFile = (file: string): Error =>
  new Error(`The data file ${file} does not exist. Is DATA_FILE set as for the server?`);

/** The interval at which the database is checked, in milliseconds. */
const INTERVAL = 30_000;

/**
 * Logs at each check that the database is unreachable, and once when it is back.
 *
 * @param uri the MongoDB URI; undefined for the embedded store, which is always reachable
 */
export function watchDatabase(
  store: Pick<Store, 'ping'>,
  uri: string | undefined,
  log: Pick<Logger, 'warn' | 'info'>,
  interval = INTERVAL,
): void {
  if (uri === undefined) return;
  const host = hostsOf(uri);
  let isAway = false;
  const isThere = () => {
    if (isAway) log.info({ host }, 'the database is back');
    isAway = false;
  };
  const isNot = (error: Error) => {
    // The driver's reason, rather than the message for clients.
    const { message: reason } = (error.cause ?? error) as Error;
    log.warn({ host, reason }, 'the database of MONGODB_URI is unreachable');
    isAway = true;
  };
  const check = () => void store.ping().then(isThere, isNot);
  check();
  setInterval(check, interval).unref();
}

/** The hosts of a connection string, without credentials. */
export const hostsOf = (uri: string): string => {
  const authority = uri.slice(uri.indexOf('//') + 2).replace(/[/?].*$/, '');
  return authority.slice(authority.lastIndexOf('@') + 1);
};
