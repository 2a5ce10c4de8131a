import { restDialect } from '../../foundation/validation.ts';
import type { Resource } from '../../schema/route.ts';
import { type Shape, type ShapeField, selectionOf } from '../../schema/shape.ts';
import { ATTEMPT_ERRORS, DISABLED_REASONS } from '../../store/webhooks.ts';
import { EVENT_TYPES, type EventTypeName, fromEventTypeName } from '../event/event.ts';
import { GRACE, MAX_ATTEMPTS, MAX_URL_LENGTH, newWebhook, rotation, webhookPatch } from './webhook.ts';

const string = (description: string, schema: object = {}): ShapeField => ({
  kind: 'string',
  required: true,
  description,
  schema: { type: 'string', ...schema },
});
const integer = (minimum: number, description: string, more: object = {}): ShapeField => ({
  kind: 'int32',
  required: true,
  description,
  schema: { type: 'integer', format: 'int32', minimum, ...more },
});
const instant = (description: string): ShapeField => string(description, { format: 'date-time' });
const boolean = (description: string): ShapeField => ({
  kind: 'boolean',
  required: true,
  description,
  schema: { type: 'boolean' },
});
const optional = (field: ShapeField): ShapeField => ({ ...field, required: false });
const place = (description: string): ShapeField => string(description, { minLength: 1, maxLength: 2_000 });

const WebhookAttempt: Shape = {
  type: 'WebhookAttempt',
  name: 'WebhookAttempt',
  listName: 'WebhookAttempts',
  description: 'One request to the receiver of a webhook.',
  idField: 'eventId',
  fields: {
    eventId: place('The event that was sent'),
    time: instant('When it began'),
    ms: integer(0, 'How long it took, in milliseconds'),
    status: optional(integer(100, 'The HTTP status of the response, if there was one')),
    error: optional(string('Why there was no response that counts', { enum: ATTEMPT_ERRORS })),
  },
  example: { eventId: '5f0c1d2e-42', time: '2026-11-21T12:00:00.123Z', ms: 48, status: 204 },
};

const WebhookFailure: Shape = {
  type: 'WebhookFailure',
  name: 'WebhookFailure',
  description: 'An event that cannot be delivered, for which all later ones wait.',
  idField: 'eventId',
  fields: {
    eventId: place('The event'),
    since: instant('When its first attempt failed'),
    attempts: integer(1, 'How often it was attempted'),
    nextAttemptAt: instant('When it is attempted again'),
  },
  example: {
    eventId: '5f0c1d2e-42',
    since: '2026-11-21T12:00:00Z',
    attempts: 2,
    nextAttemptAt: '2026-11-21T12:00:06Z',
  },
};

const Webhook: Shape = {
  type: 'Webhook',
  name: 'Webhook',
  listName: 'Webhooks',
  description: 'A place in the event log, and where to send what comes after it.',
  idField: 'id',
  fields: {
    id: string('An opaque id', { minLength: 1, maxLength: 100 }),
    url: string('Where events are sent: an https:// address', { format: 'uri', maxLength: MAX_URL_LENGTH }),
    types: {
      kind: 'strings',
      required: false,
      description: 'The types of the events to send; all if absent',
      schema: {
        type: 'array',
        minItems: 1,
        maxItems: EVENT_TYPES.length,
        uniqueItems: true,
        items: { $ref: '#/components/schemas/EventType' },
      },
      toRestValue: (name) => fromEventTypeName(name as EventTypeName),
    },
    enabled: boolean('Whether events are sent'),
    after: place('The place in the log: everything up to it was acknowledged'),
    createdAt: instant('When it was created'),
    failing: {
      kind: 'record',
      required: false,
      description: 'The event that cannot be delivered at the moment',
      schema: { $ref: '#/components/schemas/WebhookFailure' },
      selection: selectionOf(WebhookFailure),
      recordType: () => WebhookFailure.type,
    },
    disabledReason: optional(string('Why it was disabled, if not by its owner', { enum: DISABLED_REASONS })),
    secret: optional(string('What requests are signed with; only when created and rotated')),
  },
  example: {
    id: 'whk_8aFz3kQpLmN0tYvR',
    url: 'https://example.org/petstore',
    types: ['pet.updated'],
    enabled: true,
    after: '5f0c1d2e-41',
    createdAt: '2026-11-21T12:00:00Z',
  },
};

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

const common = { tag: 'Store', kind: 'webhook', stability: 'beta' } as const;
const one = {
  ...common,
  path: '/webhooks/{webhookId}',
  pathParameter: 'webhookId',
  pathValue: {
    description: 'The id of the webhook.',
    schema: { type: 'string', minLength: 1, maxLength: 100 },
    rule: 'must be the id of a webhook',
    read: (text: string) => text,
    example: 'whk_8aFz3kQpLmN0tYvR',
    namesRecord: true,
  },
} as const;
const NO_LOG = ['NOT_FOUND'] as const;

