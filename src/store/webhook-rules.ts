import { notFound, tooManyWebhooks } from '../foundation/errors.ts';
import type { Engine, EngineTransaction } from './engine.ts';
import type { ObjectKind } from './objects.ts';
import { CLAIM_TIME, type Webhook, type WebhookStore, type WebhookWrites } from './webhooks.ts';

/** A webhook with the claim of the instance that delivers it, until when by the database's clock. */
interface ClaimedWebhook extends Webhook {
  claim?: { instance: string; until: number };
}

const ENABLED = 'enabled';
const ofKey = (apiKeyId: string): string => `key ${apiKeyId}`;

export const WEBHOOKS: ObjectKind<ClaimedWebhook> = {
  name: 'webhooks',
  keyOf: ({ id }) => id,
  termsOf: ({ apiKeyId, settings }) => [ofKey(apiKeyId), ...(settings.enabled ? [ENABLED] : [])],
};

/** How many webhooks a key has had, so that two creations at the same time write the same object. */
export const WEBHOOK_COUNTS: ObjectKind<{ apiKeyId: string; created: number }> = {
  name: 'counts',
  keyOf: ({ apiKeyId }) => apiKeyId,
};

const withoutClaim = ({ claim: _, ...webhook }: ClaimedWebhook): Webhook => webhook;

const oldestFirst = (webhooks: readonly ClaimedWebhook[]): Webhook[] =>
  webhooks.map(withoutClaim).sort((a, b) => a.createdAt - b.createdAt);

/** Webhooks, and the claims of the instances that deliver them. */
export function webhooksOver({ objects, transaction, now, isExclusive }: Engine): WebhookStore {
  const webhooks = objects(WEBHOOKS);
  const isHeld = ({ claim }: ClaimedWebhook, instance: string) => isExclusive || claim?.instance === instance;

  return {
    webhooksOfKey: async (apiKeyId) => oldestFirst(await webhooks.find(ofKey(apiKeyId))),
    webhooks: async () => oldestFirst(await webhooks.all()),

    async webhookById(id, instance) {
      const [found] = await webhooks.get([id]);
      if (!found || (instance !== undefined && !isHeld(found, instance))) return null;
      return withoutClaim(found);
    },

    async claimWebhooks(instance) {
      let held = await webhooks.find(ENABLED);
      if (!isExclusive && held.length > 0) {
        const time = await now();
        // A claim of one's own is renewed after a third of its time.
        const isDue = ({ claim }: ClaimedWebhook) =>
          !claim || claim.until < time + (claim.instance === instance ? (CLAIM_TIME * 2) / 3 : 0);
        if (held.some(isDue))
          held = await transaction(async (own) => {
            const webhooks = own.objects(WEBHOOKS);
            const claim = { instance, until: time + CLAIM_TIME };
            const claimed = (await webhooks.find(ENABLED)).map((webhook) =>
              isDue(webhook) ? { ...webhook, claim } : webhook,
            );
            await webhooks.put(claimed.filter((webhook) => webhook.claim === claim));
            return claimed;
          });
      }
      return held.filter((webhook) => isHeld(webhook, instance)).map(({ id, version }) => ({ id, version }));
    },

    async releaseWebhooks(instance) {
      if (isExclusive) return;
      await transaction(async (own) => {
        const webhooks = own.objects(WEBHOOKS);
        const held = (await webhooks.find(ENABLED)).filter((webhook) => isHeld(webhook, instance));
        await webhooks.put(held.map(withoutClaim));
      });
    },

    saveProgress: (instance, { id, version, progress }, disabledReason) =>
      transaction(async (own) => {
        const webhooks = own.objects(WEBHOOKS);
        const [webhook] = await webhooks.get([id]);
        if (webhook?.version !== version || !isHeld(webhook, instance)) return false;
        const settings =
          disabledReason === undefined
            ? webhook.settings
            : { ...webhook.settings, enabled: false, disabledReason };
        const claim = { instance, until: (await now()) + CLAIM_TIME };
        await webhooks.put([{ ...webhook, settings, progress, claim }]);
        return true;
      }),
  };
}

/** @param run runs a write in its transaction */
export function webhookWritesOf(
  run: <T>(write: (own: EngineTransaction) => Promise<T>) => Promise<T>,
): WebhookWrites {
  const existing = async (own: EngineTransaction, apiKeyId: string, id: string): Promise<ClaimedWebhook> => {
    const [webhook] = await own.objects(WEBHOOKS).get([id]);
    if (webhook?.apiKeyId !== apiKeyId) throw notFound('webhook', id);
    return webhook;
  };
  return {
    createWebhook: (webhook, max) =>
      run(async (own) => {
        const { apiKeyId } = webhook;
        const [webhooks, counts] = [own.objects(WEBHOOKS), own.objects(WEBHOOK_COUNTS)];
        const [{ created } = { created: 0 }] = await counts.get([apiKeyId]);
        if ((await webhooks.find(ofKey(apiKeyId))).length >= max) throw tooManyWebhooks(max);
        await counts.put([{ apiKeyId, created: created + 1 }]);
        await webhooks.put([webhook]);
        return webhook;
      }),
    changeWebhook: (apiKeyId, id, change) =>
      run(async (own) => {
        const before = await existing(own, apiKeyId, id);
        const after = { ...before, ...change(withoutClaim(before)), version: before.version + 1 };
        await own.objects(WEBHOOKS).put([after]);
        return withoutClaim(after);
      }),
    deleteWebhook: (apiKeyId, id, check) =>
      run(async (own) => {
        // Read in any case: it must be this key's.
        const webhook = await existing(own, apiKeyId, id);
        check?.(withoutClaim(webhook));
        await own.objects(WEBHOOKS).delete([id]);
        return id;
      }),
  };
}
