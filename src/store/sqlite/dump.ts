import { existsSync } from 'node:fs';
import type { AnyRecord } from '../../foundation/record.ts';
import { BATCH_SIZE, type Dump, type DumpRow, type DumpRows, partsOf } from '../dump.ts';
import type { UsageRow } from '../store.ts';
import { apiKeys } from './api-keys.ts';
import { insertionOf } from './columns.ts';
import { SqliteConnection } from './connection.ts';
import { assignIdsOf, lastAssigned } from './ids.ts';
import { PROGRESS, progressOf, refuseUnfinishedImport } from './import-progress.ts';
import { lockDataFile } from './ownership.ts';
import { dropIndexes, prepareRecords } from './record-schema.ts';
import { migrate } from './schema.ts';
import { createFile } from './sqlite-store.ts';
import { SqliteTable, type Stored } from './table.ts';
import { documentLists } from './trusted-documents.ts';
import { USAGE_DAYS } from './usage-history.ts';
import { webhooks } from './webhooks.ts';

/** How many milliseconds to wait for another process. */
const BUSY_TIMEOUT = 10_000;
/** Pages of every index change with each batch of an import, and those that don't fit are written several times. */
const CACHE_KILOBYTES = 65_536;

/**
 * Opens a data file to be exported, beside a server if there is one, or to be filled, which excludes a server.
 * An export reads one snapshot, however long it takes.
 *
 * @throws Error if the file does not exist, or if a server has it that is to be filled
 */
export function openSqliteDump(file: string, records: readonly AnyRecord[], mode: 'export' | 'import'): Dump {
  if (mode === 'export' && !existsSync(file)) throw new Error(`The data file ${file} does not exist.`);
  if (mode === 'import') createFile(file);
  const ownership = mode === 'import' ? lockDataFile(file, BUSY_TIMEOUT) : undefined;
  const db = new SqliteConnection(file, BUSY_TIMEOUT, CACHE_KILOBYTES);
  ownership?.confirm((sql) => db.value(sql));
  migrate(db);
  prepareRecords(db, records);
  if (mode === 'export') {
    refuseUnfinishedImport(db, file);
    db.exec('begin');
  } else if (progressOf(db)) dropIndexes(db, records);
  const { reads, writes } = webhooks(db);
  const parts = partsOf(
    records,
    {
      counters: counters(db, records),
      rowsOf: (record) => rowsOfRecord(db, record),
      usage: usage(db),
      usageHistory: usageHistory(db),
    },
    { ...apiKeys(db), ...documentLists(db), ...reads, ...writes },
    () => String(db.value(`select name || '-' || removed from event_log`)),
  );
  return {
    engine: 'sqlite',
    parts,
    progress: () => progressOf(db),
    begin(progress) {
      db.transaction(() => {
        db.exec(`create table ${PROGRESS} (progress text not null) strict`);
        db.run(`insert into ${PROGRESS} values (?)`, [JSON.stringify(progress)]);
      });
      dropIndexes(db, records);
    },
    add(part, rows, progress) {
      db.transaction(() => {
        part.add(rows);
        db.run(`update ${PROGRESS} set progress = ?`, [JSON.stringify(progress)]);
      });
    },
    finish() {
      prepareRecords(db, records);
      db.exec(`drop table ${PROGRESS}`);
    },
    close() {
      if (mode === 'export') db.exec('commit');
      db.close();
      ownership?.release();
    },
  };
}

/** Rows of a table in the order of a unique column, which is the first of each row. */
async function* batchesOf<T>(read: (after: T | undefined) => readonly T[]): AsyncGenerator<readonly T[]> {
  for (let rows = read(undefined); rows.length > 0; rows = read(rows.at(-1))) {
    yield rows;
    if (rows.length < BATCH_SIZE) return;
  }
}

function rowsOfRecord(db: SqliteConnection, record: AnyRecord): DumpRows {
  const stored = new SqliteTable(db, record, [], () => {}, { require() {} }, assignIdsOf(record), 0);
  const { many, row } = insertionOf(record);
  return {
    batches: () => batchesOf<Stored>((last) => stored.page({}, { limit: BATCH_SIZE, after: last?.id }).items),
    add(rows) {
      db.run(many, [JSON.stringify(rows.map((values) => row(values.id as string, values)))]);
    },
  };
}

function counters(db: SqliteConnection, records: readonly AnyRecord[]): DumpRows {
  const byName = new Map(records.map((record) => [record.plural, record]));
  return {
    async *batches() {
      yield records.map((record) => ({ records: record.plural, last: lastAssigned(db, record) }));
      for (const { choosesId, kind, plural } of records) {
        if (!choosesId) continue;
        yield* batchesOf<{ records: string; chosen: string }>(
          (last) =>
            db.json(
              `select json_group_array(json_object('records', '${plural}', 'chosen', cast(id as text))) from (
                 select id from chosen_${kind}_ids where id > ? order by id limit ${BATCH_SIZE}
               )`,
              [BigInt(last?.chosen ?? 0)],
            )!,
        );
      }
    },
    add(rows) {
      for (const row of rows as readonly { records: string; last?: string; chosen?: string }[]) {
        const { choosesId, kind, plural } = byName.get(row.records)!;
        if (row.chosen !== undefined)
          db.run(`insert or ignore into chosen_${kind}_ids values (?)`, [BigInt(row.chosen)]);
        else if (choosesId)
          db.run(`update assigned_${kind}_ids set last = max(last, ?)`, [BigInt(row.last!)]);
        else if (
          db.run('update sqlite_sequence set seq = max(seq, ?) where name = ?', [
            BigInt(row.last!),
            plural,
          ]) === 0
        )
          db.run('insert into sqlite_sequence (name, seq) values (?, ?)', [plural, BigInt(row.last!)]);
      }
    },
  };
}

function usage(db: SqliteConnection): DumpRows {
  return {
    batches: () =>
      batchesOf<{ apiKeyId: string }>(
        (last) =>
          db.json(
            `select json_group_array(json_patch(json_object('apiKeyId', api_key_id), state)) from (
               select * from usage where api_key_id > ? order by api_key_id limit ${BATCH_SIZE}
             )`,
            [last?.apiKeyId ?? ''],
          )!,
      ),
    add(rows) {
      for (const { apiKeyId, ...state } of rows)
        db.run('insert into usage (api_key_id, state) values (?, ?)', [
          apiKeyId as string,
          JSON.stringify(state),
        ]);
    },
  };
}

function usageHistory(db: SqliteConnection): DumpRows {
  const key = 'api_key_id, date, operation, transport';
  return {
    batches: () =>
      batchesOf<UsageRow & DumpRow>(
        (last) =>
          db.json(
            `select json_group_array(${USAGE_DAYS.object}) from (
               select * from usage_days where (${key}) > (?, ?, ?, ?) order by ${key} limit ${BATCH_SIZE}
             )`,
            last ? [last.apiKeyId, last.date, last.operation, last.transport] : ['', '', '', ''],
          )!,
      ),
    add: (rows) => void db.run(USAGE_DAYS.insert, [JSON.stringify(rows)]),
  };
}
