import type { EngineTransaction } from '../engine.ts';
import type { CollectionDefinition } from './collection.ts';
import type { Database } from './database.ts';
import type { Attempt } from './transactions.ts';

interface IdempotencyDocument {
  _id: { apiKeyId: string; idempotencyKey: string };
  fingerprint: string;
  /** JSON text, because BSON would alter some values. */
  value: string;
  expiresAt: Date;
}

export const idempotencyCollection: CollectionDefinition = {
  name: 'idempotency',
  indexes: [{ key: { expiresAt: 1 }, expireAfterSeconds: 0 }],
};

/**
 * The kept outcomes of idempotent calls. Of parallel duplicates, all but one conflict, and then find the outcome of
 * that one.
 */
export function mongoOutcomes({ db }: Database, attempt: Attempt) {
  const outcomes = db.collection<IdempotencyDocument>(idempotencyCollection.name);
  return {
    async outcome({ apiKeyId, idempotencyKey, now }) {
      await attempt.begin();
      const _id = { apiKeyId, idempotencyKey };
      const kept = await attempt.send(() => outcomes.findOne({ _id }, attempt.options));
      // The database removes a document only within a minute after it has expired.
      return kept && kept.expiresAt.getTime() > now ? kept : null;
    },

    async keepOutcome({ apiKeyId, idempotencyKey, fingerprint, now, keepFor }, value) {
      const _id = { apiKeyId, idempotencyKey };
      const kept = { fingerprint, value, expiresAt: new Date(now + keepFor) };
      await attempt.send(() => outcomes.replaceOne({ _id }, kept, { ...attempt.options, upsert: true }));
    },
  } satisfies Pick<EngineTransaction, 'outcome' | 'keepOutcome'>;
}
