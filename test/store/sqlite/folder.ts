import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, vi } from 'vitest';
import { api } from '../../../src/api.ts';
import { openDatabase } from '../../../src/store/sqlite/connection.ts';
import { openSqliteStore, type SqliteOptions } from '../../../src/store/sqlite/sqlite-store.ts';

/** A folder for each test of a file. What it opens in there is closed after it, and the folder is removed. */
export function useFolder() {
  let home = '';
  const opened: { close(): unknown }[] = [];
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'petstore-sqlite-'));
    mkdirSync(join(home, 'data'));
  });
  afterEach(async () => {
    vi.useRealTimers();
    // What a test has closed refuses to close again.
    for (const each of opened.splice(0))
      await Promise.resolve()
        .then(() => each.close())
        .catch(() => {});
    rmSync(home, { recursive: true, force: true });
  });
  const closing = <T extends { close(): unknown }>(one: T): T => {
    opened.push(one);
    return one;
  };
  const fileOf = () => join(home, 'data', 'petstore.db');
  return {
    get home() {
      return home;
    },
    get file() {
      return fileOf();
    },
    /** Has something closed after the test. */
    closing,
    open: (options: Partial<SqliteOptions> = {}) =>
      closing(
        openSqliteStore({
          records: api.records,
          file: fileOf(),
          role: 'server',
          busyTimeout: 10,
          ...options,
        }),
      ),
    /** Another program that uses the file of the store. */
    outsider: (file = fileOf()) => closing(openDatabase(file)),
  };
}
