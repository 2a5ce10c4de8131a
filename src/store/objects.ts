/**
 * A kind of object that is no record, as API keys and webhooks: plain JSON data that is found by its key. What is done
 * with it stands once above both engines.
 */
export interface ObjectKind<T> {
  /** Several of them, as the name of their collection: `apiKeys`. */
  name: string;
  /** Unique among its kind. */
  keyOf(object: T): string;
  /** What else it is found by. */
  termsOf?(object: T): readonly string[];
  /** When it is of no use any more, in milliseconds since 1970. It may still be found for a while after that. */
  expiresAt?(object: T): number;
  /** Set if objects are put each on its own, also those that are put together, and never again. */
  separate?: true;
}

export interface ObjectReads<T> {
  /** Those that there are, in any order. */
  get(keys: readonly string[]): Promise<T[]>;
  /** Those with a term, in the order in which they were added if the engine knows it. */
  find(term: string): Promise<T[]>;
  /** All of them, in that order. */
  all(): Promise<T[]>;
  /** Those with a term that have the greatest keys, in descending order. @param upTo the greatest key to look at */
  latest(term: string, limit: number, upTo?: string): Promise<T[]>;
}

/** The objects of one kind within a transaction, which sees what it has written. */
export interface Objects<T> extends ObjectReads<T> {
  /** Adds objects, each in place of the one with the same key if there is one. */
  put(objects: readonly T[]): Promise<void>;
  delete(keys: readonly string[]): Promise<void>;
  /** Deletes those with a term whose keys are less than this one. */
  deleteBefore(term: string, key: string): Promise<void>;
}

/** Moves the time at which objects were last used forwards. @param times by their keys */
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
