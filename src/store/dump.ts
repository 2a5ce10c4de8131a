import type { AnyRecord } from '../foundation/record.ts';
import type { LastIds, Stored } from './engine.ts';
import type { Store } from './store.ts';
import type { UsageState } from './usage.ts';
import { WEBHOOKS } from './webhooks.ts';

/** The windows, strikes and bans of a key. */
export type KeyUsage = UsageState & { apiKeyId: string };

/** An empty store to be filled, which nobody sees until it is complete. */
export interface DumpTarget {
  readonly store: Store;
  /** Must be called first. */
  setLastIds(lastIds: LastIds): Promise<void>;
  /** Adds records as they are: they keep their ids, no rule is checked again, and no event is logged. */
  addRecords(record: AnyRecord, rows: readonly Stored[]): Promise<void>;
  addUsage(rows: readonly KeyUsage[]): Promise<void>;
  /** Must be called once everything has been added. */
  finish(): Promise<void>;
  /** Makes it the served store if it is finished; otherwise discards it. */
  close(): Promise<void>;
}

/** @throws Error if the store holds anything that an import would be mixed with */
export async function refuseUnlessEmpty(store: Store, records: readonly AnyRecord[]): Promise<void> {
  const held: [string, readonly unknown[]][] = [
    ['keys', await store.apiKeys()],
    ['documents', await store.documents()],
    ['webhooks', await store.objects(WEBHOOKS).all()],
  ];
  for (const record of records)
    held.unshift([record.plural, (await store.table(record).page({}, { limit: 1 })).items]);
  const [found] = held.filter(([, rows]) => rows.length > 0);
  if (found) throw new Error(`The store is not empty: it has ${found[0]}. Import into an empty store.`);
}
