import { type AnyDeclaration, referencesOf } from '../../foundation/record.ts';
import { PAGES_PER_COMMIT, type SqliteConnection } from './connection.ts';
import { lockDataFile } from './data-file.ts';
import { createIndexes, dropIndexes } from './record-schema.ts';

/** The number of records from which creating the indexes afterwards pays off. */
const MANY = 20_000;

/** The key of a pseudo-object that marks a file whose indexes are missing. */
const MARK = 'filling';

/** True if a process is adding many records to the file and will create the indexes afterwards. */
export const isBeingFilled = (db: SqliteConnection): boolean =>
  db.value(`select 1 from stored_objects where kind = '' and key = ?`, [MARK]) !== undefined;

/** The pages in the write-ahead log at which a commit moves them to the file while no server uses it: 256 MB. */
const PAGES_IF_ALONE = 64_000;

/**
 * Runs work that adds records. If they are many, their table is empty and no server has the file, this process becomes
 * its only user. It then creates the indexes afterwards, which sorts entries instead of rewriting pages, and commits in
 * place instead of to a log first. If it is killed, the next process to open the file creates the indexes.
 *
 * @param work gets a function to call before each commit, which returns true if no server is waiting
 */
export async function fill<T>(
  db: SqliteConnection,
  declaration: AnyDeclaration,
  rows: number,
  work: (isAlone: () => boolean) => Promise<T>,
): Promise<T> {
  const isEmpty = () => db.value(`select 1 from "${declaration.plural}" limit 1`) === undefined;
  const readsItself = referencesOf(declaration).some(({ parent }) => parent === declaration);
  const release = rows < MANY || readsItself || !isEmpty() ? undefined : lockDataFile(db.file, 0);
  if (!release) return await extend(db, work);
  const complete = () => {
    createIndexes(db, [declaration]);
    db.run(`delete from stored_objects where kind = '' and key = ?`, [MARK]);
    db.tryExec('pragma journal_mode = wal');
  };
  try {
    db.run(`insert or replace into stored_objects values ('', ?, '', null)`, [MARK]);
    // While another tool reads, this fails and the log stays.
    db.tryExec('pragma journal_mode = delete');
    dropIndexes(db, declaration);
    let result: T;
    try {
      result = await work(() => true);
    } catch (error) {
      try {
        complete();
      } catch {
        // With a full disk, the next process to open the file completes it.
      }
      throw error;
    }
    complete();
    return result;
  } finally {
    release();
  }
}

/**
 * Runs work that adds records to existing ones, perhaps beside a server. New index entries are spread over all pages,
 * so without a server a longer log lets several commits to a page be moved to the file at once.
 */
async function extend<T>(db: SqliteConnection, work: (isAlone: () => boolean) => Promise<T>): Promise<T> {
  const isAlone = () => {
    const release = lockDataFile(db.file, 0);
    release?.();
    const pages = release ? PAGES_IF_ALONE : PAGES_PER_COMMIT;
    db.exec(`pragma wal_autocheckpoint = ${pages}`);
    return release !== undefined;
  };
  const result = await work(isAlone);
  if (isAlone()) db.tryExec('pragma wal_checkpoint(truncate)');
  return result;
}
