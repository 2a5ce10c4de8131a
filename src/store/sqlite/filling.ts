import { type AnyRecord, referencesOf } from '../../foundation/record.ts';
import { PAGES_PER_COMMIT, type SqliteConnection } from './connection.ts';
import { lockDataFile } from './data-file.ts';
import { createIndexes, dropIndexes } from './record-schema.ts';

/** The number of records from which it pays to create the indexes after them. */
const MANY = 20_000;

/** The key of a pseudo-object that marks a file whose indexes are missing. */
const MARK = 'filling';

/** True if a process is adding many records to the file, and will create its indexes afterwards. */
export const isBeingFilled = (db: SqliteConnection): boolean =>
  db.value(`select 1 from stored_objects where kind = '' and key = ?`, [MARK]) !== undefined;

/** Pages of the write-ahead log from which a commit moves them to the file, if no server reads the file: 256 MB. */
const PAGES_IF_ALONE = 64_000;

/**
 * Runs work that adds records. If there are many, the table is empty and no server has the file, this process becomes its
 * only user: then indexes are created after the records, which sorts them instead of writing their pages again and again,
 * and commits write new pages in place instead of to a log first. If the process is killed meanwhile, the next one to open
 * the file creates the indexes.
 *
 * @param work gets a function that is called before each commit, and returns true if no server waits for it
 */
export async function fill<T>(
  db: SqliteConnection,
  record: AnyRecord,
  rows: number,
  work: (isAlone: () => boolean) => Promise<T>,
): Promise<T> {
  const isEmpty = () => db.value(`select 1 from "${record.plural}" limit 1`) === undefined;
  const readsItself = referencesOf(record).some(({ parent }) => parent === record);
  const release = rows < MANY || readsItself || !isEmpty() ? undefined : lockDataFile(db.file, 0);
  if (!release) return await extend(db, work);
  const complete = () => {
    createIndexes(db, [record]);
    db.run(`delete from stored_objects where kind = '' and key = ?`, [MARK]);
    db.tryExec('pragma journal_mode = wal');
  };
  try {
    db.run(`insert or replace into stored_objects values ('', ?, '', null)`, [MARK]);
    // Fails while another tool reads; then there is a log.
    db.tryExec('pragma journal_mode = delete');
    dropIndexes(db, record);
    let result: T;
    try {
      result = await work(() => true);
    } catch (error) {
      try {
        complete();
      } catch {
        // The disk is full: the next process to open the file completes it.
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
 * Runs work that adds records to others, perhaps beside a server. New entries of indexes are all over them, so what several
 * commits put into the same page is moved to the file once, if nobody minds a long log.
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
