import { randomUUID } from 'node:crypto';
import { idempotencyKeyReused, idempotentCallRunning } from '../../foundation/errors.ts';
import type { MaybePromise } from '../../foundation/maybe-promise.ts';
import {
  type IdempotentCall,
  isOutcome,
  type Outcome,
  type StoredOutcome,
  type Transaction,
} from '../store.ts';
import type { Attempt, RunAttempts } from './attempts.ts';
import { type CollectionDefinition, DATE, objectSchema } from './collection.ts';
import type { Database } from './database.ts';
import { isDuplicateKey, WriteConflict } from './errors.ts';

interface IdempotencyDocument {
  _id: { apiKeyId: string; idempotencyKey: string };
  fingerprint: string;
  /**
   * The outcome as JSON text, because BSON would alter some values. Absent while the first call runs on a
   * standalone server.
   */
  outcome?: string;
  /** Standalone only: the attempt that may store the outcome, and until when no other may take over. */
  attempt?: string;
  leaseUntil?: Date;
  expiresAt: Date;
}

export const idempotencyCollection: CollectionDefinition = {
  name: 'idempotency',
  schema: objectSchema({
    _id: objectSchema({ apiKeyId: { bsonType: 'string' }, idempotencyKey: { bsonType: 'string' } }),
    fingerprint: { bsonType: 'string' },
    'outcome?': { bsonType: 'string' },
    'attempt?': { bsonType: 'string' },
    'leaseUntil?': DATE,
    expiresAt: DATE,
  }),
  indexes: [{ key: { expiresAt: 1 }, expireAfterSeconds: 0 }],
};

/** Standalone only: when a retry considers the first call dead, in milliseconds. */
const LEASE_TIME = 60_000;

type Work<T> = (transaction: Transaction) => MaybePromise<T>;

/** The database removes a document only within a minute after it has expired. */
const isValid = ({ expiresAt }: IdempotencyDocument, { now }: IdempotentCall): boolean =>
  expiresAt.getTime() > now;

/** Whether a call was running on a standalone server and may be retried. */
const isAbandoned = (document: IdempotencyDocument, { fingerprint, now }: IdempotentCall): boolean =>
  document.outcome === undefined &&
  document.fingerprint === fingerprint &&
  (document.leaseUntil?.getTime() ?? 0) <= now;

/** @throws IDEMPOTENCY_KEY_REUSED, CONFLICT while the first call is still running */
function replay<T>(document: IdempotencyDocument, call: IdempotentCall): Outcome<T> {
  if (document.fingerprint !== call.fingerprint) throw idempotencyKeyReused();
  if (document.outcome === undefined) throw idempotentCallRunning();
  return { replayed: true, ...JSON.parse(document.outcome) };
}

/**
 * Runs a call once per idempotency key. With transactions, the writes and the outcome are committed together:
 * of parallel duplicates, all but one conflict and then find the outcome. On a standalone server, the first
 * call marks the key as running. If it crashes between its write and its outcome, a retry writes again once
 * the lease has expired; only a replica set can make the two atomic.
 *
 * @param access what the work of a call uses: `within` a transaction, or `alone` on a standalone server
 */
export function mongoIdempotency(
  database: Database,
  attempts: { run: RunAttempts; runTogether: RunAttempts },
  access: { within: (attempt: Attempt) => Transaction; alone: Transaction },
) {
  const { db, options } = database;
  const idempotency = db.collection<IdempotencyDocument>(idempotencyCollection.name);

  const documentOf = (
    { apiKeyId, idempotencyKey, fingerprint, now, keepFor }: IdempotentCall,
    state: Pick<IdempotencyDocument, 'outcome' | 'attempt' | 'leaseUntil'>,
  ): IdempotencyDocument => ({
    _id: { apiKeyId, idempotencyKey },
    fingerprint,
    ...state,
    expiresAt: new Date(now + keepFor),
  });
  const completed = (call: IdempotentCall, outcome: StoredOutcome<unknown>): IdempotencyDocument =>
    documentOf(call, { outcome: JSON.stringify(outcome) });

  /** Keeps the document of a call unless there is one, which is replayed. @returns null if it was kept */
  const keep = <T>(
    run: RunAttempts,
    call: IdempotentCall,
    make: (attempt: Attempt) => Promise<IdempotencyDocument>,
  ): Promise<Outcome<T> | null> =>
    run(async (attempt) => {
      const { _id } = documentOf(call, {});
      const earlier = await idempotency.findOne({ _id }, attempt.options);
      if (earlier && isValid(earlier, call) && !isAbandoned(earlier, call)) return replay<T>(earlier, call);
      const document = await make(attempt);
      if (!earlier) {
        await idempotency.insertOne(document, attempt.options).catch((error) => {
          throw isDuplicateKey(error) ? new WriteConflict() : error;
        });
        return null;
      }
      const unchanged = { _id, expiresAt: earlier.expiresAt, attempt: earlier.attempt ?? { $exists: false } };
      const { matchedCount } = await idempotency.replaceOne(unchanged, document, attempt.options);
      if (matchedCount === 0) throw new WriteConflict();
      return null;
    });

  async function inTransaction<T>(call: IdempotentCall, work: Work<T>): Promise<Outcome<T>> {
    let outcome!: StoredOutcome<T>;
    let refusal: unknown;
    const earlier = await keep<T>(attempts.runTogether, call, async (attempt) => {
      try {
        outcome = { value: await work(access.within(attempt)) };
        return completed(call, outcome);
      } catch (error) {
        refusal = error;
        throw error;
      }
    }).catch(async (error) => {
      if (!isOutcome(error) || error !== refusal) throw error;
      // The transaction and its writes have been rolled back, so the outcome is stored on its own.
      outcome = { error: error.toPublic() };
      return await keep<T>(attempts.run, call, async () => completed(call, outcome));
    });
    return earlier ?? { replayed: false, ...outcome };
  }

  async function withLease<T>(call: IdempotentCall, work: Work<T>): Promise<Outcome<T>> {
    const attempt = randomUUID();
    const running = documentOf(call, { attempt, leaseUntil: new Date(call.now + LEASE_TIME) });
    const earlier = await keep<T>(attempts.run, call, async () => running);
    if (earlier) return earlier;
    const own = { _id: running._id, attempt };
    let outcome: StoredOutcome<T>;
    try {
      outcome = { value: await work(access.alone) };
    } catch (error) {
      if (!isOutcome(error)) {
        // There is no outcome, so a retry may run immediately.
        await idempotency.deleteOne(own, options).catch(() => {});
        throw error;
      }
      outcome = { error: error.toPublic() };
    }
    await idempotency.replaceOne(own, completed(call, outcome), options);
    return { replayed: false, ...outcome };
  }

  return <T>(call: IdempotentCall, work: Work<T>): Promise<Outcome<T>> =>
    database.transactions ? inTransaction(call, work) : withLease(call, work);
}
