import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Principal } from '../access/api-keys.ts';
import { PLANS } from '../access/plans.ts';
import {
  boolean,
  choice,
  choices,
  defaulting,
  instant,
  integer,
  list,
  opaqueId,
  optional,
  text,
} from '../foundation/fields.ts';
import { MAX_INT32 } from '../foundation/id.ts';
import type { Inputs } from '../foundation/record-input.ts';
import { required } from '../foundation/validation.ts';
import { type EventType, NOW } from '../store/events.ts';
import type {
  AttemptError,
  DisabledReason,
  Webhook,
  WebhookChange,
  WebhookProgress,
  WebhookSecret,
  WebhookSettings,
} from './stored-webhooks.ts';
import { eventType, position } from '../domains/event/event.ts';
import { type EventTypes, toEventTypeName } from '../events/event-types.ts';
import { memoized } from '../foundation/cache.ts';

/** The maximum length of a URL, in characters. */
const MAX_URL_LENGTH = 2_048;
/** The type of the event of a test, which is not in the log. */
export const TEST_TYPE = 'webhook.test';

/** The faults in the form of a URL. */
function faultsOf(text: string): string[] {
  const url = /^https?:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  if (!url) return ['must be an https:// address'];
  return [
    ...(url.username !== '' || url.password !== '' ? ['must not contain credentials'] : []),
    // URL would drop or encode control characters.
    ...(/\p{Cc}/u.test(text) ? ['must not contain control characters'] : []),
    ...(text.includes('#') ? ['must not contain a fragment'] : []),
  ];
}

const url = {
  // Clients send examples as they are, so the name leads nowhere (RFC 2606).
  ...text(MAX_URL_LENGTH, 'Where events are sent: an https:// address', 'https://receiver.invalid/petstore'),
  schema: { type: 'string', maxLength: MAX_URL_LENGTH, format: 'uri' },
  rule: () =>
    z
      .string({ error: required('must be a string') })
      .max(MAX_URL_LENGTH, `must have at most ${MAX_URL_LENGTH} characters`)
      .check(({ value, issues }) => {
        for (const message of faultsOf(value)) issues.push({ code: 'custom', input: value, message });
      }),
};
const enabled = boolean('Whether events are sent; the position is kept meanwhile', true);
const after = position('The position in the log: everything up to it was acknowledged');

/** The parsed input for a new webhook. */
export type NewWebhook = Pick<WebhookSettings, 'url' | 'types'> & Pick<WebhookProgress, 'after'>;

/** The parsed input for changes to a webhook. */
export type WebhookPatch = Partial<Omit<NewWebhook, 'types'> & Pick<WebhookSettings, 'enabled'>> & {
  types?: readonly EventType[] | null;
};

const DisabledReasons = choices<DisabledReason>(
  'WebhookDisabledReason',
  'Why a webhook was disabled, other than by its owner.',
  {
    failing: 'It failed for 72 hours.',
    gone: 'The receiver answered 410.',
    events_expired: 'Events that it had not received are no longer kept.',
    key: 'Its key expired, was revoked or no longer permits it.',
  },
);

const AttemptErrors = choices<AttemptError>(
  'WebhookAttemptError',
  'Why an attempt had no response that counts.',
  {
    dns: 'The name was not found.',
    refused_address: 'The name leads to addresses that are not permitted.',
    connect: 'The connection failed.',
    tls: 'The receiver could not prove who it is.',
    timeout: 'There was no response in time.',
    redirect: 'The response was a redirect, which is not followed.',
  },
);

export const WebhookAttemptDeclaration = {
  type: 'WebhookAttempt',
  listName: 'WebhookAttempts',
  description: 'One request to the receiver of a webhook.',
  fields: {
    eventId: position('The event that was sent'),
    time: instant('When it began', '2026-11-21T12:00:00.123Z'),
    ms: integer(0, MAX_INT32, 'How long it took, in milliseconds', 48),
    status: optional(integer(0, MAX_INT32, 'The HTTP status of the response, if there was one', 302)),
    error: optional(choice(AttemptErrors, 'Why there was no response that counts', 'redirect')),
  },
};

