import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { PLANS } from '../../access/plans.ts';
import { formatInstant } from '../../foundation/instant.ts';
import {
  type InputDialect,
  inputObject,
  integer,
  restDialect,
  boolean as yesOrNo,
} from '../../foundation/validation.ts';
import type { Webhook, WebhookAttempt, WebhookChange, WebhookSecret } from '../../store/webhooks.ts';
import { EVENT_TYPES, type EventTypeName, fromEventTypeName, toEventTypeName } from '../event/event.ts';

/** In characters. */
export const MAX_URL_LENGTH = 2_048;
/** How long the old secret signs too, in seconds. */
export const GRACE = { default: 86_400, max: 604_800 };

/** What is wrong with a URL, wherever it leads. */
function faultsOf(text: string): string[] {
  const url = /^https?:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  if (!url) return ['must be an https:// address'];
  return [
    ...(url.username !== '' || url.password !== '' ? ['must not contain credentials'] : []),
    ...(text.includes('#') ? ['must not contain a fragment'] : []),
  ];
}

const url = () =>
  z
    .string({ error: ({ input }) => (input === undefined ? 'is required' : 'must be a string') })
    .max(MAX_URL_LENGTH, `must have at most ${MAX_URL_LENGTH} characters`)
    .check(({ value, issues }) => {
      for (const message of faultsOf(value)) issues.push({ code: 'custom', input: value, message });
    });

const after = () =>
  z.string({ error: 'must be the id of an event' }).min(1, 'must be the id of an event').max(2_000);

/** REST has the types as events do, GraphQL the names of its enum. */
const types = (dialect: InputDialect) =>
  z
    .array(
      dialect === restDialect
        ? z.enum(EVENT_TYPES, { error: `must be one of ${EVENT_TYPES.join(', ')}` })
        : z.string().transform((name) => fromEventTypeName(name as EventTypeName)),
      { error: 'must be a list of event types' },
    )
    .min(1, 'must have at least one type')
    .max(EVENT_TYPES.length, 'must not have a value twice')
    .refine((values) => new Set(values).size === values.length, 'must not have a value twice');

export const newWebhook = (dialect: InputDialect) =>
  inputObject({
    url: url(),
    types: dialect.optional(types(dialect)),
    after: dialect.optional(after()),
  });

export type NewWebhook = z.output<ReturnType<typeof newWebhook>>;

export const webhookPatch = (dialect: InputDialect) =>
  inputObject({
    url: url().optional(),
    types: types(dialect).nullable().optional(),
    enabled: yesOrNo().optional(),
    after: after().optional(),
  });

export type WebhookPatch = z.output<ReturnType<typeof webhookPatch>>;

export const rotation = ({ optional }: InputDialect) =>
  inputObject({ grace: optional(integer(0, GRACE.max)) });

/** Attempts that are listed. */
export const MAX_ATTEMPTS = 20;
/** The most webhooks that any plan allows. */
export const MAX_WEBHOOKS = Math.max(...Object.values(PLANS).map(({ webhooks }) => webhooks));

/** Attempts as they are listed: the newer ones first, each once. */
export const listed = (
  newer: readonly WebhookAttempt[],
  older: readonly WebhookAttempt[],
): readonly WebhookAttempt[] => {
  const known = ({ eventId, time }: WebhookAttempt) =>
    newer.some((other) => other.eventId === eventId && other.time === time);
  return [...newer, ...older.filter((attempt) => !known(attempt))].slice(0, MAX_ATTEMPTS);
};

/** A record as clients see it: instants as text. */
export type View<T> = {
  [K in keyof T]: K extends 'time' | 'since' | 'nextAttemptAt' ? string : T[K];
};

export const attemptView = (attempt: WebhookAttempt): View<WebhookAttempt> => ({
  ...attempt,
  time: formatInstant(attempt.time),
});

/**
 * A webhook as clients see it.
 *
 * @param secret shown once, in the result of creating or rotating
 */
export const viewOf = ({ id, createdAt, settings, progress }: Webhook, secret?: WebhookSecret) => ({
  id,
  url: settings.url,
  types: settings.types?.map(toEventTypeName) ?? null,
  enabled: settings.enabled,
  after: progress.after,
  createdAt: formatInstant(createdAt),
  failing: progress.failing
    ? {
        ...progress.failing,
        since: formatInstant(progress.failing.since),
        nextAttemptAt: formatInstant(progress.failing.nextAttemptAt),
      }
    : null,
  disabledReason: settings.disabledReason ?? null,
  secret: secret?.secret ?? null,
  attempts: progress.attempts.map(attemptView),
});

export const newSecret = (): WebhookSecret => ({ secret: `whsec_${randomBytes(32).toString('base64')}` });

/** A new webhook at a place in the log. */
export const createdWebhook = (
  { url, types }: NewWebhook,
  { apiKeyId, after, now }: { apiKeyId: string; after: string; now: number },
): Webhook => ({
  id: `whk_${randomBytes(12).toString('base64url')}`,
  apiKeyId,
  createdAt: now,
  version: 1,
  settings: { url, ...(types && { types }), enabled: true, secrets: [newSecret()] },
  progress: { after, moves: 0, attempted: 0, attempts: [] },
});

/** Applies a patch. It ends a running wait, and enabling forgets why the webhook was disabled. */
export const patchedWebhook =
  (patch: WebhookPatch): WebhookChange =>
  ({ settings, progress }) => {
    if (Object.values(patch).every((value) => value === undefined)) return { settings };
    const { url, types, enabled, after } = patch;
    const { types: before, disabledReason, ...rest } = settings;
    const kept = types === undefined ? before : types;
    const { failing: _, ...healthy } = progress;
    return {
      settings: {
        ...rest,
        url: url ?? rest.url,
        enabled: enabled ?? rest.enabled,
        ...(kept && { types: kept }),
        ...(disabledReason !== undefined && enabled !== true && { disabledReason }),
      },
      progress: after === undefined ? healthy : { ...healthy, after, moves: progress.moves + 1 },
    };
  };

/** Adds a secret, beside which the latest one signs for a while. */
export const rotatedWebhook =
  (secret: WebhookSecret, grace: number, now: number): WebhookChange =>
  ({ settings }) => {
    const [latest] = settings.secrets;
    const former = { ...latest!, expiresAt: now + grace * 1_000 };
    return { settings: { ...settings, secrets: grace > 0 ? [secret, former] : [secret] } };
  };
