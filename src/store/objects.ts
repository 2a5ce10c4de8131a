/**
 * A kind of object that isn't a record, such as API keys and trusted documents: plain JSON data that is found by its key. The code
 * that uses it is written once, above both engines.
 */
export interface ObjectKind<T> {
  /** The plural, which is the name of the collection: `apiKeys`. */
  name: string;
  /** The key of an object, unique among its kind. */
  keyOf(object: T): string;
  /** Further terms that the object is found by. */
  termsOf?(object: T): readonly string[];
  /** The time from which the object is of no use, in milliseconds since 1970. It may still be found for a while after it. */
  expiresAt?(object: T): number;
  /** Set if objects are written only once, and need not be written atomically with those put together with them. */
  separate?: true;
}

export interface ObjectReads<T> {
  /** The existing objects with these keys, in any order. */
  get(keys: readonly string[]): Promise<T[]>;
  /** The objects with a term, in the order of their addition if the engine knows it. */
  find(term: string): Promise<T[]>;
  /** All objects, in that order. */
  all(): Promise<T[]>;
  /** The objects with a term that have the greatest keys, in descending order. @param upTo the greatest key to consider */
  latest(term: string, limit: number, upTo?: string): Promise<T[]>;
}

/** The objects of one kind within a transaction, which sees its own writes. */
export interface Objects<T> extends ObjectReads<T> {
  /** Adds objects, each replacing the one with the same key if there is one. */
  put(objects: readonly T[]): Promise<void>;
  delete(keys: readonly string[]): Promise<void>;
  /** Deletes the objects with any of these terms whose keys are less than the one for the term. */
  deleteBefore(keys: ReadonlyMap<string, string>): Promise<void>;
}

/** The number of objects of some kind that an owner has had, so that concurrent creations write the same object. */
interface CreationCount {
  owner: string;
  created: number;
}

/** @param name the plural, as in {@link ObjectKind} */
export const creationCounts = (name: string): ObjectKind<CreationCount> => ({
  name,
  keyOf: ({ owner }) => owner,
});

/** Counts a creation in its transaction. */
export async function countCreation(counts: Objects<CreationCount>, owner: string): Promise<void> {
  const [{ created } = { created: 0 }] = await counts.get([owner]);
  await counts.put([{ owner, created: created + 1 }]);
}

/** Moves `lastUsedAt` of objects forwards. @param times in milliseconds since 1970, by key */
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
