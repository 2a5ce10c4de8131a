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
 * Resolves the path of an existing or new data file.
 *
 * @param latest the latest supported layout
 * @returns its real path
 * @throws Error if the folder is read-only, or doesn't exist and isn't called `data`; or if the file is not one of
 * ours, which is left untouched
 */
export function locateFile(file: string, latest = 1 + MIGRATIONS.length): string {
  const folder = resolve(dirname(file));
  // A mistyped path must not start an empty store.
  if (!existsSync(folder) && !(basename(folder) === 'data' && existsSync(dirname(folder))))
    throw new Error(`The data file ${file} cannot be opened: its folder ${folder} does not exist.`);
  mkdirSync(folder, { recursive: true });
  // SQLite needs to create side files. It would open a read-only file and fail at the first write.
  accessSync(folder, constants.W_OK);
  if (!existsSync(file)) return join(realpathSync(folder), basename(file));
  refuseForeign(file, latest);
  accessSync(file, constants.W_OK);
  return realpathSync(file);
}

/** Makes a file accessible to its owner only, and creates it if missing. Another user's file stays as it is. */
export function makePrivate(file: string): void {
  const descriptor = openSync(file, 'a', 0o600);
  if (fstatSync(descriptor).uid === process.getuid?.()) fchmodSync(descriptor, 0o600);
  closeSync(descriptor);
}

/**
 * Creates a data file that only its owner may access, as SQLite's side files then too. It is completed under another
 * name, so that a kill never leaves half a file. The caller must hold the lock.
 */
export function createFile(file: string, layout: number): void {
  const unfinished = `${file}.new`;
  rmSync(unfinished, { force: true });
  writeFileSync(unfinished, '', { mode: 0o600 });
  const db = openDatabase(unfinished);
  try {
    db.exec(NEW_FILE);
    // A new file has the latest layout without migrations.
    db.exec(`pragma user_version = ${layout}`);
  } finally {
    db.close();
  }
  renameSync(unfinished, file);
}

/** The offsets of the layout version and the application id in SQLite's header, and the header's size. */
const USER_VERSION = 60;
const APPLICATION = 68;
const HEADER_SIZE = 100;

/** Refuses another program's file by its first bytes, since SQLite would change any file that it opens. */
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

/** The error for a file of another version of this program, or of another program. */
export const unknownLayout = (file: string, layout: number, latest: number): Error =>
  new Error(
    `The data file ${file} has layout ${layout}, which this version cannot read (it reads 1 to ${latest}). It was left as it is. Export it with the version that wrote it (npm run --silent data -- export DIR), and import that into a new file with this one (import DIR); or set DATA_FILE to another path.`,
  );

/**
 * Makes this process the only server of a data file, by an exclusive transaction on a lock file beside it. The
 * operating system releases it when the process ends for any reason.
 *
 * @param file the real path of the data file
 * @param wait how long to wait for another process, in milliseconds
 * @returns a function that releases the lock; undefined if another process holds it
 */
export function lockDataFile(file: string, wait: number): (() => void) | undefined {
  // Anyone who can read the file could hold the lock.
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
