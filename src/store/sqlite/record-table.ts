import DataLoader from 'dataloader';
import { LRUCache } from 'lru-cache';
import { LatestKeys } from '../../foundation/cache.ts';
import type { Id } from '../../foundation/id.ts';
import type { MaybePromise } from '../../foundation/turns.ts';
import type { AnyDeclaration } from '../../foundation/record.ts';
import type { RowWrites, StoredRow } from '../engine.ts';
import { eventOf, type StoredEvent } from '../events.ts';
import type { Page } from '../../foundation/table.ts';
import { allColumnsOf, insertRecords, rowForm } from './columns.ts';
import type { SqliteConnection } from './connection.ts';
import { idsOf } from './ids.ts';
import { extendCounts, UNCOUNTED } from './kept-counts.ts';
import { conditionsOf, countGroups, countMatching, idList, readPages } from './list-pages.ts';
import type { Gate, Writer } from './writer.ts';

/** The overhead of a cache entry, in bytes. */
const ENTRY_BYTES = 200;

/** Estimates the size of records in memory, in bytes. */
const bytesOf = (records: readonly StoredRow[]): number =>
  ENTRY_BYTES * records.length + 2 * JSON.stringify(records).length;

/** Runs work when a gate opens, at once if it is open. */
const passing = <T>(gate: Gate, work: () => T): MaybePromise<T> => gate()?.then(work) ?? work();

/**
 * Reads for many requests together, once those of a turn of the event loop have asked: one statement for ten records,
 * and one snapshot for ten lists, take half as long as ten. If that fails, each reads alone.
 */
function together<Key, Value>(
  gate: Gate,
  read: (keys: readonly Key[]) => Value[],
): (key: Key) => Promise<Value> {
  const attempted = (keys: readonly Key[]): (Value | Error)[] => {
    try {
      return read(keys);
    } catch (error) {
      return keys.length === 1 ? [error as Error] : keys.flatMap((key) => attempted([key]));
    }
  };
  /** One for each turn, as it holds the results of its latest batch, those of all connections, against garbage collection. */
  let loader: DataLoader<Key, Value> | undefined;
  const readAll = (keys: readonly Key[]) => {
    loader = undefined;
    return Promise.resolve(passing(gate, () => attempted(keys)));
  };
  return (key) =>
    (loader ??= new DataLoader(readAll, { cache: false, batchScheduleFn: process.nextTick })).load(key);
}

/**
 * The records of one kind in the embedded engine.
 *
 * @param append logs a change in its transaction
 * @param cacheBytes the maximum size of cached records, and of cached pages, in bytes
 * @returns the reads and writes that wait at a gate
 */
