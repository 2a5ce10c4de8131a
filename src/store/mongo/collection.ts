import type { BulkWriteOptions, Collection, Document, Filter, FindOptions, IndexDescription } from 'mongodb';
import type { Id } from '../../foundation/id.ts';

/** A collection, its validator and its indexes. The interface's own rules are checked much earlier. */
export interface CollectionDefinition {
  name: string;
  /** The JSON schema that the server validates every write against. */
  schema: Document;
  /** The indexes its queries need. */
  indexes: IndexDescription[];
  /** The values of fields that documents may lack which an earlier version has written. */
  defaults?: Document;
}

/** The collection with the version of the layout. */
export const LAYOUT_COLLECTION = 'layout';

/** An int64 id in BSON. */
export type Key = bigint;

/** Converts an id of the port to a database key. */
export const toKey = (id: Id): Key => BigInt(id);

/** Converts a database key to an id of the port. */
export const toId = (key: Key | number): Id => String(key);

/** Counts the writes visible to clients, for optimistic locking. */
export type Version = number | bigint;

export const ID = { bsonType: 'long', minimum: 1 };
export const INTEGER = { bsonType: ['int', 'long'], minimum: 0 };
/** JavaScript numbers, which the driver writes as int32 or double. */
export const NUMBER = { bsonType: ['int', 'long', 'double'], minimum: 0 };
export const DATE = { bsonType: 'date' };
export const STRING = { bsonType: 'string', minLength: 1 };

/** A schema of exactly these properties. Names ending in `?` are optional. */
export function objectSchema(properties: Record<string, Document>): Document {
  const entries = Object.entries(properties).map(([name, schema]) => ({
    name: name.replace('?', ''),
    optional: name.endsWith('?'),
    schema,
  }));
  return {
    bsonType: 'object',
    required: entries.filter((entry) => !entry.optional).map((entry) => entry.name),
    additionalProperties: false,
    properties: Object.fromEntries(entries.map((entry) => [entry.name, entry.schema])),
  };
}

/** A document of anything but records. Its schema says what it has. */
export interface StoredDocument extends Document {
  _id: string;
}

/** The values of a document as the port has them: times in milliseconds, and int64 as numbers. */
export function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Date) return value.getTime();
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, plain(part)]));
}

/** A time as documents have it. */
export const dateOf = (time: number | undefined): Date | undefined =>
  time === undefined ? undefined : new Date(time);

/**
 * The version of a new record, and of one that was imported. The latter was not created here, so its insertion
 * is no event.
 */
export const [CREATED_VERSION, IMPORTED_VERSION] = [0, 1];

/** Moves the `lastUsedAt` of documents forwards. */
export async function touch(
  collection: Collection<StoredDocument>,
  uses: readonly (readonly [_id: string, lastUsedAt: number])[],
  options: BulkWriteOptions,
): Promise<void> {
  if (uses.length === 0) return;
  const writes = uses.map(([_id, time]) => ({
    updateOne: { filter: { _id }, update: { $max: { lastUsedAt: new Date(time) } } },
  }));
  await collection.bulkWrite(writes, { ...options, ordered: false });
}

/** Whether a collection has a document that matches. */
export const exists = async <D extends Document>(
  collection: Collection<D>,
  filter: Filter<D>,
  options: FindOptions,
): Promise<boolean> => (await collection.findOne(filter, { ...options, projection: { _id: 1 } })) !== null;
