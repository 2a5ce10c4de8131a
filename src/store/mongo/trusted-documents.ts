import type { DocumentStore, TrustedDocument } from '../store.ts';
import { type CollectionDefinition, dateOf, plain, type StoredDocument, touch } from './collection.ts';
import type { Database } from './database.ts';
import type { Together } from './transactions.ts';

export const documentsCollection: CollectionDefinition = {
  name: 'documents',
  indexes: [{ key: { hash: 1, list: 1 } }],
};

/** The list and the id, which contains no space. */
const keyOf = ({ list, id }: Pick<TrustedDocument, 'list' | 'id'>): string => `${list} ${id}`;

const decode = ({ _id, ...document }: StoredDocument) => plain(document) as TrustedDocument;

/** Lists of GraphQL documents. @param together makes several writes all or none */
export function mongoDocuments({ db, options }: Database, together: Together) {
  const documents = db.collection<StoredDocument>(documentsCollection.name);
  return {
    async documentByHash(list, hash) {
      const document = await documents.findOne(list === undefined ? { hash } : { hash, list }, options);
      return document && decode(document);
    },

    async documentById(list, id) {
      const document = await documents.findOne({ _id: keyOf({ list, id }) }, options);
      return document && decode(document);
    },

    async documents(list) {
      const filter = list === undefined ? {} : { list };
      const all = await documents.find(filter, { ...options, sort: { _id: 1 } }).toArray();
      return all.map(decode);
    },

    async addDocuments(added) {
      if (added.length === 0) return;
      const writes = added.map(({ addedAt, lastUsedAt, ...document }) => ({
        updateOne: {
          filter: { _id: keyOf(document) },
          update: {
            $setOnInsert: { ...document, addedAt: dateOf(addedAt), lastUsedAt: dateOf(lastUsedAt) },
          },
          upsert: true,
        },
      }));
      await together((options) => documents.bulkWrite(writes, options));
    },

    async removeDocuments(list, ids) {
      await documents.deleteMany({ _id: { $in: ids.map((id) => keyOf({ list, id })) } }, options);
    },

    touchDocuments: (uses) =>
      touch(
        documents,
        uses.map((use) => [keyOf(use), use.lastUsedAt]),
        options,
      ),
  } satisfies DocumentStore;
}
