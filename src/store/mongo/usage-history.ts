import type { UsageHistoryRow } from '../dump.ts';
import type { UsageHistoryStore, UsageOperation, UsageTransport } from '../store.ts';
import { DAY, HISTORY_KEPT } from '../usage.ts';
import { apiKeysCollection } from './api-keys.ts';
import { type CollectionDefinition, DATE, objectSchema, plain, STRING } from './collection.ts';
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

/** The history of what keys did: a document for each key and day, to which every instance adds. */
export function mongoUsageHistory({ db, options }: Database) {
  const history = db.collection<UsageDayDocument>(usageHistoryCollection.name);
  const apiKeys = db.collection<{ _id: string; lastUsedAt?: Date }>(apiKeysCollection.name);
  return {
    async addUsage(additions) {
      // First what may be done twice: if the increments fail, all of it is tried again.
      await apiKeys.bulkWrite(
        additions.map(({ apiKeyId, lastUsedAt }) => ({
          updateOne: { filter: { _id: apiKeyId }, update: { $max: { lastUsedAt: new Date(lastUsedAt) } } },
        })),
        { ...options, ordered: false },
      );
      const days = additions.flatMap(({ apiKeyId, days }) => days.map((day) => ({ apiKeyId, ...day })));
      if (days.length > 0) {
        await history.bulkWrite(
          days.map(({ apiKeyId, date, operations }) => ({
            updateOne: {
              filter: { _id: keyOf(date, apiKeyId) },
              update: {
                $inc: incrementsOf(operations) as never,
                $setOnInsert: { forgetAt: forgetAt(date) },
              },
              upsert: true,
            },
          })),
          { ...options, ordered: false },
        );
      }
    },

    /** Stores rows as they are, replacing those that are there. */
    async importUsage(rows: readonly UsageHistoryRow[]): Promise<void> {
      await history.bulkWrite(
        rows.map(({ apiKeyId, date, operation, transport, ...counts }) => ({
          updateOne: {
            filter: { _id: keyOf(date, apiKeyId) },
            update: {
              $set: { [`operations.${transport}.${operation}`]: counts } as never,
              $setOnInsert: { forgetAt: forgetAt(date) },
            },
            upsert: true,
          },
        })),
        options,
      );
    },

    async usageDays(apiKeyId, from, to) {
      const ids: string[] = [];
      for (let time = Date.parse(from); time <= Date.parse(to); time += DAY)
        ids.push(keyOf(new Date(time).toISOString().slice(0, 10), apiKeyId));
      const found = await history.find({ _id: { $in: ids } }, { ...options, sort: { _id: 1 } }).toArray();
      return found.map((document) => ({
        date: document._id.slice(0, document._id.indexOf(' ')),
        operations: operationsOf(document),
      }));
    },
  } satisfies UsageHistoryStore & Record<string, unknown>;
}

const incrementsOf = (operations: readonly UsageOperation[]): Record<string, number> =>
  Object.fromEntries(
    operations.flatMap(({ operation, transport, ...counts }) =>
      Object.entries(counts).map(([name, count]) => [`operations.${transport}.${operation}.${name}`, count]),
    ),
  );

const operationsOf = ({ operations }: UsageDayDocument): UsageOperation[] =>
  Object.entries(operations).flatMap(([transport, counted]) =>
    Object.entries(counted).map(([operation, counts]) => ({
      operation,
      transport: transport as UsageTransport,
      ...(plain(counts) as Record<keyof Counts, number>),
    })),
  );

/** A document as the rows that an export has. */
export function rowsOf(document: UsageDayDocument): UsageHistoryRow[] {
  const [date, apiKeyId] = document._id.split(' ') as [string, string];
  return operationsOf(document).map((operation) => ({ apiKeyId, date, ...operation }));
}
