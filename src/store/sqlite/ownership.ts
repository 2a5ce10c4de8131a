import Database from 'libsql';

/**
 * Makes this process the only server on a data file, so that it may keep rows and counts in memory. An exclusive
 * transaction on a database beside it is the lock: the operating system ends it with the process, however that ends.
 *
 * @returns what gives the file free again
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
      `The data file ${file} is in use by another server. Stop that one, or choose another file.`,
    );
  }
  return () => lock.close();
}
