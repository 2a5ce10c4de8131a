import type { MaybePromise } from '../maybe-promise.ts';
import type { Page, PetstoreWrites, Store } from '../store/store.ts';
import type { Id } from './id.ts';

/** What a domain puts into a new store, for people who want to try things out. Its records are counted from 0. */
export interface Sample<T extends { id: Id } = { id: Id }> {
  /** What the records are called: `pets`. */
  name: string;
  size: number;
  /** The sample whose records these refer to. */
  refersTo?: string;
  /** The first records of the store. */
  page(store: Store, limit: number): MaybePromise<Page<T>>;
  /** Whether a record is the nth of the sample. */
  matches(record: T, n: number): boolean;
  /** @param ids those of the records that these refer to */
  create(n: number, writes: PetstoreWrites, ids: readonly Id[]): MaybePromise<T>;
  /** What is left to do once the nth is there; may be done again. */
  complete?(n: number, id: Id, store: Store): MaybePromise<unknown>;
}
