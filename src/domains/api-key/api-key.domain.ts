import { MAX_NETWORKS } from '../../access/networks.ts';
import { PLANS } from '../../access/plans.ts';
import { notFound } from '../../foundation/errors.ts';
import { choice, choices, instant, list, opaqueId, optional, text } from '../../foundation/fields.ts';
import { builder } from '../../schema/builder.ts';
import { declaredType } from '../../schema/declared-type.ts';
import type { Resource } from '../../rest-routes/route.ts';
import { declaredShape, selectionOf } from '../../rest-routes/shape.ts';
import { type ApiKey, PLAN_NAMES, type PlanName } from '../../store/api-keys.ts';

function describePlan(plan: PlanName): string {
  const { limits } = PLANS[plan];
  if (!limits) return 'Limits are set per key.';
  const [perMinute, perDay] = [limits.perMinute, limits.perDay].map((limit) => limit.toLocaleString('en-US'));
  return `${perMinute} requests per minute, ${perDay} per day.`;
}

export const Plan = choices(
  'Plan',
  'The plan of an API key.',
  Object.fromEntries(PLAN_NAMES.map((plan) => [plan, describePlan(plan)])) as Record<PlanName, string>,
);

/** More scopes than there are. */
const MAX_SCOPES = 20;

const short = text(100, '', '');

const declaration = {
  type: 'ApiKey',
  description: 'An API key and what it may do.',
  fields: {
    id: opaqueId(100, 'Unique identifier of the key, which is not the key itself', 'key_3RlZ5unNSlWY'),
    name: text(200, 'The owner of the key', 'My app'),
    plan: choice(Plan, 'The plan of the key', 'pro'),
    scopes: optional(
      list(short, MAX_SCOPES, 'What the key may do; everything by default', ['pets:read', 'orders:write']),
    ),
    createdAt: instant('When the key was created', '2026-11-21T12:00:00Z'),
    lastUsedAt: optional(
      instant('When the key was last used; up to 10 seconds behind', '2026-11-22T08:30:00Z'),
    ),
    expiresAt: optional(
      instant('From when on the key is not valid; never by default', '2027-01-31T00:00:00Z'),
    ),
    allow: optional(
      list(short, MAX_NETWORKS, 'The networks the key may be used from; any by default', ['203.0.113.0/24']),
    ),
    documents: optional(
      text(
        110,
        'The list of GraphQL documents the key may run, after `report:` if others are only counted; any by default',
        'report:my-app',
      ),
    ),
  },
};

const ApiKeyType = declaredType<ApiKey>(declaration);

builder.queryField('apiKey', (t) =>
  t.field({
    type: ApiKeyType,
    description: 'The API key of the request.',
    resolve: async (_root, _args, { store, principal: { id } }) => {
      const key = await store.apiKeyById(id);
      if (!key) throw notFound('key', id);
      return key;
    },
  }),
);

const shape = declaredShape(declaration);

export const apiKeys: Resource = {
  // A key always sees itself.
  scope: null,
  shapes: [shape],
  routes: [
    {
      operationId: 'getKey',
      method: 'GET',
      path: '/key',
      tag: 'Store',
      kind: 'key',
      stability: 'beta',
      summary: 'Get the API key of the request',
      document: `query getKey { result: apiKey ${selectionOf(shape)} }`,
      status: 200,
      shape,
    },
  ],
};
