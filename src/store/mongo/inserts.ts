import {
  type Collection,
  MongoBulkWriteError,
  MongoServerError,
  type OptionalUnlessRequiredId,
} from 'mongodb';
import type { Attempt } from './attempts.ts';
import { batch } from './batching.ts';
import type { Key } from './collection.ts';
import type { Database } from './database.ts';

/** Inserts documents, those of one turn of the event loop in one command. Each has its own error. */
export function createInsert<D extends { _id: Key }>(collection: Collection<D>, { options }: Database) {
  const insertTogether = batch<D, undefined>(async (documents) => {
    if (documents.length === 1) await collection.insertOne(inserted(documents[0]!), options);
    else {
      try {
        await collection.insertMany(documents.map(inserted), { ...options, ordered: false });
      } catch (error) {
        if (!(error instanceof MongoBulkWriteError) || error.result.getWriteConcernError()) throw error;
        const errors = new Map(
          [error.writeErrors].flat().map((writeError) => [writeError.index, writeError]),
        );
        return documents.map((_, i) => {
          const own = errors.get(i);
          return own && new MongoServerError({ message: own.errmsg ?? '', code: own.code });
        });
      }
    }
    return documents.map(() => undefined);
  });

  return async (document: D, attempt: Attempt): Promise<void> => {
    if (!attempt.session) return await insertTogether(document);
    attempt.written.add(`${collection.collectionName}/${document._id}`);
    await collection.insertOne(inserted(document), attempt.options);
  };
}

const inserted = <D>(document: D) => document as OptionalUnlessRequiredId<D>;
