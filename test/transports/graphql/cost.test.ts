import { describe, expect, it } from 'vitest';
import { MINUTE } from '../../../src/foundation/instant.ts';
import {
  dataOf,
  expectAnswer,
  expectQueryRefusal,
  makeWorld,
  query,
  send,
  sqlite,
  useGateway,
} from '../../kit/petstore.ts';

const CATEGORIES = 'categories(first: $n) { nodes { pets(first: 10) { nodes { id } } } }';
const JSON_BODY = { 'content-type': 'application/json' };

describe('POST /graphql/cost', () => {
  const kit = useGateway(sqlite);

  const cost = (body: unknown, key?: string, headers: Record<string, string> = {}) =>
    send(kit.gateway, 'POST /graphql/cost', {
      ...(key !== undefined && { key }),
      headers: { ...JSON_BODY, ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  const instant = (ms: number) => new Date(ms).toISOString().replace('.000', '');

  it('returns the cost and the remaining budget without charging or executing anything', async () => {
    const { gateway, clock } = kit;
    await makeWorld(kit);
    const key = await gateway.newKey('free');
    await send(gateway, '/pets', { key });
    const windowStart = clock.time;
    clock.time += 10_000;
    const count = async () => dataOf(await query(gateway, '{ categories { totalCount } }'));
    const before = await count();
    const budget = {
      plan: 'free',
      minute: { limit: 60, remaining: 59, resetAt: instant(windowStart + MINUTE) },
      day: { limit: 1000, remaining: 999, resetAt: instant(windowStart + 24 * 60 * MINUTE) },
    };
    const wide = `query ($n: Int!) { ${CATEGORIES} }`;
    for (const [body, expected] of [
      [{ query: wide, variables: { n: 50 } }, 6],
      [{ query: wide, variables: { n: 1 } }, 1],
      [{ query: '{ rateLimit { cost } }' }, 0],
      [
        {
          query:
            'mutation { a: createCategory(input: {name: "A"}) { id } b: createCategory(input: {name: "B"}) { id } }',
        },
        2,
      ],
      [
        {
          query: 'query A { pet(id: 1) { id } } query B { a: pet(id: 1) { id } b: pet(id: 2) { id } }',
          operationName: 'B',
        },
        2,
      ],
    ] as const) {
      const sent = await cost(body, key);
      expectAnswer(sent, 200, { cost: expected, ...budget });
      expect(sent.headers['x-ratelimit-remaining'], sent.about).toBe('59');
    }
    expect(await count()).toEqual(before);
    const document = `{ rateLimit { cost minute { remaining resetAt } } ${CATEGORIES.replace('$n', '50')} }`;
    const executed = await query(gateway, document, undefined, { key });
    expect(dataOf(executed).rateLimit, executed.about).toEqual({
      cost: 6,
      minute: { remaining: 53, resetAt: budget.minute.resetAt },
    });
    // A body of 25 kB costs 3.
    const large = { query: `{ rateLimit { cost } pet(id: 1) { id } } #${'-'.repeat(25_000)}` };
    expect((await cost(large, key)).json.cost).toBe(3);
    expect(dataOf(await query(gateway, large.query, undefined, { key })).rateLimit.cost).toBe(3);
  });

  it('returns the same errors as /graphql without charging for them', async () => {
    const { gateway, clock } = kit;
    const key = await gateway.newKey('pro');
    for (const [body, code] of [
      ['{', 'BAD_REQUEST'],
      ['{}', 'BAD_REQUEST'],
      ['{"query":"{"}', 'GRAPHQL_PARSE_FAILED'],
      ['{"query":"{ nothing }"}', 'GRAPHQL_VALIDATION_FAILED'],
      ['{"query":"query ($i: ID!) { pet(id: $i) { id } }","variables":{"i":0}}', 'VALIDATION_FAILED'],
      [
        '{"query":"{ categories(first: 100) { nodes { pets(first: 50) { nodes { id } } } } }"}',
        'QUERY_TOO_COMPLEX',
      ],
      [`{"query":"{ ${'k'.repeat(101)}: __typename }"}`, 'QUERY_TOO_COMPLEX'],
      [`{"query":"{ __typename }","operationName":"${'n'.repeat(101)}"}`, 'BAD_REQUEST'],
    ] as const) {
      clock.time += 1_000;
      const sent = await cost(body, key);
      expectQueryRefusal(sent, code);
      const executed = await send(gateway, 'POST /graphql', { headers: JSON_BODY, body });
      expect(executed.json, sent.about).toEqual(sent.json);
      expect(sent.headers['x-ratelimit-remaining'], sent.about).toBe('300');
    }
    expectQueryRefusal(await cost('{}', key, { 'content-type': 'text/plain' }), 'UNSUPPORTED_MEDIA_TYPE');
    expectQueryRefusal(await cost('{}', key, { accept: 'text/html' }), 'NOT_ACCEPTABLE', /application\/json/);
    const accept = 'application/graphql-response+json';
    const typed = await cost('{"query":"{"}', key, { accept });
    expect(typed.headers['content-type'], typed.about).toBe(`${accept}; charset=utf-8`);
    expectQueryRefusal(await cost('{}', 'wrong'), 'UNAUTHENTICATED');
    for (const batch of ['[]', '[{"query":"{ __typename }"}]'])
      expectQueryRefusal(await cost(batch, key), 'BAD_REQUEST', /not for a batch/);
    clock.time += 1_000;
    const get = await send(gateway, 'GET /graphql/cost', { key });
    expectQueryRefusal(get, 'METHOD_NOT_ALLOWED', '/graphql/cost supports POST, OPTIONS, not GET.');
    expect(get.headers.allow).toBe('POST, OPTIONS');
    const options = await send(gateway, 'OPTIONS /graphql/cost', { key });
    expect([options.status, options.headers.allow, options.text]).toEqual([204, 'POST, OPTIONS', '']);
    const named = await cost({ query: 'query Named { __typename }' }, key);
    const line = gateway.logs.find((entry) => entry.includes(named.headers['x-request-id'] as string));
    expect(JSON.parse(line!)).toMatchObject({ path: '/graphql/cost', operation: 'Named', units: 0 });
  });

  it('is free up to a body of 10 kB, and costs what every body does beyond, errors included', async () => {
    const { gateway, clock } = kit;
    const key = await gateway.newKey('free');
    let left = 60;
    for (const [body, status, own] of [
      ['{"query":"{ __typename }"}', 200, 0],
      ['{"query":"{ a: pet(id: 1) { id } b: pet(id: 1) { id } c: pet(id: 1) { id } }"}', 200, 3],
      ['{', 400, 0],
      ['{"query":"{ nothing }"}', 400, 0],
    ] as const) {
      for (const [bytes, price] of [
        [body.length, 0],
        [10_000, 0],
        [10_001, 2],
        [99_000, 10],
      ] as const) {
        const sent = await cost(body.padEnd(bytes, ' '), key);
        clock.time += 150;
        left -= price;
        expect([sent.status, Number(sent.headers['x-ratelimit-remaining'])], sent.about).toEqual([
          status,
          left,
        ]);
        if (status === 200) expect(sent.json.cost).toBe(Math.max(price, own));
      }
    }
  });

  it('allows 10 requests per second and key, even with an exhausted budget, but none during a ban', async () => {
    const { gateway, clock } = kit;
    const key = await gateway.newKey('enterprise', { perMinute: 1, perDay: 9 });
    const other = await gateway.newKey('free');
    await send(gateway, '/pets', { key });
    for (let i = 0; i < 10; i++) {
      const sent = await cost(i % 2 === 0 ? { query: '{ pets { totalCount } }' } : '{', key);
      expect(sent.status, sent.about).toBe(i % 2 === 0 ? 200 : 400);
    }
    const refused = await cost({ query: '{ __typename }' }, key);
    expectQueryRefusal(refused, 'RATE_LIMITED');
    expect(refused.headers).toMatchObject({
      'retry-after': '1',
      'x-ratelimit-limit': '10',
      'x-ratelimit-remaining': '0',
    });
    expect((await cost({ query: '{ __typename }' }, other)).status).toBe(200);
    clock.time += 1_000;
    const again = await cost({ query: '{ pets { totalCount } }' }, key);
    expect([again.json.cost, again.json.minute.remaining], again.about).toEqual([1, 0]);
    for (let i = 0; i < 30; i++) await send(gateway, '/pets', { key });
    clock.time += 1_000;
    expectQueryRefusal(await cost({ query: '{ __typename }' }, key), 'API_KEY_BANNED');
  });
});
