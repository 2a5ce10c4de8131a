import { notFound, tooManyKeys } from '../foundation/errors.ts';
import type { Engine, EngineTransaction } from './engine.ts';
import { countCreation, creationCounts, type ObjectKind } from './objects.ts';
import type { Limits } from './limiter-algorithm.ts';

export const PLAN_NAMES = ['free', 'pro', 'business', 'enterprise'] as const;
export type PlanName = (typeof PLAN_NAMES)[number];

export interface ApiKey {
  id: string;
  name: string;
  plan: PlanName;
  /** The plan's limits at creation, or the key's own on Enterprise. */
  limits: Limits;
  /** The id of the key that created this one, which shares its plan and ends with it. Absent for an owner. */
  owner?: string;
  /** Milliseconds since 1970. */
  createdAt: number;
  /** Set for a key that a development server created: production refuses it. */
  kind?: 'development';
  revokedAt?: number;
  /** When the key expires, in milliseconds since 1970; never if absent. */
  expiresAt?: number;
  /** The scopes of the key, such as `pets:read`, `orders:write` or `*:read`; all if absent. */
  scopes?: readonly string[];
  /** The networks it may be used from, in CIDR notation; any if absent. */
  allow?: readonly string[];
  /** The list of documents it may run: `NAME`, or `report:NAME` to let others pass; any document if absent. */
  documents?: string;
  /** When the key was last used, with some delay; in milliseconds since 1970. */
  lastUsedAt?: number;
  /** Oldest first: usually one, two during the grace period after a rotation. */
  secrets: ApiKeySecret[];
}

/** Changes to a key. Absent and undefined properties stay as they are; null clears. */
export interface ApiKeyChanges extends Partial<Pick<ApiKey, 'name' | 'plan' | 'limits'>> {
  expiresAt?: number | null | undefined;
  scopes?: readonly string[] | null | undefined;
  allow?: readonly string[] | null | undefined;
  documents?: string | null | undefined;
}

export interface ApiKeySecret {
  /** SHA-256 of the whole key, lower-case hex. */
  hash: string;
  /** The first characters of the key, to recognise it by. */
  prefix: string;
  /** Milliseconds since 1970; never expires if absent. */
  expiresAt?: number;
}

export const API_KEYS: ObjectKind<ApiKey> = {
  name: 'apiKeys',
  keyOf: ({ id }) => id,
  termsOf: ({ owner, revokedAt, secrets }) => [
    ...secrets.map(({ hash }) => hash),
    ...(owner !== undefined && revokedAt === undefined ? [ofOwner(owner)] : []),
  ],
};

const ofOwner = (id: string): string => `owner ${id}`;

/** Counts of created children, by owner. */
export const CHILD_COUNTS = creationCounts('childCounts');

const oldestFirst = (keys: readonly ApiKey[]): ApiKey[] =>
  keys.toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));

/** Applies changes to a key. */
export function changed(key: ApiKey, changes: ApiKeyChanges): ApiKey {
  const fields = new Map<string, unknown>(Object.entries(key));
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) fields.delete(name);
    else if (value !== undefined) fields.set(name, value);
  }
  return Object.fromEntries(fields) as unknown as ApiKey;
}

/** The maximum number of former secrets that keep working when a holder rotates a key, so that it stays small. */
const MAX_FORMER_SECRETS = 9;

/** Adds a secret to a key; the latest `others` keep working until `othersExpireAt`. */
const rotated = (
  key: ApiKey,
  secret: ApiKeySecret,
  othersExpireAt: number,
  others = Number.POSITIVE_INFINITY,
): ApiKey => ({
  ...key,
  secrets: [
    ...key.secrets.slice(-others).map(({ expiresAt = othersExpireAt, ...other }) => ({
      ...other,
      expiresAt: Math.min(expiresAt, othersExpireAt),
    })),
    secret,
  ],
});

