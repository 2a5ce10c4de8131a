import { restDialect } from '../../foundation/validation.ts';
import { resourceRoutes } from '../../rows/record-routes.ts';
import type { Resource } from '../../rows/route.ts';
import { type Shape, selectionOf } from '../../rows/shape.ts';
import { choice, count, flag, instant, optional, text } from '../../rows/shape-fields.ts';
import { ATTEMPT_ERRORS, DISABLED_REASONS } from '../../store/webhooks.ts';
import { EVENT_TYPES, type EventTypeName, fromEventTypeName } from '../event/event.ts';
import { GRACE, MAX_ATTEMPTS, MAX_URL_LENGTH, newWebhook, rotation, webhookPatch } from './webhook.ts';

/** Event ids are opaque. MongoDB's can be long. */
const place = (description: string) => text(2_000, description, { minLength: 1 });

export const AttemptShape = {
  type: 'WebhookAttempt',
  listName: 'WebhookAttempts',
  description: 'One request to the receiver of a webhook.',
  fields: {
    eventId: place('The event that was sent'),
    time: instant('When it began'),
    ms: count('How long it took, in milliseconds'),
    status: optional(count('The HTTP status of the response, if there was one')),
    error: optional(choice(ATTEMPT_ERRORS, 'Why there was no response that counts')),
  },
  example: { eventId: '5f0c1d2e-42', time: '2026-11-21T12:00:00.123Z', ms: 48, status: 204 },
} satisfies Shape;

export const FailureShape = {
  type: 'WebhookFailure',
  description: 'An event that cannot be delivered, for which all later ones wait.',
  fields: {
    eventId: place('The event'),
    since: instant('When its first attempt failed'),
    attempts: count('How often it was attempted'),
    nextAttemptAt: instant('When it is attempted again'),
  },
  example: {
    eventId: '5f0c1d2e-42',
    since: '2026-11-21T12:00:00Z',
    attempts: 2,
    nextAttemptAt: '2026-11-21T12:00:06Z',
  },
} satisfies Shape;

export const WebhookShape = {
  type: 'Webhook',
  listName: 'Webhooks',
  description: 'A position in the event log, and where to send what comes after it.',
  fields: {
    id: text(100, 'An opaque id'),
    url: text(MAX_URL_LENGTH, 'Where events are sent: an https:// address', { format: 'uri' }),
    types: {
      kind: 'strings',
      required: false,
      description: 'The types of the events to send; all if there are none',
      schema: {
        type: 'array',
        minItems: 1,
        maxItems: EVENT_TYPES.length,
        uniqueItems: true,
        items: { $ref: '#/components/schemas/EventType' },
      },
      toRestValue: (name: string) => fromEventTypeName(name as EventTypeName),
    },
    enabled: flag('Whether events are sent'),
    after: place('The position in the log: everything up to it was acknowledged'),
    createdAt: instant('When it was created'),
    failing: {
      kind: 'record',
      required: false,
      description: 'The event that cannot be delivered at the moment',
      schema: { $ref: '#/components/schemas/WebhookFailure' },
      selection: selectionOf(FailureShape),
      shapeOf: () => FailureShape,
    },
    disabledReason: optional(choice(DISABLED_REASONS, 'Why it was disabled, if not by its owner')),
    secret: optional(text(60, 'What requests are signed with; only when created and rotated')),
  },
  example: {
    id: 'whk_8aFz3kQpLmN0tYvR',
    url: 'https://example.org/petstore',
    types: ['pet.updated'],
    enabled: true,
    after: '5f0c1d2e-41',
    createdAt: '2026-11-21T12:00:00Z',
  },
} satisfies Shape;

