import { idempotencyKeyReused, type PublicError } from '../../foundation/errors.ts';
import type { MaybePromise } from '../../foundation/maybe-promise.ts';
import { type IdempotentCall, isOutcome, type Outcome, type Transaction } from '../store.ts';
import type { SqliteConnection } from './connection.ts';

type StoredOutcome<T> = { value: T; error?: undefined } | { error: PublicError; value?: undefined };

/** Expired outcomes removed per new one: more than one, so that the table shrinks. */
const PURGED_PER_CALL = 4;

/** Runs calls once per idempotency key. Calls cannot overlap here, so none is ever still running. */
export function idempotency(db: SqliteConnection, transaction: Transaction) {
  return {
    once<T>(call: IdempotentCall, work: (transaction: Transaction) => MaybePromise<T>): Outcome<T> {
      const { apiKeyId, idempotencyKey, fingerprint, now } = call;
      const kept = db.get(
        `select fingerprint, outcome from idempotency
         where api_key_id = ? and idempotency_key = ? and expires_at > ?`,
        [apiKeyId, idempotencyKey, now],
      );
      if (kept) {
        if (kept[0] !== fingerprint) throw idempotencyKeyReused();
        return { replayed: true, ...(JSON.parse(kept[1] as string) as StoredOutcome<T>) };
      }
      return db.transaction(() => {
        const outcome = attempt(db, () => work(transaction) as T);
        db.run('insert or replace into idempotency values (?, ?, ?, ?, ?)', [
          apiKeyId,
          idempotencyKey,
          fingerprint,
          JSON.stringify(outcome),
          now + call.keepFor,
        ]);
        db.run(
          `delete from idempotency where rowid in (
             select rowid from idempotency where expires_at <= ? order by expires_at limit ${PURGED_PER_CALL}
           )`,
          [now],
        );
        return { replayed: false, ...outcome };
      });
    },
  };
}

function attempt<T>(db: SqliteConnection, work: () => T): StoredOutcome<T> {
  try {
    return { value: db.transaction(work) };
  } catch (error) {
    if (isOutcome(error)) return { error: error.toPublic() };
    throw error;
  }
}
