import type { Engine } from './engine.ts';
import { type ObjectKind, touched } from './objects.ts';
import type { DocumentStore, TrustedDocument } from './store.ts';

/** The list and the id, which contains no space. */
const keyOf = ({ list, id }: Pick<TrustedDocument, 'list' | 'id'>): string => `${list} ${id}`;

export const DOCUMENTS: ObjectKind<TrustedDocument> = {
  name: 'documents',
  keyOf,
  termsOf: ({ list, hash }) => [`list ${list}`, `hash ${hash}`],
};

const byListAndId = (a: TrustedDocument, b: TrustedDocument): number =>
  a.list === b.list ? (a.id < b.id ? -1 : 1) : a.list < b.list ? -1 : 1;

/** Lists of GraphQL documents. Always read from the database, because the tool changes them while servers run. */
export function documentsOver({ objects, transaction }: Engine): DocumentStore {
  const documents = objects(DOCUMENTS);
  return {
    async documentByHash(list, hash) {
      const found = await documents.find(`hash ${hash}`);
      return found.find((document) => list === undefined || document.list === list) ?? null;
    },
    documentById: async (list, id) => (await documents.get([keyOf({ list, id })]))[0] ?? null,

    async documents(list) {
      const found = await (list === undefined ? documents.all() : documents.find(`list ${list}`));
      return found.sort(byListAndId);
    },

    addDocuments: (added) =>
      transaction(async (own) => {
        const documents = own.objects(DOCUMENTS);
        const known = new Set((await documents.get(added.map(keyOf))).map(keyOf));
        await documents.put(added.filter((document) => !known.has(keyOf(document))));
      }, true),

    removeDocuments: (list, ids) =>
      transaction((own) => own.objects(DOCUMENTS).delete(ids.map((id) => keyOf({ list, id })))),

    touchDocuments: (uses) =>
      transaction(async (own) => {
        const documents = own.objects(DOCUMENTS);
        const times = new Map(uses.map((use) => [keyOf(use), use.lastUsedAt]));
        await documents.put(touched(await documents.get([...times.keys()]), keyOf, times));
      }),
  };
}
