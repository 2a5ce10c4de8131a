import { type ImportProgress, unfinishedImport } from '../dump.ts';
import type { SqliteConnection } from './connection.ts';

/** The table that exists while an import is unfinished. */
export const PROGRESS = 'unfinished_import';

/** How far an import got; null if none is unfinished. */
export function progressOf(db: SqliteConnection): ImportProgress | null {
  if (db.value('select 1 from sqlite_schema where name = ?', [PROGRESS]) === undefined) return null;
  return JSON.parse(db.value(`select progress from ${PROGRESS}`) as string) as ImportProgress;
}

/** @throws Error if the file has an unfinished import */
export function refuseUnfinishedImport(db: SqliteConnection, file: string): void {
  if (progressOf(db)) throw unfinishedImport(`The data file ${file}`);
}
