import { formatDate } from '../foundation/instant.ts';
import { API_KEYS } from './api-keys.ts';
import type { Engine } from './engine.ts';
import { type ObjectKind, touched } from './objects.ts';
import type { UsageDay, UsageHistoryStore, UsageRow } from './store.ts';
import { DAY, HISTORY_KEPT } from './usage.ts';

/** What a key did on one day. */
interface KeyDay extends UsageDay {
  apiKeyId: string;
}

const keyOf = ({ apiKeyId, date }: Pick<KeyDay, 'apiKeyId' | 'date'>): string => `${apiKeyId} ${date}`;

export const USAGE_HISTORY: ObjectKind<KeyDay> = {
  name: 'usageHistory',
  keyOf,
  expiresAt: ({ date }) => Date.parse(date) + (HISTORY_KEPT + 1) * DAY,
};

/** A day with what was done by one more operation. */
function plus(day: KeyDay, { operation, transport, requests, units, refused }: UsageRow): KeyDay {
  const isSame = (each: KeyDay['operations'][number]) =>
    each.operation === operation && each.transport === transport;
  const before = day.operations.find(isSame) ?? { requests: 0, units: 0, refused: 0 };
  const after = {
    operation,
    transport,
    requests: before.requests + requests,
    units: before.units + units,
    refused: before.refused + refused,
  };
  return { ...day, operations: [...day.operations.filter((each) => !isSame(each)), after] };
}

/** The history of what keys did, to which every instance adds. */
export function usageHistoryOver({ objects, transaction }: Engine): UsageHistoryStore {
  return {
    addUsage: (rows, uses) =>
      transaction(async (own) => {
        const [keys, history] = [own.objects(API_KEYS), own.objects(USAGE_HISTORY)];
        const times = new Map(Object.entries(uses));
        await keys.put(touched(await keys.get([...times.keys()]), API_KEYS.keyOf, times));
        const days = new Map(
          rows.map(({ apiKeyId, date }) => [
            keyOf({ apiKeyId, date }),
            { apiKeyId, date, operations: [] } as KeyDay,
          ]),
        );
        for (const day of await history.get([...days.keys()])) days.set(keyOf(day), day);
        for (const row of rows) days.set(keyOf(row), plus(days.get(keyOf(row))!, row));
        await history.put([...days.values()]);
      }, true),

    async usageDays(apiKeyId, from, to) {
      const keys: string[] = [];
      for (let time = Date.parse(from); time <= Date.parse(to); time += DAY)
        keys.push(keyOf({ apiKeyId, date: formatDate(time) }));
      const days = await objects(USAGE_HISTORY).get(keys);
      return days
        .map(({ date, operations }) => ({ date, operations }))
        .sort((a, b) => (a.date < b.date ? -1 : 1));
    },
  };
}
