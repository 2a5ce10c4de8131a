import { type ImportProgress, unfinishedImport } from '../dump.ts';
import type { Connection } from './connection.ts';

/** The table that exists while an import is unfinished. */
const TABLE = 'unfinished_import';

/** How far an import got; null if none is unfinished. */
export function progressOf(db: Connection): ImportProgress | null {
  if (db.value('select 1 from sqlite_schema where name = ?', [TABLE]) === undefined) return null;
  return JSON.parse(db.value(`select progress from ${TABLE}`) as string) as ImportProgress;
}

export function createProgress(db: Connection, progress: ImportProgress): void {
  db.transaction(() => {
    db.exec(`create table ${TABLE} (progress text not null) strict`);
    db.run(`insert into ${TABLE} values (?)`, [JSON.stringify(progress)]);
  });
}

export function saveProgress(db: Connection, progress: ImportProgress): void {
  db.run(`update ${TABLE} set progress = ?`, [JSON.stringify(progress)]);
}

export const removeProgress = (db: Connection): void => db.exec(`drop table ${TABLE}`);

/** @throws Error if the file has an unfinished import */
export function refuseUnfinishedImport(db: Connection, file: string): void {
  if (progressOf(db)) throw unfinishedImport(`The data file ${file}`);
}
