import { notFound } from '../../foundation/errors.ts';
import { formatInstant } from '../../foundation/instant.ts';
import { andThen } from '../../foundation/maybe-promise.ts';
import { builder } from '../../kit/builder.ts';
import { shapeType } from '../../kit/shape-type.ts';
import type { ApiKey } from '../../store/store.ts';
import { PlanType } from '../plan.type.ts';
import { ApiKeyShape } from './api-key.routes.ts';

/** A key as its owner sees it: instants as text. */
const viewOf = ({ createdAt, lastUsedAt, expiresAt, ...key }: ApiKey) => ({
  ...key,
  createdAt: formatInstant(createdAt),
  lastUsedAt: lastUsedAt === undefined ? null : formatInstant(lastUsedAt),
  expiresAt: expiresAt === undefined ? null : formatInstant(expiresAt),
});

const ApiKeyType = shapeType<ReturnType<typeof viewOf>>(ApiKeyShape, {
  id: { type: 'ID' },
  plan: { type: PlanType },
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
