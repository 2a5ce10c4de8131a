import { statSync } from 'node:fs';
import { PAGES_PER_COMMIT, type SqliteConnection } from './connection.ts';
import type { Writer } from './writer.ts';

/** The size of a log that has grown beside a reader, in bytes: four times what commits let it grow to. */
const LARGE = 16 * 2 ** 20;
/** The bytes by which a large log is cut at once, which takes as long. */
const CUT = 16 * 2 ** 20;
/** The time until the next attempt while somebody reads an older state, in milliseconds: a thread takes 30 ms to start. */
const REST = 4_000;

/**
 * Keeps the work that a long reader leaves behind off the event loop. While an export, a backup or another program reads an
 * older state, the write-ahead log grows; the first commit after it would move all of it to the data file, and cut the log,
 * which take 3 s and 0.5 s for a gigabyte. So a log that has grown is moved in a thread, until what is left is no more than a
 * commit moves, and cut in pieces.
 *
 * @returns a function that does the next step. Must be called regularly
 */
export function shortenLog(db: SqliteConnection, writer: Writer): () => void {
  const sizeOfLog = () => statSync(`${db.file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  /** Up to this size, nothing has piled up. */
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
    // Not within a transaction.
    await writer.committed();
    // It has grown meanwhile.
    const size = sizeOfLog();
    db.tryExec(`pragma wal_checkpoint(passive); pragma journal_size_limit = ${Math.max(size - CUT, LARGE)}`);
    leaveToCommits(size);
    // The log begins anew with the next write, and is cut then.
    await writer.write(() => db.run('update event_log set removed = removed', []), 'single');
    leaveToCommits(sizeOfLog());
  };

  return () => {
    if (isUnderWay) return;
    isUnderWay = true;
    shorten()
      // Commits do it then, however long that takes.
      .catch(() => leaveToCommits(sizeOfLog()))
      .finally(() => {
        isUnderWay = false;
      });
  };
}
