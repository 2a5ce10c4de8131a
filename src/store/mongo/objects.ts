import type { Filter, FindOptions } from 'mongodb';
import type { ObjectKind, Objects } from '../objects.ts';
import type { Database } from './database.ts';
import { alone } from './transactions.ts';

interface ObjectDocument {
  /** The key. */
  _id: string;
  /** JSON text, because BSON would alter some values. */
  value: string;
  terms: readonly string[];
  expiresAt?: Date;
}

/**
 * The objects of one kind.
 *
 * @param commands the transaction to read and write in; by default none
 */
export function objectsOf<T>(
  database: Database,
  { name, keyOf, termsOf, expiresAt, separate }: ObjectKind<T>,
  commands = alone(database),
): Objects<T> {
  const documents = database.db.collection<ObjectDocument>(name);
  const find = async (filter: Filter<ObjectDocument>, order: FindOptions = {}): Promise<T[]> => {
    await commands.begin();
    const stored = await commands.send((options) =>
      documents.find(filter, { ...options, ...order }).toArray(),
    );
    return stored.map(({ value }) => JSON.parse(value) as T);
  };

  return {
    get: async (keys) =>
      keys.length === 0 ? [] : find({ _id: keys.length === 1 ? keys[0]! : { $in: keys } }),
    find: (term) => find({ terms: term }),
    all: () => find({}),
    latest: (term, limit, upTo) =>
      find({ terms: term, ...(upTo !== undefined && { _id: { $lte: upTo } }) }, { sort: { _id: -1 }, limit }),

    async put(objects) {
      if (objects.length === 0) return;
      // A single write needs no transaction.
      if (objects.length > 1 && !separate) await commands.begin();
      const writes = objects.map((object) => {
        const time = expiresAt?.(object);
        const replacement = {
          value: JSON.stringify(object),
          terms: termsOf?.(object) ?? [],
          ...(time !== undefined && { expiresAt: new Date(time) }),
        };
        return { replaceOne: { filter: { _id: keyOf(object) }, replacement, upsert: true } };
      });
      await commands.send((options) => documents.bulkWrite(writes, { ...options, ordered: !separate }));
    },

    async delete(keys) {
      if (keys.length > 1) await commands.begin();
      await commands.send((options) => documents.deleteMany({ _id: { $in: keys } }, options));
    },

    async deleteBefore(keys) {
      if (!separate) await commands.begin();
      const filter = { $or: [...keys].map(([term, key]) => ({ terms: term, _id: { $lt: key } })) };
      await commands.send((options) => documents.deleteMany(filter, options));
    },
  };
}
