import type { Config } from '../config.ts';
import type { AnyRecord } from '../foundation/record.ts';
import type { Dump } from './dump.ts';
import type { OnMigrated, Store } from './store.ts';

/**
 * Opens the configured store.
 *
 * @param records the records it holds; none for a tool that needs only keys
 * @param role only one server at a time may open an embedded store; tools may run beside it
 */
export async function openStore(
  config: Pick<Config, 'MONGODB_URI' | 'DATA_FILE' | 'EVENTS_KEEP'>,
  records: readonly AnyRecord[],
  role: 'server' | 'tool',
  { now = Date.now, ...migration }: { now?: () => number; onMigrated?: OnMigrated } = {},
): Promise<Store> {
  // Load only the driver in use.
  if (config.MONGODB_URI !== undefined) {
    const { openMongoStore } = await import('./mongo/mongo-store.ts');
    // Prepares a server for bursts; a tool needs only one connection.
    const minPoolSize = role === 'server' ? 8 : 0;
    return openMongoStore({ uri: config.MONGODB_URI, records, now, minPoolSize, ...migration });
  }
  const { openSqliteStore } = await import('./sqlite/sqlite-store.ts');
  if (role === 'server') await (await import('./sqlite/integrity.ts')).checkDataFile(config.DATA_FILE);
  return openSqliteStore({
    file: config.DATA_FILE,
    records,
    role,
    now,
    keepEvents: config.EVENTS_KEEP,
    ...migration,
  });
}

/**
 * Opens the configured store to be exported, or to be filled.
 *
 * @throws Error if it is to be filled and a server uses it, or if its file does not exist
 */
export async function openDump(
  { MONGODB_URI, DATA_FILE }: Pick<Config, 'MONGODB_URI' | 'DATA_FILE'>,
  records: readonly AnyRecord[],
  mode: 'export' | 'import',
): Promise<Dump> {
  if (MONGODB_URI === undefined)
    return (await import('./sqlite/dump.ts')).openSqliteDump(DATA_FILE, records, mode);
  return (await import('./mongo/dump.ts')).openMongoDump({ uri: MONGODB_URI, records, minPoolSize: 0 }, mode);
}
