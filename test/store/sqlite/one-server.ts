import { RECORDS } from '../../../src/domains/index.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';

/** Tries to serve a data file, and prints the reason if it cannot. */
try {
  openSqliteStore({ records: RECORDS, file: process.argv[2]!, role: 'server', busyTimeout: 100 }).close();
  process.stdout.write('opened');
} catch (error) {
  process.stdout.write((error as Error).message);
}
