import { statSync } from 'node:fs';
import Database from 'libsql';

/** The files that this process has opened. libsql may keep them open until garbage is collected. */
const openedHere = new Set<string>();

const identityOf = (file: string): string => {
  const { dev, ino } = statSync(file, { bigint: true });
  return `${dev}:${ino}`;
};

/** Must be called when a data file is opened. */
export const noteOpened = (file: string): void => void openedHere.add(identityOf(file));

/**
 * Makes this process the only server on a data file, so that it may cache rows and counts. The lock is an
 * exclusive transaction on a second database beside it, which the operating system releases when the process
 * ends for any reason. It decides between servers that start at the same moment. A server that is running
 * already is found by the file itself, by whatever path it was opened and whatever became of its lock.
 *
 * @param busyTimeout how many milliseconds to wait for a tool that has the file open
 * @returns a function that releases the lock
 * @throws Error if another server has it
 */
export function lockDataFile(file: string, busyTimeout: number): () => void {
  const lock = new Database(`${file}.lock`);
  let user = 'another server';
  try {
    lock.exec('begin exclusive');
    user = 'another server, or a tool has it open';
    requireUnopened(file, busyTimeout);
  } catch (error) {
    lock.close();
    if ((error as { code?: string }).code !== 'SQLITE_BUSY') throw error;
    throw new Error(`The data file ${file} is in use by ${user}. Stop that server or use another file.`);
  }
  return () => lock.close();
}

/** SQLite locks a file exclusively only if no other process has it open. @throws SQLITE_BUSY */
function requireUnopened(file: string, busyTimeout: number): void {
  if (openedHere.has(identityOf(file))) return;
  const probe = new Database(file);
  try {
    probe.exec(`pragma busy_timeout = ${busyTimeout}; pragma locking_mode = exclusive`);
    probe.exec('begin exclusive; commit');
  } finally {
    probe.close();
  }
}
