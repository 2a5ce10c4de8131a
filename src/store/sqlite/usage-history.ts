import type { UsageAddition, UsageDay, UsageHistoryStore, UsageOperation } from '../store.ts';
import { DAY, HISTORY_KEPT } from '../usage.ts';
import type { Connection } from './connection.ts';

type Row = [date: string, ...operation: [string, UsageOperation['transport'], number, number, number]];

/** The history of what keys did: a row for each key, day, operation and transport. */
export function usageHistory(db: Connection, now: () => number) {
  let removedUntil = '';

  /** Days expire once a day. */
  const removeExpired = (): void => {
    const first = new Date(now() - HISTORY_KEPT * DAY).toISOString().slice(0, 10);
    if (first === removedUntil) return;
    db.run('delete from usage_days where date < ?', [first]);
    removedUntil = first;
  };

  return {
    addUsage(additions: readonly UsageAddition[]): void {
      const rows = additions.flatMap(({ apiKeyId, days }) =>
        days.flatMap(({ date, operations }) =>
          operations.map(({ operation, transport, requests, units, refused }) => [
            ...[apiKeyId, date, operation, transport, requests, units, refused],
          ]),
        ),
      );
      const uses = Object.fromEntries(additions.map(({ apiKeyId, lastUsedAt }) => [apiKeyId, lastUsedAt]));
      db.transaction(() => {
        removeExpired();
        db.run(
          `insert into usage_days
             select value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6
             from json_each(?) where true
           on conflict do update set
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
      });
    },

    usageDays(apiKeyId: string, from: string, to: string): UsageDay[] {
      const text = db.value(
        `select json_group_array(json_array(date, operation, transport, requests, units, refused)) from (
           select * from usage_days where api_key_id = ? and date between ? and ? order by date
         )`,
        [apiKeyId, from, to],
      );
      const days = new Map<string, UsageOperation[]>();
      for (const [date, operation, transport, requests, units, refused] of JSON.parse(
        text as string,
      ) as Row[]) {
        const counts = { operation, transport, requests, units, refused };
        const operations = days.get(date);
        if (operations) operations.push(counts);
        else days.set(date, [counts]);
      }
      return [...days].map(([date, operations]) => ({ date, operations }));
    },
  } satisfies UsageHistoryStore;
}
