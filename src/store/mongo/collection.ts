import type { Collection, Document, Filter, FindOptions, IndexDescription } from 'mongodb';
import type { Id } from '../../foundation/id.ts';

/** A collection and the indexes that its queries need. */
export interface CollectionDefinition {
  name: string;
  indexes: IndexDescription[];
}

/** An int64 id in BSON. */
export type Key = bigint;

/** Converts an id of the port to a database key. */
export const toKey = (id: Id): Key => BigInt(id);

/** Converts a database key to an id of the port. */
export const toId = (key: Key | number): Id => String(key);

/** The values of a document as the port has them: times in milliseconds, and int64 as numbers. */
export function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Date) return value.getTime();
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, plain(part)]));
}

/** Whether a collection has a document that matches. */
export const exists = async <D extends Document>(
  collection: Collection<D>,
  filter: Filter<D>,
  options: FindOptions,
): Promise<boolean> => (await collection.findOne(filter, { ...options, projection: { _id: 1 } })) !== null;
