import { formatDate } from '../../foundation/instant.ts';
import type { UsageDay, UsageHistoryStore, UsageTotal } from '../store.ts';
import { DAY, HISTORY_KEPT } from '../usage.ts';
import type { SqliteConnection } from './connection.ts';
import { rowsOf } from './rows.ts';
import type { Writer } from './writer.ts';

const OPERATION = ['operation', 'transport', 'requests', 'units', 'refused'];
const { object: operation } = rowsOf('usage_days', OPERATION);
export const USAGE_DAYS = rowsOf('usage_days', ['apiKeyId', 'date', ...OPERATION]);

/** The history of what keys did: a row for each key, day, operation and transport. */
export function usageHistory(db: SqliteConnection, writer: Writer, now: () => number) {
  let removedUntil = '';

  /** Days expire once a day. */
  const removeExpired = (): void => {
    const first = formatDate(now() - HISTORY_KEPT * DAY);
    if (first === removedUntil) return;
    db.run('delete from usage_days where date < ?', [first]);
    removedUntil = first;
  };

  return {
    addUsage: (rows, uses) =>
      writer.write(() => {
        removeExpired();
        db.run(
          `${USAGE_DAYS.insert} on conflict do update set
             requests = requests + excluded.requests,
             units = units + excluded.units,
             refused = refused + excluded.refused`,
          [JSON.stringify(rows)],
        );
        db.run(
          `update api_keys set last_used_at = max(coalesce(last_used_at, 0), used.value)
           from json_each(?) as used where used.key = api_keys.id`,
          [JSON.stringify(uses)],
        );
      }, true),

    usageDays: async (apiKeyId, from, to) =>
      db.json<UsageDay[]>(
        `select json_group_array(json_object('date', date, 'operations', json(operations))) from (
           select date, json_group_array(${operation}) as operations
           from usage_days where api_key_id = ? and date between ? and ? group by date order by date
         )`,
        [apiKeyId, from, to],
      )!,

    usageTotals: async (apiKeyId, from, to) =>
      db.json<UsageTotal[]>(
        `select json_group_array(json_object('date', date, 'requests', requests, 'units', units, 'refused', refused)) from (
           select date, sum(requests) as requests, sum(units) as units, sum(refused) as refused
           from usage_days where api_key_id = ? and date between ? and ? group by date order by date
         )`,
        [apiKeyId, from, to],
      )!,
  } satisfies UsageHistoryStore;
}
