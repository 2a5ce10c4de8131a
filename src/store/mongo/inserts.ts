import { type Collection, MongoBulkWriteError, type OptionalUnlessRequiredId } from 'mongodb';
import type { Attempt } from './attempts.ts';
import { batch } from './batching.ts';
import type { Key } from './collection.ts';
import type { Database } from './database.ts';
import { isDuplicateKey } from './errors.ts';

/** Inserts documents, those of one turn of the event loop in one command. */
export function createInsert<D extends { _id: Key }>(collection: Collection<D>, { options }: Database) {
  /** @returns for each document the violation of a unique index; undefined if it was inserted */
  const insertBatched = batch<D, Duplicate | undefined>(async (documents) => {
    try {
      if (documents.length === 1) await collection.insertOne(inserted(documents[0]!), options);
      else await collection.insertMany(documents.map(inserted), { ...options, ordered: false });
      return documents.map(() => undefined);
    } catch (error) {
      if (isDuplicateKey(error) && documents.length === 1) return [duplicateOf(error)];
      if (!(error instanceof MongoBulkWriteError) || error.result.getWriteConcernError()) throw error;
      const errors = [error.writeErrors].flat();
      const other = errors.find(({ code }) => code !== DUPLICATE_KEY);
      if (other) throw error;
      const duplicates = new Map(errors.map((one) => [one.index, { message: one.errmsg ?? '' }]));
      return documents.map((_, i) => duplicates.get(i));
    }
  });

  /** @returns the violation of a unique index; undefined if the document was inserted */
  return async (document: D, attempt: Attempt): Promise<Duplicate | undefined> => {
    if (!attempt.session) return await insertBatched(document);
    attempt.written.add(`${collection.collectionName}/${document._id}`);
    try {
      await collection.insertOne(inserted(document), attempt.options);
      return undefined;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      return duplicateOf(error);
    }
  };
}

/** A violation of a unique index, whose message names it. */
export interface Duplicate {
  message: string;
}

const duplicateOf = (error: unknown): Duplicate => ({ message: (error as Error).message });

const DUPLICATE_KEY = 11000;

const inserted = <D>(document: D) => document as OptionalUnlessRequiredId<D>;
