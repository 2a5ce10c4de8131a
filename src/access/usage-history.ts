import { formatDate, DAY } from '../foundation/instant.ts';
import { WriteBehind } from '../foundation/write-behind.ts';
import {
  HISTORY_KEPT,
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

type Counts = Pick<UsageOperation, 'requests' | 'units' | 'refused'>;

/** The oldest date in the history. */
export const firstDateKept = (now: number): string => formatDate(now - (HISTORY_KEPT - 1) * DAY);

/** The usage of keys by day and operation, counted in memory and added to the store at intervals. */
export class UsageHistory extends WriteBehind {
  readonly #store: UsageHistoryStore;
  /** By key, day, transport and operation. */
  readonly #rows = new Map<string, UsageCount>();
  /** The time of each key's last use. */
  readonly #uses = new Map<string, number>();

  constructor(store: UsageHistoryStore, report: (error: unknown) => void) {
    super(INTERVAL, report);
    this.#store = store;
  }

  /** Records that a key was used, for `lastUsedAt`. */
  touch(apiKeyId: string, now: number): void {
    if (now > (this.#uses.get(apiKeyId) ?? 0)) this.#uses.set(apiKeyId, now);
    this.writeLater();
  }

  /** Counts part of a request. */
  add(
    apiKeyId: string,
    now: number,
    transport: UsageTransport,
    operation: string,
    { requests, units, refused }: Counts,
  ): void {
    this.touch(apiKeyId, now);
    const name = `${apiKeyId} ${Math.floor(now / DAY)} ${transport} ${operation}`;
    const counts = this.#rows.get(name);
    if (!counts) {
      const row = { apiKeyId, date: formatDate(now), operation, transport, requests, units, refused };
      this.#rows.set(name, row);
      return;
    }
    counts.requests += requests;
    counts.units += units;
    counts.refused += refused;
  }

  /** The days on which a key was used, oldest first, both dates included, up to date. @throws UNAVAILABLE */
  async days(apiKeyId: string, from: string, to: string): Promise<UsageDay[]> {
    await this.flush();
    return (await this.#store.usageDays(apiKeyId, from, to)).map(summarised);
  }

  protected async write(): Promise<void> {
    if (this.#uses.size === 0) return;
    const rows = [...this.#rows.values()];
    const uses = Object.fromEntries(this.#uses);
    this.#rows.clear();
    this.#uses.clear();
    try {
      await this.#store.addUsage(rows, uses);
    } catch (error) {
      for (const [apiKeyId, lastUsedAt] of Object.entries(uses)) this.touch(apiKeyId, lastUsedAt);
      for (const row of rows) this.add(row.apiKeyId, Date.parse(row.date), row.transport, row.operation, row);
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
