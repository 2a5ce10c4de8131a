import { type Collection, MongoBulkWriteError, type OptionalUnlessRequiredId } from 'mongodb';
import { batch } from './batching.ts';
import type { Key } from './collection.ts';
import type { Database } from './database.ts';
import { isDuplicateKey, WriteConflict } from './errors.ts';
import type { Unit } from './units.ts';

/** Inserts documents, those of one turn of the event loop in one command. */
export function createInsert<D extends { _id: Key }>(collection: Collection<D>, { options }: Database) {
  /** @returns for each document whether it was inserted; false if its id is taken */
  const insertBatched = batch<D, boolean>(async (documents) => {
    try {
      if (documents.length === 1) await collection.insertOne(inserted(documents[0]!), options);
      else await collection.insertMany(documents.map(inserted), { ...options, ordered: false });
      return documents.map(() => true);
    } catch (error) {
      if (isDuplicateKey(error) && documents.length === 1) return [false];
      if (!(error instanceof MongoBulkWriteError) || error.result.getWriteConcernError()) throw error;
      const errors = [error.writeErrors].flat();
      const other = errors.find(({ code }) => code !== DUPLICATE_KEY);
      if (other) throw error;
      const taken = new Set(errors.map(({ index }) => index));
      return documents.map((_, i) => !taken.has(i));
    }
  });

  /**
   * @param taken the error if the id is taken
   * @throws WriteConflict by default: an id not assigned yet is taken only if the collection was filled by
   * other means
   */
  return async (document: D, unit: Unit, taken: Error = new WriteConflict()): Promise<void> => {
    if (!unit.session) {
      if (!(await insertBatched(document))) throw taken;
      return;
    }
    unit.written.add(`${collection.collectionName}/${document._id}`);
    try {
      await collection.insertOne(inserted(document), unit.options);
    } catch (error) {
      throw isDuplicateKey(error) ? taken : error;
    }
  };
}

const DUPLICATE_KEY = 11000;

const inserted = <D>(document: D) => document as OptionalUnlessRequiredId<D>;
