import type { AnyBulkWriteOperation, Document } from 'mongodb';
import { folded } from '../../foundation/folded.ts';
import type { AnyRecord } from '../../foundation/record.ts';
import { Folding, STEP } from '../folding.ts';
import { LAYOUT_COLLECTION, toId, toKey } from './collection.ts';
import type { Database } from './database.ts';
import { foldedFieldsOf } from './documents.ts';
import { ignoreDuplicate } from './errors.ts';

/** Unicode versions have one decimal. */
const CURRENT = Math.round(Number(process.versions.unicode) * 10);

/** The names in the documents of records, and how to find those to fold. */
export function createFolding({ db, options }: Database, records: readonly AnyRecord[]) {
  const marks = db.collection<{ _id: string; version: number }>(LAYOUT_COLLECTION);
  const markOf = ({ plural }: AnyRecord) => `folded/${plural}`;
  const finish = (record: AnyRecord) =>
    marks.updateOne({ _id: markOf(record) }, { $max: { version: CURRENT } }, { ...options, upsert: true });

  const folding = new Folding({
    async fold(record, after) {
      const fields = foldedFieldsOf(record);
      const names = fields.flat();
      const collection = db.collection<Document>(record.plural);
      const documents = await collection
        .find<Document>({ _id: { $gt: toKey(after) } } as never, {
          ...options,
          sort: { _id: 1 },
          limit: STEP,
          batchSize: STEP + 1,
          projection: Object.fromEntries(names.map((name) => [name, 1])),
        })
        .toArray();
      const updates: AnyBulkWriteOperation<Document>[] = [];
      for (const document of documents) {
        for (const [field, property] of fields) {
          const value = folded(document[field]);
          // Only while it still has this name. No event: the update leaves the version and the snapshot alone.
          if (document[property] !== value)
            updates.push({
              updateOne: {
                filter: { _id: document._id, [field]: document[field] },
                update: { $set: { [property]: value } },
              },
            });
        }
      }
      if (updates.length > 0) await collection.bulkWrite(updates, { ...options, ordered: false });
      return documents.length < STEP ? undefined : toId(documents.at(-1)!._id);
    },
    finish,
  });

  return {
    folding,

    /** Finds what has to be folded, and begins. A collection without documents is ready. */
    async prepare(): Promise<void> {
      for (const record of records) {
        if (foldedFieldsOf(record).length === 0) continue;
        const known = await marks.findOne({ _id: markOf(record) }, options);
        if ((known?.version ?? 0) >= CURRENT) continue;
        const some = await db.collection(record.plural).findOne({}, options);
        if (some) folding.begin(record, known !== null);
        else await finish(record).catch(ignoreDuplicate);
      }
    },
  };
}
