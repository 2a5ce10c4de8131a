import type { AnyBulkWriteOperation, Document, Filter } from 'mongodb';
import { together } from './batches.ts';
import type { Database } from './database.ts';
import { isDuplicateKey, LostRace } from './errors.ts';
import { type CollectionPlan, DATE, STRING, shape } from './plan.ts';

/** What refers to one parent, and who is about to delete it. */
interface HoldDocument {
  /** The parent: `categories/7`. */
  _id: string;
  /** When each hold was taken. */
  holders?: Record<string, Date>;
  closing?: { by: string; at: Date };
  /** When anything was last taken. */
  at?: Date;
}

export const holdsPlan: CollectionPlan = {
  name: 'holds',
  schema: shape({
    _id: STRING,
    'holders?': { bsonType: 'object', additionalProperties: DATE },
    'closing?': shape({ by: STRING, at: DATE }),
    'at?': DATE,
  }),
  // What dead instances have left; nothing of it counts any more.
  indexes: [{ key: { at: 1 }, expireAfterSeconds: 600 }],
};

/** How long a hold counts, and how long a mark does, in milliseconds by the clock of the server. */
export const HOLD_LIFE = 60_000;
const MARK_LIFE = 3_500;

/** A mark as it was set, and the holds that it met. */
export interface Mark {
  by: string;
  at: Date;
  holders: Record<string, Date>;
}

export type HoldDocuments = ReturnType<typeof holdDocumentsOf>;

/** The atomic updates of holds and marks. `name` is the parent, `id` a hold, `by` who marks. */
export function holdDocumentsOf({ db, options, timeoutMs }: Database) {
  const documents = db.collection<HoldDocument>(holdsPlan.name);

  /** Updates the document of a parent, which is made if it is not there. @returns it as it is then */
  async function touch(
    filter: Filter<HoldDocument> & { _id: string },
    update: Document,
  ): Promise<HoldDocument> {
    for (const deadline = performance.now() + timeoutMs; ; ) {
      try {
        const touched = await documents.findOneAndUpdate(
          filter,
          { ...update, $currentDate: { ...update.$currentDate, at: true } },
          { ...options, upsert: true, returnDocument: 'after' },
        );
        if (touched) return touched;
      } catch (error) {
        // Somebody else made it at the same moment, or the filter asks for more than the _id.
        if (!isDuplicateKey(error) || Object.keys(filter).length > 1) throw error;
      }
      if (performance.now() > deadline) throw new LostRace();
    }
  }

  const emptied = { holders: { $in: [{}, null] }, closing: { $exists: false } } as Filter<HoldDocument>;
  /** Removes holds and marks, and the documents that have nothing left in them. */
  const remove = together<[string, AnyBulkWriteOperation<HoldDocument>], void>(async (all) => {
    const names = [...new Set(all.map(([name]) => name))];
    await documents.bulkWrite(
      [
        ...all.map(([, operation]) => operation),
        { deleteMany: { filter: { _id: { $in: names }, ...emptied } } },
      ],
      options,
    );
    return all.map(() => undefined);
  });

  return {
    /** @returns whether somebody is about to delete the parent */
    async take(name: string, id: string): Promise<boolean> {
      const update = { $currentDate: { [`holders.${id}`]: true } };
      const { holders, closing } = await touch({ _id: name }, update);
      const now = holders![id]!.getTime();
      return closing !== undefined && now - closing.at.getTime() < MARK_LIFE;
    },

    giveBack: (name: string, id: string): Promise<void> =>
      remove([
        name,
        { updateOne: { filter: { _id: name }, update: { $unset: { [`holders.${id}`]: true } } as Document } },
      ]),

    /** @returns null if the parent is marked already */
    async mark(name: string, by: string): Promise<Mark | null> {
      const update = { $set: { 'closing.by': by }, $currentDate: { 'closing.at': true } };
      try {
        const { closing, holders = {} } = await touch(
          { _id: name, closing: { $exists: false } } as never,
          update,
        );
        return { ...closing!, holders };
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
        return null;
      }
    },

    /** The mark that a parent has, and whether it no longer counts. */
    async markOf(name: string): Promise<{ by: string; isOver: boolean } | undefined> {
      const { closing, at } = await touch({ _id: name }, {});
      if (!closing) return undefined;
      return { by: closing.by, isOver: at!.getTime() - closing.at.getTime() >= MARK_LIFE };
    },

    removeMark: (name: string, by: string): Promise<void> =>
      remove([
        name,
        {
          updateOne: {
            filter: { _id: name, 'closing.by': by } as never,
            update: { $unset: { closing: true } } as Document,
          },
        },
      ]),

    async holdersOf(name: string): Promise<Record<string, Date>> {
      const found = await documents.findOne({ _id: name }, { ...options, projection: { holders: 1 } });
      return found?.holders ?? {};
    },
  };
}
