import {
  type AccessStore,
  type ApiKey,
  type ApiKeyChanges,
  type ApiKeySecret,
  type DocumentStore,
  PLAN_NAMES,
  type UsageHistoryStore,
} from '../store.ts';
import {
  type CollectionDefinition,
  DATE,
  dateOf,
  NUMBER,
  objectSchema,
  plain,
  STRING,
  type StoredDocument,
} from './collection.ts';
import type { Database } from './database.ts';

export const apiKeysCollection: CollectionDefinition = {
  name: 'apiKeys',
  schema: objectSchema({
    _id: STRING,
    name: { bsonType: 'string' },
    plan: { enum: [...PLAN_NAMES] },
    limits: objectSchema({ perMinute: NUMBER, perDay: NUMBER }),
    createdAt: DATE,
    'revokedAt?': DATE,
    'expiresAt?': DATE,
    'scopes?': { bsonType: 'array', items: STRING },
    'allow?': { bsonType: 'array', items: STRING },
    'documents?': STRING,
    'lastUsedAt?': DATE,
    secrets: {
      bsonType: 'array',
      items: objectSchema({ hash: STRING, prefix: { bsonType: 'string' }, 'expiresAt?': DATE }),
    },
  }),
  indexes: [{ key: { 'secrets.hash': 1 }, unique: true }, { key: { createdAt: 1, _id: 1 } }],
};

export function mongoApiKeys({ db, options }: Database) {
  const apiKeys = db.collection<StoredDocument>(apiKeysCollection.name);
  return {
    async apiKeyBySecretHash(hash) {
      const document = await apiKeys.findOne({ 'secrets.hash': hash }, options);
      return document && toApiKey(document);
    },

    async createApiKey(key) {
      await apiKeys.insertOne(fromApiKey(key), options);
    },

    async apiKeyById(id) {
      const document = await apiKeys.findOne({ _id: id }, options);
      return document && toApiKey(document);
    },

    async updateApiKey(id, changes) {
      const active = { _id: id, revokedAt: { $exists: false } };
      const { $set, $unset } = updateOf(changes);
      const isEmpty = Object.keys({ ...$set, ...$unset }).length === 0;
      const updated = isEmpty
        ? await apiKeys.findOne(active, options)
        : await apiKeys.findOneAndUpdate(active, { $set, $unset }, { ...options, returnDocument: 'after' });
      return updated && toApiKey(updated);
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
  } satisfies Omit<AccessStore, 'charge' | 'usage' | keyof UsageHistoryStore | keyof DocumentStore>;
}

const fromSecret = (secret: ApiKeySecret) => ({ ...secret, expiresAt: dateOf(secret.expiresAt) });

/** The update that makes these changes. */
function updateOf({ expiresAt, ...others }: ApiKeyChanges) {
  const values = { ...others, expiresAt: expiresAt === null ? null : dateOf(expiresAt) };
  const $set: Record<string, unknown> = {};
  const $unset: Record<string, ''> = {};
  for (const [name, value] of Object.entries(values)) {
    if (value === null) $unset[name] = '';
    else if (value !== undefined) $set[name] = value;
  }
  return { $set, $unset };
}

const fromApiKey = ({ id, secrets, ...key }: ApiKey): StoredDocument => ({
  _id: id,
  ...key,
  createdAt: new Date(key.createdAt),
  revokedAt: dateOf(key.revokedAt),
  expiresAt: dateOf(key.expiresAt),
  lastUsedAt: dateOf(key.lastUsedAt),
  secrets: secrets.map(fromSecret),
});

const toApiKey = ({ _id, ...key }: StoredDocument): ApiKey => ({
  id: _id,
  ...(plain(key) as Omit<ApiKey, 'id'>),
});
