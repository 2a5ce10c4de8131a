import type { ApiKey, ApiKeySecret, PlanName } from '../store.ts';
import type { Connection } from './connection.ts';

type KeyRow = [
  id: string,
  name: string,
  plan: PlanName,
  perMinute: number,
  perDay: number,
  createdAt: number,
  revokedAt: number | null,
];
type SecretRow = [hash: string, prefix: string, expiresAt: number | null];

const KEY = `json_array(
  json_array(k.id, k.name, k.plan, k.per_minute, k.per_day, k.created_at, k.revoked_at),
  (select json_group_array(json_array(hash, prefix, expires_at)) from (
    select hash, prefix, expires_at from api_key_secrets where api_key_id = k.id order by rowid
  ))
)`;

function decode([key, secrets]: [KeyRow, SecretRow[]]): ApiKey {
  const [id, name, plan, perMinute, perDay, createdAt, revokedAt] = key;
  const found: ApiKey = {
    id,
    name,
    plan,
    limits: { perMinute, perDay },
    createdAt,
    secrets: secrets.map(([hash, prefix, expiresAt]) =>
      expiresAt === null ? { hash, prefix } : { hash, prefix, expiresAt },
    ),
  };
  if (revokedAt !== null) found.revokedAt = revokedAt;
  return found;
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

    createApiKey({ id, name, plan, limits, createdAt, revokedAt, secrets }: ApiKey): void {
      db.transaction(() => {
        db.run(
          `insert into api_keys (id, name, plan, per_minute, per_day, created_at, revoked_at)
           values (?, ?, ?, ?, ?, ?, ?)`,
          [id, name, plan, limits.perMinute, limits.perDay, createdAt, revokedAt ?? null],
        );
        for (const secret of secrets) addSecret(id, secret);
      });
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
