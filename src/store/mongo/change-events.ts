import type {
  ChangeStreamDeleteDocument,
  ChangeStreamInsertDocument,
  ChangeStreamUpdateDocument,
  Document,
  UpdateDescription,
} from 'mongodb';
import { type AnyRecord, type Fields, inputFields } from '../../foundation/record.ts';
import { type EventType, eventTypesOf, type StoredEvent, updateTypeOf } from '../events.ts';
import { CREATED_VERSION, toId } from './collection.ts';
import { DocumentCodec, SNAPSHOT } from './documents.ts';

/** The kinds of change events we use. */
export type Change = ChangeStreamInsertDocument | ChangeStreamUpdateDocument | ChangeStreamDeleteDocument;

const changedFields = ({ updatedFields = {}, removedFields = [] }: UpdateDescription): string[] => [
  ...Object.keys(updatedFields),
  ...removedFields,
];

/**
 * The conditions for each event type. Updates invisible to clients do not set `written`. An update of several
 * views' fields, or of none, is one of the record itself.
 */
function conditionsOf(record: AnyRecord): [EventType, Document][] {
  const change = (operationType: Change['operationType']) => ({ 'ns.coll': record.plural, operationType });
  const touches = (field: string): Document => ({
    $or: [
      { [`updateDescription.updatedFields.${field}`]: { $exists: true } },
      { 'updateDescription.removedFields': field },
    ],
  });
  const visible = { [`updateDescription.updatedFields.${SNAPSHOT}`]: { $exists: true } };
  const types = eventTypesOf(record);
  const own = Object.keys(inputFields(record));
  const views = new Map<string, string[]>();
  for (const [name, { view }] of Object.entries(record.fields as Fields))
    if (view !== undefined) views.set(view, [...(views.get(view) ?? []), name]);
  const ofViews = [...views].map(([view, names]): [EventType, Document] => {
    const others = Object.keys(record.fields).filter((name) => !names.includes(name));
    const only = { $or: names.map(touches), $nor: others.map(touches) };
    return [`${view}.updated`, { ...change('update'), $and: [visible, only] }];
  });
  const ofRecord = views.size > 0 ? [visible, { $or: own.map(touches) }] : [visible];
  return [
    [types.created, { ...change('insert'), 'fullDocument.version': CREATED_VERSION }],
    [types.updated, { ...change('update'), $and: ofRecord }],
    ...ofViews,
    [types.deleted, change('delete')],
  ];
}

/** Translates changes of the records' documents to events. */
export function createChangeEvents(records: readonly AnyRecord[]) {
  const byCollection = new Map(
    records.map((record) => [record.plural, { record, codec: new DocumentCodec(record) }]),
  );
  const conditions: ReadonlyMap<EventType, Document> = new Map(records.flatMap(conditionsOf));
  return {
    types: [...conditions.keys()] as readonly EventType[],

    /** The change stream filter for an event type. */
    conditionOf: (type: EventType): Document => conditions.get(type)!,

    /** Converts a change to an event. */
    toEvent(change: Change): StoredEvent {
      const { record, codec } = byCollection.get(change.ns.coll)!;
      const types = eventTypesOf(record);
      const _id = change.documentKey._id as unknown as bigint;
      const id = (change._id as { _data: string })._data;
      const time = timeOf(change);
      switch (change.operationType) {
        case 'insert':
          return { id, type: types.created, time, record: codec.toRecord(change.fullDocument) };
        case 'delete':
          return { id, type: types.deleted, time, record: { id: toId(_id) } };
        case 'update': {
          const changed = changedFields(change.updateDescription).filter((name) => name in record.fields);
          const snapshot = change.updateDescription.updatedFields?.[SNAPSHOT] as Document;
          return {
            id,
            type: updateTypeOf(record, changed),
            time,
            record: codec.toRecord({ ...snapshot, _id }),
          };
        }
      }
    },
  };
}

/** The server's clock. Whole seconds before MongoDB 6. */
export const timeOf = ({ wallTime, clusterTime }: Change): number =>
  wallTime instanceof Date ? wallTime.getTime() : (clusterTime?.getHighBits() ?? 0) * 1000;
