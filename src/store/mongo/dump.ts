import type { Document } from 'mongodb';
import type { Id } from '../../foundation/id.ts';
import type { AnyRecord } from '../../foundation/record.ts';
import { type DumpSource, type DumpTarget, refuseUnlessEmpty } from '../dump.ts';
import type { Store } from '../store.ts';
import { DAY } from '../usage.ts';
import { codecOf } from './codec.ts';
import { connectTo, type Database, type MongoOptions } from './database.ts';

import { type CounterDocument, countersCollection } from './ids.ts';
import { importsOf } from './layout.ts';
import { openMongoStore } from './mongo-store.ts';
import { usageCollection } from './usage.ts';

/** How long imported usage is kept if its key is not used, in milliseconds: longer than any window or ban lasts. */
const USAGE_KEPT = 3 * DAY;

/** Opens a database beside the port. */
async function connect(settings: MongoOptions): Promise<Database> {
  const database = connectTo(settings, async () => {});
  try {
    await database.execute(async () => {});
    return database;
  } catch (error) {
    await database.client.close();
    throw error;
  }
}

/** Opens a database to be exported. What is written meanwhile is exported or not. */
export async function openMongoSource(settings: MongoOptions): Promise<DumpSource> {
  const store = await openMongoStore(settings);
  const database = await connect(settings);
  const { db, options } = database;
  return {
    store,
    async lastIds() {
      const counters = await db
        .collection<CounterDocument>(countersCollection.name)
        .find({ _id: { $in: settings.records.map(({ plural }) => plural) } }, options)
        .toArray();
      return Object.fromEntries(counters.map(({ _id, value }) => [_id, String(value ?? 0) as Id]));
    },
    async close() {
      await database.client.close();
      await store.close();
    },
  };
}

/**
 * Opens an empty database to be filled. A marker keeps instances from serving it before that is finished; what an
 * interrupted import has left behind the marker is removed.
 *
 * @throws Error if it holds anything else
 */
export async function openMongoTarget(settings: MongoOptions): Promise<DumpTarget> {
  const { records } = settings;
  const database = await connect(settings);
  const { db, options } = database;
  const marker = importsOf(database);
  const clear = async () => {
    for (const { name } of await db.listCollections({}, { nameOnly: true }).toArray())
      if (!KEPT.has(name) && !name.startsWith('system.')) await db.collection(name).deleteMany({});
    await marker.deleteOne({ _id: 'unfinished' }, options);
  };
  const insert = async (name: string, documents: Document[]): Promise<void> => {
    if (documents.length > 0) await db.collection(name).insertMany(documents, { ...options, ordered: false });
  };
  let isBegun = false;
  let store!: Store;
  const close = async () => {
    await store?.close();
    await database.client.close();
  };
  try {
    if (await marker.findOne({ _id: 'unfinished' }, options)) await clear();
    store = await openMongoStore(settings);
    await refuseUnlessEmpty(store, records);
    await marker.insertOne({ _id: 'unfinished' }, options);
    isBegun = true;
  } catch (error) {
    await close();
    throw error;
  }
  return {
    store,
    async setLastIds(lastIds) {
      const counters = db.collection<CounterDocument>(countersCollection.name);
      for (const [_id, last] of Object.entries(lastIds))
        await counters.updateOne({ _id }, { $max: { value: BigInt(last) } }, { ...options, upsert: true });
    },
    async addRecords(record: AnyRecord, rows) {
      const codec = codecOf(record);
      await insert(
        record.plural,
        rows.map((row) => codec.toDocument(row)),
      );
    },
    addUsage: (rows) =>
      insert(
        usageCollection.name,
        rows.map(({ apiKeyId, ...state }) => ({
          _id: apiKeyId as never,
          ...state,
          forgetAt: new Date(Date.now() + USAGE_KEPT),
        })),
      ),
    async finish() {
      await marker.deleteOne({ _id: 'unfinished' }, options);
      isBegun = false;
      await close();
    },
    async close() {
      if (isBegun) await clear();
      await close();
    },
  };
}

/** The collections that an interrupted import leaves as they are. */
const KEPT = new Set(['layout', 'imports']);
