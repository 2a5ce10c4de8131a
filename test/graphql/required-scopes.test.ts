import {
  type GraphQLField,
  type GraphQLInputType,
  getNamedType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  type OperationTypeNode,
} from 'graphql';
import { describe, expect, it } from 'vitest';
import { api } from '../../src/api.ts';
import {
  expectQueryRefusal,
  expectRefusal,
  onAnyEngine,
  query,
  type Sent,
  send,
  sqlite,
  useGateway,
} from '../kit/petstore.ts';

const { schema } = api;

const DOMAINS = [...new Set(api.resources.flatMap(({ scope }) => scope ?? []))];
const SCOPES = ['*:read', ...DOMAINS.flatMap((domain) => [`${domain}:read`, `${domain}:write`])];

/** True if one scope is enough for what needs another; undefined needs none. */
const isEnough = (has: string, needs: string | undefined): boolean =>
  needs === undefined ||
  has === needs ||
  (needs.endsWith(':read') && (has === '*:read' || has === needs.replace(/read$/, 'write')));

const missing = (scope: string) => `The API key lacks the scope ${scope}.`;

// Those of REST are in domains/api-key/permissions.test.ts.
describe('every root field and scope', () => {
  const kit = useGateway(sqlite);
  const keys = new Map<string, string>();
  const keyWith = async (...scopes: string[]): Promise<string> => {
    const name = scopes.join();
    if (!keys.has(name)) keys.set(name, await kit.gateway.restrictedKey({ scopes }));
    return keys.get(name)!;
  };

  /** The scope of a root field, by its name. */
  const domainOf = (field: string): string | undefined =>
    // What a key does with itself.
    field === 'apiKey' || field === 'rotateKey'
      ? undefined
      : DOMAINS.find((domain) => field.toLowerCase().includes(domain.replace(/(ies|s|y)$/, '')));

  const fields = (['query', 'mutation', 'subscription'] as const).flatMap((kind) =>
    Object.values(schema.getRootType(kind as OperationTypeNode)!.getFields()).map(
      (field) => [kind, field] as const,
    ),
  );
  it.each(fields.map(([kind, field]) => [`${kind} { ${field.name} }`, kind, field] as const))(
    '%s',
    async (_, kind, field) => {
      const domain = domainOf(field.name);
      const needs = domain && `${domain}:${kind === 'mutation' || domain === 'keys' ? 'write' : 'read'}`;
      for (const scope of SCOPES) {
        const sent: Sent = await query(kit.gateway, `${kind} { ${textOf(field)} }`, undefined, {
          key: await keyWith(scope),
          headers: { accept: 'application/json' },
        });
        if (!isEnough(scope, needs)) expectQueryRefusal(sent, 'FORBIDDEN', missing(needs!));
        // A subscription needs text/event-stream.
        else expect(sent.status, sent.about).toBe(kind === 'subscription' ? 406 : 200);
      }
    },
  );
});

/** A root field with valid arguments, selecting nothing of its record. */
function textOf({ name, args, type }: GraphQLField<unknown, unknown>): string {
  const required = args
    .filter((argument) => isNonNullType(argument.type))
    .map((argument) => `${argument.name}: ${literalOf(argument.type)}`);
  const selection = isCompositeType(getNamedType(type)) ? ' { __typename }' : '';
  return `${name}${required.length > 0 ? `(${required})` : ''}${selection}`;
}

function literalOf(type: GraphQLInputType): string {
  const inner = isNonNullType(type) ? type.ofType : type;
  if (isListType(inner)) return `[${literalOf(inner.ofType)}]`;
  if (isEnumType(inner)) return inner.getValues()[0]!.name;
  if (isInputObjectType(inner)) {
    const fields = Object.values(inner.getFields()).filter((field) => isNonNullType(field.type));
    return `{${fields.map((field) => `${field.name}: ${literalOf(field.type)}`)}}`;
  }
  return (
    {
      Int: '1',
      Boolean: 'true',
      String: '"https://example.org/"',
      Date: '"2026-11-21"',
      DateTime: '"2026-11-21T12:00:00Z"',
    }[inner.name] ?? '987654321'
  );
}

