import { type AnyRecord, type NewOf } from '../foundation/record.ts';
import type { Resource } from '../rest-routes/route.ts';
import type { Builder } from '../schema/builder.ts';
import type { EventType } from '../store/events.ts';

/** A domain's contribution to the rest of the program. */
export interface Domain {
  /** Its records; a view shares those of another domain. */
  record: AnyRecord;
  resource: Resource;
  /** Adds its types, fields and operations to a GraphQL schema. @param records all that the schema has */
  addTypes(builder: Builder, records: readonly AnyRecord[]): void;
  /** Its event types, with descriptions. */
  events: Readonly<Record<EventType, string>>;
  /** The field of an event that holds the current record. */
  eventField: { name: string; description: string };
  sample?: SampleOf<AnyRecord>;
}

/** Sample data for a new store. References are positions in the sample of the records that they refer to. */
export type SampleOf<R extends AnyRecord> = readonly {
  [K in keyof NewOf<R>]: K extends `${string}Id` ? number : NewOf<R>[K];
}[];
