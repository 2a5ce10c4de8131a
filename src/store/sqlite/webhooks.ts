import { notFound, tooManyWebhooks } from '../../foundation/errors.ts';
import type { Check } from '../table.ts';
import type { Webhook, WebhookChange, WebhookStore, WebhookWrites } from '../webhooks.ts';
import type { Connection } from './connection.ts';

const ROW = `json_array(id, api_key_id, created_at, version, json(settings), json(progress))`;
type Row = [
  id: string,
  apiKeyId: string,
  createdAt: number,
  version: number,
  settings: Webhook['settings'],
  progress: Webhook['progress'],
];

const decode = ([id, apiKeyId, createdAt, version, settings, progress]: Row): Webhook => ({
  id,
  apiKeyId,
  createdAt,
  version,
  settings,
  progress,
});

/** Webhooks. Only one process serves a data file, so it always holds all of them. */
export function webhooks(db: Connection) {
  const all = (condition: string, params: string[]): Webhook[] => {
    const rows = `select id, api_key_id, created_at, version, settings, progress from webhooks
      where ${condition} order by rowid`;
    const text = db.value(`select json_group_array(json(${ROW})) from (${rows})`, params);
    return (JSON.parse(text as string) as Row[]).map(decode);
  };
  const existing = (apiKeyId: string, id: string): Webhook => {
    const [webhook] = all('id = ? and api_key_id = ?', [id, apiKeyId]);
    if (!webhook) throw notFound('webhook', id);
    return webhook;
  };

  return {
    reads: {
      webhooksOfKey: (apiKeyId) => all('api_key_id = ?', [apiKeyId]),
      webhooks: () => all('true', []),
      webhookById: (id) => all('id = ?', [id])[0] ?? null,

      claimWebhooks() {
        const text = db.value(
          `select json_group_array(json_array(id, version)) from webhooks where settings ->> 'enabled'`,
        );
        const rows = JSON.parse(text as string) as [id: string, version: number][];
        return rows.map(([id, version]) => ({ id, version, takenOver: false }));
      },

      releaseWebhooks() {},

      saveProgress(_instance, { id, version, progress }, disabledReason) {
        const settings =
          disabledReason === undefined
            ? 'settings'
            : `json_set(settings, '$.enabled', json('false'), '$.disabledReason', '${disabledReason}')`;
        return (
          db.run(`update webhooks set progress = ?, settings = ${settings} where id = ? and version = ?`, [
            JSON.stringify(progress),
            id,
            version,
          ]) > 0
        );
      },
    } satisfies WebhookStore,

    writes: {
      createWebhook(webhook: Webhook, max: number): Webhook {
        const { id, apiKeyId, createdAt, version, settings, progress } = webhook;
        const count = db.value('select count(*) from webhooks where api_key_id = ?', [apiKeyId]);
        if (Number(count) >= max) throw tooManyWebhooks(max);
        db.run(
          `insert into webhooks (id, api_key_id, created_at, version, settings, progress)
           values (?, ?, ?, ?, ?, ?)`,
          [id, apiKeyId, createdAt, version, JSON.stringify(settings), JSON.stringify(progress)],
        );
        return webhook;
      },

      changeWebhook(apiKeyId: string, id: string, change: WebhookChange): Webhook {
        const before = existing(apiKeyId, id);
        const webhook = { ...before, ...change(before), version: before.version + 1 };
        db.run('update webhooks set version = ?, settings = ?, progress = ? where id = ?', [
          webhook.version,
          JSON.stringify(webhook.settings),
          JSON.stringify(webhook.progress),
          id,
        ]);
        return webhook;
      },

      deleteWebhook(apiKeyId: string, id: string, check?: Check<Webhook>): string {
        const webhook = existing(apiKeyId, id);
        check?.(webhook);
        db.run('delete from webhooks where id = ?', [id]);
        return id;
      },
    } satisfies WebhookWrites,
  };
}
