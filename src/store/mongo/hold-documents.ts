import type { AnyBulkWriteOperation, Document, Filter } from 'mongodb';
import { batch } from './batching.ts';
import { type CollectionDefinition, DATE, objectSchema, STRING } from './collection.ts';
import type { Database } from './database.ts';
import { isDuplicateKey, WriteConflict } from './errors.ts';

/** The holds on a parent, and its deleter if there is one. */
interface HoldDocument {
  /** The parent, such as `categories/7`. */
  _id: string;
  /** When each hold was acquired. */
  holders?: Record<string, Date>;
  closing?: { by: string; at: Date };
  /** When the document last changed. */
  at?: Date;
}

export const holdsCollection: CollectionDefinition = {
  name: 'holds',
  schema: objectSchema({
    _id: STRING,
    'holders?': { bsonType: 'object', additionalProperties: DATE },
    'closing?': objectSchema({ by: STRING, at: DATE }),
    'at?': DATE,
  }),
  // Removes what dead instances have left behind after it has expired.
  indexes: [{ key: { at: 1 }, expireAfterSeconds: 600 }],
};

/** How long holds and marks are valid, in milliseconds on the server's clock. */
export const HOLD_TTL = 60_000;
const MARK_TTL = 3_500;

/** A mark, and the holds that existed when it was set. */
export interface Mark {
  by: string;
  at: Date;
  holders: Record<string, Date>;
}

export type HoldDocuments = ReturnType<typeof createHoldDocuments>;

/** Atomic updates of holds and marks. `name` is the parent, `id` a hold, `by` a deleter. */
export function createHoldDocuments({ db, options }: Database) {
  const documents = db.collection<HoldDocument>(holdsCollection.name);

  /** Updates the document of a parent, creating it if needed. @returns the updated document */
  async function upsert(
    filter: Filter<HoldDocument> & { _id: string },
    update: Document,
  ): Promise<HoldDocument> {
    const change = { ...update, $currentDate: { ...update.$currentDate, at: true } };
    const settings = { ...options, upsert: true, returnDocument: 'after' } as const;
    const document = await documents.findOneAndUpdate(filter, change, settings);
    if (!document) throw new WriteConflict();
    return document;
  }

  const emptied = { holders: { $in: [{}, null] }, closing: { $exists: false } } as Filter<HoldDocument>;
  /** Removes holds and marks, and documents left empty. */
  const remove = batch<{ filter: { _id: string }; field: string }, void>(async (all) => {
    const operations = all.map(({ filter, field }) => ({
      updateOne: { filter, update: { $unset: { [field]: true } } },
    })) as AnyBulkWriteOperation<HoldDocument>[];
    const names = [...new Set(all.map(({ filter }) => filter._id))];
    await documents.bulkWrite(
      [...operations, { deleteMany: { filter: { _id: { $in: names }, ...emptied } } }],
      options,
    );
    return all.map(() => undefined);
  });

  return {
    /** @returns whether the parent is marked for deletion */
    async acquire(name: string, id: string): Promise<boolean> {
      const { holders, closing } = await upsert({ _id: name }, { $currentDate: { [`holders.${id}`]: true } });
      const now = holders![id]!.getTime();
      return closing !== undefined && now - closing.at.getTime() < MARK_TTL;
    },

    release: (_id: string, id: string): Promise<void> => remove({ filter: { _id }, field: `holders.${id}` }),

    /** @returns null if the parent already has a mark */
    async mark(_id: string, by: string): Promise<Mark | null> {
      const update = { $set: { 'closing.by': by }, $currentDate: { 'closing.at': true } };
      try {
        const { closing, holders = {} } = await upsert({ _id, closing: { $exists: false } } as never, update);
        return { ...closing!, holders };
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
        return null;
      }
    },

    /** The mark of a parent and whether it has expired. */
    async markOf(name: string): Promise<{ by: string; isExpired: boolean } | undefined> {
      const { closing, at } = await upsert({ _id: name }, {});
      return closing && { by: closing.by, isExpired: at!.getTime() - closing.at.getTime() >= MARK_TTL };
    },

    removeMark: (_id: string, by: string): Promise<void> =>
      remove({ filter: { _id, 'closing.by': by } as never, field: 'closing' }),

    async holdersOf(name: string): Promise<Record<string, Date>> {
      const document = await documents.findOne({ _id: name }, { ...options, projection: { holders: 1 } });
      return document?.holders ?? {};
    },
  };
}
