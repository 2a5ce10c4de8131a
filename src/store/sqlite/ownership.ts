import Database from 'libsql';

/**
 * Makes this process the only server on a data file, so that it may cache rows and counts. The lock is an
 * exclusive transaction on a second database beside it, which the operating system releases when the process
 * ends for any reason.
 *
 * @returns a function that releases the lock
 * @throws Error if another server has it
 */
export function lockDataFile(file: string): () => void {
  const lock = new Database(`${file}.lock`);
  try {
    lock.exec('begin exclusive');
  } catch (error) {
    lock.close();
    if ((error as { code?: string }).code !== 'SQLITE_BUSY') throw error;
    throw new Error(
      `The data file ${file} is in use by another server. Stop that server or use another file.`,
    );
  }
  return () => lock.close();
}
