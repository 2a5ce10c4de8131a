import { describe, expect, it } from 'vitest';
import { Order } from '../../../src/domains/order/order.ts';
import { Pet } from '../../../src/domains/pet/pet.ts';
import { AppError, type ErrorCode, unavailable } from '../../../src/foundation/errors.ts';
import { failing } from '../../kit/failing.ts';
import { TestGateway } from '../../kit/gateway.ts';
import {
  dataOf,
  expectQueryRefusal,
  expectRefusal,
  makeWorld,
  query,
  send,
  sqlite,
  useGateway,
} from '../../kit/petstore.ts';

const ACCEPTS = ['application/json', 'application/graphql-response+json', '*/*', undefined] as const;
const typeOf = (accept: string | undefined) =>
  accept === 'application/graphql-response+json' ? accept : 'application/json';

describe('GraphQL over HTTP', () => {
  const kit = useGateway(sqlite);
  const PET = 'query ($id: ID!) { pet(id: $id) { id } }';

  it.each(ACCEPTS)('responds to each refusal with its status under Accept: %s', async (accept) => {
    const { gateway } = kit;
    const { P } = await makeWorld(kit);
    const headers = { ...(accept !== undefined && { accept }) };
    const exhausted = await gateway.newKey('enterprise', { perMinute: 1, perDay: 1 });
    await send(gateway, '/pets', { key: exhausted });
    const body = (text: string, variables?: object) => JSON.stringify({ query: text, variables });
    const valid = body('{ __typename }');
    const failures: [code: ErrorCode, request: string, call: Parameters<typeof send>[2], says?: RegExp][] = [
      ...Object.entries({
        GRAPHQL_PARSE_FAILED: [body('{')],
        GRAPHQL_VALIDATION_FAILED: [body('{ nothing }')],
        QUERY_TOO_COMPLEX: [body(`{ ${Array.from({ length: 51 }, (_, i) => `p${i}: pet(id: 1) { id }`)} }`)],
        VALIDATION_FAILED: [body(PET, { id: 0 })],
        BAD_REQUEST: ['{', '{}', '[]', '"{ __typename }"'],
        PAYLOAD_TOO_LARGE: [body(`{ __typename } #${'x'.repeat(100_000)}`)],
      }).flatMap(([code, bodies]) =>
        bodies.map((body) => [code as ErrorCode, 'POST /graphql', { body }] as (typeof failures)[number]),
      ),
      ['BAD_REQUEST', 'GET /graphql', {}],
      ['BAD_REQUEST', 'GET /graphql?query=%7B__typename%7D&variables=%7B', {}],
      ['VALIDATION_FAILED', 'GET /graphql?query=%7B__typename%7D&query=%7B', {}],
      ['GRAPHQL_PARSE_FAILED', 'GET /graphql?query=%7B', {}],
      ['GRAPHQL_VALIDATION_FAILED', 'GET /graphql?query=%7Bnothing%7D', {}],
      [
        'METHOD_NOT_ALLOWED',
        `GET /graphql?query=${encodeURIComponent(`mutation { deletePet(id: ${P}) }`)}`,
        {},
      ],
      ['METHOD_NOT_ALLOWED', 'PUT /graphql', { body: valid }],
      ['UNAUTHENTICATED', 'POST /graphql', { body: valid, key: null }],
      ['UNAUTHENTICATED', 'POST /graphql', { body: body('{'), key: 'wrong' }],
      ['RATE_LIMITED', 'POST /graphql', { body: body('{ pets { totalCount } }'), key: exhausted }],
      ['RATE_LIMITED', 'POST /graphql', { body: body('{'), key: exhausted }],
      [
        'UNSUPPORTED_MEDIA_TYPE',
        'POST /graphql',
        { body: valid, headers: { 'content-type': 'text/plain' } },
        /Set the header Content-Type/,
      ],
      [
        'UNSUPPORTED_MEDIA_TYPE',
        'POST /graphql',
        { body: valid, headers: { 'content-encoding': 'gzip' } },
        /gzip\. Send it as it is/,
      ],
    ];
    for (const [code, request, call, says] of failures) {
      const sent = await send(gateway, request, {
        ...call,
        headers: {
          ...(request.startsWith('POST') && { 'content-type': 'application/json' }),
          ...headers,
          ...call?.headers,
        },
      });
      expectQueryRefusal(sent, code, says);
      expect(sent.headers['content-type'], sent.about).toBe(`${typeOf(accept)}; charset=utf-8`);
      expect(sent.headers['x-ratelimit-limit'], sent.about).toBeDefined();
      expect(sent.headers.allow !== undefined, sent.about).toBe(code === 'METHOD_NOT_ALLOWED');
      expect(sent.headers['retry-after'] !== undefined, sent.about).toBe(code === 'RATE_LIMITED');
      expect(sent.headers['www-authenticate'] !== undefined, sent.about).toBe(code === 'UNAUTHENTICATED');
    }
    dataOf(await query(gateway, `{ pet(id: ${P}) { id } }`, undefined, { headers }));
    const failed = await query(gateway, 'mutation { __typename deletePet(id: 404404) }', undefined, {
      headers,
    });
    expect([failed.status, failed.json.data, failed.json.errors.length], failed.about).toEqual([
      200,
      null,
      1,
    ]);
    expect(failed.headers['content-type'], failed.about).toBe(`${typeOf(accept)}; charset=utf-8`);
  });

  it('runs queries over GET, with ids beyond 2^53 exact', async () => {
    const id = '9223372036854775807';
    await kit.gateway.store.table(Order).insert({ id, complete: true });
    const get = (parameters: object) =>
      send(kit.gateway, `/graphql?${new URLSearchParams(Object.entries(parameters))}`);
    for (const parameters of [
      { query: `{ order(id: ${id}) { id } }` },
      { query: 'query ($id: ID!) { order(id: $id) { id } }', variables: `{"id":${id}}` },
      {
        query: 'query A($id: ID!) { order(id: $id) { id } } query B { __typename }',
        variables: `{"id":"${id}"}`,
        operationName: 'A',
      },
    ]) {
      const sent = await get(parameters);
      expect(dataOf(sent), sent.about).toEqual({ order: { id } });
    }
    const malformed = await get({ query: '{ __typename }', variables: '{' });
    expectQueryRefusal(malformed, 'BAD_REQUEST', /variables is not valid JSON/);
    expectQueryRefusal(
      await get({ query: 'query A { __typename } mutation B { deleteOrder(id: 1) }', operationName: 'B' }),
      'METHOD_NOT_ALLOWED',
    );
    const head = await send(kit.gateway, 'HEAD /graphql?query=%7B__typename%7D');
    expect([head.status, head.text], head.about).toEqual([200, '']);
  });

  it.each([
    ['application/x-www-form-urlencoded', 'query=%7B__typename%7D'],
    ['application/graphql', '{ __typename }'],
    ['text/plain', '{"query":"{ __typename }"}'],
    ['multipart/form-data; boundary=x', '--x--'],
    ['application/json; charset=latin1', '{"query":"{ __typename }"}'],
  ])('responds 415 to a body of type %s and names the header to set', async (contentType, body) => {
    for (const method of ['POST', 'QUERY']) {
      const sent = await send(kit.gateway, `${method} /graphql`, {
        body,
        headers: { 'content-type': contentType },
      });
      expectQueryRefusal(sent, 'UNSUPPORTED_MEDIA_TYPE', /-H 'Content-Type: application\/json'/);
      expect(sent.json.errors[0].message, sent.about).toContain(`Content-Type: ${contentType}`);
    }
  });

  it.each(['application/graphql+json', 'APPLICATION/JSON; charset="utf-8"', undefined])(
    'accepts a body of type %s',
    async (type) => {
      const headers = { ...(type !== undefined && { 'content-type': type }), 'content-encoding': 'identity' };
      const body = '{"query":"{ __typename }"}';
      expect(dataOf(await send(kit.gateway, 'POST /graphql', { body, headers }))).toEqual({
        __typename: 'Query',
      });
    },
  );

  it('treats empty query parameters as absent', async () => {
    const sent = await send(
      kit.gateway,
      '/graphql?query=%7B__typename%7D&operationName=&variables=&extensions=',
    );
    expect(dataOf(sent)).toEqual({ __typename: 'Query' });
  });

  it('adds rateLimit to the extensions of results and errors with X-RateLimit-Extension: on', async () => {
    const key = await kit.gateway.newKey('pro');
    const headers = { 'x-ratelimit-extension': 'on' };
    const pet = { query: '{ pet(id: 404404) { name } }' };
    const post = (body: unknown, more: object = headers) =>
      send(kit.gateway, 'POST /graphql', { key, body, headers: { ...more } });
    const rateLimit = (cost: number, remaining: number) => ({
      cost,
      plan: 'pro',
      minute: { limit: 300, remaining, resetAt: expect.any(String) },
      day: { limit: 10_000, remaining: remaining + 9_700, resetAt: expect.any(String) },
    });
    expect((await post(pet)).json).toEqual({
      data: { pet: null },
      extensions: { rateLimit: rateLimit(1, 299) },
    });
    expect((await post(pet, { ...headers, accept: 'text/event-stream' })).text).toContain('"remaining":298');
    const batch = await post([pet, pet]);
    expect(batch.json[1].extensions.rateLimit).toEqual(rateLimit(2, 296));
    const refused = await post({ query: '{' });
    expect(refused.json).toEqual({
      errors: [expect.anything()],
      extensions: { rateLimit: rateLimit(1, 295) },
    });
    const failed = await post({ query: 'mutation { deletePet(id: 404404) }' });
    expect(failed.json).toEqual({
      errors: [expect.anything()],
      data: null,
      extensions: { rateLimit: rateLimit(1, 294) },
    });
    expect((await post(pet, {})).json.extensions).toBeUndefined();
    expect((await post(pet, { 'x-ratelimit-extension': 'off' })).json.extensions).toBeUndefined();
  });

  it('ignores unknown properties and parameters of a request', async () => {
    const request = { query: '{ __typename }', operationName: '', x: 1, $schema: 'y' };
    expect(dataOf(await send(kit.gateway, 'POST /graphql', { body: request }))).toEqual({
      __typename: 'Query',
    });
    expect(dataOf(await send(kit.gateway, '/graphql?query=%7B__typename%7D&x=1'))).toEqual({
      __typename: 'Query',
    });
  });

  it.each([
    ['application/json;q=0.5, application/graphql-response+json', 'application/graphql-response+json'],
    ['application/json, application/graphql-response+json;q=0.9', 'application/json'],
    ['application/json;q=0, */*', 'application/graphql-response+json'],
    ['application/graphql-response+json;q=0, application/*', 'application/json'],
    ['text/html, */*;q=0.1', 'application/json'],
    [
      'application/graphql-response+json; charset=utf-8, application/json; charset=utf-8',
      'application/graphql-response+json',
    ],
  ])('responds to Accept: %s with %s', async (accept, type) => {
    for (const body of ['{"query":"{ __typename }"}', '{"query":"{"}']) {
      const headers = { accept, 'content-type': 'application/json' };
      const sent = await send(kit.gateway, 'POST /graphql', { body, headers });
      expect(sent.headers['content-type'], sent.about).toBe(`${type}; charset=utf-8`);
    }
  });

  it.each([
    'application/json;q=0',
    'text/html',
    '*/*;q=0',
    'application/json;q=0, application/graphql-response+json;q=0.0',
  ])('responds 406 to Accept: %s', async (accept) => {
    const sent = await send(kit.gateway, 'POST /graphql', {
      body: { query: '{ __typename }' },
      headers: { accept },
    });
    expectQueryRefusal(sent, 'NOT_ACCEPTABLE', /application\/json or application\/graphql-response\+json/);
  });

  it('handles QUERY like POST, but refuses mutations', async () => {
    const id = '9223372036854775805';
    await kit.gateway.store.table(Order).insert({ id, complete: true });
    const headers = { 'content-type': 'application/json' };
    const sendQuery = (body: string) => send(kit.gateway, 'QUERY /graphql', { body, headers });
    const single = await sendQuery(
      `{"query":"query ($id: ID!) { order(id: $id) { id } }","variables":{"id":${id}}}`,
    );
    expect(dataOf(single), single.about).toEqual({ order: { id } });
    const batch = await sendQuery('[{"query":"{ __typename }"},{"query":"{"}]');
    expect([batch.status, batch.json[0], batch.json[1].errors[0].extensions.code], batch.about).toEqual([
      200,
      { data: { __typename: 'Query' } },
      'GRAPHQL_PARSE_FAILED',
    ]);
    const mutation = await sendQuery(`{"query":"mutation { deleteOrder(id: ${id}) }"}`);
    expectQueryRefusal(mutation, 'METHOD_NOT_ALLOWED');
    expect(mutation.headers.allow).toBe('GET, HEAD, POST, QUERY, OPTIONS');
    expectQueryRefusal(await sendQuery('{'), 'BAD_REQUEST');
    expectQueryRefusal(await sendQuery('{"query":"{"}'), 'GRAPHQL_PARSE_FAILED');
    const untyped = await send(kit.gateway, 'QUERY /graphql', { body: '{"query":"{ __typename }"}' });
    expectQueryRefusal(
      untyped,
      'BAD_REQUEST',
      /Content-Type: application\/json or application\/graphql\+json/,
    );
    const options = await send(kit.gateway, 'OPTIONS /graphql');
    expect(options.headers['accept-query']).toBe('application/json, application/graphql+json');
    const preflight = await send(kit.gateway, 'OPTIONS /graphql', {
      headers: { origin: 'https://example.com', 'access-control-request-method': 'QUERY' },
    });
    expect(preflight.headers['access-control-allow-methods']).toContain('QUERY');
    expect((await send(kit.gateway, 'QUERY /pets')).status).toBe(405);
  });

  it('responds 304 to GET, HEAD and QUERY if If-None-Match contains the current ETag', async () => {
    const { P } = await makeWorld(kit);
    const text = `{ pet(id: ${P}) { name } }`;
    const headers = { 'content-type': 'application/json' };
    const call = (method: string, more: Record<string, string> = {}) =>
      method === 'QUERY'
        ? send(kit.gateway, 'QUERY /graphql', {
            body: JSON.stringify({ query: text }),
            headers: { ...headers, ...more },
          })
        : send(kit.gateway, `${method} /graphql?query=${encodeURIComponent(text)}`, { headers: more });
    for (const method of ['GET', 'HEAD', 'QUERY']) {
      const first = await call(method);
      const { etag } = first.headers;
      expect(etag, first.about).toMatch(/^"[\w-]{43}"$/);
      expect(first.headers, first.about).toMatchObject({ 'cache-control': 'private, no-cache' });
      expect(first.headers.vary, first.about).toContain('X-API-Key, Authorization');
      const again = await call(method, { 'if-none-match': `"x", W/${etag}` });
      expect([again.status, again.text, again.headers.etag], again.about).toEqual([304, '', etag]);
      expect(again.headers['x-ratelimit-remaining'], again.about).toBeDefined();
      await kit.gateway.store.table(Pet).update(P, { name: `After ${method}` });
      const changed = await call(method, { 'if-none-match': etag! });
      expect([changed.status, changed.headers.etag === etag], changed.about).toEqual([200, false]);
    }
    const post = await send(kit.gateway, 'POST /graphql', { body: { query: text } });
    expect([post.headers.etag, post.headers['cache-control']]).toEqual([undefined, undefined]);
    const broken = await send(kit.gateway, '/graphql?query=%7B', { headers: { 'if-none-match': '*' } });
    expect([broken.status, broken.headers.etag], broken.about).toEqual([400, undefined]);
  });

  it('lists its methods in Allow', async () => {
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      const sent = await send(kit.gateway, `${method} /graphql`);
      const allowed = 'GET, HEAD, POST, QUERY, OPTIONS';
      expectQueryRefusal(sent, 'METHOD_NOT_ALLOWED', `/graphql supports ${allowed}, not ${method}.`);
      expect(sent.headers.allow, sent.about).toBe(allowed);
    }
    const key = await kit.gateway.newKey('free');
    const options = await send(kit.gateway, 'OPTIONS /graphql', { key });
    expect(options.headers['x-ratelimit-remaining']).toBe('59');
    expect([options.status, options.headers.allow], options.about).toEqual([
      204,
      'GET, HEAD, POST, QUERY, OPTIONS',
    ]);
  });

  it('answers a cheap request before several of more than a unit, which take turns', async () => {
    const { gateway } = kit;
    const answered: string[] = [];
    const asking = async (text: string) => {
      await query(gateway, text);
      answered.push(text);
    };
    const [cheap, counts] = ['{ pets { totalCount } }', '{ petCounts(by: [status, categoryId]) { count } }'];
    for (let time = 0; time < 2; time++) {
      answered.length = 0;
      await Promise.all([...Array<string>(8).fill(counts), cheap].map(asking));
    }
    expect(answered.indexOf(cheap)).toBeLessThan(8);
  });
});

