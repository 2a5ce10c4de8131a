import { type ImportProgress, unfinishedImport } from '../dump.ts';
import type { SqliteConnection } from './connection.ts';

/** The table that exists while an import is unfinished. */
const TABLE = 'unfinished_import';

/** How far an import got; null if none is unfinished. */
export function progressOf(db: SqliteConnection): ImportProgress | null {
  if (db.value('select 1 from sqlite_schema where name = ?', [TABLE]) === undefined) return null;
  return JSON.parse(db.value(`select progress from ${TABLE}`) as string) as ImportProgress;
}

export function createProgress(db: SqliteConnection, progress: ImportProgress): void {
  db.transaction(() => {
    db.exec(`create table ${TABLE} (progress text not null) strict`);
    db.run(`insert into ${TABLE} values (?)`, [JSON.stringify(progress)]);
  });
}

export function saveProgress(db: SqliteConnection, progress: ImportProgress): void {
  db.run(`update ${TABLE} set progress = ?`, [JSON.stringify(progress)]);
}

export const removeProgress = (db: SqliteConnection): void => db.exec(`drop table ${TABLE}`);

/** @throws Error if the file has an unfinished import */
export function refuseUnfinishedImport(db: SqliteConnection, file: string): void {
  if (progressOf(db)) throw unfinishedImport(`The data file ${file}`);
}
