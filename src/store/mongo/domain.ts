import type { EventType, EventTypes } from '../events.ts';
import type { CollectionDefinition } from './collection.ts';
import type { Database } from './database.ts';
import type { Holds } from './holds.ts';
import type { IdSequences } from './ids.ts';
import type { RunUnit, Unit } from './units.ts';

/** What a domain works with. */
export interface DomainContext {
  database: Database;
  ids: IdSequences;
  holds: Holds;
}

/** The event types for changes to a collection's documents. */
export interface ChangeEvents {
  insert: EventType;
  /** For an update, the first match: one without fields, or one of whose fields is set. */
  update: readonly { type: EventType; fields?: readonly string[] }[];
  delete: EventType;
}

/** A domain in MongoDB: its collection and its part of the port. */
export interface MongoDomain {
  definition: CollectionDefinition;
  events: ChangeEvents;
  /** Converts a document, or the snapshot in an update (`changes.ts`), to a record. */
  toRecord(document: never): EventTypes[EventType];
  /** Clients may choose ids, so assigned ids do not start after the highest one in use. */
  choosesIds?: true;
  /** `reads` reads what a transaction sees, or outside of any. `writes` runs each write with `run`. */
  open(tools: DomainContext): { reads: (transaction?: Unit) => Methods; writes: (run: RunUnit) => Methods };
}

export type Methods = Record<string, (...args: never[]) => Promise<unknown>>;
