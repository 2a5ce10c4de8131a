import type { AnyBulkWriteOperation, Document } from 'mongodb';
import { AppError } from '../../foundation/errors.ts';
import { folded, UNICODE_VERSION } from '../../foundation/folded.ts';
import type { AnyRecord, Fields } from '../../foundation/record.ts';
import { isFolded } from '../order.ts';
import { LAYOUT_COLLECTION } from './collection.ts';
import type { Database } from './database.ts';
import { isDuplicateKey } from './errors.ts';
import { sortProperty } from './ordered-page.ts';

/** A field that is ordered by the folded form in another property. */
export interface FoldedField {
  field: string;
  property: string;
}

/** Documents taken over in one step. */
const STEP = 500;
/** Milliseconds between two steps, in which the database serves others. */
const PAUSE = 20;
/** Milliseconds before another attempt if the database is away. */
const RETRY = 2_000;

export const foldedFieldsOf = ({ fields, sorts }: AnyRecord): readonly FoldedField[] =>
  Object.entries(fields as Fields).flatMap(([field, declaration]) =>
    sorts.includes(field) && isFolded(declaration)
      ? { field, property: sortProperty(field, declaration) }
      : [],
  );

/** Unicode versions have one decimal. */
const CURRENT = Math.round(UNICODE_VERSION * 10);

const ignoreDuplicate = (error: unknown): void => {
  if (!isDuplicateKey(error)) throw error;
};

export type Folding = ReturnType<typeof createFolding>;

/**
 * Folds the names of records that an earlier version stored, or one with an earlier version of Unicode, in steps
 * between which requests are served. Instances do it side by side without harm.
 */
export function createFolding(database: Database, all: readonly AnyRecord[]) {
  const records = all.filter((record) => foldedFieldsOf(record).length > 0);
  /** Records whose lists cannot be ordered by name yet. */
  const unready = new Set<AnyRecord>();
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const { db, options } = database;
  const marks = db.collection<{ _id: string; version: number }>(LAYOUT_COLLECTION);
  const markOf = ({ plural }: AnyRecord) => `folded/${plural}`;
  const mark = (record: AnyRecord) =>
    marks.updateOne({ _id: markOf(record) }, { $max: { version: CURRENT } }, { ...options, upsert: true });

  const later = (pause: number, work: () => Promise<void>, failed: () => void): void => {
    if (stopped) return;
    timer = setTimeout(() => void work().catch(failed), pause).unref();
  };

  function takeOver(record: AnyRecord, after: unknown, pause = PAUSE): void {
    const again = () => takeOver(record, after, RETRY);
    later(
      pause,
      async () => {
        const last = await step(record, after);
        if (last !== undefined) return takeOver(record, last);
        await mark(record);
        unready.delete(record);
        return undefined;
      },
      again,
    );
  }

  /** @returns the id of the last document looked at; undefined at the end */
  async function step(record: AnyRecord, after: unknown): Promise<unknown> {
    const fields = foldedFieldsOf(record);
    const collection = db.collection(record.plural);
    const found = await collection
      .find(after === undefined ? {} : { _id: { $gt: after as never } }, {
        ...options,
        sort: { _id: 1 },
        limit: STEP,
        batchSize: STEP + 1,
        projection: Object.fromEntries(
          fields.flatMap(({ field, property }) => [
            [field, 1],
            [property, 1],
          ]),
        ),
      })
      .toArray();
    const updates: AnyBulkWriteOperation<Document>[] = [];
    for (const document of found) {
      for (const { field, property } of fields) {
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
    if (updates.length > 0) await collection.bulkWrite(updates as never, { ...options, ordered: false });
    return found.length < STEP ? undefined : found.at(-1)!._id;
  }

  return {
    /** Finds what has to be taken over, and begins. A collection without documents is ready. */
    async prepare(): Promise<void> {
      for (const record of records) {
        const known = await marks.findOne({ _id: markOf(record) }, options);
        if ((known?.version ?? 0) >= CURRENT) continue;
        const [some] = await db
          .collection(record.plural)
          .find({}, { ...options, limit: 1 })
          .toArray();
        if (some && !known) unready.add(record);
        if (some) takeOver(record, undefined);
        else await mark(record).catch(ignoreDuplicate);
      }
    },

    /** @throws UNAVAILABLE while the names of these records are not all folded */
    require(record: AnyRecord): void {
      if (!unready.has(record)) return;
      const message = 'Names are being prepared for ordering and finding. Please try again.';
      throw new AppError('UNAVAILABLE', message, { retryAfter: 5 });
    },

    stop(): void {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
