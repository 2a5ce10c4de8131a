import type { IndexDescription } from 'mongodb';
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
