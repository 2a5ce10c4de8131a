import type { ObjectRef } from '@pothos/core';
import type { ChangeKind } from '../foundation/refusal.ts';
import { type AnyRecord, holdersName, holdersOf, type NewOf, refusalsOf } from '../foundation/record.ts';
import { listed } from '../foundation/words.ts';
import type { Resource } from '../rest-routes/route.ts';
import type { EventType } from '../store/events.ts';
import type { builder } from './builder.ts';

/**
 * A domain's contribution to the rest of the program. Importing it also adds its types, fields and operations to the
 * GraphQL schema.
 */
export interface Domain {
  /** Its records; a view shares those of another domain. */
  record: AnyRecord;
  resource: Resource;
  /** The GraphQL type of its records. */
  // oxlint-disable-next-line typescript/no-explicit-any -- whatever its records are
  type: ObjectRef<typeof builder.$inferSchemaTypes, any>;
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

/**
 * The obstacles to a change of a record, for descriptions: what blocks it, must be unique or is refused by hooks.
 * Empty if there are none.
 */
export function refusalsDescription(record: AnyRecord, change: ChangeKind): string {
  const { kind, unique } = record;
  const holders = [...new Set(holdersOf(record).map(holdersName))];
  const others = (unique as readonly (readonly string[])[]).map(
    (fields) => `Refused while another ${kind} has the same ${listed(fields, 'and')}.`,
  );
  const held = holders.length > 0 ? [`Refused while the ${kind} has ${listed(holders, 'or')}.`] : [];
  const own = refusalsOf(record, change).map(({ description }) => description);
  return [...(change === 'deletion' ? held : others), ...own].join(' ');
}
