import { MAX_NETWORKS } from '../../access/networks.ts';
import { notFound } from '../../foundation/errors.ts';
import { formatInstant } from '../../foundation/instant.ts';
import { andThen } from '../../foundation/maybe-promise.ts';
import { MAX_NAME_LENGTH } from '../../foundation/validation.ts';
import { builder } from '../../schema/builder.ts';
import type { ApiKey } from '../../store/store.ts';
import { PlanType } from '../plan.type.ts';
import { MAX_SCOPES } from './api-key.routes.ts';

const instantOf = (time: number | undefined): string | null =>
  time === undefined ? null : formatInstant(time);

const ApiKeyType = builder.objectRef<ApiKey>('ApiKey').implement({
  description: 'An API key and what it may do.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Unique identifier of the key, which is not the key itself.' }),
    name: t.exposeString('name', {
      description: 'The owner of the key.',
      extensions: { maxLength: MAX_NAME_LENGTH },
    }),
    plan: t.expose('plan', { type: PlanType, description: 'The plan of the key.' }),
    scopes: t.stringList({
      nullable: true,
      description: 'What the key may do; everything if null.',
      extensions: { maxItems: MAX_SCOPES, maxLength: 100 },
      resolve: ({ scopes }) => scopes as string[] | undefined,
    }),
    createdAt: t.field({
      type: 'DateTime',
      description: 'When the key was created.',
      resolve: ({ createdAt }) => formatInstant(createdAt),
    }),
    lastUsedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the key was last used; up to 10 seconds behind.',
      resolve: ({ lastUsedAt }) => instantOf(lastUsedAt),
    }),
    expiresAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'From when on the key is not valid; never if null.',
      resolve: ({ expiresAt }) => instantOf(expiresAt),
    }),
    allow: t.stringList({
      nullable: true,
      description: 'The networks the key may be used from; any if null.',
      extensions: { maxItems: MAX_NETWORKS, maxLength: 100 },
      resolve: ({ allow }) => allow as string[] | undefined,
    }),
    documents: t.exposeString('documents', {
      nullable: true,
      description:
        'The list of GraphQL documents the key may run, after `report:` if others are only counted; any if null.',
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
