import type { Engine } from './engine.ts';
import type { ObjectKind } from './objects.ts';
import type { Limits } from './usage.ts';

export const PLAN_NAMES = ['free', 'pro', 'business', 'enterprise'] as const;
export type PlanName = (typeof PLAN_NAMES)[number];

export interface ApiKey {
  id: string;
  name: string;
  plan: PlanName;
  /** The plan's limits at creation, or the key's own on Enterprise. */
  limits: Limits;
  /** Milliseconds since 1970. */
  createdAt: number;
  /** A development key is made by a server in development, and refused in production. */
  kind?: 'development';
  revokedAt?: number;
  /** From then on the key is not valid. Never if absent. */
  expiresAt?: number;
  /** What the key may do: `pets:read`, `orders:write`, `*:read`. Everything if absent. */
  scopes?: readonly string[];
  /** The networks it may be used from, in CIDR notation. Any if absent. */
  allow?: readonly string[];
  /** The list of documents it may run: `NAME`, or `report:NAME` to let others pass. Any if absent. */
  documents?: string;
  /** When the key was last used; a little behind. */
  lastUsedAt?: number;
  /** Usually one; two during the grace period after a rotation. */
  secrets: ApiKeySecret[];
}

/** Changes to a key. Absent properties stay as they are, and null clears. */
export interface ApiKeyChanges extends Partial<Pick<ApiKey, 'name' | 'plan' | 'limits'>> {
  expiresAt?: number | null;
  scopes?: readonly string[] | null;
  allow?: readonly string[] | null;
  documents?: string | null;
}

export interface ApiKeySecret {
  /** SHA-256 of the whole key, lower-case hex. */
  hash: string;
  /** The first characters of the key, for recognising it. */
  prefix: string;
  /** Milliseconds since 1970; never expires if absent. */
  expiresAt?: number;
}

export const API_KEYS: ObjectKind<ApiKey> = {
  name: 'apiKeys',
  keyOf: ({ id }) => id,
  termsOf: ({ secrets }) => secrets.map(({ hash }) => hash),
};

/** API keys. Always read from the database, because the key tool changes them while servers run. */
export function apiKeysOver({ objects, transaction }: Engine) {
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
    /** The key with this secret, even if revoked or expired; null if there is none. */
    apiKeyBySecretHash: async (hash: string): Promise<ApiKey | null> => (await keys.find(hash))[0] ?? null,
    /** The key with this id, even if revoked or expired; null if there is none. */
    apiKeyById: async (id: string): Promise<ApiKey | null> => (await keys.get([id]))[0] ?? null,
    /** All keys, oldest first. */
    apiKeys: async (): Promise<ApiKey[]> => (await keys.all()).sort((a, b) => a.createdAt - b.createdAt),

    createApiKey: (key: ApiKey): Promise<void> =>
      transaction((own) => own.objects(API_KEYS).put([key]), 'single'),

    /** Changes a key; null if it does not exist or is revoked. */
    updateApiKey: (id: string, changes: ApiKeyChanges) =>
      change(id, (key) => {
        if (key.revokedAt !== undefined) return null;
        const all = Object.entries({ ...key, ...changes });
        return Object.fromEntries(all.filter(([, value]) => value !== null)) as unknown as ApiKey;
      }),

    /** Revokes the key if it is not already; null if it does not exist. */
    revokeApiKey: (id: string, now: number) => change(id, (key) => ({ revokedAt: now, ...key })),

    /**
     * Adds a secret and makes the others expire no later than `othersExpireAt`; null if the key does not exist or is
     * revoked.
     */
    rotateApiKey: (id: string, secret: ApiKeySecret, othersExpireAt: number) =>
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

export type ApiKeyStore = ReturnType<typeof apiKeysOver>;