describe('what a document needs', () => {
  const kit = useGateway(sqlite);
  const NOTHING = ['webhooks:read'];

  it.each<[string, string[]]>([
    ['{ order(id: 1) { pet { inventory { pet { id } } } } }', ['orders:read', 'pets:read', 'inventory:read']],
    // Writing includes reading.
    [
      'mutation { createPet(input: {name: "x", categoryId: 1}) { id orders { totalCount } } }',
      ['pets:write', 'orders:read'],
    ],
    ['{ pet(id: 1) { id orders @skip(if: true) { totalCount } } }', ['pets:read', 'orders:read']],
    // Other operations of the document do not count.
    ['query A { orders { totalCount } } query B { pets { totalCount } }', ['pets:read']],
    ['{ node(nodeId: "x") { ... on Pet { orders { totalCount } } } }', ['pets:read', 'orders:read']],
    ['{ node(nodeId: "x") { ...F } } fragment F on Order { __typename }', ['orders:read']],
    // What can't apply counts too.
    [
      '{ order(id: 1) { ...F } } fragment F on Node { ... on Category { pets { totalCount } } }',
      ['orders:read', 'categories:read', 'pets:read'],
    ],
    // Nothing at all.
    [
      '{ rateLimit { plan } node(nodeId: "x") { nodeId __typename } __typename __schema { queryType { name } } }',
      [],
    ],
  ])('%s', async (text, scopes) => {
    const { gateway } = kit;
    const name = text.includes('query B') ? 'B' : undefined;
    const ask = (key: string, path = '/graphql') =>
      send(gateway, `POST ${path}`, { key, body: { query: text, operationName: name } });
    const none = await gateway.restrictedKey({ scopes: NOTHING });
    const sent = await ask(none);
    const message = `The API key lacks the ${scopes.length > 1 ? 'scopes' : 'scope'} ${scopes.join(', ')}.`;
    if (scopes.length === 0) expect(sent.status, sent.about).toBe(200);
    else {
      expectQueryRefusal(sent, 'FORBIDDEN', message);
      expectQueryRefusal(await ask(none, '/graphql/cost'), 'FORBIDDEN', message);
    }
    expect((await ask(await gateway.restrictedKey({ scopes }))).json.data).toBeDefined();
    // One is missing at a time.
    for (const scope of scopes) {
      const others = scopes.filter((other) => other !== scope);
      if (others.length === 0) continue;
      expectQueryRefusal(
        await ask(await gateway.restrictedKey({ scopes: others })),
        'FORBIDDEN',
        missing(scope),
      );
    }
  });
});

onAnyEngine('a key with scopes', (kit) => {
  const restricted = (...scopes: string[]) => kit.gateway.restrictedKey({ scopes });

  it('pays one unit for a refusal, nothing at /graphql/cost, and runs nothing', async () => {
    const { gateway } = kit;
    const key = await gateway.newKey('free', undefined, { scopes: ['pets:write', 'categories:read'] });
    const text = 'mutation { createCategory(input: {name: "no"}) { id } deletePet(id: 1) }';
    const left = ({ headers }: Sent) => Number(headers['x-ratelimit-remaining']);
    const first = await query(gateway, text, undefined, { key });
    expectQueryRefusal(first, 'FORBIDDEN', missing('categories:write'));
    expect(first.headers['retry-after']).toBeUndefined();
    expect(left(first)).toBe(59);
    expect(left(await send(gateway, 'POST /graphql/cost', { key, body: { query: text } }))).toBe(59);
    const rest = await send(gateway, 'POST /categories', { key, body: { name: 'no' } });
    expectRefusal(rest, 'FORBIDDEN', missing('categories:write'));
    expect(rest.headers['retry-after']).toBeUndefined();
    expect(left(rest)).toBe(58);
    expect((await send(gateway, '/categories', { key })).text).not.toContain('no');
  });

  it('gets neither a refusal nor an outcome back from an Idempotency-Key without its scopes', async () => {
    const { gateway } = kit;
    const { key, apiKey } = await gateway.keyRecord({ scopes: ['pets:read'] });
    const create = (name: string) =>
      send(gateway, 'POST /categories', { key, body: { name }, headers: { 'idempotency-key': name } });
    expectRefusal(await create('kept'), 'FORBIDDEN', missing('categories:write'));
    const change = async (scopes: string[]) => {
      await gateway.store.updateApiKey(apiKey.id, { scopes });
      gateway.clock.advance(5_000);
    };
    await change(['categories:write']);
    const created = await create('kept');
    expect(created.status, created.about).toBe(201);
    expect(created.headers['idempotency-replayed']).toBeUndefined();
    await change(['pets:read']);
    expectRefusal(await create('kept'), 'FORBIDDEN', missing('categories:write'));
    const text = 'mutation { createCategory(input: {name: "kept"}) { id } }';
    const overGraphql = await query(gateway, text, undefined, {
      key,
      headers: { 'idempotency-key': 'kept' },
    });
    expectQueryRefusal(overGraphql, 'FORBIDDEN', missing('categories:write'));
    await change(['categories:write']);
    expect((await create('kept')).headers['idempotency-replayed']).toBe('true');
  });

  it('is refused after 404, 406, 400 and before what exists', async () => {
    const { gateway } = kit;
    const key = await restricted('orders:read');
    const codes = [];
    for (const [line, call] of [
      ['GET /nothing', {}],
      ['DELETE /pets', {}],
      ['GET /pets', { headers: { accept: 'text/html' } }],
      ['POST /pets', { body: 'x', headers: { 'content-type': 'text/plain' } }],
      ['POST /pets', { body: '{}' }],
      ['POST /pets', { body: { name: 'x', categoryId: 987654321 } }],
      ['DELETE /pets/987654321', { headers: { 'if-match': '"x"' } }],
    ] as const)
      codes.push((await send(gateway, line, { key, ...call })).json.code);
    expect(codes).toEqual([
      'NOT_FOUND',
      'METHOD_NOT_ALLOWED',
      'NOT_ACCEPTABLE',
      'UNSUPPORTED_MEDIA_TYPE',
      'VALIDATION_FAILED',
      'FORBIDDEN',
      'FORBIDDEN',
    ]);
  });
});