/** API keys. Always read from the database, since the key tool changes them while servers run. */
export function apiKeysOver({ objects, transaction }: Engine) {
  const keys = objects(API_KEYS);

  /** Changes a key. @param work returns the new key; null to leave it unchanged */
  const change = (id: string, work: (key: ApiKey) => ApiKey | null): Promise<ApiKey | null> =>
    transaction(async (own) => {
      const keys = own.objects(API_KEYS);
      const [before] = await keys.get([id]);
      const after = before && work(before);
      if (after) await keys.put([after]);
      return after ?? null;
    });

  return {
    /** The key with this secret, even if revoked or expired; null if it doesn't exist. */
    apiKeyBySecretHash: async (hash: string): Promise<ApiKey | null> => (await keys.find(hash))[0] ?? null,
    /** The key with this id, even if revoked or expired; null if it doesn't exist. */
    apiKeyById: async (id: string): Promise<ApiKey | null> => (await keys.get([id]))[0] ?? null,
    /** All keys, oldest first. */
    apiKeys: async (): Promise<ApiKey[]> => oldestFirst(await keys.all()),
    /** The children of a key, oldest first, without revoked ones. */
    childrenOf: async (owner: string): Promise<ApiKey[]> => oldestFirst(await keys.find(ofOwner(owner))),

    createApiKey: (key: ApiKey): Promise<void> =>
      transaction((own) => own.objects(API_KEYS).put([key]), 'single'),

    /** Changes a key; null if it doesn't exist or is revoked. */
    updateApiKey: (id: string, changes: ApiKeyChanges) =>
      change(id, (key) => (key.revokedAt === undefined ? changed(key, changes) : null)),

    /** Revokes a key, unless it is revoked already; null if it doesn't exist. */
    revokeApiKey: (id: string, now: number) => change(id, (key) => ({ revokedAt: now, ...key })),

    /** Adds a secret and lets the others expire by `othersExpireAt`; null if the key doesn't exist or is revoked. */
    rotateApiKey: (id: string, secret: ApiKeySecret, othersExpireAt: number) =>
      change(id, (key) => (key.revokedAt === undefined ? rotated(key, secret, othersExpireAt) : null)),
  };
}

/** Writes of keys by their holders, in the transaction of the operation. */
export function apiKeyWritesOf({ objects }: Pick<EngineTransaction, 'objects'>) {
  const keys = objects(API_KEYS);
  const change = async (id: string, isOwn: (key: ApiKey) => boolean, work: (key: ApiKey) => ApiKey) => {
    const [key] = await keys.get([id]);
    if (!key || key.revokedAt !== undefined || !isOwn(key)) throw notFound('key', id);
    const after = work(key);
    await keys.put([after]);
    return after;
  };
  const isChildOf = (owner: string) => (key: ApiKey) => key.owner === owner;
  return {
    /** @param max the maximum number of children @throws CONFLICT if the owner has as many */
    async createChild(key: ApiKey & { owner: string }, max: number): Promise<ApiKey> {
      if ((await keys.find(ofOwner(key.owner))).length >= max) throw tooManyKeys(max);
      await countCreation(objects(CHILD_COUNTS), key.owner);
      await keys.put([key]);
      return key;
    },
    /** @throws NOT_FOUND unless it is a child of this key, and what `check` throws */
    updateChild: (owner: string, id: string, changes: ApiKeyChanges, check?: (key: ApiKey) => void) =>
      change(id, isChildOf(owner), (key) => {
        check?.(key);
        return changed(key, changes);
      }),
    /** @throws NOT_FOUND unless it is a child of this key, and what `check` throws */
    revokeChild: (owner: string, id: string, now: number, check?: (key: ApiKey) => void) =>
      change(id, isChildOf(owner), (key) => {
        check?.(key);
        return { ...key, revokedAt: now };
      }),
    /** @param by the caller's key @throws NOT_FOUND unless the key is that one or a child of it */
    rotateKey: (by: string, id: string, secret: ApiKeySecret, othersExpireAt: number) =>
      change(
        id,
        (key) => key.id === by || key.owner === by,
        (key) => rotated(key, secret, othersExpireAt, MAX_FORMER_SECRETS),
      ),
  };
}

export type ApiKeyStore = ReturnType<typeof apiKeysOver>;
