import type { ObjectRef } from '@pothos/core';
import type { Id } from '../foundation/id.ts';
import type { EventType } from '../store/events.ts';
import type { builder } from './builder.ts';
import type { RecordSource } from './loaders.ts';
import type { Resource } from './route.ts';
import type { Sample } from './sample.ts';

/**
 * What a domain provides to the rest of the program. Importing it also adds its types, fields and operations
 * to the GraphQL schema.
 *
 * @typeParam T its records
 * @typeParam Kind the prefix of its event types: `pet` in `pet.created`
 */
export interface Domain<T extends { id: Id } = { id: Id }, Kind extends string = never> {
  resource: Resource;
  /** The GraphQL type of its records. */
  type: ObjectRef<typeof builder.$inferSchemaTypes, T>;
  source: RecordSource<T>;
  /** Its event types, with descriptions. */
  events: Readonly<Record<Extract<EventType, `${Kind}.${string}`>, string>>;
  /** The field of an event that holds the current record. */
  eventField: { name: string; description: string };
  sample?: Sample<T>;
  /** Converts a record to its REST form, if that differs. */
  represent?(record: T): object;
}
