import { existsSync, renameSync, rmSync } from 'node:fs';
import type { AnyRecord } from '../../foundation/record.ts';
import { type DumpTarget, refuseUnlessEmpty } from '../dump.ts';
import { insertRows } from './columns.ts';
import { noteAssigned } from './ids.ts';
import { openSqliteStore } from './sqlite-store.ts';
import { saveUsage } from './usage.ts';

const removeFile = (file: string): void => {
  for (const suffix of ['', '-wal', '-shm', '.lock']) rmSync(`${file}${suffix}`, { force: true });
};

/**
 * Opens a new file, which takes the place of the data file when it is finished.
 *
 * @throws Error if the data file is in use or not empty
 */
export async function openSqliteTarget(file: string, records: readonly AnyRecord[]): Promise<DumpTarget> {
  const refuseIfFilled = async () => {
    if (!existsSync(file)) return;
    const before = openSqliteStore({ file, records, role: 'server' });
    await refuseUnlessEmpty(before, records).finally(() => before.close());
  };
  await refuseIfFilled();
  const filling = `${file}.import`;
  removeFile(filling);
  const store = openSqliteStore({ file: filling, records, role: 'server' });
  const { db } = store;
  let isWhole = false;
  return {
    store,
    async setLastIds(lastIds) {
      for (const record of records) noteAssigned(db, record, lastIds[record.plural] ?? '0');
    },
    async addRecords(record, rows) {
      db.transaction(() => insertRows(db, record, rows));
    },
    async addUsage(rows) {
      saveUsage(db, new Map(rows.map(({ apiKeyId, ...state }) => [apiKeyId, state])));
    },
    async finish() {
      isWhole = true;
    },
    async close() {
      try {
        await store.close();
        if (!isWhole) return;
        // Somebody may have made or filled it meanwhile.
        await refuseIfFilled();
        for (const suffix of ['-wal', '-shm']) rmSync(file + suffix, { force: true });
        renameSync(filling, file);
      } finally {
        removeFile(filling);
      }
    },
  };
}
