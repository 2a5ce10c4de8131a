import { setTimeout as sleep } from 'node:timers/promises';
import { RECORDS } from '../../../src/domains/index.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';

/**
 * Tries to serve data files, and prints a line for each: `opened`, or the reason if it cannot. It begins with
 * the nth of them at the given time and n tenths of a second, and keeps them until its input ends.
 */
const [start, ...files] = process.argv.slice(2);
const stores: ReturnType<typeof openSqliteStore>[] = [];
for (const [n, file] of files.entries()) {
  await sleep(Number(start) + 100 * n - 20 - Date.now());
  while (Date.now() < Number(start) + 100 * n);
  try {
    stores.push(openSqliteStore({ records: RECORDS, file, role: 'server', busyTimeout: 100 }));
    console.log('opened');
  } catch (error) {
    console.log((error as Error).message);
  }
}
process.stdin.resume();
process.stdin.once('end', () => {
  for (const store of stores) store.close();
});
