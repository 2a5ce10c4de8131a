import { MAX_NETWORKS } from '../../access/networks.ts';
import { notFound } from '../../foundation/errors.ts';
import { formatInstant } from '../../foundation/instant.ts';
import { andThen } from '../../foundation/maybe-promise.ts';
import { MAX_NAME_LENGTH } from '../../foundation/validation.ts';
import { builder } from '../../schema/builder.ts';
import { shown } from '../../schema/shape-fields.ts';
import type { ApiKey } from '../../store/store.ts';
import { PlanType } from '../plan.type.ts';
import { ApiKeyShape, MAX_SCOPES } from './api-key.routes.ts';

const instantOf = (time: number | undefined): string | null =>
  time === undefined ? null : formatInstant(time);

const { fields } = ApiKeyShape;

const ApiKeyType = builder.objectRef<ApiKey>(ApiKeyShape.type).implement({
  description: ApiKeyShape.description,
  fields: (t) => ({
    id: t.exposeID('id', shown(fields.id)),
    name: t.exposeString('name', { ...shown(fields.name), extensions: { maxLength: MAX_NAME_LENGTH } }),
    plan: t.expose('plan', { type: PlanType, ...shown(fields.plan) }),
    scopes: t.stringList({
      nullable: true,
      ...shown(fields.scopes),
      extensions: { maxItems: MAX_SCOPES, maxLength: 100 },
      resolve: ({ scopes }) => scopes as string[] | undefined,
    }),
    createdAt: t.field({
      type: 'DateTime',
      ...shown(fields.createdAt),
      resolve: ({ createdAt }) => formatInstant(createdAt),
    }),
    lastUsedAt: t.field({
      type: 'DateTime',
      nullable: true,
      ...shown(fields.lastUsedAt),
      resolve: ({ lastUsedAt }) => instantOf(lastUsedAt),
    }),
    expiresAt: t.field({
      type: 'DateTime',
      nullable: true,
      ...shown(fields.expiresAt),
      resolve: ({ expiresAt }) => instantOf(expiresAt),
    }),
    allow: t.stringList({
      nullable: true,
      ...shown(fields.allow),
      extensions: { maxItems: MAX_NETWORKS, maxLength: 100 },
      resolve: ({ allow }) => allow as string[] | undefined,
    }),
    documents: t.exposeString('documents', {
      nullable: true,
      ...shown(fields.documents),
      extensions: { maxLength: 200 },
    }),
  }),
});

builder.queryField('apiKey', (t) =>
  t.field({
    type: ApiKeyType,
    description: 'The API key of the request.',
    resolve: (_root, _args, { store, principal: { id } }) =>
      andThen(store.apiKeyById(id), (key) => {
        if (!key) throw notFound('key', id);
        return key;
      }),
  }),
);
