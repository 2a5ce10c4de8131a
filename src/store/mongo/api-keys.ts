import type { Document, Filter } from 'mongodb';
import type { AccessStore, ApiKey, ApiKeySecret, DocumentStore, UsageHistoryStore } from '../store.ts';
import { type CollectionDefinition, dateOf, plain, type StoredDocument } from './collection.ts';
import type { Database } from './database.ts';

export const apiKeysCollection: CollectionDefinition = {
  name: 'apiKeys',
  indexes: [{ key: { 'secrets.hash': 1 }, unique: true }, { key: { createdAt: 1, _id: 1 } }],
};

export function mongoApiKeys({ db, options }: Database) {
  const apiKeys = db.collection<StoredDocument>(apiKeysCollection.name);
  const change = async (filter: Filter<StoredDocument>, pipeline: Document[]): Promise<ApiKey | null> => {
    const settings = { ...options, returnDocument: 'after' } as const;
    const document = await apiKeys.findOneAndUpdate(filter, pipeline, settings);
    return document && toApiKey(document);
  };
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
      const expiresAt = changes.expiresAt === null ? null : dateOf(changes.expiresAt);
      // There may be nothing to change.
      const $set: Document = { _id: { $literal: id } };
      for (const [name, value] of Object.entries({ ...changes, expiresAt }))
        if (value !== undefined) $set[name] = value === null ? '$$REMOVE' : { $literal: value };
      return await change({ _id: id, ...ACTIVE }, [{ $set }]);
    },

    async apiKeys() {
      return (await apiKeys.find({}, { ...options, sort: { createdAt: 1, _id: 1 } }).toArray()).map(toApiKey);
    },

    async revokeApiKey(id, now) {
      return await change({ _id: id }, [{ $set: { revokedAt: { $ifNull: ['$revokedAt', new Date(now)] } } }]);
    },

    async rotateApiKey(id, secret, othersExpireAt) {
      // The smaller of the values that there are.
      const expiresAt = { $min: ['$$this.expiresAt', new Date(othersExpireAt)] };
      const others = { $map: { input: '$secrets', in: { $mergeObjects: ['$$this', { expiresAt }] } } };
      const secrets = { $concatArrays: [others, [{ $literal: fromSecret(secret) }]] };
      return await change({ _id: id, ...ACTIVE }, [{ $set: { secrets } }]);
    },
  } satisfies Omit<AccessStore, 'charge' | 'usage' | keyof UsageHistoryStore | keyof DocumentStore>;
}

const ACTIVE = { revokedAt: { $exists: false } };

const fromSecret = (secret: ApiKeySecret) => ({ ...secret, expiresAt: dateOf(secret.expiresAt) });

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
