import { notFound, tooManyWebhooks } from '../../foundation/errors.ts';
import type { Check } from '../table.ts';
import {
  LEASE_TIME,
  type Webhook,
  type WebhookChange,
  type WebhookClaim,
  type WebhookProgress,
  type WebhookSettings,
  type WebhookStore,
  type WebhookWrites,
} from '../webhooks.ts';
import type { Attempt, RunAttempts } from './attempts.ts';
import { type CollectionDefinition, DATE, INTEGER, NUMBER, objectSchema, STRING } from './collection.ts';
import type { Database } from './database.ts';
import { isDuplicateKey, WriteConflict } from './errors.ts';

/** Creations for one key at the same time that rarely try the same slot. */
const MAX_WEBHOOKS_AT_ONCE = 100;

interface WebhookDocument {
  _id: string;
  apiKeyId: string;
  /** Unique within the key and below its maximum, so that concurrent creations cannot exceed it. */
  slot: number;
  createdAt: number;
  version: number;
  enabled: boolean;
  /** JSON text, because BSON would alter some values. */
  settings: string;
  progress: string;
  /** The instance that delivers it. */
  instance?: string;
}

export const webhooksCollection: CollectionDefinition = {
  name: 'webhooks',
  schema: objectSchema({
    _id: STRING,
    apiKeyId: STRING,
    slot: INTEGER,
    createdAt: NUMBER,
    version: NUMBER,
    enabled: { bsonType: 'bool' },
    settings: STRING,
    progress: STRING,
    'instance?': STRING,
  }),
  indexes: [{ key: { apiKeyId: 1, slot: 1 }, unique: true }, { key: { enabled: 1, instance: 1 } }],
};

/** An instance that delivers webhooks, with the time of its last sign of life by the server's clock. */
interface InstanceDocument {
  _id: string;
  seenAt: Date;
}

export const instancesCollection: CollectionDefinition = {
  name: 'instances',
  schema: objectSchema({ _id: STRING, seenAt: DATE }),
  indexes: [{ key: { seenAt: 1 }, expireAfterSeconds: 3_600 }],
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

/**
 * Webhooks, and the leases of the instances that deliver them.
 *
 * @param requireLog throws NOT_FOUND if the database has no event log
 */
export function mongoWebhooks({ db, options }: Database, requireLog: () => void) {
  const webhooks = db.collection<WebhookDocument>(webhooksCollection.name);
  const instances = db.collection<InstanceDocument>(instancesCollection.name);
  const find = async (filter: object): Promise<Webhook[]> => {
    requireLog();
    const sort = { createdAt: 1, slot: 1 } as const;
    return (await webhooks.find(filter, { ...options, sort }).toArray()).map(toWebhook);
  };

  /** @throws NOT_FOUND */
  async function existing(apiKeyId: string, id: string, { options }: Attempt): Promise<WebhookDocument> {
    requireLog();
    const document = await webhooks.findOne({ _id: id, apiKeyId }, options);
    if (!document) throw notFound('webhook', id);
    return document;
  }

  return {
    reads: {
      webhooksOfKey: (apiKeyId: string) => find({ apiKeyId }),
      webhooks: () => find({}),
      webhookById: async (_id: string, instance?: string) =>
        (await find({ _id, ...(instance !== undefined && { instance }) }))[0] ?? null,

      async claimWebhooks(instance: string): Promise<WebhookClaim[]> {
        requireLog();
        const me = await instances.findOneAndUpdate(
          { _id: instance },
          { $currentDate: { seenAt: true } },
          { ...options, upsert: true, returnDocument: 'after' },
        );
        const projection = { _id: 1, version: 1, instance: 1 };
        const all = await webhooks.find({ enabled: true }, { ...options, projection }).toArray();
        // Read after the webhooks, so that an instance which has just claimed its first one is seen.
        const holders = all.flatMap((webhook) => webhook.instance ?? []);
        const alive = { $gt: new Date(me!.seenAt.getTime() - LEASE_TIME) };
        const found = await instances.find({ _id: { $in: holders }, seenAt: alive }, options).toArray();
        const living = new Set(found.map(({ _id }) => _id));
        const claims: WebhookClaim[] = [];
        for (const { _id, version, instance: holder } of all) {
          if (holder !== instance) {
            if (holder !== undefined && living.has(holder)) continue;
            const free = { _id, enabled: true, instance: holder ?? { $exists: false } } as object;
            const { matchedCount } = await webhooks.updateOne(free, { $set: { instance } }, options);
            if (matchedCount === 0) continue;
          }
          const takenOver = holder !== undefined && holder !== instance;
          claims.push({ id: _id, version: Number(version), takenOver });
        }
        return claims;
      },

      async releaseWebhooks(instance: string): Promise<void> {
        await instances.deleteOne({ _id: instance }, options);
      },

      async saveProgress(instance, { id, version, progress }, disabledReason) {
        const held = { _id: id, version, instance };
        let settings: WebhookSettings | undefined;
        if (disabledReason !== undefined) {
          const document = await webhooks.findOne(held, options);
          if (!document) return false;
          settings = { ...toWebhook(document).settings, enabled: false, disabledReason };
        }
        const $set = stored({ progress, ...(settings && { settings }) });
        return (await webhooks.updateOne(held, { $set }, options)).matchedCount > 0;
      },
    } satisfies WebhookStore,

    writes: (run: RunAttempts) =>
      ({
        createWebhook(webhook: Webhook, max: number): Promise<Webhook> {
          let isContended = false;
          return run(async (attempt) => {
            requireLog();
            const { id, apiKeyId, createdAt, version } = webhook;
            const taken = await webhooks
              .find({ apiKeyId }, { ...attempt.options, projection: { slot: 1 } })
              .toArray();
            if (taken.length >= max) throw tooManyWebhooks(max);
            const slots = new Set(taken.map(({ slot }) => Number(slot)));
            const places = Math.min(max, taken.length + MAX_WEBHOOKS_AT_ONCE);
            const free = [...Array(places).keys()].filter((slot) => !slots.has(slot));
            // In order, unless others create at the same time, who would all try the same one again.
            const slot = free[isContended ? Math.floor(Math.random() * free.length) : 0]!;
            const document = { _id: id, apiKeyId, slot, createdAt, version, ...stored(webhook) };
            await webhooks.insertOne(document as WebhookDocument, attempt.options).catch((error) => {
              isContended = isDuplicateKey(error);
              throw isContended ? new WriteConflict() : error;
            });
            return webhook;
          });
        },

        changeWebhook: (apiKeyId: string, id: string, change: WebhookChange): Promise<Webhook> =>
          run(async (attempt) => {
            const document = await existing(apiKeyId, id, attempt);
            const before = toWebhook(document);
            const changes = change(before);
            const webhook = { ...before, ...changes, version: before.version + 1 };
            const { matchedCount } = await webhooks.updateOne(
              { _id: id, version: document.version },
              { $set: { version: webhook.version, ...stored(changes) } },
              attempt.options,
            );
            if (matchedCount === 0) throw new WriteConflict();
            return webhook;
          }),

        deleteWebhook: (apiKeyId: string, id: string, check?: Check<Webhook>): Promise<string> =>
          run(async (attempt) => {
            const document = await existing(apiKeyId, id, attempt);
            check?.(toWebhook(document));
            await webhooks.deleteOne({ _id: id }, attempt.options);
            return id;
          }),
      }) satisfies WebhookWrites,
  };
}
