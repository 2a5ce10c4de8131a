/**
 * A kind of object, anything but a record, such as API keys and trusted documents: plain JSON data by key. Code that
 * uses it is written once, above both engines.
 */
export interface ObjectKind<T> {
  /** The plural, and name of the collection: `apiKeys`. */
  name: string;
  /** The key of an object, unique among its kind. */
  keyOf(object: T): string;
  /** Terms to find the object by, besides its key. */
  termsOf?(object: T): readonly string[];
  /** When the object becomes useless, in milliseconds since 1970. It may be deleted some time later. */
  expiresAt?(object: T): number;
  /** Set if each object is written only once, and objects that are put together need not be written atomically. */
  separate?: true;
}

export interface ObjectReads<T> {
  /** The existing objects with these keys, in any order. */
  get(keys: readonly string[]): Promise<T[]>;
  /** The objects with a term, in the order of their addition if the engine knows it. */
  find(term: string): Promise<T[]>;
  /** All objects, in the same order. */
  all(): Promise<T[]>;
  /** The objects with a term, by descending key. @param upTo the greatest key to return */
  latest(term: string, limit: number, upTo?: string): Promise<T[]>;
}

/** The objects of one kind within a transaction, which sees its own writes. */
export interface Objects<T> extends ObjectReads<T> {
  /** Adds objects, or replaces those with the same keys. */
  put(objects: readonly T[]): Promise<void>;
  delete(keys: readonly string[]): Promise<void>;
  /** Deletes objects by term: those whose keys are less than the key for the term. */
  deleteBefore(keys: ReadonlyMap<string, string>): Promise<void>;
}

/** The number of objects that an owner has ever created. All creations write it, so that concurrent ones conflict. */
interface CreationCount {
  owner: string;
  created: number;
}

/** @param name the plural, as in {@link ObjectKind} */
export const creationCounts = (name: string): ObjectKind<CreationCount> => ({
  name,
  keyOf: ({ owner }) => owner,
});

/** Counts a creation, in the same transaction. */
export async function countCreation(counts: Objects<CreationCount>, owner: string): Promise<void> {
  const [{ created } = { created: 0 }] = await counts.get([owner]);
  await counts.put([{ owner, created: created + 1 }]);
}

/** Advances the `lastUsedAt` of objects. @param times in milliseconds since 1970, by key */
export async function touch<T extends { lastUsedAt?: number }>(
  objects: Objects<T>,
  keyOf: (object: T) => string,
  times: ReadonlyMap<string, number>,
): Promise<void> {
  const used = (await objects.get([...times.keys()])).map((object) => ({
    ...object,
    lastUsedAt: Math.max(object.lastUsedAt ?? 0, times.get(keyOf(object))!),
  }));
  await objects.put(used);
}
