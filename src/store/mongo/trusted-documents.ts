import type { DocumentStore, TrustedDocument } from '../store.ts';
import { type CollectionDefinition, DATE, objectSchema, STRING } from './collection.ts';
import type { Database } from './database.ts';

interface DocumentDocument {
  /** The list and the id, which contains no space. */
  _id: string;
  list: string;
  id: string;
  hash: string;
  text: string;
  addedAt: Date;
  lastUsedAt?: Date;
}

export const documentsCollection: CollectionDefinition = {
  name: 'documents',
  schema: objectSchema({
    ...{ _id: STRING, list: STRING, id: STRING, hash: STRING, text: STRING },
    ...{ addedAt: DATE, 'lastUsedAt?': DATE },
  }),
  indexes: [{ key: { hash: 1, list: 1 } }],
};

const keyOf = ({ list, id }: Pick<TrustedDocument, 'list' | 'id'>): string => `${list} ${id}`;

const decode = ({ _id, addedAt, lastUsedAt, ...document }: DocumentDocument): TrustedDocument => ({
  ...document,
  addedAt: addedAt.getTime(),
  ...(lastUsedAt && { lastUsedAt: lastUsedAt.getTime() }),
});

/** Lists of GraphQL documents. */
export function mongoDocuments({ db, options }: Database) {
  const documents = db.collection<DocumentDocument>(documentsCollection.name);
  return {
    async documentByHash(list, hash) {
      const found = await documents.findOne(list === undefined ? { hash } : { hash, list }, options);
      return found && decode(found);
    },

    async documentById(list, id) {
      const found = await documents.findOne({ _id: keyOf({ list, id }) }, options);
      return found && decode(found);
    },

    async documents(list) {
      const filter = list === undefined ? {} : { list };
      const all = await documents.find(filter, { ...options, sort: { _id: 1 } }).toArray();
      return all.map(decode);
    },

    async addDocuments(added) {
      if (added.length === 0) return;
      await documents.bulkWrite(
        added.map(({ addedAt, lastUsedAt, ...document }) => ({
          updateOne: {
            filter: { _id: keyOf(document) },
            update: {
              $setOnInsert: {
                ...document,
                addedAt: new Date(addedAt),
                ...(lastUsedAt !== undefined && { lastUsedAt: new Date(lastUsedAt) }),
              },
            },
            upsert: true,
          },
        })),
        { ...options, ordered: true },
      );
    },

    async removeDocuments(list, ids) {
      await documents.deleteMany({ _id: { $in: ids.map((id) => keyOf({ list, id })) } }, options);
    },

    async touchDocuments(uses) {
      if (uses.length === 0) return;
      await documents.bulkWrite(
        uses.map((use) => ({
          updateOne: {
            filter: { _id: keyOf(use) },
            update: { $max: { lastUsedAt: new Date(use.lastUsedAt) } },
          },
        })),
        { ...options, ordered: false },
      );
    },
  } satisfies DocumentStore;
}
