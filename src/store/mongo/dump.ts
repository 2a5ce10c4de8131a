import type { Document, Filter } from 'mongodb';
import type { Id } from '../../foundation/id.ts';
import type { AnyRecord } from '../../foundation/record.ts';
import { BATCH_SIZE, type Dump, type DumpRow, type DumpRows, partsOf } from '../dump.ts';
import type { UsageRow } from '../store.ts';
import { DAY } from '../usage.ts';
import { mongoApiKeys } from './api-keys.ts';
import { createAttempts } from './attempts.ts';
import { IMPORTED_VERSION, toKey } from './collection.ts';
import { connectTo, type Database, type MongoOptions } from './database.ts';
import { DocumentCodec } from './documents.ts';
import { ignoreDuplicate } from './errors.ts';
import { mongoEvents } from './events.ts';
import { createFolding } from './folding.ts';
import { type CounterDocument, countersCollection, prepareIds, reservationOf } from './ids.ts';
import { importsOf, prepareLayout, refuseUnfinishedImport } from './layout.ts';
import { mongoDocuments } from './trusted-documents.ts';
import { toUsage, type UsageDocument, usageCollection } from './usage.ts';
import { mongoUsageHistory, rowsOf, type UsageDayDocument, usageHistoryCollection } from './usage-history.ts';
import { mongoWebhooks } from './webhooks.ts';

/** How long imported usage is kept if its key is not used, in milliseconds: longer than any window or ban lasts. */
const USAGE_KEPT = 3 * DAY;

/**
 * Opens a database to be exported or filled.
 *
 * @throws UNAVAILABLE if it is away; Error if it is to be exported and has an unfinished import
 */
export async function openMongoDump(settings: MongoOptions, mode: 'export' | 'import'): Promise<Dump> {
  const database: Database = connectTo(settings, async (hello) => {
    const changed = await prepareLayout(database, settings.records, hello, () => {});
    await prepareIds(database, settings.records);
    // Records that are imported come with their names folded.
    if (mode === 'import') await names.prepare();
    return changed;
  });
  const names = createFolding(database, settings.records);
  try {
    await database.execute(async () => {
      if (mode === 'export') await refuseUnfinishedImport(database);
    });
  } catch (error) {
    await database.client.close();
    throw error;
  }
  return dumpOf(database, settings.records);
}

function dumpOf(database: Database, records: readonly AnyRecord[]): Dump {
  const { db, options } = database;
  const progress = importsOf(database);

  /** Rows of a collection in the order of their ids. */
  async function* batches<D extends Document>(
    name: string,
    toRows: (document: D) => DumpRow | readonly DumpRow[],
    where: Document = {},
  ): AsyncGenerator<readonly DumpRow[]> {
    const collection = db.collection<Document>(name);
    for (let last: unknown; ; ) {
      const range = last === undefined ? where : { $and: [where, { _id: { $gt: last } }] };
      const documents = await collection
        .find(range as Filter<Document>, {
          ...options,
          sort: { _id: 1 },
          limit: BATCH_SIZE,
          batchSize: BATCH_SIZE + 1,
        })
        .toArray();
      if (documents.length === 0) return;
      yield documents.flatMap((document) => toRows(document as unknown as D));
      last = documents.at(-1)!._id;
    }
  }

  /** Those that are there already were added before the import was interrupted. */
  async function insert(name: string, documents: readonly Document[]): Promise<void> {
    if (documents.length === 0) return;
    await db
      .collection<Document>(name)
      .insertMany(documents as Document[], { ...options, ordered: false })
      .catch(ignoreDuplicate);
  }

  const rowsOfRecord = (record: AnyRecord): DumpRows => {
    const codec = new DocumentCodec(record);
    return {
      batches: () => batches(record.plural, codec.toRecord),
      add: (rows) =>
        insert(
          record.plural,
          rows.map((row) => ({ ...codec.newDocument(toKey(row.id as Id), row), version: IMPORTED_VERSION })),
        ),
    };
  };

  const counters: DumpRows = {
    async *batches() {
      const documents = await db
        .collection<CounterDocument>(countersCollection.name)
        .find({ _id: { $in: records.map(({ plural }) => plural) } }, options)
        .toArray();
      const sequences = records.map(({ plural }) => ({
        name: plural,
        last: documents.find(({ _id }) => _id === plural)?.value ?? 0n,
      }));
      yield sequences.map(({ name, last }) => ({ records: name, last: String(last) }));
      for (const { name, last } of sequences) {
        const reserved = { _id: { $gt: reservationOf(name, last), $lt: `${name}0` } };
        yield* batches<CounterDocument>(
          countersCollection.name,
          ({ _id }) => ({ records: name, chosen: String(BigInt(_id.slice(name.length + 1))) }),
          reserved,
        );
      }
    },
    async add(rows) {
      const collection = db.collection<CounterDocument>(countersCollection.name);
      const all = rows as unknown as readonly { records: string; last?: string; chosen?: string }[];
      for (const { records: name, last } of all) {
        if (last !== undefined)
          await collection.updateOne(
            { _id: name },
            { $max: { value: BigInt(last) } },
            { ...options, upsert: true },
          );
      }
      const chosen = all.filter((row) => row.chosen !== undefined);
      await insert(
        countersCollection.name,
        chosen.map(({ records: name, chosen }) => ({ _id: reservationOf(name, BigInt(chosen!)) })),
      );
    },
  };

  const usage: DumpRows = {
    batches: () =>
      batches<UsageDocument>(usageCollection.name, (document) => ({
        apiKeyId: document._id,
        ...toUsage(document),
      })),
    add: (rows) =>
      insert(
        usageCollection.name,
        rows.map(({ apiKeyId, ...state }) => ({
          _id: apiKeyId,
          ...state,
          forgetAt: new Date(Date.now() + USAGE_KEPT),
        })),
      ),
  };

  const history = mongoUsageHistory(database);
  const usageHistory: DumpRows = {
    batches: () => batches<UsageDayDocument>(usageHistoryCollection.name, rowsOf),
    add: (rows) => history.importUsage(rows as unknown as readonly UsageRow[]),
  };

  const events = mongoEvents(database, records);
  const webhooks = mongoWebhooks(database, () => {});
  // A standalone server has no log, and delivers nothing.
  const beginning = () => (database.transactions ? events.endOfEvents() : '');

  return {
    engine: 'mongodb',
    parts: partsOf(
      records,
      { counters, rowsOf: rowsOfRecord, usage, usageHistory },
      {
        ...mongoDocuments(database),
        ...webhooks.reads,
        ...webhooks.writes(createAttempts(database).run),
        ...mongoApiKeys(database),
      },
      beginning,
    ),
    async progress() {
      const state = await progress.findOne({ _id: 'unfinished' }, options);
      if (!state) return null;
      const rows = Object.entries(state.rows).map(([name, count]) => [name, Number(count)]);
      return { manifest: state.manifest, rows: Object.fromEntries(rows) as Record<string, number> };
    },
    async begin(first) {
      await progress.insertOne({ _id: 'unfinished', ...first }, options);
    },
    async add(part, rows, { rows: done }) {
      await part.add(rows);
      await progress.updateOne({ _id: 'unfinished' }, { $set: { rows: done } }, options);
    },
    async finish() {
      await progress.deleteOne({ _id: 'unfinished' }, options);
    },
    close: () => database.client.close(),
  };
}
