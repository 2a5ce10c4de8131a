import type { Id } from '../foundation/id.ts';
import type { MaybePromise } from '../foundation/maybe-promise.ts';
import type { Page, PetstoreWrites, Store } from '../store/store.ts';

/** A domain's sample data for a new store. Records are numbered from 0. */
export interface Sample<T extends { id: Id } = { id: Id }> {
  /** The name of the sample: `pets`. */
  name: string;
  size: number;
  /** The sample that these records refer to. */
  refersTo?: string;
  /** The first records in the store. */
  page(store: Store, limit: number): MaybePromise<Page<T>>;
  /** @param n less than `size` @returns whether a record is the nth of the sample */
  matches(record: T, n: number): boolean;
  /** @param ids the records that these refer to */
  create(n: number, writes: PetstoreWrites, ids: readonly Id[]): MaybePromise<T>;
  /** Completes the nth record after its creation; may run more than once. */
  complete?(n: number, id: Id, store: Store): MaybePromise<unknown>;
}
