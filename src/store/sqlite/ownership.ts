import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import Database from 'libsql';

/** The files that this process has opened. libsql may keep them open until garbage is collected. */
const openedHere = new Set<string>();

const identityOf = (file: string): string => {
  const { dev, ino, birthtimeNs } = statSync(file, { bigint: true });
  // A new file may have the number of one that was deleted.
  return `${dev}:${ino}:${birthtimeNs}`;
};

/** Must be called when a data file is opened. */
export const noteOpened = (file: string): void => void openedHere.add(identityOf(file));

/** The hold of a server on its data file. */
export interface Ownership {
  /**
   * Must be called once the file is open for good.
   *
   * @param nameIn reads the name that was written last into the file
   * @throws Error if another server, which began at the same moment, has the file
   */
  confirm(nameIn: (sql: string) => unknown): void;
  release(): void;
}

/**
 * Makes this process the only server on a data file, so that it may cache rows and counts. Servers that use
 * one path exclude each other by an exclusive transaction on a second database beside it, which the operating
 * system releases when the process ends for any reason. By other paths, or without that file, a server that
 * is running is found by the data file itself: it cannot be locked exclusively. Of several that find nobody,
 * each writes its name while it has the file alone, and the last one keeps it.
 *
 * @param busyTimeout how many milliseconds to wait for a tool that has the file open
 * @throws Error if another server has it
 */
export function lockDataFile(file: string, busyTimeout: number): Ownership {
  const lock = new Database(`${file}.lock`);
  const isKnown = openedHere.has(identityOf(file));
  const name = randomUUID();
  let user = 'another server';
  try {
    lock.exec('begin exclusive');
    user = 'another server, or a tool has it open';
    if (!isKnown) signAlone(file, busyTimeout, name);
  } catch (error) {
    lock.close();
    if ((error as { code?: string }).code !== 'SQLITE_BUSY') throw error;
    throw inUse(file, user);
  }
  return {
    confirm: (nameIn) => {
      if (!isKnown && nameIn('select name from last_server') !== name) throw inUse(file, 'another server');
    },
    release: () => lock.close(),
  };
}

const inUse = (file: string, user: string): Error =>
  new Error(`The data file ${file} is in use by ${user}. Stop that server or use another file.`);

/** SQLite locks a file exclusively only if no other process has it open. @throws SQLITE_BUSY */
function signAlone(file: string, busyTimeout: number, name: string): void {
  const probe = new Database(file);
  try {
    probe.exec(`
      pragma busy_timeout = ${busyTimeout};
      pragma locking_mode = exclusive;
      begin exclusive;
      create table if not exists last_server (name text not null) strict;
      delete from last_server;
      insert into last_server values ('${name}');
      commit;
    `);
  } finally {
    probe.close();
  }
}
