import type { Filter } from 'mongodb';
import type { ObjectKind, Objects } from '../objects.ts';
import type { CollectionDefinition } from './collection.ts';
import type { Database } from './database.ts';
import { type Access, type Attempt, alone } from './transactions.ts';

interface ObjectDocument {
  /** The key. */
  _id: string;
  /** JSON text, because BSON would alter some values. */
  value: string;
  terms: readonly string[];
  expiresAt?: Date;
}

export const objectsCollection = ({ name, termsOf, expiresAt }: ObjectKind<never>): CollectionDefinition => ({
  name,
  indexes: [
    ...(termsOf ? [{ key: { terms: 1 } }] : []),
    ...(expiresAt ? [{ key: { expiresAt: 1 }, expireAfterSeconds: 0 }] : []),
  ],
});

/**
 * The objects of a kind.
 *
 * @param attempt to read and write in; by default, each read is on its own
 */
export function objectsOf<T>(
  database: Database,
  { name, keyOf, termsOf, expiresAt }: ObjectKind<T>,
  attempt: Access & Partial<Pick<Attempt, 'begin'>> = alone(database),
): Objects<T> {
  const documents = database.db.collection<ObjectDocument>(name);
  const find = async (filter: Filter<ObjectDocument>): Promise<T[]> => {
    await attempt.begin?.();
    const found = await attempt.send(() => documents.find(filter, attempt.options).toArray());
    return found.map(({ value }) => JSON.parse(value) as T);
  };

  return {
    get: async (keys) =>
      keys.length === 0 ? [] : find({ _id: keys.length === 1 ? keys[0]! : { $in: keys } }),
    find: (term) => find({ terms: term }),
    all: () => find({}),

    async put(objects) {
      if (objects.length === 0) return;
      // All or none: a single one needs no transaction.
      if (objects.length > 1) await attempt.begin?.();
      const writes = objects.map((object) => {
        const time = expiresAt?.(object);
        const replacement = {
          value: JSON.stringify(object),
          terms: termsOf?.(object) ?? [],
          ...(time !== undefined && { expiresAt: new Date(time) }),
        };
        return { replaceOne: { filter: { _id: keyOf(object) }, replacement, upsert: true } };
      });
      await attempt.send(() => documents.bulkWrite(writes, attempt.options));
    },

    async delete(keys) {
      if (keys.length > 1) await attempt.begin?.();
      await attempt.send(() => documents.deleteMany({ _id: { $in: keys } }, attempt.options));
    },
  };
}
