import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { isUnavailable } from '../../foundation/errors.ts';
import type { AnyDeclaration } from '../../foundation/record.ts';
import { type DumpTarget, refuseUnlessEmpty } from '../dump.ts';
import { insertRecords } from './columns.ts';
import { SqliteConnection } from './connection.ts';
import { locateFile, lockDataFile } from './data-file.ts';
import { isBeingFilled } from './filling.ts';
import { noteAssigned } from './ids.ts';
import { createIndexes, dropIndexes } from './record-schema.ts';
import { inUse, openSqliteStore, type SqliteOptions } from './sqlite-store.ts';
import { saveUsage } from './usage.ts';

/** Waits until a file is on disk. */
function sync(file: string): void {
  const descriptor = openSync(file, 'r+');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

/** How long a backup waits for another process's lock, in milliseconds. */
const BUSY_TIMEOUT = 2_000;

/**
 * Copies a data file as of now to a new, private file, even while a server writes. Unlike SQLite's `.backup`, `vacuum
 * into` reads one state and never restarts. The copy gets its name once it is complete.
 *
 * @returns the size of the copy in bytes
 * @throws Error if the copy exists or cannot be written, or a load fills the data file; no partial copy is left
 */
export function backUp(file: string, copy: string): number {
  const place = locateFile(file);
  if (existsSync(copy)) throw new Error(`${copy} is there already. Name a file that does not exist.`);
  const unfinished = `${copy}.unfinished`;
  const db = new SqliteConnection(place, BUSY_TIMEOUT);
  try {
    if (isBeingFilled(db)) throw new Error(`A load is filling ${file}. Back it up afterwards.`);
    rmSync(unfinished, { force: true });
    writeFileSync(unfinished, '', { mode: 0o600 });
    db.run('vacuum into ?', [unfinished]);
    sync(unfinished);
    renameSync(unfinished, copy);
    return statSync(copy).size;
  } catch (error) {
    const { message } = (isUnavailable(error) ? error.cause : error) as Error;
    throw new Error(`${file} cannot be backed up to ${copy}: ${message}`, { cause: error });
  } finally {
    rmSync(unfinished, { force: true });
    db.close();
  }
}

const removeFile = (file: string): void => {
  for (const suffix of ['', '-wal', '-shm', '-journal', '.lock']) rmSync(`${file}${suffix}`, { force: true });
};

/**
 * Opens a new file that replaces the data file once finished. Until then no other process can serve the data file or
 * import into it.
 *
 * @throws Error if the data file is in use or not empty
 */
export async function openSqliteTarget(
  file: string,
  declarations: readonly AnyDeclaration[],
): Promise<DumpTarget> {
  const refuseIfFilled = async (role: SqliteOptions['role']) => {
    if (!existsSync(file)) return;
    const before = openSqliteStore({ file, records: declarations, role });
    await refuseUnlessEmpty(before, declarations).finally(() => before.close());
  };
  await refuseIfFilled('server');
  const place = locateFile(file);
  const release = lockDataFile(place, 0);
  if (!release) throw inUse(file);
  const filling = `${place}.import`;
  removeFile(filling);
  const store = openSqliteStore({ file: filling, records: declarations, role: 'server' });
  const { db } = store;
  // The file needs no journal: it is invisible until it is complete and on disk.
  db.keepSmall();
  db.exec('pragma journal_mode = memory; pragma synchronous = off');
  for (const declaration of declarations) dropIndexes(db, declaration);
  let isWhole = false;
  return {
    store,
    async setLastIds(lastIds) {
      for (const declaration of declarations)
        noteAssigned(db, declaration, lastIds[declaration.plural] ?? '0');
    },
    async addRecords(record, rows) {
      db.transaction(() => insertRecords(db, record, rows));
    },
    async addUsage(rows) {
      saveUsage(db, new Map(rows.map(({ apiKeyId, ...state }) => [apiKeyId, state])));
    },
    async finish() {
      createIndexes(db, declarations);
      isWhole = true;
    },
    async close() {
      try {
        await store.close();
        if (!isWhole) return;
        // A tool may have created or filled the data file meanwhile.
        await refuseIfFilled('tool');
        sync(filling);
        for (const suffix of ['-wal', '-shm']) rmSync(place + suffix, { force: true });
        renameSync(filling, place);
      } finally {
        removeFile(filling);
        release();
      }
    },
  };
}