const webhooks: Resource = {
  scope: 'webhooks',
  shape: Webhook,
  routes: [
    {
      ...common,
      operationId: 'listWebhooks',
      method: 'GET',
      path: '/webhooks',
      summary: 'List webhooks',
      description: 'All webhooks of this key, oldest first.',
      document: `query listWebhooks { page: webhooks ${selectionOf(Webhook)} }`,
      status: 200,
      shape: Webhook,
      list: 'whole',
      errors: NO_LOG,
    },
    {
      ...common,
      operationId: 'createWebhook',
      method: 'POST',
      path: '/webhooks',
      summary: 'Create a webhook',
      description:
        'Sends every event from now on, or after `after`, to `url`, signed with the `secret` of the response (Standard Webhooks 1.0.0). Costs 1 unit per 10 attempts. The plan limits the number of webhooks.',
      document: `mutation createWebhook($input: NewWebhook!) {
        result: createWebhook(input: $input) ${selectionOf(Webhook)}
      }`,
      status: 201,
      shape: Webhook,
      body: {
        name: 'NewWebhook',
        rules: newWebhook(restDialect),
        description: 'A new webhook.',
        example: { url: 'https://example.org/petstore' },
      },
      errors: ['NOT_FOUND', 'GONE'],
      callbacks,
    },
    {
      ...one,
      operationId: 'getWebhook',
      method: 'GET',
      summary: 'Get a webhook',
      document: `query getWebhook($webhookId: ID!) { result: webhook(id: $webhookId) ${selectionOf(Webhook)} }`,
      status: 200,
      shape: Webhook,
    },
    {
      ...one,
      operationId: 'updateWebhook',
      method: 'PATCH',
      summary: 'Update a webhook',
      description:
        'Pauses it with `enabled: false`, which keeps the place, or moves it with `after`. Any change ends a running wait and takes effect within 5 seconds.',
      document: `mutation updateWebhook($webhookId: ID!, $input: WebhookPatch!) {
        result: updateWebhook(id: $webhookId, input: $input) ${selectionOf(Webhook)}
      }`,
      status: 200,
      shape: Webhook,
      body: {
        name: 'WebhookPatch',
        rules: webhookPatch(restDialect),
        example: { enabled: false },
      },
      errors: ['GONE'],
    },
    {
      ...one,
      operationId: 'deleteWebhook',
      method: 'DELETE',
      summary: 'Delete a webhook',
      document: 'mutation deleteWebhook($webhookId: ID!) { deleted: deleteWebhook(id: $webhookId) }',
      status: 204,
    },
    {
      ...one,
      operationId: 'listWebhookAttempts',
      method: 'GET',
      path: '/webhooks/{webhookId}/attempts',
      summary: 'List attempts of a webhook',
      description: `The last ${MAX_ATTEMPTS} attempts, newest first.`,
      document: `query listWebhookAttempts($webhookId: ID!) {
        parent: webhook(id: $webhookId) { page: attempts ${selectionOf(WebhookAttempt)} }
      }`,
      status: 200,
      shape: WebhookAttempt,
      list: 'whole',
    },
    {
      ...one,
      operationId: 'rotateWebhookSecret',
      method: 'POST',
      path: '/webhooks/{webhookId}/rotate',
      summary: 'Rotate the secret of a webhook',
      description: `The old secret signs too for \`grace\` seconds, ${GRACE.default} unless given.`,
      document: `mutation rotateWebhookSecret($webhookId: ID!, $grace: Int) {
        result: rotateWebhookSecret(id: $webhookId, grace: $grace) ${selectionOf(Webhook)}
      }`,
      status: 200,
      shape: Webhook,
      body: {
        name: 'WebhookRotation',
        rules: rotation(restDialect),
        description: 'How to rotate.',
        fields: { grace: integer(0, 'How many seconds the old secret signs too', { maximum: GRACE.max }) },
        flat: true,
        example: { grace: GRACE.default },
      },
    },
    {
      ...one,
      operationId: 'testWebhook',
      method: 'POST',
      path: '/webhooks/{webhookId}/test',
      summary: 'Test a webhook',
      description: 'Sends a `webhook.test` now, even while disabled, and returns what came of it.',
      document: `mutation testWebhook($webhookId: ID!) {
        result: testWebhook(id: $webhookId) ${selectionOf(WebhookAttempt)}
      }`,
      status: 200,
      shape: WebhookAttempt,
    },
  ],
};

export const webhookResources: readonly Resource[] = [
  webhooks,
  { scope: 'webhooks', shape: WebhookAttempt, routes: [] },
  { scope: 'webhooks', shape: WebhookFailure, routes: [] },
];
