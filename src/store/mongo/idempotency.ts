import { randomUUID } from 'node:crypto';
import { type AppError, idempotencyKeyReused, idempotentCallRunning } from '../../foundation/errors.ts';
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

const keyFor = ({ apiKeyId, idempotencyKey }: IdempotentCall) => ({ apiKeyId, idempotencyKey });

/** Outcomes are stored as JSON text, because BSON would alter some values. */
const completed = (call: IdempotentCall, outcome: StoredOutcome<unknown>): IdempotencyDocument => ({
  _id: keyFor(call),
  fingerprint: call.fingerprint,
  outcome: JSON.stringify(outcome),
  expiresAt: new Date(call.now + call.keepFor),
});

/** The database removes a document only within a minute after it has expired. */
const isValid = ({ expiresAt }: IdempotencyDocument, { now }: IdempotentCall): boolean =>
  expiresAt.getTime() > now;

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

  /** Writes the document of a call. @param earlier the one read before, which another attempt may have replaced */
  async function keep(
    earlier: IdempotencyDocument | null,
    document: IdempotencyDocument,
    { options }: Attempt,
  ): Promise<void> {
    if (!earlier) {
      await idempotency.insertOne(document, options).catch((error) => {
        throw isDuplicateKey(error) ? new WriteConflict() : error;
      });
      return;
    }
    const { _id, expiresAt, attempt = { $exists: false } } = earlier;
    const { matchedCount } = await idempotency.replaceOne({ _id, expiresAt, attempt }, document, options);
    if (matchedCount === 0) throw new WriteConflict();
  }

  /** Keeps the outcome of a call unless it has one. */
  const settle = <T>(
    run: RunAttempts,
    call: IdempotentCall,
    outcomeOf: (attempt: Attempt) => Promise<StoredOutcome<T>>,
  ): Promise<Outcome<T>> =>
    run(async (attempt) => {
      const earlier = await idempotency.findOne({ _id: keyFor(call) }, attempt.options);
      if (earlier && isValid(earlier, call)) return replay<T>(earlier, call);
      const outcome = await outcomeOf(attempt);
      await keep(earlier, completed(call, outcome), attempt);
      return { replayed: false, ...outcome };
    });

  async function inTransaction<T>(call: IdempotentCall, work: Work<T>): Promise<Outcome<T>> {
    let refusal: AppError | undefined;
    try {
      return await settle(attempts.runTogether, call, async (attempt) => {
        try {
          return { value: await work(access.within(attempt)) };
        } catch (error) {
          if (isOutcome(error)) refusal = error;
          throw error;
        }
      });
    } catch (error) {
      if (!refusal || error !== refusal) throw error;
      // The transaction and its writes have been rolled back, so the outcome is stored on its own.
      const outcome = { error: refusal.toPublic() };
      return await settle(attempts.run, call, async () => outcome);
    }
  }

  async function withLease<T>(call: IdempotentCall, work: Work<T>): Promise<Outcome<T>> {
    const attempt = randomUUID();
    const earlier = await attempts.run((within) => claim(call, attempt, within));
    if (earlier) return replay<T>(earlier, call);

    const mine = { _id: keyFor(call), attempt };
    let outcome: StoredOutcome<T>;
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
  async function claim(
    call: IdempotentCall,
    attempt: string,
    within: Attempt,
  ): Promise<IdempotencyDocument | null> {
    const running: IdempotencyDocument = {
      _id: keyFor(call),
      fingerprint: call.fingerprint,
      attempt,
      leaseUntil: new Date(call.now + LEASE_TIME),
      expiresAt: new Date(call.now + call.keepFor),
    };
    const earlier = await idempotency.findOne({ _id: running._id }, options);
    const abandoned =
      earlier?.outcome === undefined &&
      earlier?.fingerprint === call.fingerprint &&
      (earlier.leaseUntil?.getTime() ?? 0) <= call.now;
    if (earlier && isValid(earlier, call) && !abandoned) return earlier;
    await keep(earlier, running, within);
    return null;
  }

  return {
    once: <T>(call: IdempotentCall, work: Work<T>): Promise<Outcome<T>> =>
      database.transactions ? inTransaction(call, work) : withLease(call, work),
  };
}
