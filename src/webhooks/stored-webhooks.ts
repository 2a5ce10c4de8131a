import { AppError, notFound } from '../foundation/errors.ts';
import { counted } from '../foundation/words.ts';
import type { EventType } from '../store/events.ts';
import { countCreation, creationCounts, type ObjectKind } from '../store/objects.ts';
import { API_KEYS } from '../store/stored-api-keys.ts';
import type { Store, Transaction } from '../store/store.ts';

export const DISABLED_REASONS = ['failing', 'gone', 'events_expired', 'key'] as const;
/** The reason why a webhook was disabled, other than by its owner. */
export type DisabledReason = (typeof DISABLED_REASONS)[number];

export const ATTEMPT_ERRORS = ['dns', 'refused_address', 'connect', 'tls', 'timeout', 'redirect'] as const;
/** The reason why an attempt got no valid response. */
export type AttemptError = (typeof ATTEMPT_ERRORS)[number];

/** An attempt: one request to a receiver. Times are milliseconds since 1970. */
export interface WebhookAttempt {
  eventId: string;
  time: number;
  /** The duration in milliseconds. */
  ms: number;
  /** The HTTP status, if there was a response. */
  status?: number;
  error?: AttemptError;
}

export interface WebhookFailure {
  /** The event that cannot be delivered. */
  eventId: string;
  /** The time of the first failed attempt. */
  since: number;
  attempts: number;
  nextAttemptAt: number;
}

export interface WebhookSecret {
  /** `whsec_` and 32 random bytes in base64. */
  secret: string;
  /** When it stops signing, in milliseconds since 1970; never if absent. */
  expiresAt?: number;
}

/** The settings of a webhook by its owner. */
export interface WebhookSettings {
  url: string;
  /** All types if absent. */
  types?: readonly EventType[] | undefined;
  enabled: boolean;
  disabledReason?: DisabledReason | undefined;
  /** Newest first; the two newest sign. */
  secrets: readonly WebhookSecret[];
}

/** The state of delivery. */
export interface WebhookProgress {
  /** The position in the event log up to which everything was acknowledged. */
  after: string;
  /** The number of times the owner has moved the position. */
  moves: number;
  failing?: WebhookFailure | undefined;
  /** The number of attempts; every tenth is charged. */
  attempted: number;
  /** The latest attempts, newest first. */
  attempts: readonly WebhookAttempt[];
}

/** A webhook: a position in the event log, and the receiver of the events after it. */
export interface Webhook {
  /** Opaque. */
  id: string;
  apiKeyId: string;
  /** The owner of the key, if it is a child. */
  account?: string;
  /** Milliseconds since 1970. */
  createdAt: number;
  /** Incremented with each change by the owner. */
  version: number;
  settings: WebhookSettings;
  progress: WebhookProgress;
}

/** The maximum number of listed attempts. */
export const MAX_ATTEMPTS = 20;

/** The latest of these attempts, without duplicates, newest first. */
export const latestAttempts = (attempts: readonly WebhookAttempt[]): readonly WebhookAttempt[] =>
  attempts
    .filter(({ eventId, time }, n) =>
      attempts.slice(0, n).every((newer) => newer.eventId !== eventId || newer.time !== time),
    )
    .sort((a, b) => b.time - a.time)
    .slice(0, MAX_ATTEMPTS);

/** How long a claim lasts after it was renewed, in milliseconds. */
export const CLAIM_TIME = 18_000;

/** Returns the new settings of a webhook, and its progress if that changes. May run several times. */
export type WebhookChange = (webhook: Webhook) => {
  settings: WebhookSettings;
  progress?: WebhookProgress;
};

/** A webhook with the claim of the instance that delivers it, which ends by the database's clock. */
interface ClaimedWebhook extends Webhook {
  claim?: { instance: string; until: number };
}

const ENABLED = 'enabled';
const ofKey = (apiKeyId: string): string => `key ${apiKeyId}`;
const ofAccount = (account: string): string => `account ${account}`;

export const WEBHOOKS: ObjectKind<ClaimedWebhook> = {
  name: 'webhooks',
  keyOf: ({ id }) => id,
  termsOf: ({ apiKeyId, account = apiKeyId, settings }) => [
    ofKey(apiKeyId),
    ofAccount(account),
    ...(settings.enabled ? [ENABLED] : []),
  ],
};

/** Counts of created webhooks, by account. */
export const WEBHOOK_COUNTS = creationCounts('counts');

const withoutClaim = ({ claim: _, ...webhook }: ClaimedWebhook): Webhook => webhook;

const oldestFirst = (webhooks: readonly ClaimedWebhook[]): Webhook[] =>
  webhooks.map(withoutClaim).sort((a, b) => a.createdAt - b.createdAt);

