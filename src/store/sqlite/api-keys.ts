import type { ApiKey, ApiKeyChanges, ApiKeySecret, PlanName } from '../store.ts';
import type { Connection, Value } from './connection.ts';

type KeyRow = [
  id: string,
  name: string,
  plan: PlanName,
  perMinute: number,
  perDay: number,
  createdAt: number,
  revokedAt: number | null,
  expiresAt: number | null,
  scopes: string[] | null,
  allow: string[] | null,
  documents: string | null,
  lastUsedAt: number | null,
];
type SecretRow = [hash: string, prefix: string, expiresAt: number | null];

const KEY = `json_array(
  json_array(
    k.id, k.name, k.plan, k.per_minute, k.per_day, k.created_at, k.revoked_at,
    k.expires_at, json(k.scopes), json(k.allow), k.documents, k.last_used_at
  ),
  (select json_group_array(json_array(hash, prefix, expires_at)) from (
    select hash, prefix, expires_at from api_key_secrets where api_key_id = k.id order by rowid
  ))
)`;

function decode([key, secrets]: [KeyRow, SecretRow[]]): ApiKey {
  const [id, name, plan, perMinute, perDay, createdAt, ...optional] = key;
  const [revokedAt, expiresAt, scopes, allow, documents, lastUsedAt] = optional;
  return {
    id,
    name,
    plan,
    limits: { perMinute, perDay },
    createdAt,
    ...(revokedAt !== null && { revokedAt }),
    ...(expiresAt !== null && { expiresAt }),
    ...(scopes !== null && { scopes }),
    ...(allow !== null && { allow }),
    ...(documents !== null && { documents }),
    ...(lastUsedAt !== null && { lastUsedAt }),
    secrets: secrets.map(([hash, prefix, expiresAt]) =>
      expiresAt === null ? { hash, prefix } : { hash, prefix, expiresAt },
    ),
  };
}

/** The columns of the properties that can be changed, with their values. */
function columnsOf({ name, plan, limits, expiresAt, scopes, allow, documents }: ApiKeyChanges) {
  const columns: Record<string, Value | undefined> = {
    name,
    plan,
    per_minute: limits?.perMinute,
    per_day: limits?.perDay,
    expires_at: expiresAt,
    scopes: scopes && JSON.stringify(scopes),
    allow: allow && JSON.stringify(allow),
    documents,
  };
  return Object.entries(columns).filter((column): column is [string, Value] => column[1] !== undefined);
}

/** API keys. Always read from the file, because the key tool changes them while the server runs. */
export function apiKeys(db: Connection) {
  const one = (condition: string, value: string): ApiKey | null => {
    const text = db.value(`select ${KEY} from api_keys as k where ${condition}`, [value]);
    return text === undefined ? null : decode(JSON.parse(text as string));
  };
  const byId = (id: string) => one('k.id = ?', id);

  const addSecret = (id: string, { hash, prefix, expiresAt }: ApiKeySecret) =>
    db.run('insert into api_key_secrets (hash, api_key_id, prefix, expires_at) values (?, ?, ?, ?)', [
      hash,
      id,
      prefix,
      expiresAt ?? null,
    ]);

  return {
    apiKeyBySecretHash: (hash: string) =>
      one('k.id = (select api_key_id from api_key_secrets where hash = ?)', hash),

    createApiKey(key: ApiKey): void {
      const { id, createdAt, revokedAt = null, lastUsedAt = null, secrets } = key;
      const columns: readonly [string, Value][] = [
        ['id', id],
        ['created_at', createdAt],
        ['revoked_at', revokedAt],
        ['last_used_at', lastUsedAt],
        ...columnsOf(key),
      ];
      db.transaction(() => {
        db.run(
          `insert into api_keys (${columns.map(([name]) => name)}) values (${columns.map(() => '?')})`,
          columns.map(([, value]) => value),
        );
        for (const secret of secrets) addSecret(id, secret);
      });
    },

    apiKeyById: byId,

    updateApiKey(id: string, changes: ApiKeyChanges): ApiKey | null {
      const columns = columnsOf(changes);
      const set = ['id = id', ...columns.map(([name]) => `${name} = ?`)];
      const changed = db.run(`update api_keys set ${set} where id = ? and revoked_at is null`, [
        ...columns.map(([, value]) => value),
        id,
      ]);
      return changed > 0 ? byId(id) : null;
    },

    apiKeys(): ApiKey[] {
      const text = db.value(
        `select json_group_array(json(key)) from (
           select ${KEY} as key from api_keys as k order by k.created_at, k.rowid
         )`,
      );
      return (JSON.parse(text as string) as [KeyRow, SecretRow[]][]).map(decode);
    },

    revokeApiKey(id: string, now: number): ApiKey | null {
      db.run('update api_keys set revoked_at = ? where id = ? and revoked_at is null', [now, id]);
      return byId(id);
    },

    rotateApiKey(id: string, secret: ApiKeySecret, othersExpireAt: number): ApiKey | null {
      return db.transaction(() => {
        if (db.value('select 1 from api_keys where id = ? and revoked_at is null', [id]) === undefined)
          return null;
        db.run(
          `update api_key_secrets set expires_at = ?1
           where api_key_id = ?2 and (expires_at is null or expires_at > ?1)`,
          [othersExpireAt, id],
        );
        addSecret(id, secret);
        return byId(id);
      });
    },
  };
}
