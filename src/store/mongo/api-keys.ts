import {
  type AccessStore,
  type ApiKey,
  type ApiKeySecret,
  type Limits,
  PLAN_NAMES,
  type PlanName,
} from '../store.ts';
import { type CollectionDefinition, DATE, NUMBER, objectSchema, STRING } from './collection.ts';
import type { Database } from './database.ts';

interface ApiKeySecretDocument {
  hash: string;
  prefix: string;
  expiresAt?: Date;
}

interface ApiKeyDocument {
  _id: string;
  name: string;
  plan: PlanName;
  limits: Limits;
  createdAt: Date;
  revokedAt?: Date;
  secrets: ApiKeySecretDocument[];
}

export const apiKeysCollection: CollectionDefinition = {
  name: 'apiKeys',
  schema: objectSchema({
    _id: STRING,
    name: { bsonType: 'string' },
    plan: { enum: [...PLAN_NAMES] },
    limits: objectSchema({ perMinute: NUMBER, perDay: NUMBER }),
    createdAt: DATE,
    'revokedAt?': DATE,
    secrets: {
      bsonType: 'array',
      items: objectSchema({ hash: STRING, prefix: { bsonType: 'string' }, 'expiresAt?': DATE }),
    },
  }),
  indexes: [{ key: { 'secrets.hash': 1 }, unique: true }, { key: { createdAt: 1, _id: 1 } }],
};

export function mongoApiKeys({ db, options }: Database) {
  const apiKeys = db.collection<ApiKeyDocument>(apiKeysCollection.name);
  return {
    async apiKeyBySecretHash(hash) {
      const found = await apiKeys.findOne({ 'secrets.hash': hash }, options);
      return found && toApiKey(found);
    },

    async createApiKey(key) {
      await apiKeys.insertOne(fromApiKey(key), options);
    },

    async apiKeys() {
      return (await apiKeys.find({}, { ...options, sort: { createdAt: 1, _id: 1 } }).toArray()).map(toApiKey);
    },

    async revokeApiKey(id, now) {
      const revoked = await apiKeys.findOneAndUpdate(
        { _id: id },
        [{ $set: { revokedAt: { $ifNull: ['$revokedAt', new Date(now)] } } }],
        { ...options, returnDocument: 'after' },
      );
      return revoked && toApiKey(revoked);
    },

    async rotateApiKey(id, secret, othersExpireAt) {
      const end = new Date(othersExpireAt);
      const expiresAt = {
        $cond: [{ $lt: [{ $ifNull: ['$$secret.expiresAt', end] }, end] }, '$$secret.expiresAt', end],
      };
      const rotated = await apiKeys.findOneAndUpdate(
        { _id: id, revokedAt: { $exists: false } },
        [
          {
            $set: {
              secrets: {
                $concatArrays: [
                  {
                    $map: {
                      input: '$secrets',
                      as: 'secret',
                      in: { $mergeObjects: ['$$secret', { expiresAt }] },
                    },
                  },
                  [{ $literal: fromSecret(secret) }],
                ],
              },
            },
          },
        ],
        { ...options, returnDocument: 'after' },
      );
      return rotated && toApiKey(rotated);
    },
  } satisfies Omit<AccessStore, 'charge' | 'usage'>;
}

const fromSecret = ({ hash, prefix, expiresAt }: ApiKeySecret): ApiKeySecretDocument => ({
  hash,
  prefix,
  ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt) }),
});

const toSecret = ({ hash, prefix, expiresAt }: ApiKeySecretDocument): ApiKeySecret => ({
  hash,
  prefix,
  ...(expiresAt !== undefined && { expiresAt: expiresAt.getTime() }),
});

const fromApiKey = ({ id, name, plan, limits, createdAt, revokedAt, secrets }: ApiKey): ApiKeyDocument => ({
  _id: id,
  name,
  plan,
  limits: { perMinute: limits.perMinute, perDay: limits.perDay },
  createdAt: new Date(createdAt),
  ...(revokedAt !== undefined && { revokedAt: new Date(revokedAt) }),
  secrets: secrets.map(fromSecret),
});

const toApiKey = ({ _id, name, plan, limits, createdAt, revokedAt, secrets }: ApiKeyDocument): ApiKey => ({
  id: _id,
  name,
  plan,
  limits: { perMinute: Number(limits.perMinute), perDay: Number(limits.perDay) },
  createdAt: createdAt.getTime(),
  ...(revokedAt !== undefined && { revokedAt: revokedAt.getTime() }),
  secrets: secrets.map(toSecret),
});
