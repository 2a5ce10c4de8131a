import type { Engine } from './engine.ts';
import { type ObjectKind, touch } from './objects.ts';

/** A GraphQL document that keys can be bound to. */
export interface TrustedDocument {
  list: string;
  /** Unique in its list. */
  id: string;
  /** SHA-256 of the text, lower-case hex. */
  hash: string;
  text: string;
  /** Milliseconds since 1970. */
  addedAt: number;
  /** When it was last used, with some delay; in milliseconds since 1970. */
  lastUsedAt?: number;
}

/** The key: the list and the id, which contains no space. */
const keyOf = ({ list, id }: Pick<TrustedDocument, 'list' | 'id'>): string => `${list} ${id}`;

/** The term of a list's documents. */
export const listTerm = (list: string): string => `list ${list}`;

export const DOCUMENTS: ObjectKind<TrustedDocument> = {
  name: 'documents',
  keyOf,
  termsOf: ({ list, hash }) => [listTerm(list), `hash ${hash}`],
};

/**
 * Lists of trusted documents; a list exists while it has any. Always read from the database, since the tool changes
 * them while servers run.
 */
export function documentsOver({ objects, transaction }: Engine) {
  const documents = objects(DOCUMENTS);
  return {
    /** The document with this hash. @param list the list to search; all if undefined */
    async documentByHash(list: string | undefined, hash: string): Promise<TrustedDocument | null> {
      const candidates = await documents.find(`hash ${hash}`);
      return candidates.find((document) => list === undefined || document.list === list) ?? null;
    },

    documentById: async (list: string, id: string): Promise<TrustedDocument | null> =>
      (await documents.get([keyOf({ list, id })]))[0] ?? null,

    /** The documents of a list or of all lists, ordered by list and id. */
    async documents(list?: string): Promise<TrustedDocument[]> {
      const listed = await (list === undefined ? documents.all() : documents.find(listTerm(list)));
      return listed.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    },

    /** Adds documents, all or none. Existing ones stay as they are. */
    addDocuments: (added: readonly TrustedDocument[]): Promise<void> =>
      transaction(async (own) => {
        const documents = own.objects(DOCUMENTS);
        const stored = new Set((await documents.get(added.map(keyOf))).map(keyOf));
        await documents.put(added.filter((document) => !stored.has(keyOf(document))));
      }),

    removeDocuments: (list: string, ids: readonly string[]): Promise<void> =>
      transaction((own) => own.objects(DOCUMENTS).delete(ids.map((id) => keyOf({ list, id })))),

    /** Advances `lastUsedAt`. */
    touchDocuments: (
      uses: readonly (Pick<TrustedDocument, 'list' | 'id'> & { lastUsedAt: number })[],
    ): Promise<void> =>
      transaction(async (own) => {
        const times = uses.map((use): [string, number] => [keyOf(use), use.lastUsedAt]);
        await touch(own.objects(DOCUMENTS), keyOf, new Map(times));
      }),
  };
}

export type DocumentStore = ReturnType<typeof documentsOver>;
