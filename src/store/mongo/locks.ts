import type { Document } from 'mongodb';
import type { CollectionDefinition, Key } from './collection.ts';
import type { Database } from './database.ts';
import type { Attempt } from './transactions.ts';

/** One of the locks of a record: `categories/7/3`. */
interface LockDocument {
  _id: string;
  /** The record: `categories/7`. */
  of: string;
  /** How often it was taken, so that each time is a write. */
  taken: number;
}

export const locksCollection: CollectionDefinition = { name: 'locks', indexes: [{ key: { of: 1 } }] };

/** Creations in one category that do not meet. */
const SLOTS = 16;

export type Locks = ReturnType<typeof createLocks>;

/**
 * Keeps records from being deleted while others come to refer to them, by conflicts between the server's own
 * transactions. Who adds a child writes one of the parent's locks in the transaction that adds it. Who deletes the
 * parent looks for children and deletes all its locks in one transaction. Of two that meet, one fails:
 *
 * - If the child is committed before the snapshot of the deletion, that sees the child.
 * - If it is committed later, or not yet, both have written the same lock, so the server aborts one of the two.
 * - If the deletion is committed before the snapshot of the creation, there is neither a lock nor a parent.
 *
 * Creations take different locks, in turn, so that they rarely meet each other and pass one that is held by an
 * instance which has died. The locks of a record are made with its first child, when the parent itself is written, and
 * conflicts with its deletion.
 */
export function createLocks({ db }: Database) {
  const locks = db.collection<LockDocument>(locksCollection.name);
  let turn = Math.floor(Math.random() * SLOTS);
  const parents = (collection: string) => db.collection<{ _id: Key } & Document>(collection);

  return {
    /** @returns whether the record exists, which then stays until the transaction ends */
    async share(collection: string, key: Key, { options, send }: Attempt): Promise<boolean> {
      const of = `${collection}/${key}`;
      turn = (turn + 1) % SLOTS;
      const { matchedCount } = await send(() =>
        locks.updateOne({ _id: `${of}/${turn}` }, { $inc: { taken: 1 } }, options),
      );
      if (matchedCount > 0) return true;
      const parent = await send(() =>
        parents(collection).updateOne({ _id: key }, { $inc: { _locked: 1 } }, options),
      );
      if (parent.matchedCount === 0) return false;
      const all = Array.from({ length: SLOTS }, (_, n) => ({ _id: `${of}/${n}`, of, taken: 0 }));
      await send(() => locks.insertMany(all, options));
      return true;
    },

    /** Removes the locks of a record that is deleted in the same transaction. */
    async remove(collection: string, key: Key, { options, send }: Attempt): Promise<void> {
      await send(() => locks.deleteMany({ of: `${collection}/${key}` }, options));
    },
  };
}