export const WebhookFailureDeclaration = {
  type: 'WebhookFailure',
  description: 'An event that cannot be delivered, for which all later ones wait.',
  fields: {
    eventId: position('The event'),
    since: instant('When its first attempt failed', '2026-11-21T12:00:00Z'),
    attempts: integer(0, MAX_INT32, 'How often it was attempted', 2),
    nextAttemptAt: instant('When it is attempted again', '2026-11-21T12:00:06Z'),
  },
};

/** The declaration of a webhook (without `failing`), and its inputs. */
export const declarationsOf = memoized((of: EventTypes) => {
  const types = optional(
    list(eventType(of, ''), of.names.length, 'Only events of these types are sent; all by default', [
      of.example,
    ]),
  );
  const inputs: Inputs = {
    kind: 'webhook',
    plural: 'webhooks',
    type: 'Webhook',
    choosesId: false,
    fields: { url, types, after: defaulting(NOW, { ...after, description: 'Only events after this one' }) },
    changeable: { url, types, enabled, after },
  };

  const WebhookDeclaration = {
    type: 'Webhook',
    listName: 'Webhooks',
    description: 'A position in the event log, and where to send what comes after it.',
    fields: {
      id: opaqueId(100, 'An opaque id', 'whk_8aFz3kQpLmN0tYvR'),
      url,
      types,
      enabled,
      after,
      createdAt: instant('When it was created', '2026-11-21T12:00:00Z'),
      disabledReason: optional(
        choice(DisabledReasons, 'Why it was disabled, if not by its owner', 'failing'),
      ),
      secret: {
        ...optional(text(60, 'What requests are signed with; only when created and rotated', 'whsec_…')),
        isSecret: true,
      },
    },
  };
  return { inputs, WebhookDeclaration };
});

/** The maximum number of webhooks in any plan. */
export const MAX_WEBHOOKS = Math.max(...Object.values(PLANS).map(({ webhooks }) => webhooks));

/**
 * A webhook as shown to clients.
 *
 * @param secret shown only when created or rotated
 */
export const shownWebhook = ({ id, createdAt, settings, progress }: Webhook, secret?: WebhookSecret) => {
  const { secrets: _, ...shown } = settings;
  const { after, failing, attempts } = progress;
  const types = shown.types?.map(toEventTypeName);
  return { id, createdAt, ...shown, types, after, failing, attempts, secret: secret?.secret };
};

export const newSigningSecret = (): WebhookSecret => ({
  secret: `whsec_${randomBytes(32).toString('base64')}`,
});

/** Creates a webhook at a position in the log. */
export const createdWebhook = (
  { url, types, after }: NewWebhook,
  { id, account }: Principal,
  now: number,
): Webhook => ({
  id: `whk_${randomBytes(12).toString('base64url')}`,
  apiKeyId: id,
  ...(account !== id && { account }),
  createdAt: now,
  version: 1,
  settings: { url, types, enabled: true, secrets: [newSigningSecret()] },
  progress: { after, moves: 0, attempted: 0, attempts: [] },
});

/** Applies a patch. This, even an empty one, ends any wait for a retry; enabling clears the reason why it was disabled. */
export const webhookPatch =
  (patch: WebhookPatch): WebhookChange =>
  ({ settings, progress }) => {
    const { url = settings.url, types = settings.types, enabled = settings.enabled, after } = patch;
    const disabledReason = patch.enabled ? undefined : settings.disabledReason;
    const moved = after !== undefined && { after, moves: progress.moves + 1 };
    return {
      settings: { ...settings, url, types: types ?? undefined, enabled, disabledReason },
      progress: { ...progress, failing: undefined, ...moved },
    };
  };

/** Adds a secret; the previous one signs too, for `grace` seconds. */
export const webhookRotation =
  (secret: WebhookSecret, grace: number, now: number): WebhookChange =>
  ({ settings }) => {
    const [latest] = settings.secrets;
    const former = { ...latest!, expiresAt: now + grace * 1_000 };
    return { settings: { ...settings, secrets: grace > 0 ? [secret, former] : [secret] } };
  };
