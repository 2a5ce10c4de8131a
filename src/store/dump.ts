import type { z } from 'zod';
import type { AnyRecord } from '../foundation/record.ts';
import type { LastIds, Stored } from './engine.ts';
import type { ObjectKind } from './objects.ts';
import type { Store } from './store.ts';
import type { UsageState } from './limiter-algorithm.ts';

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

/** One part of a store's content, in a form that is the same on every engine. */
export interface ExportPart<T = unknown> {
  /** The name of its file. */
  name: string;
  /** Its contents, for the description of an export. */
  contents?: string;
  /** The rule for a row, besides being JSON. */
  rule?: z.ZodType;
  read(store: Store): AsyncIterable<readonly T[]> | Iterable<Promise<readonly T[]>>;
  add(target: DumpTarget, rows: readonly T[]): Promise<void>;
}

/** Parts of all kinds go together: a part receives only rows of its own file. */
export const exportPart = <T>(part: ExportPart<T>) => part as unknown as ExportPart;

/** A part with all objects of a kind. @param moved maps them to their form in the store that they are moved to; by default the same */
export const objectPart = <T>(
  name: string,
  contents: string,
  kind: ObjectKind<T>,
  moved: (rows: readonly T[], store: Store) => Promise<readonly T[]> = async (rows) => rows,
) =>
  exportPart<T>({
    name,
    contents,
    read: (store) => [store.objects(kind).all()],
    add: async ({ store }, rows) => store.addObjects(kind, await moved(rows, store)),
  });

/** @throws Error if the store holds anything that an import would be mixed with */
export async function refuseUnlessEmpty(store: Store, records: readonly AnyRecord[]): Promise<void> {
  const held: [string, readonly unknown[]][] = [
    ['keys', await store.apiKeys()],
    ['documents', await store.documents()],
  ];
  for (const record of records)
    held.unshift([record.plural, (await store.table(record).page({}, { limit: 1 })).items]);
  const [occupied] = held.filter(([, rows]) => rows.length > 0);
  if (occupied) throw new Error(`The store is not empty: it has ${occupied[0]}. Import into an empty store.`);
}
