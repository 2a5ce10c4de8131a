import type { Document, Filter } from 'mongodb';
import { notFound } from '../../foundation/errors.ts';
import type { Id } from '../../foundation/id.ts';
import type { Check } from '../store.ts';
import { updateFor } from './changes.ts';
import type { RecordDocument } from './collection.ts';
import type { Database } from './database.ts';
import { WriteConflict } from './errors.ts';
import { createInsert } from './inserts.ts';
import { toKey } from './keys.ts';
import type { RecordKind } from './records.ts';
import type { Unit } from './units.ts';

/** Writes common to all records. They require the version that was read. */
export function createWrites<D extends RecordDocument, T>(
  { collection, fields, name, toRecord }: RecordKind<D, T>,
  database: Database,
) {
  const same = ({ _id, version }: D, condition: Document = {}) =>
    ({ _id, version, ...condition }) as unknown as Filter<D>;
  const note = ({ _id }: D, unit: Unit) => unit.written.add(`${collection.collectionName}/${_id}`);

  return {
    insert: createInsert(collection, database),

    /**
     * Reads the document to write.
     *
     * @throws NOT_FOUND, and whatever `check` throws
     */
    async existing(id: Id, check: Check<T> | undefined, unit: Unit): Promise<D> {
      const document = await collection.findOne({ _id: toKey(id) } as Filter<D>, unit.options);
      if (!document) throw notFound(name, id);
      check?.(toRecord(document as D));
      return document as D;
    },

    /**
     * Sets values of a document (null removes, undefined keeps).
     *
     * @returns the updated record
     * @throws WriteConflict
     */
    async change(document: D, values: Document, unit: Unit): Promise<T> {
      const change = updateFor(fields, document, values);
      if (!change) return toRecord(document);
      note(document, unit);
      const options = { ...unit.options, returnDocument: 'after' } as const;
      const written = await collection.findOneAndUpdate(same(document), change, options);
      if (!written) throw new WriteConflict();
      return toRecord(written as D);
    },

    /**
     * Deletes a document under an additional condition.
     *
     * @returns whether it was still there unchanged
     */
    async remove(document: D, unit: Unit, condition?: Document): Promise<boolean> {
      note(document, unit);
      const { deletedCount } = await collection.deleteOne(same(document, condition), unit.options);
      return deletedCount > 0;
    },
  };
}
