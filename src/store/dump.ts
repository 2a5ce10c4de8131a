import type { AnyRecord } from '../foundation/record.ts';
import type { LastIds, Stored } from './engine.ts';
import type { Store } from './store.ts';
import type { UsageState } from './usage.ts';
import { WEBHOOKS } from './webhooks.ts';

/** The state of a key's windows and bans. */
export type KeyUsage = UsageState & { apiKeyId: string };

/** An empty store to be filled, which nobody sees before it is whole. */
export interface DumpTarget {
  readonly store: Store;
  /** Called first. */
  setLastIds(lastIds: LastIds): Promise<void>;
  /** Adds records as they are: their ids are theirs, no rule is checked again, and nothing is logged. */
  addRecords(record: AnyRecord, rows: readonly Stored[]): Promise<void>;
  addUsage(rows: readonly KeyUsage[]): Promise<void>;
  /** All has been added. */
  finish(): Promise<void>;
  /** Makes it the store that is served if it is finished, or else discards it. */
  close(): Promise<void>;
}

/** @throws Error if a store holds anything that an import would be mixed with */
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
