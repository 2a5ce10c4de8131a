import type { AccessStore, ApiKey, ApiKeySecret } from '../store.ts';
import { rowsOf } from './columns.ts';
import type { SqliteConnection } from './connection.ts';
import type { Writer } from './writer.ts';

/** A key as JSON. A merge patch leaves out what is null (RFC 7396). */
const KEY = `json_patch('{}', json_object(
  'id', k.id, 'name', k.name, 'plan', k.plan,
  'limits', json_object('perMinute', k.per_minute, 'perDay', k.per_day),
  'createdAt', k.created_at, 'kind', k.kind, 'revokedAt', k.revoked_at, 'expiresAt', k.expires_at,
  'scopes', json(k.scopes), 'allow', json(k.allow), 'documents', k.documents, 'lastUsedAt', k.last_used_at,
  'secrets', (
    select json_group_array(json_patch('{}', json_object('hash', hash, 'prefix', prefix, 'expiresAt', expires_at)))
    from (select * from api_key_secrets where api_key_id = k.id order by rowid)
  )
))`;

const KEYS = rowsOf('api_keys', [
  ...['id', 'name', 'plan', 'limits.perMinute', 'limits.perDay', 'createdAt', 'kind', 'revokedAt'],
  ...['expiresAt', 'scopes', 'allow', 'documents', 'lastUsedAt'],
]);
const SECRETS = rowsOf('api_key_secrets', ['hash', 'apiKeyId', 'prefix', 'expiresAt']);

/** API keys. Always read from the file, because the key tool changes them while the server runs. */
export function apiKeys(db: SqliteConnection, writer: Writer) {
  const one = (condition: string, value: string): ApiKey | null =>
    db.json<ApiKey>(`select ${KEY} from api_keys as k where ${condition}`, [value]) ?? null;
  const byId = (id: string) => one('k.id = ?', id);

  const addSecrets = (apiKeyId: string, secrets: readonly ApiKeySecret[]) =>
    db.run(SECRETS.insert, [JSON.stringify(secrets.map((secret) => ({ ...secret, apiKeyId })))]);

  /** Changes a key that is not revoked. @returns null if there is none */
  const change = (id: string, work: (key: ApiKey) => void): Promise<ApiKey | null> =>
    writer.write(() => {
      const key = one('k.id = ? and k.revoked_at is null', id);
      if (!key) return null;
      work(key);
      return byId(id);
    }, true);

  return {
    apiKeyBySecretHash: async (hash) =>
      one('k.id = (select api_key_id from api_key_secrets where hash = ?)', hash),

    createApiKey: (key) =>
      writer.write(() => {
        db.run(KEYS.insert, [JSON.stringify([key])]);
        addSecrets(key.id, key.secrets);
      }, true),

    apiKeyById: async (id) => byId(id),

    updateApiKey: (id, changes) =>
      change(id, (key) =>
        db.run(`${KEYS.insert} on conflict ${KEYS.replace}`, [JSON.stringify([{ ...key, ...changes }])]),
      ),

    apiKeys: async () =>
      db.json<ApiKey[]>(
        `select json_group_array(json(key)) from (
           select ${KEY} as key from api_keys as k order by k.created_at, k.rowid
         )`,
      )!,

    revokeApiKey: (id, now) =>
      writer.write(() => {
        db.run('update api_keys set revoked_at = ? where id = ? and revoked_at is null', [now, id]);
        return byId(id);
      }),

    rotateApiKey: (id, secret, othersExpireAt) =>
      change(id, () => {
        db.run(
          `update api_key_secrets set expires_at = ?1
           where api_key_id = ?2 and (expires_at is null or expires_at > ?1)`,
          [othersExpireAt, id],
        );
        addSecrets(id, [secret]);
      }),
  } satisfies Partial<AccessStore>;
}