describe('GraphQL batches', () => {
  const kit = useGateway(sqlite);
  const batch = (operations: unknown[], headers: Record<string, string> = {}) =>
    send(kit.gateway, 'POST /graphql', { body: operations, headers });
  const operation = { query: '{ __typename }' };
  const result = { data: { __typename: 'Query' } };

  it('returns the results of 10 operations in their order', async () => {
    const { P, C } = await makeWorld(kit);
    const operations = [
      { query: `{ pet(id: ${P}) { name } }` },
      { query: 'query ($id: ID!) { category(id: $id) { name } }', variables: { id: C } },
      ...Array.from({ length: 8 }, () => operation),
    ];
    const sent = await batch(operations);
    expect(sent.status, sent.about).toBe(200);
    expect(sent.json, sent.about).toEqual([
      { data: { pet: { name: 'Rex' } } },
      { data: { category: { name: 'Dogs' } } },
      ...Array.from({ length: 8 }, () => result),
    ]);
  });

  it('is refused as a whole above 50 units, however they are divided', async () => {
    const { E, P } = await makeWorld(kit);
    const write = { query: `mutation { createPet(input: {name: "Never", categoryId: ${E}}) { id } }` };
    const costing = (units: number) => ({
      query: `{ ${Array.from({ length: units }, (_, n) => `p${n}: pet(id: ${P}) { id }`).join(' ')} }`,
    });
    const key = await kit.gateway.newKey('enterprise', { perMinute: 1_000, perDay: 1_000 });
    const sendBatch = (operations: unknown[]) =>
      send(kit.gateway, 'POST /graphql', { body: operations, key });
    const refused = await sendBatch([write, costing(25), costing(25)]);
    expectQueryRefusal(refused, 'QUERY_TOO_COMPLEX', 'The batch costs 51 units together; the maximum is 50.');
    expect(refused.headers['x-ratelimit-remaining']).toBe('999');
    const { category } = dataOf(await query(kit.gateway, `{ category(id: ${E}) { pets { totalCount } } }`));
    expect(category.pets.totalCount).toBe(0);
    const sent = await sendBatch([write, costing(25), costing(24)]);
    expect([sent.status, sent.json.length, sent.headers['x-ratelimit-remaining']], sent.about).toEqual([
      200,
      3,
      '949',
    ]);
  });

  it('returns the results of the other operations if some fail', async () => {
    const sent = await batch([
      operation,
      { query: '{ nothing }' },
      { query: '{' },
      { query: '{ events(after: "x") { nodes { id } } }' },
      operation,
    ]);
    expect(sent.status, sent.about).toBe(200);
    expect(sent.json[0], sent.about).toEqual(result);
    expect(sent.json[4], sent.about).toEqual(result);
    expect(
      sent.json.slice(1, 4).map(({ errors }: { errors: { extensions: unknown }[] }) => errors[0]!.extensions),
      sent.about,
    ).toEqual([
      { code: 'GRAPHQL_VALIDATION_FAILED', status: 400 },
      { code: 'GRAPHQL_PARSE_FAILED', status: 400 },
      {
        code: 'VALIDATION_FAILED',
        status: 400,
        fields: [{ path: 'after', message: 'must be the id of an event of this log' }],
      },
    ]);
    expect(sent.json[1], sent.about).not.toHaveProperty('data');
    expect(sent.json[3], sent.about).not.toHaveProperty('data');
  });

  it('sends an ETag for QUERY, and a Content-Length for POST up to 10 units, whatever comes first', async () => {
    const pet = 'pet(id: 404404) { id }';
    for (const [last, isWhole] of [
      [{}, true],
      [{ again: null }, false],
    ] as const) {
      const fields = Object.keys(last).map((alias) => `${alias}: ${pet}`);
      const others = Array(8).fill({ query: `{ ${pet} }` });
      const operations = [{ query: '{' }, ...others, { query: `{ ${[pet, ...fields]} }` }];
      const refused = { errors: [expect.anything()] };
      const results = [refused, ...Array(8).fill({ data: { pet: null } }), { data: { pet: null, ...last } }];
      const posted = await batch(operations);
      const queried = await send(kit.gateway, 'QUERY /graphql', { body: operations });
      expect([posted.status, posted.json, queried.json]).toEqual([200, results, results]);
      expect(queried.headers.etag, queried.about).toBeDefined();
      expect(posted.headers['content-length'] !== undefined, posted.about).toBe(isWhole);
    }
  });

  it('runs equal mutations separately, and replays all of them when repeated', async () => {
    const headers = { 'idempotency-key': 'batch-1' };
    const create = { query: 'mutation { createCategory(input: {name: "B"}) { id } }' };
    const first = await batch([create, create], headers);
    const [a, b] = first.json.map(
      ({ data }: { data: { createCategory: { id: string } } }) => data.createCategory.id,
    );
    expect(a, first.about).not.toBe(b);
    const again = await batch([create, create], headers);
    expect([again.text, again.headers['idempotency-replayed']], again.about).toEqual([first.text, 'true']);
  });
});

