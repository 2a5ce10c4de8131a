import { formatDate } from '../../foundation/instant.ts';
import type { UsageHistoryStore, UsageOperation, UsageRow, UsageTransport } from '../store.ts';
import { DAY, HISTORY_KEPT } from '../usage.ts';
import { apiKeysCollection } from './api-keys.ts';
import {
  type CollectionDefinition,
  DATE,
  objectSchema,
  plain,
  STRING,
  type StoredDocument,
  touch,
} from './collection.ts';
import type { Database } from './database.ts';

type Counts = Record<'requests' | 'units' | 'refused', number | bigint>;

export interface UsageDayDocument {
  /** The date and the id of the key. */
  _id: string;
  /** Counts by transport and operation. */
  operations: Partial<Record<UsageTransport, Record<string, Counts>>>;
  forgetAt: Date;
}

export const usageHistoryCollection: CollectionDefinition = {
  name: 'usageHistory',
  schema: objectSchema({ _id: STRING, operations: { bsonType: 'object' }, forgetAt: DATE }),
  indexes: [{ key: { forgetAt: 1 }, expireAfterSeconds: 0 }],
};

const forgetAt = (date: string): Date => new Date(Date.parse(date) + (HISTORY_KEPT + 1) * DAY);

const keyOf = (date: string, apiKeyId: string): string => `${date} ${apiKeyId}`;

const dateIn = (_id: string): string => _id.slice(0, _id.indexOf(' '));

/** The history of what keys did: a document for each key and day, to which every instance adds. */
export function mongoUsageHistory({ db, options }: Database) {
  const history = db.collection<UsageDayDocument>(usageHistoryCollection.name);
  const apiKeys = db.collection<StoredDocument>(apiKeysCollection.name);

  async function add(rows: readonly UsageRow[]): Promise<void> {
    const days = new Map<string, Record<string, number>>();
    for (const { apiKeyId, date, operation, transport, ...counts } of rows) {
      const _id = keyOf(date, apiKeyId);
      const values = days.get(_id) ?? {};
      days.set(_id, values);
      for (const [name, count] of Object.entries(counts))
        values[`operations.${transport}.${operation}.${name}`] = count;
    }
    if (days.size === 0) return;
    await history.bulkWrite(
      [...days].map(([_id, values]) => ({
        updateOne: {
          filter: { _id },
          update: { $inc: values, $setOnInsert: { forgetAt: forgetAt(dateIn(_id)) } } as object,
          upsert: true,
        },
      })),
      { ...options, ordered: false },
    );
  }

  return {
    async addUsage(rows, uses) {
      // First what may be done twice: if the increments fail, all of it is tried again.
      await touch(apiKeys, Object.entries(uses), options);
      await add(rows);
    },

    async usageDays(apiKeyId, from, to) {
      const days = await history
        .find({ _id: { $in: idsOf(apiKeyId, from, to) } }, { ...options, sort: { _id: 1 } })
        .toArray();
      return days.map((document) => ({
        date: dateIn(document._id),
        operations: operationsOf(document),
      }));
    },

    async usageTotals(apiKeyId, from, to) {
      const sum = (name: string) => ({ $sum: `$operation.v.${name}` });
      const days = history.aggregate<Counts & { _id: string }>(
        [
          { $match: { _id: { $in: idsOf(apiKeyId, from, to) } } },
          { $project: { transport: { $objectToArray: '$operations' } } },
          { $unwind: '$transport' },
          { $project: { operation: { $objectToArray: '$transport.v' } } },
          { $unwind: '$operation' },
          {
            $group: { _id: '$_id', requests: sum('requests'), units: sum('units'), refused: sum('refused') },
          },
          { $sort: { _id: 1 } },
        ],
        options,
      );
      return (await days.toArray()).map(({ _id, ...counts }) => ({
        date: dateIn(_id),
        ...(plain(counts) as Record<keyof Counts, number>),
      }));
    },
  } satisfies UsageHistoryStore;
}

/** The documents of a key for the days of a range. */
function idsOf(apiKeyId: string, from: string, to: string): string[] {
  const ids: string[] = [];
  for (let time = Date.parse(from); time <= Date.parse(to); time += DAY)
    ids.push(keyOf(formatDate(time), apiKeyId));
  return ids;
}

const operationsOf = ({ operations }: UsageDayDocument): UsageOperation[] =>
  Object.entries(operations).flatMap(([transport, counted]) =>
    Object.entries(counted).map(([operation, counts]) => ({
      operation,
      transport: transport as UsageTransport,
      ...(plain(counts) as Record<keyof Counts, number>),
    })),
  );