export function tableOf(
  declaration: AnyDeclaration,
  db: SqliteConnection,
  writer: Writer,
  append: (event: Pick<StoredEvent, 'type' | 'record'>) => void,
  cacheBytes: number,
): (gate: Gate) => RowWrites {
  const { plural } = declaration;
  const { read, decode } = rowForm(declaration);
  const assigner = idsOf(db, writer, declaration);
  /** Records by id, returned without copying and therefore frozen. */
  const cache = new LRUCache<string, StoredRow>({
    maxSize: cacheBytes,
    sizeCalculation: (record) => bytesOf([record]),
  });
  /** Pages read since the last write to the table, by query. */
  const pages = new LRUCache<string, Page<StoredRow>[]>({
    maxSize: cacheBytes,
    sizeCalculation: (pages, key) =>
      pages.reduce((bytes, { items }) => bytes + ENTRY_BYTES + bytesOf(items), 2 * key.length),
  });
  /**
   * Recent ids and queries, about as many as are cached. Only repeated ones are cached, since caching takes longer than
   * the read itself.
   */
  const latest = new LatestKeys(8_192);
  const latestQueries = new LatestKeys(1_024);
  /** The number of records written since counts were extended. */
  let uncounted = UNCOUNTED;
  writer.follow({
    refresh() {
      cache.clear();
      pages.clear();
      uncounted = UNCOUNTED;
    },
    beforeCommit() {
      if (uncounted <= UNCOUNTED) return;
      uncounted = extendCounts(db, declaration) ? UNCOUNTED : 0;
    },
  });

  const decoded = (row: readonly unknown[]): StoredRow => {
    const record = decode(row);
    if (latest.add(record.id)) cache.set(record.id, Object.freeze(record));
    return record;
  };

  const find = (id: Id): StoredRow | null => {
    const cached = cache.get(id);
    if (cached) return cached;
    const row = db.row(`select ${read} from "${plural}" where id = ?`, [BigInt(id)]);
    return row ? decoded(row) : null;
  };

  const findAll = (ids: readonly Id[]): (StoredRow | null)[] => {
    const records = new Map<Id, StoredRow>();
    const missing: Id[] = [];
    for (const id of ids) {
      const cached = cache.get(id);
      if (cached) records.set(id, cached);
      else missing.push(id);
    }
    const some = `"${plural}" where id in (select value from json_each(?))`;
    if (missing.length > 0)
      for (const row of db.rows(read, some, [idList(missing)])) {
        const record = decoded(row);
        records.set(record.id, record);
      }
    return ids.map((id) => records.get(id) ?? null);
  };

  const changed = (before: StoredRow | undefined, after: StoredRow | undefined): void => {
    append(eventOf(declaration, before, after));
    if (pages.size > 0) pages.clear();
    if (after && cache.has(after.id)) cache.set(after.id, Object.freeze(after));
    else if (before) cache.delete(before.id);
  };

  const byIds = (ids: readonly Id[]) => (ids.length === 1 ? [find(ids[0]!)] : findAll(ids));

  const findTogether = together(writer.committed, byIds);
  const readTogether = together(writer.committed, (reads: readonly (() => Page<StoredRow>[])[]) => {
    const readEach = () => reads.map((read) => read());
    return reads.length > 2 ? db.snapshot(readEach) : readEach();
  });

  return (gate) => ({
    cached: (id) => (gate() ? undefined : cache.get(id)),

    load: (id) => (gate === writer.committed ? findTogether(id) : passing(gate, () => find(id))),
    byIds: (ids) => passing(gate, () => byIds(ids)),

    pages(lists, request) {
      const query = JSON.stringify([lists.filter, lists.below, request]);
      const kept = gate() ? undefined : pages.get(query);
      const readList = () => {
        const list = readPages(db, declaration, lists, request);
        if (latestQueries.add(query)) pages.set(query, list);
        return list;
      };
      return kept ?? (gate === writer.committed ? readTogether(readList) : passing(gate, readList));
    },

    async counts(lists, meter) {
      await gate();
      return countMatching(db, declaration, lists, meter);
    },

    async groups(filter, by, most, meter) {
      await gate();
      return countGroups(db, declaration, filter, by, most, meter);
    },

    exists: (filter) =>
      passing(gate, () => {
        const { where, values } = conditionsOf(declaration, { filter });
        return !!db.row(`select 1 from "${plural}" where ${where.join(' and ')} limit 1`, [...values[0]!]);
      }),

    /** Needs no locks: nobody else writes until the transaction ends. */
    lock: (ids) =>
      passing(gate, () => {
        const records = byIds(ids);
        return new Set(ids.filter((_, n) => records[n]));
      }),

    nextIds: (count) => passing(gate, () => Array.from({ length: count }, assigner.next)),

    insert: (added) =>
      passing(gate, () => {
        insertRecords(db, declaration, added);
        assigner.added(added);
        uncounted += added.length;
        for (const one of added) changed(undefined, one);
      }),

    async replace(before, after) {
      await gate();
      // SQLite rewrites the indexes of every column in the statement, so it leaves out unchanged ones.
      const written = allColumnsOf(declaration).filter(
        ({ field, stored }) => stored(after[field]) !== stored(before[field]),
      );
      db.run(`update "${plural}" set ${written.map(({ name }) => `${name} = ?`).join(', ')} where id = ?`, [
        ...written.map(({ field, stored }) => stored(after[field])),
        BigInt(after.id),
      ]);
      uncounted++;
      changed(before, after);
    },

    async delete(deleted) {
      await gate();
      db.run(`delete from "${plural}" where id = ?`, [BigInt(deleted.id)]);
      uncounted++;
      changed(deleted, undefined);
    },
  });
}
