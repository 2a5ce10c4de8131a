import { resourceRoutes } from '../rest-routes/record-routes.ts';
import type { Resource } from '../rest-routes/route.ts';
import { declaredShape, type Shape, selectionOf } from '../rest-routes/shape.ts';
import { MAX_ATTEMPTS } from './stored-webhooks.ts';
import type { EventTypes } from '../events/event-types.ts';
import { GRACE, rotationBody } from '../domains/rotation.ts';
import { eventSchema, schemaOfEvent } from '../domains/event/event.routes.ts';
import {
  declarationsOf,
  WebhookAttemptDeclaration,
  TEST_TYPE,
  WebhookFailureDeclaration,
} from './webhook.ts';

const AttemptShape = declaredShape(WebhookAttemptDeclaration);
const FailureShape = declaredShape(WebhookFailureDeclaration);

/** The body of a delivery to a receiver (Standard Webhooks 1.0.0). */
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
          content: { 'application/json': { schema: { $ref: '#/components/schemas/DeliveredEvent' } } },
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

/** Webhooks over REST. @param types the event types */
export function webhookResource(types: EventTypes): Resource {
  const { WebhookDeclaration, inputs } = declarationsOf(types);
  const declared = declaredShape(WebhookDeclaration);
  const { disabledReason: _, secret: __, ...example } = declared.example;
  const WebhookShape: Shape = {
    ...declared,
    fields: {
      ...declared.fields,
      failing: {
        kind: 'record',
        required: false,
        description: 'The event that cannot be delivered at the moment',
        schema: { $ref: '#/components/schemas/WebhookFailure' },
        selection: selectionOf(FailureShape),
        shapeOf: () => FailureShape,
      },
    },
    example,
  };

  const { id } = WebhookDeclaration.fields;
  const routes = resourceRoutes(inputs, WebhookShape, {
    tag: 'Store',
    stability: 'beta',
    pathValue: {
      description: 'The id of the webhook.',
      schema: id.schema,
      rule: 'must be the id of a webhook',
      read: (text: string) => text,
      example: 'whk_8aFz3kQpLmN0tYvR',
      namesRecord: true,
    },
    query: [],
    example: { enabled: false },
  });

  return {
    scope: 'webhooks',
    shapes: [WebhookShape, AttemptShape, FailureShape],
    schemas: {
      DeliveredEvent: eventSchema([...types.names, TEST_TYPE], 'An event, or the test of a webhook.'),
      ...schemaOfEvent(TEST_TYPE, { type: 'object', description: 'Nothing.', maxProperties: 0 }, {}),
    },
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
          example: { url: 'https://receiver.invalid/petstore' },
        },
        errors: ['GONE'],
        described: { callbacks },
      },
      routes.get,
      {
        ...routes.update,
        description:
          'Pauses it with `enabled: false`, which keeps the position, or moves it with `after`. Takes effect within 5 seconds. Any PATCH, even `{}`, ends a running wait.',
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
        body: rotationBody('WebhookRotation', 'signs'),
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
}
