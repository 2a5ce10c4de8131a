import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fstatSync,
  mkdirSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { BUSY, openDatabase, resultCode } from './connection.ts';
import { APPLICATION_ID, MIGRATIONS, NEW_FILE } from './schema.ts';

/**
 * Resolves the path of a data file, which need not exist.
 *
 * @param latest the latest layout that this version supports
 * @returns its real path
 * @throws Error if its folder is read-only, or doesn't exist and isn't called `data`; or if the file is not one of ours,
 * which is then left untouched
 */
export function locateFile(file: string, latest = 1 + MIGRATIONS.length): string {
  const folder = resolve(dirname(file));
  // A mistyped path must not start an empty store beside the one meant.
  if (!existsSync(folder) && !(basename(folder) === 'data' && existsSync(dirname(folder))))
    throw new Error(`The data file ${file} cannot be opened: its folder ${folder} does not exist.`);
  mkdirSync(folder, { recursive: true });
  // SQLite creates files beside this one; it would open a read-only one, and fail at the first write.
  accessSync(folder, constants.W_OK);
  if (!existsSync(file)) return join(realpathSync(folder), basename(file));
  refuseForeign(file, latest);
  accessSync(file, constants.W_OK);
  return realpathSync(file);
}

/** Makes a file accessible to its owner only, and creates it if need be. Another user's file stays as it is. */
export function makePrivate(file: string): void {
  const descriptor = openSync(file, 'a', 0o600);
  if (fstatSync(descriptor).uid === process.getuid?.()) fchmodSync(descriptor, 0o600);
  closeSync(descriptor);
}

/**
 * Creates a data file with access for its owner only, which SQLite copies to its side files. It is completed
 * under another name first, so that a kill never leaves half a file. The caller holds its lock, so that no other process
 * creates it meanwhile.
 */
export function createFile(file: string, layout: number): void {
  const unfinished = `${file}.new`;
  rmSync(unfinished, { force: true });
  writeFileSync(unfinished, '', { mode: 0o600 });
  const db = openDatabase(unfinished);
  try {
    db.exec(NEW_FILE);
    // A new file has the layout to which the latest migration brings others.
    db.exec(`pragma user_version = ${layout}`);
  } finally {
    db.close();
  }
  renameSync(unfinished, file);
}

/** The offsets in SQLite's header of the layout's version and of the application that a file belongs to, and its size. */
const USER_VERSION = 60;
const APPLICATION = 68;
const HEADER_SIZE = 100;

/** Refuses another program's file by its first bytes alone: SQLite would change a file that it opens. */
function refuseForeign(file: string, latest: number): void {
  const header = Buffer.alloc(HEADER_SIZE);
  const descriptor = openSync(file, 'r');
  readSync(descriptor, header);
  closeSync(descriptor);
  const isSqlite = header.toString('latin1', 0, 16) === 'SQLite format 3\0';
  const isOurs = isSqlite && header.readUInt32BE(APPLICATION) === APPLICATION_ID;
  const layout = header.readUInt32BE(USER_VERSION);
  if (isOurs && layout >= 1 && layout <= latest) return;
  throw isSqlite
    ? unknownLayout(file, layout, latest)
    : new Error(
        `The data file ${file} is not one of this program, or it is damaged. It was left as it is: restore a backup or set DATA_FILE to another path.`,
      );
}

/** The error for a file made by another version of this program, or by another program. */
export const unknownLayout = (file: string, layout: number, latest: number): Error =>
  new Error(
    `The data file ${file} has layout ${layout}, which this version cannot read (it reads 1 to ${latest}). It was left as it is. Export it with the version that wrote it (npm run --silent data -- export DIR), and import that into a new file with this one (import DIR); or set DATA_FILE to another path.`,
  );

/**
 * Makes this process the only server of a data file: by an exclusive transaction on a second file beside it, which the
 * operating system ends when the process ends for any reason.
 *
 * @param file its real path
 * @param wait the time to wait for another process, in milliseconds
 * @returns a function that releases the file; undefined if another process is its server
 */
export function lockDataFile(file: string, wait: number): (() => void) | undefined {
  // Anyone who may read it could hold the lock.
  makePrivate(`${file}.lock`);
  const lock = openDatabase(`${file}.lock`);
  try {
    lock.exec(`pragma busy_timeout = ${wait}; begin exclusive`);
  } catch (error) {
    lock.close();
    if (resultCode(error) === BUSY) return undefined;
    throw error;
  }
  return () => {
    lock.exec('rollback');
    lock.close();
  };
}
