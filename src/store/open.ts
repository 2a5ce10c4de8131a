import type { Config } from '../config.ts';
import type { Store } from './store.ts';

/**
 * Opens the store that the configuration names: MongoDB, or the embedded one.
 *
 * @param role only one server at a time may have the embedded store; tools work beside it
 */
export async function openStore(
  config: Pick<Config, 'MONGODB_URI' | 'DATA_FILE' | 'EVENTS_KEEP'>,
  role: 'server' | 'tool',
  now: () => number = Date.now,
): Promise<Store> {
  // Each engine's driver is loaded only where it is used.
  if (config.MONGODB_URI !== undefined) {
    const { openMongoStore } = await import('./mongo/mongo-store.ts');
    // A burst doesn't have to wait for connections, while a tool does with one.
    const minPoolSize = role === 'server' ? 8 : 0;
    return openMongoStore({ uri: config.MONGODB_URI, now, minPoolSize });
  }
  const { openSqliteStore } = await import('./sqlite/sqlite-store.ts');
  if (role === 'server') await (await import('./sqlite/integrity.ts')).checkDataFile(config.DATA_FILE);
  return openSqliteStore({ file: config.DATA_FILE, role, now, keepEvents: config.EVENTS_KEEP });
}
