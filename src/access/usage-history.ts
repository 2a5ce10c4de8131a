import { formatDate, DAY } from '../foundation/instant.ts';
import { WriteBehind } from '../foundation/write-behind.ts';
import {
  type Counts,
  HISTORY_KEPT,
  sumOf,
  type UsageDay,
  type UsageHistoryStore,
  type UsageOperation,
  type UsageCount,
  type UsageTransport,
} from '../store/stored-usage-history.ts';

/** The interval at which counts are added to the store, in milliseconds. */
const INTERVAL = 10_000;
/** Maximum operations shown per day. */
export const MAX_OPERATIONS = 100;
/** The name for requests that fail before their operation is known, and operations beyond {@link MAX_OPERATIONS}. */
export const OTHER = 'other';

/** The oldest date in the history. */
export const firstDateKept = (now: number): string => formatDate(now - (HISTORY_KEPT - 1) * DAY);

/** The use of a key that is not stored yet. */
interface Use {
  /** Milliseconds since 1970. */
  lastUsedAt: number;
  /** `day` is the number of days since 1970. */
  counts: (Omit<UsageCount, 'date'> & { day: number })[];
}

/** The usage of keys by day and operation, counted in memory and added to the store at intervals. */
export class UsageHistory extends WriteBehind {
  readonly #store: UsageHistoryStore;
  /** By key. */
  #uses = new Map<string, Use>();

  constructor(store: UsageHistoryStore, report: (error: unknown) => void) {
    super(INTERVAL, report);
    this.#store = store;
  }

  /** Records that a key was used, for `lastUsedAt`. */
  touch(apiKeyId: string, now: number): Use {
    let use = this.#uses.get(apiKeyId);
    if (!use) this.#uses.set(apiKeyId, (use = { lastUsedAt: now, counts: [] }));
    use.lastUsedAt = Math.max(use.lastUsedAt, now);
    this.writeLater();
    return use;
  }

  /** Counts part of a request. */
  add(
    apiKeyId: string,
    now: number,
    transport: UsageTransport,
    operation: string,
    { requests, units, refused }: Counts,
  ): void {
    const { counts } = this.touch(apiKeyId, now);
    const day = Math.floor(now / DAY);
    // A key uses few operations, and creating a name to look up would take longer.
    let count = counts.find(
      (each) => each.operation === operation && each.transport === transport && each.day === day,
    );
    if (!count) {
      count = { apiKeyId, day, operation, transport, requests: 0, units: 0, refused: 0 };
      counts.push(count);
    }
    count.requests += requests;
    count.units += units;
    count.refused += refused;
  }

  /** The days on which a key was used, oldest first, both dates included, up to date. @throws UNAVAILABLE */
  async days(apiKeyId: string, from: string, to: string): Promise<UsageDay[]> {
    await this.flush();
    return (await this.#store.usageDays(apiKeyId, from, to)).map(summarised);
  }

  protected async write(): Promise<void> {
    if (this.#uses.size === 0) return;
    const uses = this.#uses;
    this.#uses = new Map();
    const counts = [...uses.values()].flatMap((use) => use.counts);
    const rows = counts.map(({ day, ...row }) => ({ ...row, date: formatDate(day * DAY) }));
    const times = [...uses].map(([apiKeyId, { lastUsedAt }]) => [apiKeyId, lastUsedAt]);
    try {
      await this.#store.addUsage(rows, Object.fromEntries(times));
    } catch (error) {
      for (const [apiKeyId, { lastUsedAt }] of uses) this.touch(apiKeyId, lastUsedAt);
      for (const { apiKeyId, day, transport, operation, ...count } of counts)
        this.add(apiKeyId, day * DAY, transport, operation, count);
      throw error;
    }
  }
}

const byUnits = (a: UsageOperation, b: UsageOperation): number =>
  b.units - a.units || b.requests - a.requests || (a.operation < b.operation ? -1 : 1);

/** Sorts the operations of a day by units, and sums up those of each transport beyond {@link MAX_OPERATIONS}. */
export function summarised({ date, operations }: UsageDay): UsageDay {
  const sorted = operations.toSorted(byUnits);
  if (sorted.length <= MAX_OPERATIONS) return { date, operations: sorted };
  const transports = new Set(sorted.map(({ transport }) => transport));
  const named = sorted
    .filter(({ operation }) => operation !== OTHER)
    .slice(0, MAX_OPERATIONS - transports.size);
  const others = sorted.filter((operation) => !named.includes(operation));
  const rest = [...transports].flatMap((transport) => {
    const ofTransport = others.filter((operation) => operation.transport === transport);
    return ofTransport.length === 0 ? [] : [{ operation: OTHER, transport, ...sumOf(ofTransport) }];
  });
  return { date, operations: [...named, ...rest].sort(byUnits) };
}
