import { idempotencyKeyReused } from '../../foundation/errors.ts';
import { andThen, attempt, type MaybePromise } from '../../foundation/maybe-promise.ts';
import {
  type IdempotentCall,
  isOutcome,
  type Outcome,
  type StoredOutcome,
  type Transaction,
} from '../store.ts';
import type { SqliteConnection } from './connection.ts';

/** Expired outcomes removed per new one: more than one, so that the table shrinks. */
const PURGED_PER_CALL = 4;

/**
 * Runs calls once per idempotency key. Calls cannot overlap here, so none is ever still running.
 *
 * @param transaction the tables and other writes of this connection
 */
export const idempotency =
  (db: SqliteConnection, transaction: Transaction) =>
  <T>(
    { apiKeyId, idempotencyKey, fingerprint, now, keepFor }: IdempotentCall,
    work: (transaction: Transaction) => MaybePromise<T>,
  ): MaybePromise<Outcome<T>> => {
    const kept = db.get(
      `select fingerprint, outcome from idempotency
       where api_key_id = ? and idempotency_key = ? and expires_at > ?`,
      [apiKeyId, idempotencyKey, now],
    );
    if (kept) {
      if (kept[0] !== fingerprint) throw idempotencyKeyReused();
      return { replayed: true, ...(JSON.parse(kept[1] as string) as StoredOutcome<T>) };
    }
    const keep = (outcome: StoredOutcome<T>): Outcome<T> => {
      db.run('insert or replace into idempotency values (?, ?, ?, ?, ?)', [
        ...[apiKeyId, idempotencyKey, fingerprint],
        ...[JSON.stringify(outcome), now + keepFor],
      ]);
      db.run(
        `delete from idempotency where rowid in (
           select rowid from idempotency where expires_at <= ? order by expires_at limit ${PURGED_PER_CALL}
         )`,
        [now],
      );
      return { replayed: false, ...outcome };
    };
    const refused = (error: unknown): StoredOutcome<T> => {
      if (isOutcome(error)) return { error: error.toPublic() };
      throw error;
    };
    // A call that is refused takes back its writes, not its outcome.
    const tried = (): MaybePromise<T> => db.transaction(() => work(transaction));
    return db.transaction(() =>
      andThen(
        attempt<StoredOutcome<T>>(() => andThen(tried(), (value) => ({ value })), refused),
        keep,
      ),
    );
  };
