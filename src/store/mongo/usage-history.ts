import type { UsageHistoryStore, UsageOperation, UsageRow } from '../store.ts';
import { DAY, HISTORY_KEPT } from '../usage.ts';
import { apiKeysCollection } from './api-keys.ts';
import { type CollectionDefinition, plain, type StoredDocument, touch } from './collection.ts';
import type { CallOptions, Database } from './database.ts';
import type { Together } from './transactions.ts';

/** What a key did on a day by one operation over one transport. */
interface UsageRowDocument extends UsageRow {
  /** The key, the date, the transport and the operation. */
  _id: string;
  forgetAt: Date;
}

export const usageHistoryCollection: CollectionDefinition = {
  name: 'usageHistory',
  indexes: [{ key: { apiKeyId: 1, date: 1 } }, { key: { forgetAt: 1 }, expireAfterSeconds: 0 }],
};

/**
 * The history of what keys did, to which every instance adds.
 *
 * @param together makes several writes all or none
 */
export function mongoUsageHistory({ db, options }: Database, together: Together) {
  const history = db.collection<UsageRowDocument>(usageHistoryCollection.name);
  const apiKeys = db.collection<StoredDocument>(apiKeysCollection.name);

  async function add(rows: readonly UsageRow[], options: CallOptions): Promise<void> {
    if (rows.length === 0) return;
    const writes = rows.map(({ requests, units, refused, ...of }) => {
      const forgetAt = new Date(Date.parse(of.date) + (HISTORY_KEPT + 1) * DAY);
      return {
        updateOne: {
          filter: { _id: [of.apiKeyId, of.date, of.transport, of.operation].join(' ') },
          update: { $inc: { requests, units, refused }, $setOnInsert: { ...of, forgetAt } },
          upsert: true,
        },
      };
    });
    await history.bulkWrite(writes, { ...options, ordered: false });
  }

  const rowsOfKey = (apiKeyId: string, from: string, to: string) => ({
    apiKeyId,
    date: { $gte: from, $lte: to },
  });

  return {
    addUsage: (rows, uses) =>
      together(async (options) => {
        await touch(apiKeys, Object.entries(uses), options);
        await add(rows, options);
      }),

    async usageDays(apiKeyId, from, to) {
      const rows = await history
        .find(rowsOfKey(apiKeyId, from, to), { ...options, sort: { date: 1 } })
        .toArray();
      const days = new Map<string, UsageOperation[]>();
      for (const row of rows) {
        const { _id, apiKeyId: _, forgetAt, date, ...operation } = row;
        days.set(date, [...(days.get(date) ?? []), plain(operation) as UsageOperation]);
      }
      return [...days].map(([date, operations]) => ({ date, operations }));
    },

    async usageTotals(apiKeyId, from, to) {
      const sum = (name: string) => ({ $sum: `$${name}` });
      const totals = { requests: sum('requests'), units: sum('units'), refused: sum('refused') };
      const days = await history
        .aggregate<{ _id: string } & Pick<UsageRow, 'requests' | 'units' | 'refused'>>(
          [
            { $match: rowsOfKey(apiKeyId, from, to) },
            { $group: { _id: '$date', ...totals } },
            { $sort: { _id: 1 } },
          ],
          options,
        )
        .toArray();
      return days.map((day) => {
        const { _id, ...total } = plain(day) as typeof day;
        return { date: _id, ...total };
      });
    },
  } satisfies UsageHistoryStore;
}
