import { describe, expect, it } from 'vitest';
import { dataOf, expectQueryRefusal, query, send, sqlite, useGateway } from '../kit/petstore.ts';

describe('a GraphQL request', () => {
  const kit = useGateway(sqlite);
  const post = (parameters: unknown, key?: string) =>
    send(kit.gateway, 'POST /graphql', {
      ...(key !== undefined && { key }),
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(parameters),
    });
  const QUERY = '{ __typename }';

  it.each<[parameters: unknown, name: string]>([
    [{ query: QUERY }, 'other'],
    [{ query: 'query A { __typename }' }, 'A'],
    [{ query: 'query A { __typename } query B { __typename }', operationName: 'B' }, 'B'],
    [[{ query: 'query A { __typename }' }, { query: QUERY }, { query: 'query B { __typename }' }], 'A,B'],
    [[{ query: 'query A { nothing }' }, { query: '{' }], 'other'],
  ])('such as %j has the name %s in the log', async (parameters, name) => {
    const { headers } = await post(parameters);
    const line = kit.gateway.logs.find((entry) => entry.includes(headers['x-request-id'] as string));
    expect(JSON.parse(line!).operation).toBe(name);
  });

  it.each<[message: string, code: 'BAD_REQUEST' | 'PAYLOAD_TOO_LARGE', refused: unknown[]]>([
    [
      'A GraphQL request must be a JSON object.',
      'BAD_REQUEST',
      [7, null, QUERY, [[]], [{ query: QUERY }, null]],
    ],
    ['A GraphQL request must have a query that is a string.', 'BAD_REQUEST', [{}, { query: 7 }]],
    [
      'A GraphQL request has an operationName that is not a string.',
      'BAD_REQUEST',
      [{ query: QUERY, operationName: 7 }],
    ],
    [
      'A GraphQL request has an operationName of more than 100 characters.',
      'BAD_REQUEST',
      [{ query: QUERY, operationName: 'n'.repeat(101) }],
    ],
    [
      'A GraphQL request has variables that are not an object.',
      'BAD_REQUEST',
      ['x', []].map((variables) => ({ query: QUERY, variables })),
    ],
    [
      'A GraphQL request has extensions that are not an object.',
      'BAD_REQUEST',
      [7, []].map((extensions) => ({ query: QUERY, extensions })),
    ],
    ['The batch is empty.', 'BAD_REQUEST', [[]]],
    ['A batch may have 10 operations, not 11.', 'PAYLOAD_TOO_LARGE', [Array(11).fill({ query: QUERY })]],
  ])('is refused with the message %s (%s)', async (message, code, refused) => {
    for (const parameters of refused) expectQueryRefusal(await post(parameters), code, message);
  });

  it.each([{}, { operationName: null, variables: null, extensions: null }, { operationName: '' }])(
    'may have the parameters %j',
    async (more) => {
      expect(dataOf(await post({ query: 'query A { __typename }', ...more }))).toEqual({
        __typename: 'Query',
      });
    },
  );

  /** The units that a key is charged for requests of which each is sent in a second of its own. */
  const unitsOf = async (...requests: unknown[]) => {
    const key = await kit.gateway.newKey('free');
    let left = 60;
    return await Promise.all(
      requests.map(async (parameters, n) => {
        kit.clock.time += n === 0 ? 1_000 : 0;
        const { headers } = await post(parameters, key);
        const before = left;
        left = Number(headers['x-ratelimit-remaining']);
        return before - left;
      }),
    );
  };

  it.each<[units: number, parameters: unknown]>([
    [0, { query: '{ rateLimit { plan } __typename }' }],
    [0, { query: '{ __typename } '.padEnd(1_000, '#') }],
    [1, { query: '{ __typename } '.padEnd(1_001, '#') }],
    [1, { query: `{ __typename } ${'#é'.repeat(400)}` }],
    [1, [{ query: QUERY }]],
    [1, Array(10).fill({ query: QUERY })],
    [1, { query: '{ __schema { queryType { name } } }' }],
    [1, { query: '{' }],
    [0, { extensions: { persistedQuery: { version: 1, sha256Hash: 'a'.repeat(64) } } }],
    [1, { documentId: 'unknown' }],
    [1, [{ documentId: 'unknown' }]],
    // A unit for each that is refused, and 2 for each mutation.
    [
      4,
      [
        { query: '{ pet(id: 1) { id } }' },
        { query: '{' },
        { query: 'mutation { a: deletePet(id: 9) b: deletePet(id: 8) __typename }' },
      ],
    ],
  ])('costs %i units: %j', async (units, parameters) => {
    expect(await unitsOf(parameters)).toEqual([units]);
  });

  it('that is free costs nothing ten times a second, and is read so often of an empty budget', async () => {
    const key = await kit.gateway.newKey('enterprise', { perMinute: 2, perDay: 9 });
    const miss = { extensions: { persistedQuery: { version: 1, sha256Hash: 'a'.repeat(64) } } };
    kit.clock.time += 1_000;
    for (let n = 0; n < 10; n++) await post({ query: QUERY }, key);
    for (const left of ['1', '0'])
      expect((await post({ query: QUERY }, key)).headers['x-ratelimit-remaining']).toBe(left);
    expectQueryRefusal(await post({ query: QUERY }, key), 'RATE_LIMITED');
    kit.clock.time += 1_000;
    for (let n = 0; n < 5; n++) {
      expect(dataOf(await query(kit.gateway, '{ rateLimit { cost } }', undefined, { key }))).toBeDefined();
      expectQueryRefusal(await post(miss, key), 'PERSISTED_QUERY_NOT_FOUND', 'PersistedQueryNotFound');
    }
    expectQueryRefusal(await post(miss, key), 'RATE_LIMITED');
  });

  it('of which much is written costs at least a unit for every 10,000 bytes of its body, refused or not', async () => {
    const { gateway } = kit;
    const key = await gateway.newKey('free');
    for (const [bytes, price] of [
      [10_000, 1],
      [10_500, 2],
      [20_001, 3],
    ] as const) {
      for (const body of ['{"query":"{ pets { nodes { id } } }"}', '{"query":"{ nothing }"}', '{']) {
        const before = Number((await send(gateway, '/pets/0', { key })).headers['x-ratelimit-remaining']);
        const headers = { 'content-type': 'application/json' };
        const sent = await send(gateway, 'POST /graphql', { key, headers, body: body.padEnd(bytes, ' ') });
        expect(before - Number(sent.headers['x-ratelimit-remaining']), sent.about).toBe(price);
      }
    }
  });

  it('that is a bare document is told to be JSON', async () => {
    const headers = { 'content-type': 'application/json' };
    const sent = await send(kit.gateway, 'POST /graphql', { headers, body: '{ pets { nodes { id } } }' });
    expectQueryRefusal(sent, 'BAD_REQUEST', /A request is \{"query": "\{ pets \{ nodes \{ id \} \} \}"\}\.$/);
  });
});
