import type { Document, Filter } from 'mongodb';
import type { Id } from '../../domains/id.ts';
import { notFound } from '../../errors.ts';
import type { Check } from '../store.ts';
import { updateFor } from './changes.ts';
import type { RecordDocument } from './collection.ts';
import type { Database } from './database.ts';
import { WriteConflict } from './errors.ts';
import { createInsert } from './inserts.ts';
import { toKey } from './keys.ts';
import type { RecordKind } from './records.ts';
import type { Unit } from './units.ts';

/** The writes that all records share. What is written was read before, and must still have the version that it had then. */
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
     * The document that is about to be written.
     *
     * @throws NOT_FOUND, what `check` throws
     */
    async existing(id: Id, check: Check<T> | undefined, unit: Unit): Promise<D> {
      const document = await collection.findOne({ _id: toKey(id) } as Filter<D>, unit.options);
      if (!document) throw notFound(name, id);
      check?.(toRecord(document as D));
      return document as D;
    },

    /**
     * Gives the document these values (null removes one, undefined leaves it).
     *
     * @returns the record as it is then
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
     * Deletes the document, under a further condition.
     *
     * @returns whether it was there as it was read
     */
    async remove(document: D, unit: Unit, condition?: Document): Promise<boolean> {
      note(document, unit);
      const { deletedCount } = await collection.deleteOne(same(document, condition), unit.options);
      return deletedCount > 0;
    },
  };
}
