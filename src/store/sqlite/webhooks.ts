import type { WebhookRows } from '../engine.ts';
import type { Webhook, WebhookClaim, WebhookStore } from '../webhooks.ts';
import { rowsOf } from './columns.ts';
import type { SqliteConnection } from './connection.ts';
import type { Writer } from './writer.ts';

const WEBHOOK = `json_object(
  'id', id, 'apiKeyId', api_key_id, 'createdAt', created_at, 'version', version,
  'settings', json(settings), 'progress', json(progress)
)`;

const ROWS = rowsOf('webhooks', ['id', 'apiKeyId', 'createdAt', 'version', 'settings', 'progress']);

/** Webhooks. Only one process serves a data file, so it always holds all of them. */
export function webhooks(db: SqliteConnection, writer: Writer) {
  const all = (condition: string, params: string[]): Webhook[] =>
    db.json(
      `select json_group_array(${WEBHOOK}) from (select * from webhooks where ${condition} order by rowid)`,
      params,
    )!;
  /** What is committed. */
  const committed = async (condition: string, params: string[]): Promise<Webhook[]> => {
    await writer.closed();
    return all(condition, params);
  };
  return {
    reads: {
      webhooksOfKey: (apiKeyId) => committed('api_key_id = ?', [apiKeyId]),
      webhooks: () => committed('true', []),
      webhookById: async (id) => (await committed('id = ?', [id]))[0] ?? null,

      async claimWebhooks() {
        await writer.closed();
        return db.json<WebhookClaim[]>(
          `select json_group_array(json_object('id', id, 'version', version))
           from webhooks where settings ->> 'enabled'`,
        )!;
      },

      async releaseWebhooks() {},

      saveProgress(_instance, { id, version, progress }, disabledReason) {
        const settings =
          disabledReason === undefined
            ? 'settings'
            : `json_set(settings, '$.enabled', json('false'), '$.disabledReason', '${disabledReason}')`;
        const update = `update webhooks set progress = ?, settings = ${settings} where id = ? and version = ?`;
        return writer.write(() => db.run(update, [JSON.stringify(progress), id, version]) > 0);
      },
    } satisfies WebhookStore,

    rows: {
      count: async (apiKeyId) =>
        Number(db.value('select count(*) from webhooks where api_key_id = ?', [apiKeyId])),

      find: async (apiKeyId, id) => all('id = ? and api_key_id = ?', [id, apiKeyId])[0] ?? null,

      async insert(webhook) {
        db.run(ROWS.insert, [JSON.stringify([webhook])]);
      },

      async replace(_before, after) {
        db.run(`${ROWS.insert} on conflict ${ROWS.replace}`, [JSON.stringify([after])]);
      },

      async delete({ id }) {
        db.run('delete from webhooks where id = ?', [id]);
      },
    } satisfies WebhookRows,
  };
}
