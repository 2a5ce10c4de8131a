import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  dataOf,
  expectQueryRefusal,
  makeWorld,
  type Sent,
  send,
  sqlite,
  useGateway,
} from '../../kit/petstore.ts';

describe('Automatic persisted queries', () => {
  const kit = useGateway(sqlite);
  const hashOf = (query: string) => createHash('sha256').update(query).digest('hex');
  const extensionsOf = (sha256Hash: unknown, version: unknown = 1) => ({
    persistedQuery: { version, sha256Hash },
  });

  /** The same request over each method. */
  const INTERFACES: [string, (request: Record<string, unknown>) => Promise<Sent>][] = [
    ['POST', (body) => send(kit.gateway, 'POST /graphql', { body })],
    ['QUERY', (body) => send(kit.gateway, 'QUERY /graphql', { body })],
    [
      'GET',
      (request) => {
        const parameters = Object.entries(request).map(([name, value]): [string, string] => [
          name,
          typeof value === 'string' ? value : JSON.stringify(value),
        ]);
        return send(kit.gateway, `/graphql?${new URLSearchParams(parameters)}`);
      },
    ],
  ];

  it.each(INTERFACES)('are learnt and then known by their hash over %s', async (name, ask) => {
    const { P } = await makeWorld(kit);
    const query = `query ${name}($id: ID!) { pet(id: $id) { name } }`;
    const extensions = extensionsOf(hashOf(query));
    const unknown = await ask({ variables: { id: P }, extensions });
    expectQueryRefusal(unknown, 'PERSISTED_QUERY_NOT_FOUND', 'PersistedQueryNotFound');
    const pet = { pet: { name: 'Rex' } };
    expect(dataOf(await ask({ query, variables: { id: P }, extensions }))).toEqual(pet);
    for (let use = 1; use <= 3; use++)
      expect(dataOf(await ask({ variables: { id: P }, extensions }))).toEqual(pet);
    const upper = extensionsOf(hashOf(query).toUpperCase());
    expect(dataOf(await ask({ variables: { id: P }, extensions: upper }))).toEqual(pet);
    expectQueryRefusal(
      await ask({ extensions }),
      'VALIDATION_FAILED',
      'id: is required: a variable of type ID!.',
    );
  });

  it.each(INTERFACES)('with a wrong hash are refused over %s, and not learnt', async (_name, ask) => {
    const query = '{ categories { totalCount } }';
    const wrong = hashOf('{ __typename }');
    for (const extensions of [
      extensionsOf(wrong),
      extensionsOf(hashOf(query).slice(1)),
      extensionsOf(7),
      extensionsOf(hashOf(query), 2),
      extensionsOf(hashOf(query), '1'),
      { persistedQuery: 'x' },
    ]) {
      expectQueryRefusal(await ask({ query, extensions }), 'BAD_REQUEST', /persistedQuery/);
    }
    expectQueryRefusal(await ask({ extensions: extensionsOf(wrong) }), 'PERSISTED_QUERY_NOT_FOUND');
    dataOf(await ask({ query, extensions: extensionsOf(hashOf(query)) }));
    expectQueryRefusal(
      await ask({ query: `${query} `, extensions: extensionsOf(hashOf(query)) }),
      'BAD_REQUEST',
    );
  });

  it('cost a unit when they are unknown, and a mutation known by its hash stays one', async () => {
    const key = await kit.gateway.newKey('free');
    const remaining = (sent: Sent) => Number(sent.headers['x-ratelimit-remaining']);
    const unknown = await send(kit.gateway, 'POST /graphql', {
      key,
      body: { extensions: extensionsOf(hashOf('{ x }')) },
    });
    expect(remaining(unknown), unknown.about).toBe(59);
    const mutation = 'mutation { createCategory(input: {name: "Persisted"}) { id } }';
    const extensions = extensionsOf(hashOf(mutation));
    dataOf(await send(kit.gateway, 'POST /graphql', { body: { query: mutation, extensions } }));
    const get = await send(
      kit.gateway,
      `/graphql?extensions=${encodeURIComponent(JSON.stringify(extensions))}`,
    );
    expectQueryRefusal(get, 'METHOD_NOT_ALLOWED');
    dataOf(await send(kit.gateway, 'POST /graphql', { body: { extensions } }));
  });

  it('may stand in a batch, where one that is unknown leaves the others alone', async () => {
    const known = '{ a: __typename }';
    const body = [
      { query: known, extensions: extensionsOf(hashOf(known)) },
      { extensions: extensionsOf(hashOf('{ unknown }')) },
      { extensions: extensionsOf(hashOf(known)) },
    ];
    const sent = await send(kit.gateway, 'POST /graphql', { body });
    expect(sent.json[0].data, sent.about).toEqual({ a: 'Query' });
    expect(sent.json[1].errors[0], sent.about).toMatchObject({
      message: 'PersistedQueryNotFound',
      extensions: { code: 'PERSISTED_QUERY_NOT_FOUND', status: 404 },
    });
    expect(sent.json[2].data, sent.about).toEqual({ a: 'Query' });
  });

  it('are kept within bounds: the oldest are unknown again', async () => {
    const text = (n: number) => `{ t${n}: __typename } # ${'x'.repeat(50_000)}`;
    const learn = (n: number) =>
      send(kit.gateway, 'POST /graphql', {
        body: { query: text(n), extensions: extensionsOf(hashOf(text(n))) },
      });
    for (let n = 0; n < 100; n++) dataOf(await learn(n));
    const ask = (n: number) =>
      send(kit.gateway, 'POST /graphql', { body: { extensions: extensionsOf(hashOf(text(n))) } });
    expectQueryRefusal(await ask(0), 'PERSISTED_QUERY_NOT_FOUND');
    dataOf(await ask(99));
  });
});
