import type { ApiKey, ApiKeyChanges, ApiKeySecret } from '../store.ts';
import type { SqliteConnection, Value } from './connection.ts';

/** A key as JSON. A merge patch leaves out what is null (RFC 7396). */
const KEY = `json_patch('{}', json_object(
  'id', k.id, 'name', k.name, 'plan', k.plan,
  'limits', json_object('perMinute', k.per_minute, 'perDay', k.per_day),
  'createdAt', k.created_at, 'revokedAt', k.revoked_at, 'expiresAt', k.expires_at,
  'scopes', json(k.scopes), 'allow', json(k.allow), 'documents', k.documents, 'lastUsedAt', k.last_used_at,
  'secrets', (
    select json_group_array(json_patch('{}', json_object('hash', hash, 'prefix', prefix, 'expiresAt', expires_at)))
    from (select * from api_key_secrets where api_key_id = k.id order by rowid)
  )
))`;

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
export function apiKeys(db: SqliteConnection) {
  const one = (condition: string, value: string): ApiKey | null =>
    db.json<ApiKey>(`select ${KEY} from api_keys as k where ${condition}`, [value]) ?? null;
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

    apiKeys: (): ApiKey[] =>
      db.json(
        `select json_group_array(json(key)) from (
           select ${KEY} as key from api_keys as k order by k.created_at, k.rowid
         )`,
      )!,

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
