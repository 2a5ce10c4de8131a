import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import type { AnyRecord } from '../../foundation/record.ts';
import { type DumpTarget, refuseUnlessEmpty } from '../dump.ts';
import { insertRecords } from './columns.ts';
import { locateFile, lockDataFile } from './data-file.ts';
import { noteAssigned } from './ids.ts';
import { createIndexes, dropIndexes } from './record-schema.ts';
import { inUse, openSqliteStore, type SqliteOptions } from './sqlite-store.ts';
import { saveUsage } from './usage.ts';

const removeFile = (file: string): void => {
  for (const suffix of ['', '-wal', '-shm', '-journal', '.lock']) rmSync(`${file}${suffix}`, { force: true });
};

/**
 * Opens a new file, which replaces the data file when it is finished. Until then no other process can serve the data file
 * or import into it.
 *
 * @throws Error if the data file is in use or not empty
 */
export async function openSqliteTarget(file: string, records: readonly AnyRecord[]): Promise<DumpTarget> {
  const refuseIfFilled = async (role: SqliteOptions['role']) => {
    if (!existsSync(file)) return;
    const before = openSqliteStore({ file, records, role });
    await refuseUnlessEmpty(before, records).finally(() => before.close());
  };
  await refuseIfFilled('server');
  const place = locateFile(file);
  const release = lockDataFile(place, 0);
  if (!release) throw inUse(file);
  const filling = `${place}.import`;
  removeFile(filling);
  const store = openSqliteStore({ file: filling, records, role: 'server' });
  const { db } = store;
  // Nobody sees it until it is complete and on disk.
  db.exec('pragma journal_mode = memory; pragma synchronous = off');
  for (const record of records) dropIndexes(db, record);
  let isWhole = false;
  return {
    store,
    async setLastIds(lastIds) {
      for (const record of records) noteAssigned(db, record, lastIds[record.plural] ?? '0');
    },
    async addRecords(record, rows) {
      db.transaction(() => insertRecords(db, record, rows));
    },
    async addUsage(rows) {
      saveUsage(db, new Map(rows.map(({ apiKeyId, ...state }) => [apiKeyId, state])));
    },
    async finish() {
      createIndexes(db, records);
      isWhole = true;
    },
    async close() {
      try {
        await store.close();
        if (!isWhole) return;
        // A tool may have created or filled it meanwhile.
        await refuseIfFilled('tool');
        const descriptor = openSync(filling, 'r+');
        fsyncSync(descriptor);
        closeSync(descriptor);
        for (const suffix of ['-wal', '-shm']) rmSync(place + suffix, { force: true });
        renameSync(filling, place);
      } finally {
        removeFile(filling);
        release();
      }
    },
  };
}
