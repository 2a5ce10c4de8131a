import type { EventType } from './events.ts';

/** Why a webhook was disabled, other than by its owner. */
export type DisabledReason = 'failing' | 'gone' | 'events_expired' | 'key';

/** Why an attempt got no response that counts. */
export type AttemptError = 'dns' | 'refused_address' | 'connect' | 'tls' | 'timeout' | 'redirect';

/** One request to a receiver. Times are milliseconds since 1970. */
export interface WebhookAttempt {
  eventId: string;
  time: number;
  /** How long it took, in milliseconds. */
  ms: number;
  /** The HTTP status, if there was a response. */
  status?: number;
  error?: AttemptError;
}

export interface WebhookFailure {
  /** The event that cannot be delivered. */
  eventId: string;
  /** When its first attempt failed. */
  since: number;
  attempts: number;
  nextAttemptAt: number;
}

export interface WebhookSecret {
  /** `whsec_` and 32 random bytes in base64. */
  secret: string;
  /** Until when it signs; without an end if absent. */
  expiresAt?: number;
}

/** What the owner of a webhook decides. */
export interface WebhookSettings {
  url: string;
  /** All types if absent. */
  types?: readonly EventType[];
  enabled: boolean;
  disabledReason?: DisabledReason;
  /** Newest first; the two latest sign. */
  secrets: readonly WebhookSecret[];
}

/** What delivering it changes. */
export interface WebhookProgress {
  /** A place in the event log: everything up to it was acknowledged. */
  after: string;
  /** How often the owner has moved the place. */
  moves: number;
  failing?: WebhookFailure | undefined;
  /** Attempts made, of which every tenth is paid. */
  attempted: number;
  /** The latest attempts, newest first. */
  attempts: readonly WebhookAttempt[];
}

/** A webhook: a place in the event log, and where to send what comes after it. */
export interface Webhook {
  /** Opaque. */
  id: string;
  apiKeyId: string;
  /** Milliseconds since 1970. */
  createdAt: number;
  /** Increases with each change of the settings or of the place by the owner. */
  version: number;
  settings: WebhookSettings;
  progress: WebhookProgress;
}

/** A webhook that an instance is to deliver. */
export interface WebhookClaim {
  id: string;
  version: number;
}

/** Reads and deliveries of webhooks. All throw NOT_FOUND if the database has no event log. */
export interface WebhookStore {
  /** The webhooks of a key, oldest first. */
  webhooksOfKey(apiKeyId: string): Promise<Webhook[]>;
  /** All webhooks with their secrets, oldest first, for an export. */
  webhooks(): Promise<Webhook[]>;
  /** @param instance null too unless this instance holds it */
  webhookById(id: string, instance?: string): Promise<Webhook | null>;
  /**
   * Claims the enabled webhooks whose claims have ended, and renews the instance's own. A claim lasts {@link CLAIM_TIME}
   * by the database's clock.
   *
   * @returns all enabled webhooks that the instance holds
   */
  claimWebhooks(instance: string): Promise<WebhookClaim[]>;
  /** Ends the claims of an instance, so that others can take over at once. */
  releaseWebhooks(instance: string): Promise<void>;
  /**
   * Stores how far a webhook has come, optionally disables it, and renews its claim.
   *
   * @returns false if the instance does not hold it any more, or if its owner has changed or deleted it
   */
  saveProgress(
    instance: string,
    webhook: Pick<Webhook, 'id' | 'version' | 'progress'>,
    disabledReason?: DisabledReason,
  ): Promise<boolean>;
}

/** How long a claim lasts after it was renewed, in milliseconds. */
export const CLAIM_TIME = 18_000;

/** Returns the new settings of a webhook, and its new progress if that changes too. May run several times. */
export type WebhookChange = (webhook: Webhook) => {
  settings: WebhookSettings;
  progress?: WebhookProgress;
};

/** Writes of webhooks, which belong to the transaction of their operation. */
export interface WebhookWrites {
  /** @param max how many webhooks the key may have @throws CONFLICT if it has as many */
  createWebhook(webhook: Webhook, max: number): Promise<Webhook>;
  /** Changes a webhook of this key. @throws NOT_FOUND, and what `change` throws */
  changeWebhook(apiKeyId: string, id: string, change: WebhookChange): Promise<Webhook>;
  /** @throws NOT_FOUND unless the key has this webhook, and what `check` throws */
  deleteWebhook(apiKeyId: string, id: string, check?: (webhook: Webhook) => void): Promise<string>;
}
