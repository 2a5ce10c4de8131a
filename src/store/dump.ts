import type { z } from 'zod';
import type { AnyDeclaration } from '../foundation/record.ts';
import type { LastIds, StoredRow } from './engine.ts';
import type { ObjectKind } from './objects.ts';
import type { Store } from './store.ts';
import type { UsageState } from './limiter-algorithm.ts';

/** The windows, strikes and bans of a key. */
export type KeyUsage = UsageState & { apiKeyId: string };

/** An empty store for an import, invisible until it is complete. */
export interface DumpTarget {
  readonly store: Store;
  /** Must be called first. */
  setLastIds(lastIds: LastIds): Promise<void>;
  /** Adds records as they are, with their ids, without checking rules or logging events. */
  addRecords(declaration: AnyDeclaration, rows: readonly StoredRow[]): Promise<void>;
  addUsage(rows: readonly KeyUsage[]): Promise<void>;
  /** Must be called after everything has been added. */
  finish(): Promise<void>;
  /** Makes a finished store the served one; discards any other. */
  close(): Promise<void>;
}

/** A part of a store's content, in a form common to all engines. */
export interface ExportPart<T = unknown> {
  /** The name of the file. */
  name: string;
  /** The content, for the description of an export. */
  contents?: string;
  /** The rule for each row. */
  rule?: z.ZodType;
  read(store: Store): AsyncIterable<readonly T[]> | Iterable<Promise<readonly T[]>>;
  add(target: DumpTarget, rows: readonly T[]): Promise<void>;
}

/** Declares a part. The type of its rows is forgotten, since a part receives only rows of its own file. */
export const exportPart = <T>(part: ExportPart<T>) => part as unknown as ExportPart;

/** A part with all objects of a kind. @param moved converts them for the target store; by default unchanged */
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

/** @throws Error if the store is not empty */
export async function refuseUnlessEmpty(
  store: Store,
  declarations: readonly AnyDeclaration[],
): Promise<void> {
  const held: [string, readonly unknown[]][] = [
    ['keys', await store.apiKeys()],
    ['documents', await store.documents()],
  ];
  for (const declaration of declarations)
    held.unshift([declaration.plural, (await store.table(declaration).page({}, { limit: 1 })).items]);
  const [occupied] = held.filter(([, rows]) => rows.length > 0);
  if (occupied) throw new Error(`The store is not empty: it has ${occupied[0]}. Import into an empty store.`);
}