/** Webhooks, and the claims of the instances that deliver them. */
export function webhooksOf({ objects, transaction, now, isExclusive }: Store) {
  const webhooks = objects(WEBHOOKS);
  const isHeld = ({ claim }: ClaimedWebhook, instance: string) => isExclusive || claim?.instance === instance;

  return {
    /** The webhooks of a key, oldest first. */
    ofKey: async (apiKeyId: string) => oldestFirst(await webhooks.find(ofKey(apiKeyId))),

    async byId(id: string): Promise<Webhook | null> {
      const [stored] = await webhooks.get([id]);
      return stored ? withoutClaim(stored) : null;
    },

    /**
     * Claims the enabled webhooks whose claims have expired, by the database's clock, and renews the instance's own
     * claims.
     *
     * @returns all enabled webhooks that the instance has claimed
     */
    async claim(instance: string): Promise<Webhook[]> {
      let held = await webhooks.find(ENABLED);
      if (!isExclusive && held.length > 0) {
        const time = await now();
        // Renews the instance's own claims after a third of their time.
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
      return held.filter((webhook) => isHeld(webhook, instance)).map(withoutClaim);
    },

    /** Ends the claims of an instance, so that others can claim the webhooks at once. */
    async release(instance: string): Promise<void> {
      if (isExclusive) return;
      await transaction(async (own) => {
        const webhooks = own.objects(WEBHOOKS);
        const held = (await webhooks.find(ENABLED)).filter((webhook) => isHeld(webhook, instance));
        await webhooks.put(held.map(withoutClaim));
      });
    },

    /**
     * Stores the progress of a webhook, optionally disables it, and renews its claim. If the owner has changed it since
     * it was read, it is not disabled, and a position set by the owner stays.
     *
     * @returns the changed webhook; null if it was deleted, or the instance has lost the claim
     */
    saveProgress: (
      instance: string,
      { id, version, progress }: Webhook,
      disabledReason?: DisabledReason,
    ): Promise<Webhook | null> =>
      transaction(async (own) => {
        const webhooks = own.objects(WEBHOOKS);
        const [webhook] = await webhooks.get([id]);
        if (!webhook || !isHeld(webhook, instance)) return null;
        const isChanged = webhook.version !== version;
        const isDisabled = disabledReason !== undefined && !isChanged;
        const saved = {
          ...webhook,
          ...(isDisabled && { settings: { ...webhook.settings, enabled: false, disabledReason } }),
          progress: {
            ...(isChanged ? movedBy(webhook.progress, progress) : progress),
            attempts: latestAttempts([...progress.attempts, ...webhook.progress.attempts]),
          },
          claim: { instance, until: (await now()) + CLAIM_TIME },
        };
        await webhooks.put([saved]);
        return withoutClaim(saved);
      }, 'single'),
  };
}

/** Merges progress with a change by the owner, which ends a wait and may move the position. */
const movedBy = (owner: WebhookProgress, { moves, after, attempted }: WebhookProgress): WebhookProgress => ({
  ...owner,
  ...(moves === owner.moves && { after }),
  attempted,
});

const tooManyWebhooks = (max: number) =>
  new AppError('CONFLICT', `The plan allows ${counted(max, 'webhook')}. Delete one first.`);

/** Writes of webhooks, in the transaction of the operation. */
export function webhookWritesOf({ objects }: Pick<Transaction, 'objects'>) {
  const webhooks = objects(WEBHOOKS);
  const existing = async (apiKeyId: string, id: string): Promise<ClaimedWebhook> => {
    const [webhook] = await webhooks.get([id]);
    if (webhook?.apiKeyId !== apiKeyId) throw notFound('webhook', id);
    return webhook;
  };
  return {
    /**
     * @param max the maximum number of webhooks of the account, but for those of deleted keys, which nobody could delete
     * @throws CONFLICT if it has as many
     */
    async create(webhook: Webhook, max: number): Promise<Webhook> {
      const { account = webhook.apiKeyId } = webhook;
      const all = await webhooks.find(ofAccount(account));
      const keys = await objects(API_KEYS).get([...new Set(all.map(({ apiKeyId }) => apiKeyId))]);
      const isValid = ({ apiKeyId }: Webhook) =>
        keys.some(({ id, revokedAt }) => id === apiKeyId && revokedAt === undefined);
      if (all.filter(isValid).length >= max) throw tooManyWebhooks(max);
      await countCreation(objects(WEBHOOK_COUNTS), account);
      await webhooks.put([webhook]);
      return webhook;
    },
    /** Changes a webhook of a key. @throws NOT_FOUND, and what `change` throws */
    async change(apiKeyId: string, id: string, change: WebhookChange): Promise<Webhook> {
      const before = await existing(apiKeyId, id);
      const changed = change(before);
      const version = before.version + (changed.settings === before.settings ? 0 : 1);
      const after = { ...before, ...changed, version };
      await webhooks.put([after]);
      return withoutClaim(after);
    },
    /** @throws NOT_FOUND unless the key has this webhook, and what `check` throws */
    async delete(apiKeyId: string, id: string, check?: (webhook: Webhook) => void): Promise<string> {
      // Read even without a check, since it must belong to the key.
      const webhook = await existing(apiKeyId, id);
      check?.(withoutClaim(webhook));
      await webhooks.delete([id]);
      return id;
    },
  };
}