/** What is sent to a receiver (Standard Webhooks 1.0.0). */
const header = (description: string) => ({ required: true, description, schema: { type: 'string' } });
const callbacks = {
  event: {
    '{$request.body#/url}': {
      post: {
        operationId: 'receiveEvent',
        tags: ['Store'],
        summary: 'Receive an event',
        description:
          'One at a time and in order. Any 2xx within 15 seconds acknowledges; anything else is sent again later, and 410 disables the webhook.',
        'x-stability': 'beta',
        security: [],
        parameters: [
          { name: 'webhook-id', in: 'header', ...header('The id of the event, the same on every attempt.') },
          { name: 'webhook-timestamp', in: 'header', ...header('When it was sent, in Unix seconds.') },
          {
            name: 'webhook-signature',
            in: 'header',
            ...header('`v1,` and a signature in base64, several separated by spaces while a rotation lasts.'),
          },
        ],
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Event' } } },
        },
        responses: {
          '2XX': { description: 'Acknowledged.' },
          '410': { description: 'Disables the webhook.' },
          '4XX': { description: 'The event is sent again later.' },
        },
      },
    },
  },
};

const routes = resourceRoutes(
  { kind: 'webhook', plural: 'webhooks', type: 'Webhook' },
  WebhookShape,
  newWebhook(restDialect),
  webhookPatch(restDialect),
  {
    tag: 'Store',
    stability: 'beta',
    pathValue: {
      description: 'The id of the webhook.',
      schema: { type: 'string', minLength: 1, maxLength: 100 },
      rule: 'must be the id of a webhook',
      read: (text: string) => text,
      example: 'whk_8aFz3kQpLmN0tYvR',
      namesRecord: true,
    },
    query: [],
    example: { enabled: false },
  },
);

const webhooks: Resource = {
  scope: 'webhooks',
  shape: WebhookShape,
  routes: [
    {
      ...routes.list,
      description: 'All webhooks of this key, oldest first.',
      document: `query listWebhooks { page: webhooks ${selectionOf(WebhookShape)} }`,
      list: 'whole',
    },
    {
      ...routes.create,
      description:
        'Sends every event from now on, or after `after`, to `url`, signed with the `secret` of the response (Standard Webhooks 1.0.0). Costs 1 unit per 10 attempts. The plan limits the number of webhooks.',
      body: {
        ...routes.create.body,
        description: 'A new webhook.',
        example: { url: 'https://example.org/petstore' },
      },
      errors: ['GONE'],
      described: { callbacks },
    },
    routes.get,
    {
      ...routes.update,
      description:
        'Pauses it with `enabled: false`, which keeps the position, or moves it with `after`. Any change ends a running wait and takes effect within 5 seconds.',
      errors: ['GONE'],
    },
    routes.delete,
    {
      ...routes.get,
      operationId: 'listWebhookAttempts',
      method: 'GET',
      path: '/webhooks/{webhookId}/attempts',
      summary: 'List attempts of a webhook',
      description: `The last ${MAX_ATTEMPTS} attempts, newest first.`,
      document: `query listWebhookAttempts($webhookId: ID!) {
        parent: webhook(id: $webhookId) { page: attempts ${selectionOf(AttemptShape)} }
      }`,
      shape: AttemptShape,
      list: 'whole',
    },
    {
      ...routes.get,
      operationId: 'rotateWebhookSecret',
      method: 'POST',
      path: '/webhooks/{webhookId}/rotate',
      summary: 'Rotate the secret of a webhook',
      description: `The old secret signs too for \`grace\` seconds, ${GRACE.default} unless given.`,
      document: `mutation rotateWebhookSecret($webhookId: ID!, $grace: Int) {
        result: rotateWebhookSecret(id: $webhookId, grace: $grace) ${selectionOf(WebhookShape)}
      }`,
      body: {
        name: 'WebhookRotation',
        rules: rotation(restDialect),
        description: 'How to rotate.',
        fields: { grace: count('How many seconds the old secret signs too', GRACE.max) },
        example: { grace: GRACE.default },
      },
    },
    {
      ...routes.get,
      operationId: 'testWebhook',
      method: 'POST',
      path: '/webhooks/{webhookId}/test',
      summary: 'Test a webhook',
      description: 'Sends a `webhook.test` now, even while disabled, and returns the attempt.',
      document: `mutation testWebhook($webhookId: ID!) {
        result: testWebhook(id: $webhookId) ${selectionOf(AttemptShape)}
      }`,
      shape: AttemptShape,
    },
  ],
};

export const webhookResources: readonly Resource[] = [
  webhooks,
  { scope: 'webhooks', shape: AttemptShape, routes: [] },
  { scope: 'webhooks', shape: FailureShape, routes: [] },
];
