import type { WebhookRows } from '../engine.ts';
import {
  CLAIM_TIME,
  type Webhook,
  type WebhookProgress,
  type WebhookSettings,
  type WebhookStore,
} from '../webhooks.ts';
import type { CollectionDefinition } from './collection.ts';
import type { Database } from './database.ts';
import { WriteConflict } from './errors.ts';
import { locksCollection } from './rows.ts';
import type { Attempt } from './transactions.ts';

interface WebhookDocument {
  _id: string;
  apiKeyId: string;
  createdAt: number;
  version: number;
  enabled: boolean;
  /** JSON text, because BSON would alter some values. */
  settings: string;
  progress: string;
  /** The instance that delivers it, until when by the server's clock, in milliseconds. */
  instance?: string;
  lockedUntil?: bigint;
}

export const webhooksCollection: CollectionDefinition = {
  name: 'webhooks',
  indexes: [{ key: { apiKeyId: 1, createdAt: 1 } }, { key: { enabled: 1, instance: 1 } }],
};

const stored = ({ settings, progress }: Partial<Pick<Webhook, 'settings' | 'progress'>>) => ({
  ...(settings && { enabled: settings.enabled, settings: JSON.stringify(settings) }),
  ...(progress && { progress: JSON.stringify(progress) }),
});

const toWebhook = ({ _id, apiKeyId, createdAt, version, settings, progress }: WebhookDocument): Webhook => ({
  id: _id,
  apiKeyId,
  createdAt: Number(createdAt),
  version: Number(version),
  settings: JSON.parse(settings) as WebhookSettings,
  progress: JSON.parse(progress) as WebhookProgress,
});

/** By the server's clock, in milliseconds since 1970. */
const NOW = { $toLong: '$$NOW' };

/** A claim from now on, for updates by a pipeline. */
const claimOf = (instance: string) => ({ instance, lockedUntil: { $add: [NOW, CLAIM_TIME] } });

/** Webhooks, and the claims of the instances that deliver them. */
export function mongoWebhooks({ db, options }: Database) {
  const webhooks = db.collection<WebhookDocument>(webhooksCollection.name);
  const locks = db.collection<{ _id: string; taken: number }>(locksCollection.name);
  const find = async (filter: object): Promise<Webhook[]> => {
    const sort = { createdAt: 1, _id: 1 } as const;
    return (await webhooks.find(filter, { ...options, sort }).toArray()).map(toWebhook);
  };

  return {
    reads: {
      webhooksOfKey: (apiKeyId: string) => find({ apiKeyId }),
      webhooks: () => find({}),
      webhookById: async (_id: string, instance?: string) =>
        (await find({ _id, ...(instance !== undefined && { instance }) }))[0] ?? null,

      async claimWebhooks(instance) {
        // A claim of one's own is renewed after a third of its time.
        const left = { $cond: [{ $eq: ['$instance', instance] }, (CLAIM_TIME * 2) / 3, 0] };
        const isDue = { $lt: ['$lockedUntil', { $add: [NOW, left] }] };
        await webhooks.updateMany({ enabled: true, $expr: isDue }, [{ $set: claimOf(instance) }], options);
        const held = await webhooks
          .find({ enabled: true, instance }, { ...options, projection: { version: 1 } })
          .toArray();
        return held.map(({ _id, version }) => ({ id: _id, version: Number(version) }));
      },

      async releaseWebhooks(instance) {
        await webhooks.updateMany({ instance }, { $unset: { instance: true, lockedUntil: true } }, options);
      },

      async saveProgress(instance, { id, version, progress }, disabledReason) {
        const held = { _id: id, version, instance };
        let settings: WebhookSettings | undefined;
        if (disabledReason !== undefined) {
          const document = await webhooks.findOne(held, options);
          if (!document) return false;
          settings = { ...toWebhook(document).settings, enabled: false, disabledReason };
        }
        const $set = { ...stored({ progress, ...(settings && { settings }) }), ...claimOf(instance) };
        return (await webhooks.updateOne(held, [{ $set }], options)).matchedCount > 0;
      },
    } satisfies WebhookStore,

    rows: (attempt: Attempt) =>
      ({
        async count(apiKeyId) {
          await attempt.begin();
          // Creations for one key exclude one another, so that they cannot exceed its maximum together.
          const [lock, taken] = [{ _id: `webhooks/${apiKeyId}` }, { $inc: { taken: 1 } }];
          await attempt.send(() => locks.updateOne(lock, taken, { ...attempt.options, upsert: true }));
          return await attempt.send(() => webhooks.countDocuments({ apiKeyId }, attempt.options));
        },

        async find(apiKeyId, id) {
          const found = await attempt.send(() => webhooks.findOne({ _id: id, apiKeyId }, attempt.options));
          return found && toWebhook(found);
        },

        async insert(webhook) {
          const { id, apiKeyId, createdAt, version } = webhook;
          const document = { _id: id, apiKeyId, createdAt, version, ...stored(webhook) };
          await attempt.send(() => webhooks.insertOne(document as WebhookDocument, attempt.options));
        },

        async replace({ id, version, progress: before }, { version: next, settings, progress }) {
          // What was delivered meanwhile stays.
          const changed = stored({ settings, ...(progress !== before && { progress }) });
          const { matchedCount } = await attempt.send(() =>
            webhooks.updateOne(
              { _id: id, version },
              { $set: { version: next, ...changed } },
              attempt.options,
            ),
          );
          if (matchedCount === 0) throw new WriteConflict();
        },

        async delete({ id, version }) {
          const { deletedCount } = await attempt.send(() =>
            webhooks.deleteOne({ _id: id, version }, attempt.options),
          );
          if (deletedCount === 0) throw new WriteConflict();
        },
      }) satisfies WebhookRows,
  };
}
