import { type AnyDeclaration, type NewOf } from '../foundation/record.ts';
import type { Resource } from '../rest-routes/route.ts';
import type { Builder } from '../schema/builder.ts';
import type { EventType } from '../store/events.ts';

/** A domain's contribution to the rest of the program. */
export interface Domain {
  /** The record of the domain; a view shares that of another domain. */
  record: AnyDeclaration;
  resource: Resource;
  /** Adds types, fields and operations to a GraphQL schema. @param declarations all records of the schema */
  addTypes(builder: Builder, declarations: readonly AnyDeclaration[]): void;
  /** The event types, with descriptions. */
  events: Readonly<Record<EventType, string>>;
  /** The field of events for the current record. */
  eventField: { name: string; description: string };
  sample?: SampleOf<AnyDeclaration>;
}

/** Sample data for a new store. References are indexes into the sample of the parent's domain. */
export type SampleOf<R extends AnyDeclaration> = readonly {
  [K in keyof NewOf<R>]: K extends `${string}Id` ? number : NewOf<R>[K];
}[];