describe('store failures', () => {
  const kit = useGateway(sqlite);
  kit.faultsExpected = true;

  it.each([
    [
      'a thrown error',
      () => {
        throw new Error('secret at /etc/passwd');
      },
    ],
    [
      'an AppError with a cause',
      () => {
        throw new AppError('INTERNAL', 'Something went wrong on our side.', { cause: new Error('secret') });
      },
    ],
  ] as const)('masks %s in responses and logs it', async (_, fault) => {
    // It fails in reading and writing pets.
    const gateway = await TestGateway.start(failing(kit.gateway.store, /^pets\./, fault));
    const message = 'Something went wrong on our side.';
    const faulty: unknown[] = [];
    for (let time = 0; time < 2; time++) {
      const nullable = await query(gateway, '{ __typename pet(id: 1) { id } }');
      expect(nullable.status, nullable.about).toBe(200);
      expect(nullable.json.data, nullable.about).toEqual({ __typename: 'Query', pet: null });
      expect(nullable.json.errors[0], nullable.about).toMatchObject({
        message,
        path: ['pet'],
        extensions: { code: 'INTERNAL', status: 500 },
      });
      const list = await query(gateway, '{ pets { nodes { id } } }');
      expect([list.status, list.json.data, list.json.errors[0].extensions], list.about).toEqual([
        200,
        null,
        { code: 'INTERNAL', status: 500 },
      ]);
      for (const request of ['GET /pets', 'GET /pets/1', 'DELETE /pets/1']) {
        const refused = await send(gateway, request);
        expectRefusal(refused, 'INTERNAL', message);
        faulty.push(refused.headers['x-request-id']);
      }
      const sent = await send(gateway, 'POST /pets', { body: '{"name":"x","categoryId":1}' });
      expectRefusal(sent, 'INTERNAL', message);
      for (const { text, about } of [nullable, list, sent])
        expect(text, about).not.toMatch(/secret|passwd|at .*\.ts/);
      faulty.push(...[nullable, list, sent].map(({ headers }) => headers['x-request-id']));
    }
    const errors = gateway.logs.map((line) => JSON.parse(line)).filter(({ level }) => level === 50);
    // One line per request, with the cause.
    expect(errors.map(({ requestId }) => requestId).sort()).toEqual(faulty.sort());
    for (const error of errors) expect(JSON.stringify(error)).toContain('secret');
    await gateway.close();
  });

  it('says over REST when an unavailable one can be asked again', async () => {
    const away = () => {
      throw unavailable(new Error('secret'));
    };
    const gateway = await TestGateway.start(failing(kit.gateway.store, /^pets\./, away));
    const sent = await send(gateway, 'GET /pets/1');
    expectRefusal(sent, 'UNAVAILABLE');
    expect(sent.headers['retry-after'], sent.about).toBe('1');
    await gateway.close();
  });
});
