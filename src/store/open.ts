import type { Config } from '../config.ts';
import type { AnyRecord } from '../foundation/record.ts';
import type { OnMigrated, Store } from './store.ts';

/**
 * Opens the configured store.
 *
 * @param records the records it holds; none for a tool that needs only keys
 * @param role only one server at a time may open an embedded store; tools may run beside it
 */
export async function openStore(
  config: Pick<Config, 'MONGODB_URI' | 'DATA_FILE' | 'EVENTS_KEEP' | 'DURABILITY'>,
  records: readonly AnyRecord[],
  role: 'server' | 'tool',
  { now = Date.now, ...migration }: { now?: () => number; onMigrated?: OnMigrated } = {},
): Promise<Store> {
  // Load only the driver in use.
  if (config.MONGODB_URI !== undefined) {
    const { openMongoStore } = await import('./mongo/mongo-store.ts');
    // Prepares a server for bursts; a tool needs only one connection.
    const minPoolSize = role === 'server' ? 8 : 0;
    return openMongoStore({ uri: config.MONGODB_URI, records, minPoolSize });
  }
  const { openSqliteStore } = await import('./sqlite/sqlite-store.ts');
  return openSqliteStore({
    file: config.DATA_FILE,
    records,
    role,
    now,
    keepEvents: config.EVENTS_KEEP,
    durability: config.DURABILITY,
    ...migration,
  });
}

type Place = Pick<Config, 'MONGODB_URI' | 'DATA_FILE'>;

/** Opens the configured store to be exported, beside its server if there is one. */
export async function openDumpSource({ MONGODB_URI, DATA_FILE }: Place, records: readonly AnyRecord[]) {
  if (MONGODB_URI === undefined)
    return (await import('./sqlite/dump.ts')).openSqliteSource(DATA_FILE, records);
  return (await import('./mongo/dump.ts')).openMongoSource({ uri: MONGODB_URI, records, minPoolSize: 0 });
}

/** Opens the configured store to be filled. @throws Error if it is not empty, or an embedded one is in use */
export async function openDumpTarget({ MONGODB_URI, DATA_FILE }: Place, records: readonly AnyRecord[]) {
  if (MONGODB_URI === undefined)
    return (await import('./sqlite/dump.ts')).openSqliteTarget(DATA_FILE, records);
  return (await import('./mongo/dump.ts')).openMongoTarget({ uri: MONGODB_URI, records, minPoolSize: 0 });
}
