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

describe('automatic persisted queries', () => {
  const kit = useGateway(sqlite);
  const hashOf = (query: string) => createHash('sha256').update(query).digest('hex');
  const extensionsOf = (sha256Hash: unknown, version: unknown = 1) => ({
    persistedQuery: { version, sha256Hash },
  });

  /** Sends the same request with each method. */
  const METHODS: [string, (request: Record<string, unknown>) => Promise<Sent>][] = [
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

  it.each(METHODS)('runs a query by its hash over %s after it was sent in full', async (name, call) => {
    const { P } = await makeWorld(kit);
    const query = `query ${name}($id: ID!) { pet(id: $id) { name } }`;
    const extensions = extensionsOf(hashOf(query));
    const unknown = await call({ variables: { id: P }, extensions });
    expectQueryRefusal(unknown, 'PERSISTED_QUERY_NOT_FOUND', 'PersistedQueryNotFound');
    const pet = { pet: { name: 'Rex' } };
    expect(dataOf(await call({ query, variables: { id: P }, extensions }))).toEqual(pet);
    for (let use = 1; use <= 3; use++)
      expect(dataOf(await call({ variables: { id: P }, extensions }))).toEqual(pet);
    const upper = extensionsOf(hashOf(query).toUpperCase());
    expect(dataOf(await call({ variables: { id: P }, extensions: upper }))).toEqual(pet);
    expectQueryRefusal(
      await call({ extensions }),
      'VALIDATION_FAILED',
      'id: is required: a variable of type ID!.',
    );
  });

  it.each(METHODS)(
    'responds 400 to a wrong hash over %s and does not store the query',
    async (_name, call) => {
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
        expectQueryRefusal(await call({ query, extensions }), 'BAD_REQUEST', /persistedQuery/);
      }
      expectQueryRefusal(await call({ extensions: extensionsOf(wrong) }), 'PERSISTED_QUERY_NOT_FOUND');
      dataOf(await call({ query, extensions: extensionsOf(hashOf(query)) }));
      expectQueryRefusal(
        await call({ query: `${query} `, extensions: extensionsOf(hashOf(query)) }),
        'BAD_REQUEST',
      );
    },
  );

  it('responds 405 to a mutation by its hash over GET', async () => {
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

  it('runs the other operations of a batch if one has an unknown hash', async () => {
    const text = '{ a: __typename }';
    const body = [
      { query: text, extensions: extensionsOf(hashOf(text)) },
      { extensions: extensionsOf(hashOf('{ unknown }')) },
      { extensions: extensionsOf(hashOf(text)) },
    ];
    const sent = await send(kit.gateway, 'POST /graphql', { body });
    expect(sent.json[0].data, sent.about).toEqual({ a: 'Query' });
    expect(sent.json[1].errors[0], sent.about).toMatchObject({
      message: 'PersistedQueryNotFound',
      extensions: { code: 'PERSISTED_QUERY_NOT_FOUND', status: 404 },
    });
    expect(sent.json[2].data, sent.about).toEqual({ a: 'Query' });
  });

  it('forgets the oldest query beyond the bytes that are kept', async () => {
    const text = (n: number) => `{ t${n}: __typename } # ${'x'.repeat(50_000)}`;
    const register = (n: number) =>
      send(kit.gateway, 'POST /graphql', {
        body: { query: text(n), extensions: extensionsOf(hashOf(text(n))) },
      });
    for (let n = 0; n < 130; n++) dataOf(await register(n));
    const callByHash = (n: number) =>
      send(kit.gateway, 'POST /graphql', { body: { extensions: extensionsOf(hashOf(text(n))) } });
    expectQueryRefusal(await callByHash(0), 'PERSISTED_QUERY_NOT_FOUND');
    dataOf(await callByHash(129));
  });
});
