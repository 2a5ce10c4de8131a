import type { Document, OptionalUnlessRequiredId } from 'mongodb';
import type { Id } from '../../foundation/id.ts';
import type { AnyRecord } from '../../foundation/record.ts';
import { holdersOf } from '../../foundation/record.ts';
import { beingReferred } from '../conflicts.ts';
import type { Rows, Stored, Values } from '../engine.ts';
import { eventOf } from '../events.ts';
import type { RecordDocument } from './codec.ts';
import { type CollectionDefinition, type Key, toId, toKey } from './collection.ts';
import type { Database } from './database.ts';
import { isTransient, writeConflict } from './errors.ts';
import type { Ids } from './ids.ts';
import { RecordReads } from './reads.ts';
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

/** How long a deletion is repeated that meets creations, in milliseconds: longer than a dead instance holds it up. */
const DELETION_PATIENCE = 4_000;

/** The records of one kind within an attempt. */
export class MongoRows extends RecordReads implements Rows {
  readonly #attempt: Attempt;
  readonly #ids: Ids;
  readonly #locks: Locks;

  constructor(database: Database, record: AnyRecord, attempt: Attempt, ids: Ids, locks: Locks) {
    super(database, record, attempt);
    this.#attempt = attempt;
    this.#ids = ids;
    this.#locks = locks;
  }

  async exists(values: Values): Promise<boolean> {
    const filter = this.codec.stored(values);
    const options = { ...this.#attempt.options, projection: { _id: 1 } } as const;
    return (await this.#attempt.send(() => this.collection.findOne(filter as never, options))) !== null;
  }

  /** Who locks it alone deletes it next ({@link delete}), which conflicts with all others from the begin on. */
  async lock(id: Id, how: 'shared' | 'alone' = 'shared'): Promise<boolean> {
    await this.#attempt.begin();
    if (how === 'alone') return true;
    return await this.#locks.share(this.record.plural, toKey(id), this.#attempt);
  }

  nextId = async (): Promise<Id> => toId(await this.#ids.next(this.record));

  async insert(record: Stored): Promise<void> {
    const { type } = eventOf(this.record, undefined, record);
    const document = this.codec.toDocument(record, type) as OptionalUnlessRequiredId<RecordDocument>;
    await this.#attempt.send(() => this.collection.insertOne(document, this.#attempt.options));
  }

  async replace(before: Stored, after: Stored): Promise<void> {
    const filter = this.codec.unchanged(before);
    const document = this.codec.toDocument(after, eventOf(this.record, before, after).type);
    const { matchedCount } = await this.#attempt.send(() =>
      this.collection.replaceOne(filter, document, this.#attempt.options),
    );
    if (matchedCount === 0) throw writeConflict();
  }

  async delete(record: Stored): Promise<void> {
    const filter = this.codec.unchanged(record);
    const remove = async () => {
      const { deletedCount } = await this.#attempt.send(() =>
        this.collection.deleteOne(filter, this.#attempt.options),
      );
      if (deletedCount === 0) throw writeConflict();
    };
    if (holdersOf(this.record).length === 0) return await remove();
    try {
      await this.#locks.remove(this.record.plural, toKey(record.id), this.#attempt);
      await remove();
    } catch (error) {
      const isHeldUp = isTransient(error) && this.#attempt.elapsed > DELETION_PATIENCE;
      throw isHeldUp ? beingReferred(this.record, record.id) : error;
    }
  }
}
