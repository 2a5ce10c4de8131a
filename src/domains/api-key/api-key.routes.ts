import { MAX_NETWORKS } from '../../access/networks.ts';
import type { Resource } from '../../rows/route.ts';
import { type Shape, selectionOf } from '../../rows/shape.ts';
import { instant, optional, schemaRef, text, texts } from '../../rows/shape-fields.ts';
import { PLAN_NAMES } from '../../store/store.ts';

/** More scopes than there are. */
const MAX_SCOPES = 20;

export const ApiKeyShape = {
  type: 'ApiKey',
  description: 'An API key and what it may do.',
  fields: {
    id: text(100, 'Unique identifier of the key, which is not the key itself'),
    name: text(200, 'The owner of the key'),
    plan: schemaRef('Plan', 'The plan of the key'),
    scopes: optional(texts(MAX_SCOPES, 'What the key may do; everything by default')),
    createdAt: instant('When the key was created'),
    lastUsedAt: optional(instant('When the key was last used; up to 10 seconds behind')),
    expiresAt: optional(instant('From when on the key is not valid; never by default')),
    allow: optional(texts(MAX_NETWORKS, 'The networks the key may be used from; any by default')),
    documents: optional(
      text(
        110,
        'The list of GraphQL documents the key may run, after `report:` if others are only counted; any by default',
      ),
    ),
  },
  example: {
    id: 'key_3RlZ5unNSlWY',
    name: 'My app',
    plan: 'pro',
    scopes: ['pets:read', 'orders:write'],
    createdAt: '2026-11-21T12:00:00Z',
  },
} satisfies Shape;

export const apiKeys: Resource = {
  // A key always sees itself.
  scope: null,
  shape: ApiKeyShape,
  schemas: {
    Plan: { type: 'string', enum: [...PLAN_NAMES], description: 'The plan of a key.', example: 'pro' },
  },
  routes: [
    {
      operationId: 'getKey',
      method: 'GET',
      path: '/key',
      tag: 'Store',
      kind: 'key',
      stability: 'beta',
      summary: 'Get the API key of the request',
      document: `query getKey { result: apiKey ${selectionOf(ApiKeyShape)} }`,
      status: 200,
      shape: ApiKeyShape,
    },
  ],
};
