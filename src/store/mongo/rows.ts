import type { Filter, OptionalUnlessRequiredId } from 'mongodb';
import type { Id } from '../../foundation/id.ts';
import type { AnyDeclaration, Fields } from '../../foundation/record.ts';
import { beingReferred } from '../conflicts.ts';
import type { RowWrites } from '../engine.ts';
import { eventOf } from '../events.ts';
import { codecOf, type RecordDocument, toId, toKey } from './codec.ts';
import type { Database } from './database.ts';
import { isTransient, writeConflict } from './driver-errors.ts';
import type { NextIds } from './ids.ts';
import { readsOf } from './reads.ts';
import type { Commands } from './transactions.ts';

/** One of the locks of a record: `categories/7/3`. */
interface LockDocument {
  _id: string;
  /** The locked record: `categories/7`. */
  of: string;
  /** The number of times the lock was taken, so that each is a write. */
  taken: number;
}

/** The number of locks per parent, and so of concurrent creations of children that need not conflict. */
const SLOTS = 16;

/**
 * How long a deletion is retried if it conflicts with creations, in milliseconds: longer than a dead instance blocks
 * it.
 */
const DELETION_PATIENCE = 4_000;

/** The slot of the latest lock. */
let turn = Math.floor(Math.random() * SLOTS);

/**
 * The records of one kind within a transaction.
 *
 * Conflicts between the server's own transactions keep a record from being deleted while others start to refer to it.
 * Adding a child writes one of the parent's locks in the same transaction. Deleting the parent looks for children and
 * deletes all its locks in one transaction. If both happen at once, one fails:
 *
 * - If the child is committed before the snapshot of the deletion, the deletion sees the child.
 * - If it is committed later, or not yet, both have written the same lock, so the server aborts one of the two.
 * - If the deletion is committed before the snapshot of the creation, there is neither a lock nor a parent.
 *
 * Creations take different locks in turn, so they rarely conflict with each other and get past a lock held by a dead
 * instance. The locks of a record are created with its first child, which also writes the parent itself and so
 * conflicts with its deletion.
 *
 * @param isParent true if others can block the deletion of a record
 */
export function rowsOf(
  database: Database,
  declaration: AnyDeclaration,
  commands: Commands,
  nextIds: NextIds,
  isParent: boolean,
): RowWrites {
  const { db } = database;
  const { stored, toDocument, toRecord, projection, unchanged, addition } = codecOf(declaration);
  const collection = db.collection<RecordDocument>(declaration.plural);
  const locks = db.collection<LockDocument>('locks');
  const lockOf = (id: Id): string => `${declaration.plural}/${id}`;

  return {
    ...readsOf(database, declaration, commands),

    async exists(values) {
      const filter = stored(values) as Filter<RecordDocument>;
      const match = await commands.send((options) =>
        collection.findOne(filter, { ...options, projection: { _id: 1 } }),
      );
      return match !== null;
    },

    /** With `alone`, the caller deletes the record next, which conflicts with all other locks. */
    async lock(ids, how = 'shared') {
      await commands.begin();
      if (how === 'alone') return new Set(ids);
      const slot = (turn = (turn + 1) % SLOTS);
      const count = { $inc: { taken: 1 } };
      const taken = ids.map((id) => `${lockOf(id)}/${slot}`);
      const update = await commands.send((options) =>
        locks.updateMany({ _id: { $in: taken } }, count, options),
      );
      if (update.matchedCount === ids.length) return new Set(ids);
      // Some records don't exist, or have no locks yet.
      const having = new Set<string>();
      if (update.matchedCount > 0) {
        const marked = commands.send((options) =>
          locks.find({ _id: { $in: taken } }, { ...options, projection: { of: 1 } }).toArray(),
        );
        for (const { of } of await marked) having.add(of);
      }
      const others = ids.filter((id) => !having.has(lockOf(id)));
      const parents: Filter<RecordDocument> = { _id: { $in: others.map(toKey) } };
      const { matchedCount } = await commands.send((options) =>
        collection.updateMany(parents, { $inc: { _locked: 1 } }, options),
      );
      if (matchedCount === 0) return new Set(ids.filter((id) => having.has(lockOf(id))));
      const unlocked =
        matchedCount === others.length
          ? others
          : await commands.send((options) =>
              collection
                .find(parents, { ...options, projection: { _id: 1 } })
                .map(({ _id }) => toId(_id))
                .toArray(),
            );
      const added = unlocked.flatMap((id) => {
        const of = lockOf(id);
        return Array.from({ length: SLOTS }, (_, n) => ({ _id: `${of}/${n}`, of, taken: 0 }));
      });
      await commands.send((options) => locks.insertMany(added, options));
      return new Set([...ids.filter((id) => having.has(lockOf(id))), ...unlocked]);
    },

    nextIds: async (count) => (await nextIds(declaration, count)).map(toId),

    async insert(rows) {
      const documents = rows.map((row) => toDocument(row, eventOf(declaration, undefined, row).type));
      const added = documents as OptionalUnlessRequiredId<RecordDocument>[];
      if (added.length > 1) await commands.begin();
      await commands.send<unknown>((options) =>
        added.length === 1
          ? collection.insertOne(added[0]!, options)
          : collection.insertMany(added, { ...options, ordered: false }),
      );
    },

    async replace(before, after) {
      commands.contend(lockOf(before.id));
      const document = toDocument(after, eventOf(declaration, before, after).type);
      const { matchedCount } = await commands.send((options) =>
        collection.replaceOne(unchanged(before), document, options),
      );
      if (matchedCount === 0) throw writeConflict();
    },

    async add(id, field, amount) {
      const [smallest, largest] = (declaration.fields as Fields)[field]!.range!;
      const _id = toKey(id);
      const changed = await commands.send((options) =>
        collection.findOneAndUpdate(
          { _id, [field]: { $gte: smallest - amount, $lte: largest - amount } },
          addition(field, amount),
          { ...options, returnDocument: 'after', projection },
        ),
      );
      return changed && toRecord(changed);
    },

    async delete(row) {
      try {
        if (isParent) await commands.send((options) => locks.deleteMany({ of: lockOf(row.id) }, options));
        const { deletedCount } = await commands.send((options) =>
          collection.deleteOne(unchanged(row), options),
        );
        if (deletedCount === 0) throw writeConflict();
      } catch (error) {
        const isHeldUp = isParent && isTransient(error) && commands.elapsed > DELETION_PATIENCE;
        throw isHeldUp ? beingReferred(declaration, row.id) : error;
      }
    },
  };
}
