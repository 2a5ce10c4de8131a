import type { Id } from '../foundation/id.ts';
import type { MaybePromise } from '../foundation/maybe-promise.ts';
import type { AnyRecord, RecordOf } from '../foundation/record.ts';
import type { Tables } from '../store/table.ts';

/** A domain's sample data for a new store. Records are numbered from 0. */
export interface Sample<R extends AnyRecord = AnyRecord> {
  record: R;
  size: number;
  /** The record that these refer to. */
  refersTo?: AnyRecord;
  /** @param n less than `size` @returns whether a record is the nth of the sample */
  matches(record: RecordOf<R>, n: number): boolean;
  /** @param ids the records that these refer to */
  create(n: number, tables: Tables, ids: readonly Id[]): MaybePromise<RecordOf<R>>;
  /** Completes the nth record after its creation; may run more than once. */
  complete?(n: number, id: Id, tables: Tables): MaybePromise<unknown>;
}
