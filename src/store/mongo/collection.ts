import type { Document, IndexDescription } from 'mongodb';

/** What the database is to know of a collection. The rules of the interface proper are checked far above. */
export interface CollectionDefinition {
  name: string;
  /** JSON schema of its documents, which the server holds every write against. */
  schema: Document;
  /** The indexes of its queries. */
  indexes: IndexDescription[];
}

/** An int64 id as BSON keeps it. */
export type Key = bigint;

/** Counts the writes that a client can see; the writes that follow a read of the document filter by it. */
export type Version = number | bigint;

export const ID = { bsonType: 'long', minimum: 1 };
export const INTEGER = { bsonType: ['int', 'long'], minimum: 0 };
/** Numbers of JavaScript, which the driver writes as int32 or double. */
export const NUMBER = { bsonType: ['int', 'long', 'double'], minimum: 0 };
export const DATE = { bsonType: 'date' };
export const STRING = { bsonType: 'string', minLength: 1 };

/** A schema of exactly these properties; those that end in `?` may be missing. */
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

/** What the documents of all records have besides their own fields. */
export interface RecordDocument {
  _id: Key;
  version: Version;
  /** What the last update left of it for the log of changes (`changes.ts`). */
  written?: Document;
}

/** A schema of the documents of records: of these properties, and of what all of them have. */
export const recordSchema = (properties: Record<string, Document>): Document =>
  objectSchema({ _id: ID, ...properties, version: INTEGER, 'written?': { bsonType: 'object' } });
