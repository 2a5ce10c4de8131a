import type { Document } from 'mongodb';
import type { AnyRecord } from '../../foundation/record.ts';
import { type DumpTarget, refuseUnlessEmpty } from '../dump.ts';
import { codecOf } from './codec.ts';
import { countersOf } from './ids.ts';
import { layoutsOf } from './layout.ts';
import { type MongoOptions, openMongoStore } from './mongo-store.ts';

/**
 * Opens an empty database to be filled. A mark keeps instances from serving it before that is finished; what an
 * interrupted import has left behind is removed.
 *
 * @throws Error if it holds anything else
 */
export async function openMongoTarget(settings: MongoOptions): Promise<DumpTarget> {
  const { records } = settings;
  const store = await openMongoStore({ ...settings, role: 'import' });
  const db = store.client.db();
  const layouts = layoutsOf(db);
  const mark = (isImporting: boolean) => layouts.updateOne({ _id: 'layout' }, { $set: { isImporting } });
  const clear = async () => {
    for (const { name } of await db.listCollections({}, { nameOnly: true }).toArray())
      if (name !== 'layout' && !name.startsWith('system.')) await db.collection(name).deleteMany({});
    await mark(false);
  };
  const insert = async (name: string, documents: Document[]): Promise<void> => {
    if (documents.length > 0) await db.collection(name).insertMany(documents, { ordered: false });
  };
  let isFinished = false;
  try {
    await store.ping();
    if ((await layouts.findOne())?.isImporting) await clear();
    await refuseUnlessEmpty(store, records);
    await mark(true);
  } catch (error) {
    await store.close();
    throw error;
  }
  return {
    store,
    async setLastIds(lastIds) {
      for (const [_id, last] of Object.entries(lastIds))
        await countersOf(db).updateOne({ _id }, { $max: { value: BigInt(last) } }, { upsert: true });
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
        'usage',
        rows.map(({ apiKeyId, ...state }) => ({ _id: apiKeyId as never, ...state })),
      ),
    async finish() {
      isFinished = true;
    },
    async close() {
      await (isFinished ? mark(false) : clear());
      await store.close();
    },
  };
}
