import { randomUUID } from 'node:crypto';
import {
  type AppError,
  idempotencyKeyReused,
  idempotentCallRunning,
  type PublicError,
} from '../../foundation/errors.ts';
import type { MaybePromise } from '../../foundation/maybe-promise.ts';
import { type IdempotentCall, isOutcome, type Outcome, type Transaction } from '../store.ts';
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

const keyFor = ({ apiKeyId, idempotencyKey }: IdempotentCall) => ({ apiKeyId, idempotencyKey });

/** Outcomes are stored as JSON text, because BSON would alter some values. */
const completed = (
  call: IdempotentCall,
  outcome: { value: unknown } | { error: PublicError },
): IdempotencyDocument => ({
  _id: keyFor(call),
  fingerprint: call.fingerprint,
  outcome: JSON.stringify(outcome),
  expiresAt: new Date(call.now + call.keepFor),
});

/** Ignores an expired document, which the database removes only within a minute. */
const unexpired = (found: IdempotencyDocument | null, call: IdempotentCall): IdempotencyDocument | null =>
  found && found.expiresAt.getTime() > call.now ? found : null;

/** @throws IDEMPOTENCY_KEY_REUSED, CONFLICT while the first call is still running */
function replay<T>(found: IdempotencyDocument, call: IdempotentCall): Outcome<T> {
  if (found.fingerprint !== call.fingerprint) throw idempotencyKeyReused();
  if (found.outcome === undefined) throw idempotentCallRunning();
  return { replayed: true, ...JSON.parse(found.outcome) };
}

/** An error thrown by `work`, as opposed to errors of the call itself, such as a reused key. */
class WorkError extends Error {
  readonly error: AppError;
  constructor(error: AppError) {
    super(error.message);
    this.error = error;
  }
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

  async function inTransaction<T>(call: IdempotentCall, work: Work<T>): Promise<Outcome<T>> {
    const _id = keyFor(call);

    async function keep(
      attempt: Attempt,
      found: IdempotencyDocument | null,
      outcome: IdempotencyDocument,
    ): Promise<void> {
      if (found) {
        const { matchedCount } = await idempotency.replaceOne(
          { _id, expiresAt: found.expiresAt },
          outcome,
          attempt.options,
        );
        if (matchedCount === 0) throw new WriteConflict();
        return;
      }
      await idempotency.insertOne(outcome, attempt.options).catch((error) => {
        throw isDuplicateKey(error) ? new WriteConflict() : error;
      });
    }

    try {
      return await attempts.runTogether(async (attempt) => {
        const found = await idempotency.findOne({ _id }, attempt.options);
        const earlier = unexpired(found, call);
        if (earlier) return replay<T>(earlier, call);
        let value: T;
        try {
          value = await work(access.within(attempt));
        } catch (error) {
          throw isOutcome(error) ? new WorkError(error) : error;
        }
        await keep(attempt, found, completed(call, { value }));
        return { replayed: false, value };
      });
    } catch (error) {
      if (!(error instanceof WorkError)) throw error;
      // The transaction and its writes have been rolled back, so the outcome is stored on its own.
      const outcome = { error: error.error.toPublic() };
      return await attempts.run(async (attempt) => {
        const found = await idempotency.findOne({ _id }, attempt.options);
        const earlier = unexpired(found, call);
        if (earlier) return replay<T>(earlier, call);
        await keep(attempt, found, completed(call, outcome));
        return { replayed: false, ...outcome };
      });
    }
  }

  async function withLease<T>(call: IdempotentCall, work: Work<T>): Promise<Outcome<T>> {
    const attempt = randomUUID();
    const earlier = await attempts.run(() => claim(call, attempt));
    if (earlier) return replay<T>(earlier, call);

    const mine = { _id: keyFor(call), attempt };
    let outcome: { value: T; error?: undefined } | { error: PublicError; value?: undefined };
    try {
      outcome = { value: await work(access.alone) };
    } catch (error) {
      if (!isOutcome(error)) {
        // There is no outcome, so a retry may run immediately.
        await idempotency.deleteOne(mine, options).catch(() => {});
        throw error;
      }
      outcome = { error: error.toPublic() };
    }
    await idempotency.replaceOne(mine, completed(call, outcome), options);
    return { replayed: false, ...outcome };
  }

  /** Marks the call as running. @returns the document of an earlier call if it is still valid */
  async function claim(call: IdempotentCall, attempt: string): Promise<IdempotencyDocument | null> {
    const running: IdempotencyDocument = {
      _id: keyFor(call),
      fingerprint: call.fingerprint,
      attempt,
      leaseUntil: new Date(call.now + LEASE_TIME),
      expiresAt: new Date(call.now + call.keepFor),
    };
    const found = await idempotency.findOne({ _id: running._id }, options);
    if (!found) {
      await idempotency.insertOne(running, options).catch((error) => {
        throw isDuplicateKey(error) ? new WriteConflict() : error;
      });
      return null;
    }
    const abandoned =
      found.outcome === undefined &&
      found.fingerprint === call.fingerprint &&
      (found.leaseUntil?.getTime() ?? 0) <= call.now;
    if (unexpired(found, call) && !abandoned) return found;
    // Match the document as read, since another retry may have taken over meanwhile.
    const seen = {
      _id: running._id,
      expiresAt: found.expiresAt,
      attempt: found.attempt ?? { $exists: false },
    };
    const { matchedCount } = await idempotency.replaceOne(seen, running, options);
    if (matchedCount === 0) throw new WriteConflict();
    return null;
  }

  return {
    once: <T>(call: IdempotentCall, work: Work<T>): Promise<Outcome<T>> =>
      database.transactions ? inTransaction(call, work) : withLease(call, work),
  };
}
