import type {
  ChangeStreamDeleteDocument,
  ChangeStreamInsertDocument,
  ChangeStreamUpdateDocument,
  Document,
} from 'mongodb';
import type { AnyRecord } from '../../foundation/record.ts';
import { eventTypesOf, type StoredEvent, updateTypeOf } from '../events.ts';
import { codecOf, IMPORTED, SNAPSHOT } from './codec.ts';
import { toId } from './collection.ts';

/** The kinds of change events we use. */
export type Change = ChangeStreamInsertDocument | ChangeStreamUpdateDocument | ChangeStreamDeleteDocument;

/** Translates changes of the records' documents to events. */
export function createChangeEvents(records: readonly AnyRecord[]) {
  const byCollection = new Map(records.map((record) => [record.plural, { record, codec: codecOf(record) }]));
  return {
    /** The changes that are events. An update that clients do not see sets no snapshot. */
    isEvent: {
      'ns.coll': { $in: [...byCollection.keys()] },
      $or: [
        { operationType: 'insert', [`fullDocument.${IMPORTED}`]: { $exists: false } },
        { operationType: 'update', [`updateDescription.updatedFields.${SNAPSHOT}`]: { $exists: true } },
        { operationType: 'delete' },
      ],
    },

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
          const { updatedFields = {}, removedFields = [] } = change.updateDescription;
          const changed = [...Object.keys(updatedFields), ...removedFields];
          return {
            id,
            type: updateTypeOf(
              record,
              changed.filter((name) => name in record.fields),
            ),
            time,
            record: codec.toRecord({ ...(updatedFields[SNAPSHOT] as Document), _id }),
          };
        }
      }
    },
  };
}

/** The server's clock. Whole seconds before MongoDB 6. */
export const timeOf = ({ wallTime, clusterTime }: Change): number =>
  wallTime instanceof Date ? wallTime.getTime() : (clusterTime?.getHighBits() ?? 0) * 1000;
