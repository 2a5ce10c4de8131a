import { statSync } from 'node:fs';
import { PAGES_PER_COMMIT, type SqliteConnection } from './connection.ts';
import type { Writer } from './writer.ts';

/** The size of a log that has outgrown normal operation, in bytes: four times what commits let it grow to. */
const LARGE = 16 * 2 ** 20;
/** The bytes to cut off a large log at once: the time it takes is proportional. */
const CUT = 16 * 2 ** 20;
/** The delay between attempts while a reader holds an older state, in milliseconds: starting a thread takes 30. */
const REST = 4_000;

/**
 * Shrinks a large write-ahead log without blocking the event loop. The log grows while an export, a backup or another
 * program reads an older state. The first commit afterwards would move all of it to the data file and truncate it,
 * which takes 3 s and 0.5 s for a gigabyte. So a thread moves it, until no more is left than a commit moves, and it is
 * truncated in pieces.
 *
 * @returns a function to call regularly, which does the next step
 */
export function shortenLog(db: SqliteConnection, writer: Writer): () => void {
  const sizeOfLog = () => statSync(`${db.file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  /** The size up to which the log is left to commits. */
  let harmless = LARGE;
  let isUnderWay = false;
  let restsUntil = 0;

  const leaveToCommits = (size: number): void => {
    harmless = Math.max(size, LARGE);
    db.tryExec(`pragma wal_autocheckpoint = ${PAGES_PER_COMMIT}`);
  };
  const look = (): void => {
    if (sizeOfLog() > harmless) db.tryExec('pragma wal_autocheckpoint = 0');
  };
  look();
  writer.follow({ refresh() {}, onCommitted: look });

  const shorten = async (): Promise<void> => {
    const sizeBefore = sizeOfLog();
    if (sizeBefore <= LARGE || performance.now() < restsUntil) return;
    if (sizeBefore > harmless && !(await db.checkpointInThread())) {
      restsUntil = performance.now() + REST;
      return;
    }
    // Checkpoints must not run within a transaction.
    await writer.committed();
    // The log has grown meanwhile.
    const size = sizeOfLog();
    db.tryExec(`pragma wal_checkpoint(passive); pragma journal_size_limit = ${Math.max(size - CUT, LARGE)}`);
    leaveToCommits(size);
    // The next write starts the log over and truncates it.
    await writer.write(() => db.run('update event_log set removed = removed', []), 'single');
    leaveToCommits(sizeOfLog());
  };

  return () => {
    if (isUnderWay) return;
    isUnderWay = true;
    shorten()
      // Commits then do it, however long that takes.
      .catch(() => leaveToCommits(sizeOfLog()))
      .finally(() => {
        isUnderWay = false;
      });
  };
}
