import type {
  ChangeStreamDeleteDocument,
  ChangeStreamInsertDocument,
  ChangeStreamUpdateDocument,
  Document,
} from 'mongodb';
import type { EventType, StoredEvent } from '../events.ts';
import { SNAPSHOT } from './changes.ts';
import type { MongoDomain } from './domain.ts';
import { DOMAINS } from './domains.ts';
import { toId } from './keys.ts';

/** The kinds of change events we use. */
export type Change = ChangeStreamInsertDocument | ChangeStreamUpdateDocument | ChangeStreamDeleteDocument;

const BY_COLLECTION: ReadonlyMap<string, MongoDomain> = new Map(
  DOMAINS.map((domain) => [domain.definition.name, domain]),
);

const exists = (field: string, $exists: boolean): Document => ({
  [`updateDescription.updatedFields.${field}`]: { $exists },
});

/**
 * The conditions for each event type, excluding those of the types before it. Updates invisible to clients do
 * not set `written`.
 */
function conditionsOf({ definition, events }: MongoDomain): [EventType, Document][] {
  const change = (operationType: Change['operationType']) => ({ 'ns.coll': definition.name, operationType });
  const before: Document[] = [exists(SNAPSHOT, true)];
  const updates = events.update.map(({ type, fields }): [EventType, Document] => {
    const own = fields ? [{ $or: fields.map((field) => exists(field, true)) }] : [];
    const condition = { ...change('update'), $and: [...before, ...own] };
    before.push(...(fields ?? []).map((field) => exists(field, false)));
    return [type, condition];
  });
  return [[events.insert, change('insert')], ...updates, [events.delete, change('delete')]];
}

const CONDITIONS: ReadonlyMap<EventType, Document> = new Map(DOMAINS.flatMap(conditionsOf));

export const EVENT_TYPES: readonly EventType[] = [...CONDITIONS.keys()];

/** The change stream filter for an event type. */
export const conditionOf = (type: EventType): Document => CONDITIONS.get(type)!;

/** Converts a change to an event. */
export function toEvent(change: Change): StoredEvent {
  const { events, toRecord } = BY_COLLECTION.get(change.ns.coll)!;
  const _id = change.documentKey._id as unknown as bigint;
  const id = (change._id as { _data: string })._data;
  const time = timeOf(change);
  switch (change.operationType) {
    case 'insert':
      return { id, type: events.insert, time, record: toRecord(change.fullDocument as never) };
    case 'delete':
      return { id, type: events.delete, time, record: { id: toId(_id) } };
    case 'update': {
      const values: Document = change.updateDescription.updatedFields ?? {};
      const { type } = events.update.find(
        ({ fields }) => !fields || fields.some((field) => field in values),
      )!;
      return { id, type, time, record: toRecord({ ...values[SNAPSHOT], _id } as never) };
    }
  }
}

/** The server's clock. Whole seconds before MongoDB 6. */
export const timeOf = ({ wallTime, clusterTime }: Change): number =>
  wallTime instanceof Date ? wallTime.getTime() : (clusterTime?.getHighBits() ?? 0) * 1000;
