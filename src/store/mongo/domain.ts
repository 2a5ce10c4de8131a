import type { EventType, EventTypes } from '../events.ts';
import type { CollectionDefinition } from './collection.ts';
import type { Database } from './database.ts';
import type { Holds } from './holds.ts';
import type { IdSequences } from './ids.ts';
import type { RunUnit } from './units.ts';

/** What a domain has to work with. */
export interface DomainContext {
  database: Database;
  ids: IdSequences;
  holds: Holds;
}

/** Which events the changes of a collection's documents are. */
export interface ChangeEvents {
  insert: EventType;
  /** Of an update, the first that fits: one without fields, or of whose fields one is set. */
  update: readonly { type: EventType; fields?: readonly string[] }[];
  delete: EventType;
}

/** A domain in MongoDB: its collection, and its methods of the port. */
export interface MongoDomain {
  definition: CollectionDefinition;
  events: ChangeEvents;
  /** Makes the record of a document, or of the copy of it that an update leaves (`changes.ts`). */
  toRecord(document: never): EventTypes[EventType];
  /** Clients may choose ids, so any can be taken: those assigned don't begin after the highest. */
  choosesIds?: true;
  /** `writes`: each is run as it is told. */
  open(tools: DomainContext): { reads: Methods; writes: (run: RunUnit) => Methods };
}

export type Methods = Record<string, (...args: never[]) => Promise<unknown>>;
