import { formatDate, DAY } from '../foundation/instant.ts';
import { API_KEYS } from './stored-api-keys.ts';
import type { Engine } from './engine.ts';
import { type ObjectKind, touch } from './objects.ts';

/** The number of days kept, including today. */
export const HISTORY_KEPT = 92;

/** The transports that usage is counted by, with descriptions. */
export const USAGE_TRANSPORTS = {
  rest: 'Over REST.',
  graphql: 'Over GraphQL.',
  stream: 'By a stream of events or a subscription.',
  webhook: 'By deliveries to receivers.',
  mcp: 'By an agent.',
};
export type UsageTransport = keyof typeof USAGE_TRANSPORTS;

export interface Counts {
  /** Requests that passed. */
  requests: number;
  /** Units charged. */
  units: number;
  /** Requests refused by the plan. */
  refused: number;
}

/** The sum of operations' counts. */
export function sumOf(operations: readonly Counts[]): Counts {
  const sum = { requests: 0, units: 0, refused: 0 };
  for (const { requests, units, refused } of operations) {
    sum.requests += requests;
    sum.units += units;
    sum.refused += refused;
  }
  return sum;
}

/** A key's use of one operation over one transport. */
export interface UsageOperation extends Counts {
  /** The GraphQL root field, over any transport. */
  operation: string;
  transport: UsageTransport;
}

/** A key's use on one day. */
export interface UsageDay {
  /** In UTC: `2026-11-22`. */
  date: string;
  operations: readonly UsageOperation[];
}

/** A key's use of one operation over one transport, on one day. */
export interface UsageCount extends UsageOperation {
  apiKeyId: string;
  date: string;
}

interface KeyDay extends UsageDay {
  apiKeyId: string;
}

const keyOf = ({ apiKeyId, date }: Pick<KeyDay, 'apiKeyId' | 'date'>): string => `${apiKeyId} ${date}`;

export const USAGE_HISTORY: ObjectKind<KeyDay> = {
  name: 'usageHistory',
  keyOf,
  expiresAt: ({ date }) => Date.parse(date) + (HISTORY_KEPT + 1) * DAY,
};

/** Adds the use of an operation to a day. */
function plus(day: KeyDay, { operation, transport, ...counts }: UsageCount): KeyDay {
  const isSame = (each: KeyDay['operations'][number]) =>
    each.operation === operation && each.transport === transport;
  const sum = sumOf([...day.operations.filter(isSame), counts]);
  return {
    ...day,
    operations: [...day.operations.filter((each) => !isSame(each)), { operation, transport, ...sum }],
  };
}

/** The usage history of keys, to which all instances add (`access/usage-history.ts`). */
export function usageHistoryOver({ objects, transaction }: Engine) {
  return {
    /**
     * Adds counts to the days of keys, each day atomically.
     *
     * @param uses the time of each key's latest use, in milliseconds since 1970, to which its `lastUsedAt` advances
     */
    addUsage: (rows: readonly UsageCount[], uses: Readonly<Record<string, number>>): Promise<void> =>
      transaction(async (own) => {
        await touch(own.objects(API_KEYS), API_KEYS.keyOf, new Map(Object.entries(uses)));
        const history = own.objects(USAGE_HISTORY);
        const days = new Map(
          rows.map(({ apiKeyId, date }) => [
            keyOf({ apiKeyId, date }),
            { apiKeyId, date, operations: [] } as KeyDay,
          ]),
        );
        for (const day of await history.get([...days.keys()])) days.set(keyOf(day), day);
        for (const row of rows) days.set(keyOf(row), plus(days.get(keyOf(row))!, row));
        await history.put([...days.values()]);
      }),

    /** The days on which a key was used, oldest first. Both dates are inclusive. */
    async usageDays(apiKeyId: string, from: string, to: string): Promise<UsageDay[]> {
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

export type UsageHistoryStore = ReturnType<typeof usageHistoryOver>;
