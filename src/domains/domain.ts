import type { ObjectRef } from '@pothos/core';
import type { builder } from '../graphql/builder.ts';
import type { RecordSource } from '../graphql/loaders.ts';
import type { EventType } from '../store/events.ts';
import type { Id } from './id.ts';
import type { Resource } from './route.ts';
import type { Sample } from './sample.ts';

/**
 * What a domain tells the rest of the program about itself. It adds its types, fields and operations to the GraphQL schema
 * on its own, by being imported.
 *
 * @typeParam T its records
 * @typeParam Kind what its events begin with: `pet` of `pet.created`
 */
export interface Domain<T extends { id: Id } = { id: Id }, Kind extends string = never> {
  resource: Resource;
  /** The GraphQL type of its records. */
  type: ObjectRef<typeof builder.$inferSchemaTypes, T>;
  source: RecordSource<T>;
  /** What each type of its events tells of. */
  events: Readonly<Record<Extract<EventType, `${Kind}.${string}`>, string>>;
  /** The field of an event with the record as it is now. */
  eventField: { name: string; description: string };
  sample?: Sample<T>;
  /** The record as REST shows it, where that is not the record itself. */
  represent?(record: T): object;
}
