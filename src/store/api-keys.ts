import type { Engine } from './engine.ts';
import type { ObjectKind } from './objects.ts';
import type { ApiKey, ApiKeyStore } from './store.ts';

export const API_KEYS: ObjectKind<ApiKey> = {
  name: 'apiKeys',
  keyOf: ({ id }) => id,
  termsOf: ({ secrets }) => secrets.map(({ hash }) => hash),
};

/** API keys. Always read from the database, because the key tool changes them while servers run. */
export function apiKeysOver({ objects, transaction }: Engine): ApiKeyStore {
  const keys = objects(API_KEYS);

  /** @param changed the key as it is to be; null if it is not to be changed */
  const change = (id: string, changed: (key: ApiKey) => ApiKey | null): Promise<ApiKey | null> =>
    transaction(async (own) => {
      const keys = own.objects(API_KEYS);
      const [before] = await keys.get([id]);
      const after = before && changed(before);
      if (after) await keys.put([after]);
      return after ?? null;
    });

  return {
    apiKeyBySecretHash: async (hash) => (await keys.find(hash))[0] ?? null,
    apiKeyById: async (id) => (await keys.get([id]))[0] ?? null,
    apiKeys: async () => (await keys.all()).sort((a, b) => a.createdAt - b.createdAt),

    createApiKey: (key) => transaction((own) => own.objects(API_KEYS).put([key])),

    updateApiKey: (id, changes) =>
      change(id, (key) => {
        if (key.revokedAt !== undefined) return null;
        const all = Object.entries({ ...key, ...changes });
        return Object.fromEntries(all.filter(([, value]) => value !== null)) as unknown as ApiKey;
      }),

    revokeApiKey: (id, now) => change(id, (key) => ({ revokedAt: now, ...key })),

    rotateApiKey: (id, secret, othersExpireAt) =>
      change(id, (key) => {
        if (key.revokedAt !== undefined) return null;
        const others = key.secrets.map(({ expiresAt = othersExpireAt, ...other }) => ({
          ...other,
          expiresAt: Math.min(expiresAt, othersExpireAt),
        }));
        return { ...key, secrets: [...others, secret] };
      }),
  };
}
