import { resourceRoutes } from '../../rest-routes/record-routes.ts';
import type { Resource, Route } from '../../rest-routes/route.ts';
import { declaredShape, selectionOf } from '../../rest-routes/shape.ts';
import { GRACE, rotationBody } from '../rotation.ts';
import { ApiKeyDeclaration, inputs, MAX_CHILDREN } from './api-key.ts';

const shape = declaredShape(ApiKeyDeclaration);

const routes = resourceRoutes(inputs, shape, {
  tag: 'Store',
  stability: 'beta',
  pathValue: {
    description: 'The id of the key.',
    schema: ApiKeyDeclaration.fields.id.schema,
    rule: 'must be the id of a key',
    read: (text: string) => text,
    example: 'key_3RlZ5unNSlWY',
    namesRecord: true,
  },
  query: [],
  example: { name: 'Till 8' },
});

const rotation = {
  method: 'POST',
  status: 200,
  tag: 'Store',
  kind: 'key',
  stability: 'beta',
  shape,
  description: `The old secret works too for \`grace\` seconds, ${GRACE.default} unless given; of all, at most the latest ten. The response has the new one, once.`,
  body: rotationBody('KeyRotation', 'works'),
} satisfies Partial<Route>;

/** The key of the caller, which may always see itself. */
export const apiKey: Resource = {
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

/** Operations of a key on itself, which need no scope. */
export const ownKey: Resource = {
  scope: null,
  isManaged: true,
  shapes: [],
  routes: [
    {
      ...rotation,
      operationId: 'rotateKey',
      path: '/key/rotate',
      summary: 'Rotate the API key of the request',
      document: `mutation rotateKey($grace: Int) { result: rotateKey(grace: $grace) ${selectionOf(shape)} }`,
    },
  ],
};

/** The children of the caller's key. */
export const keys: Resource = {
  scope: 'keys',
  isManaged: true,
  shapes: [],
  routes: [
    {
      ...routes.list,
      description: 'All keys that this key has made, oldest first.',
      document: `query listKeys { page: keys ${selectionOf(shape)} }`,
      list: 'whole',
    },
    {
      ...routes.create,
      description: `It draws on the budget of the key that makes it, can do no more, and ends with it. The response has the key itself, once. At most ${MAX_CHILDREN}.`,
      body: { ...routes.create.body, example: { name: 'Till 7', scopes: ['pets:read'] } },
      errors: ['CONFLICT'],
    },
    { ...routes.get, operationId: 'getOwnKey', summary: 'Get a key that this key has made' },
    routes.update,
    { ...routes.delete, summary: 'Revoke a key', description: 'It is refused within 5 seconds, everywhere.' },
    {
      ...routes.get,
      ...rotation,
      operationId: 'rotateOwnKey',
      path: '/keys/{keyId}/rotate',
      summary: 'Rotate a key that this key has made',
      document: `mutation rotateOwnKey($keyId: ID!, $grace: Int) {
        result: rotateKey(id: $keyId, grace: $grace) ${selectionOf(shape)}
      }`,
    },
  ],
};
