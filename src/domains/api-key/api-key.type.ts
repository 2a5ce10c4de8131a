import { notFound } from '../../foundation/errors.ts';
import { formatInstant } from '../../foundation/instant.ts';
import { andThen } from '../../foundation/maybe-promise.ts';
import { builder } from '../../kit/builder.ts';
import { shown } from '../../rows/shape-fields.ts';
import type { ApiKey } from '../../store/store.ts';
import { PlanType } from '../plan.type.ts';
import { ApiKeyShape } from './api-key.routes.ts';

const { fields } = ApiKeyShape;

/** A key as its owner sees it: instants as text. */
const viewOf = ({ createdAt, lastUsedAt, expiresAt, ...key }: ApiKey) => ({
  ...key,
  createdAt: formatInstant(createdAt),
  lastUsedAt: lastUsedAt === undefined ? null : formatInstant(lastUsedAt),
  expiresAt: expiresAt === undefined ? null : formatInstant(expiresAt),
});

const ApiKeyType = builder.objectRef<ReturnType<typeof viewOf>>(ApiKeyShape.type).implement({
  description: ApiKeyShape.description,
  fields: (t) => ({
    id: t.exposeID('id', shown(fields.id)),
    name: t.exposeString('name', shown(fields.name)),
    plan: t.expose('plan', { type: PlanType, ...shown(fields.plan) }),
    scopes: t.expose('scopes', { type: ['String'], ...shown(fields.scopes) }),
    createdAt: t.expose('createdAt', { type: 'DateTime', ...shown(fields.createdAt) }),
    lastUsedAt: t.expose('lastUsedAt', { type: 'DateTime', ...shown(fields.lastUsedAt) }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', ...shown(fields.expiresAt) }),
    allow: t.expose('allow', { type: ['String'], ...shown(fields.allow) }),
    documents: t.exposeString('documents', shown(fields.documents)),
  }),
});

builder.queryField('apiKey', (t) =>
  t.field({
    type: ApiKeyType,
    description: 'The API key of the request.',
    resolve: (_root, _args, { store, principal: { id } }) =>
      andThen(store.apiKeyById(id), (key) => {
        if (!key) throw notFound('key', id);
        return viewOf(key);
      }),
  }),
);
