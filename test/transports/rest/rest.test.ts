import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { ROUTES } from '../../../src/domains/routes.ts';
import { expectAnswer, expectRefusal, makeWorld, send, sqlite, useGateway } from '../../kit/petstore.ts';

const PATHS = [...new Set(ROUTES.map(({ path }) => path))];
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
const withIds = (path: string) => path.replace(/\{\w+\}/g, '1');

function allowOf(path: string): string[] {
  const methods = ROUTES.filter((route) => route.path === path).map(({ method }): string => method);
  return METHODS.filter(
    (method) => method === 'OPTIONS' || methods.includes(method === 'HEAD' ? 'GET' : method),
  );
}
const sortedMethods = (allow: string | undefined) => allow?.split(', ').sort();

describe('REST paths and methods', () => {
  const kit = useGateway(sqlite);

  it.each(PATHS)('lists the methods of %s in Allow for OPTIONS and in 405 responses', async (path) => {
    const allowed = allowOf(path);
    const options = await send(kit.gateway, `OPTIONS ${withIds(path)}`);
    expect([options.status, options.text], options.about).toEqual([204, '']);
    expect(sortedMethods(options.headers.allow), options.about).toEqual([...allowed].sort());
    expect(options.headers['x-ratelimit-limit'], options.about).toBe('1000000');
    for (const method of [...METHODS, 'TRACE', 'PROPFIND'].filter((each) => !allowed.includes(each))) {
      const response = await send(kit.gateway, `${method} ${withIds(path)}`);
      if (method === 'HEAD') expect([response.status, response.text], response.about).toEqual([405, '']);
      else expectRefusal(response, 'METHOD_NOT_ALLOWED');
      expect(sortedMethods(response.headers.allow), response.about).toEqual([...allowed].sort());
    }
  });

  it.each([
    '/nothing',
    '/pet',
    '/Pets',
    '/pets/',
    '/pets/1/',
    '/pets/1/orders',
    '//pets',
    '/pets//',
    '/store',
    '/store/',
    '/store/orders/',
    '/store/inventory/1/',
    '/categories/1/pets/',
    '/categories//pets',
    '/categories/1/pets/1',
    '/*',
    '/pets;x=1',
    '/pets%2F1',
    '/pets/1/2',
    '/graphql/x',
    '/v1/pets',
    '/store/orders/1;v=2/x',
  ])('responds 404 to %s', async (path) => {
    for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS', 'HEAD']) {
      const response = await send(kit.gateway, `${method} ${path}`);
      if (method === 'HEAD') expect([response.status, response.text], response.about).toEqual([404, '']);
      else expectRefusal(response, 'NOT_FOUND');
    }
  });

  it.each(['/pets/%', '/pets/%zz', '/pets/%ff', '/%c3%28', '/categories/%e0%a4%a/pets'])(
    'responds 400 to the invalid encoding in %s',
    async (path) => {
      for (const method of ['GET', 'PUT', 'POST'])
        expectRefusal(await send(kit.gateway, `${method} ${path}`), 'BAD_REQUEST');
    },
  );

  it('accepts a request target in absolute form (RFC 9112 section 3.2.2)', async () => {
    const { P } = await makeWorld(kit);
    const expected = await send(kit.gateway, `/pets/${P}`);
    const text = await new Promise<string>((resolve, reject) => {
      const { hostname, port } = new URL(kit.gateway.url);
      const headers = { 'x-api-key': kit.gateway.key };
      const clientRequest = request(
        { hostname, port, path: `http://petstore.example/pets/${P}`, headers },
        (response) => {
          let body = '';
          response.setEncoding('utf8').on('data', (chunk) => {
            body += chunk;
          });
          response.on('end', () => resolve(body));
        },
      );
      clientRequest.on('error', reject).end();
    });
    expect(text).toBe(expected.text);
  });

  it('responds 200 to HEAD with the headers of GET and no body', async () => {
    const { C, P, O } = await makeWorld(kit);
    const paths = [
      '/pets?limit=1',
      `/pets/${P}`,
      '/categories',
      `/categories/${C}`,
      `/categories/${C}/pets`,
      '/store/orders?limit=1',
      `/store/orders/${O}`,
      '/store/inventory',
      `/store/inventory/${P}`,
    ];
    for (const path of paths) {
      const get = await send(kit.gateway, path);
      const head = await send(kit.gateway, `HEAD ${path}`);
      expect([head.status, head.text], head.about).toEqual([200, '']);
      for (const name of ['content-type', 'content-length', 'etag', 'link', 'cache-control', 'deprecation']) {
        expect(head.headers[name], `${name}${head.about}`).toEqual(get.headers[name]);
      }
    }
  });
});

describe('REST_BASE_PATH', () => {
  const kit = useGateway(sqlite, { REST_BASE_PATH: '/api/v1' });

  it('moves REST paths and links below it, but not /graphql', async () => {
    const { C } = await makeWorld(kit);
    const created = await send(kit.gateway, 'POST /api/v1/pets', { body: `{"name":"x","categoryId":${C}}` });
    expectAnswer(created, 201);
    expect(created.headers.location).toMatch(/^\/api\/v1\/pets\/\d+$/);
    expectAnswer(await send(kit.gateway, created.headers.location!), 200, created.text);
    const list = await send(kit.gateway, '/api/v1/pets?limit=1');
    const next = /^<([^>]+)>; rel="next"$/.exec(list.headers.link as string)?.[1];
    expect(next, list.about).toMatch(/^\/api\/v1\/pets\?/);
    expectAnswer(await send(kit.gateway, next!), 200);
    for (const path of ['/pets', '/api/v1', '/api/v1/', '/api/pets', '/api/v1/pets/']) {
      expectRefusal(await send(kit.gateway, path), 'NOT_FOUND', `There is no ${path}.`);
    }
    expect((await send(kit.gateway, '/graphql?query={__typename}')).status).toBe(200);
  });
});

describe('REST requests', () => {
  const kit = useGateway(sqlite);
  const post = (contentType: string | undefined, method = 'POST', path = '/store/orders') =>
    send(kit.gateway, `${method} ${path}`, {
      body: '{}',
      headers: contentType === undefined ? {} : { 'content-type': contentType },
    });

  it.each([
    undefined,
    'application/json',
    'APPLICATION/JSON',
    'application/json;charset=utf-8',
    'application/json; charset=UTF-8',
    'application/json ; charset="utf-8"',
    'application/json; charset=utf8',
    'application/json; odata=verbose; charset=utf-8',
  ])('accepts a body of type %s', async (contentType) => {
    expectAnswer(await post(contentType), 201);
    const { O } = await makeWorld(kit);
    expectAnswer(await post(contentType, 'PATCH', `/store/orders/${O}`), 200);
  });

  it.each([
    'text/plain',
    'application/xml',
    'application/jsonp',
    'application/json; charset=latin1',
    'application/json; charset=utf-16',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/merge-patch+json',
    'json',
    '*/*',
  ])('responds 415 to a body of type %s', async (contentType) => {
    expectRefusal(await post(contentType), 'UNSUPPORTED_MEDIA_TYPE', /application\/json/);
    expectRefusal(await post(contentType, 'PUT', '/store/orders/1'), 'UNSUPPORTED_MEDIA_TYPE');
  });

  it('accepts application/merge-patch+json with PATCH and responds 415 to other types', async () => {
    const { O, C } = await makeWorld(kit);
    for (const type of ['application/merge-patch+json', 'Application/Merge-Patch+JSON; charset=utf-8']) {
      expectAnswer(await post(type, 'PATCH', `/store/orders/${O}`), 200);
    }
    for (const type of [
      'application/json-patch+json',
      'text/plain',
      'application/merge-patch+json; charset=latin1',
    ]) {
      const response = await post(type, 'PATCH', `/categories/${C}`);
      expectRefusal(
        response,
        'UNSUPPORTED_MEDIA_TYPE',
        /application\/json or application\/merge-patch\+json/,
      );
    }
  });

  it.each(['identity', 'Identity'])('accepts a body with Content-Encoding: %s', async (coding) => {
    const headers = { 'content-encoding': coding };
    expectAnswer(await send(kit.gateway, 'POST /store/orders', { body: '{}', headers }), 201);
    const query = await send(kit.gateway, 'POST /graphql', { body: { query: '{ __typename }' }, headers });
    expect(query.status, query.about).toBe(200);
  });

  it.each(['gzip', 'br', 'deflate, gzip'])('responds 415 to Content-Encoding: %s', async (encoding) => {
    const response = await send(kit.gateway, 'POST /store/orders', {
      body: '{}',
      headers: { 'content-encoding': encoding },
    });
    expectRefusal(response, 'UNSUPPORTED_MEDIA_TYPE');
  });

  it.each([
    '*/*',
    'application/*',
    'application/json',
    'application/json; q=0.1',
    'text/html, application/json;q=0.9',
    'text/html, */*;q=0.1',
    'APPLICATION/JSON',
    '',
    'application/json;charset=utf-8',
  ])('responds 200 to Accept: %s', async (accept) => {
    expectAnswer(await send(kit.gateway, '/pets', { headers: { accept } }), 200);
  });

  it.each([
    'text/html',
    'application/xml',
    'text/*',
    'application/json;q=0',
    '*/*;q=0',
    'application/json;q=0, */*',
    'application/jsonx',
  ])('responds 406 to Accept: %s', async (accept) => {
    for (const request of ['GET /pets', 'POST /store/orders', 'DELETE /store/orders/1', 'GET /pets/0']) {
      expectRefusal(await send(kit.gateway, request, { headers: { accept } }), 'NOT_ACCEPTABLE');
    }
  });

  it.each(
    [
      '',
      ' ',
      '{',
      '{"name":}',
      '{} {}',
      "{'a':1}",
      '{"a":1,}',
      '// x',
      '{"a":\u0001}',
      'undefined',
      '\ufeff{}',
      '{"name":"\u0001"}',
      '['.repeat(50_000),
      '{"a":'.repeat(15_000),
    ].map((body) => [body.slice(0, 40), body] as const),
  )('responds 400 to a body that is not valid JSON: %j', async (_, body) => {
    expectRefusal(
      await send(kit.gateway, 'POST /store/orders', { body }),
      'BAD_REQUEST',
      'The body is not valid JSON.',
    );
  });

  it.each([
    '{"name":"a","name":"b"}',
    '{"a":12345678901234567890,"a":12345678901234567890}',
    '{"a":12345678901234567890,"a":1}',
    '{"a":{"b":1,"b":1}}',
  ])('responds 400 to a duplicate name in an object: %s', async (body) => {
    expectRefusal(
      await send(kit.gateway, 'POST /store/orders', { body }),
      'BAD_REQUEST',
      'The body has a duplicate name in an object.',
    );
  });

  it.each(['[]', '[{}]', 'null', 'true', '7', '"x"', '12345678901234567890', '1.5'])(
    'responds 400 to a body that is not an object: %s',
    async (body) => {
      for (const request of ['POST /store/orders', 'PUT /store/orders/1', 'PATCH /store/orders/1']) {
        expectRefusal(
          await send(kit.gateway, request, { body }),
          'BAD_REQUEST',
          'The body must be a JSON object.',
        );
      }
    },
  );

  it('responds 400 to a body in Latin-1 or UTF-16', async () => {
    const body = Buffer.from('{"name":"caf\xe9"}', 'latin1');
    expectRefusal(
      await send(kit.gateway, 'POST /categories', { body }),
      'BAD_REQUEST',
      'The body is not valid UTF-8.',
    );
    // Zero bytes are valid UTF-8, but JSON allows none between its tokens.
    for (const [text, message] of [
      ['{}', 'The body is not valid JSON.'],
      ['\ufeff{}', 'The body is not valid UTF-8.'],
    ] as const) {
      const utf16 = Buffer.from(text, 'utf16le');
      expectRefusal(await send(kit.gateway, 'POST /store/orders', { body: utf16 }), 'BAD_REQUEST', message);
    }
  });

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'refuses %s as an unknown field and query parameter',
    async (name) => {
      for (const value of ['{"complete":true}', '{"id":12345678901234567}', '1']) {
        const body = `{"${name}":${value}}`;
        expectRefusal(
          await send(kit.gateway, 'POST /store/orders', { body }),
          'VALIDATION_FAILED',
          `${name}: is not a known field.`,
        );
      }
      expectRefusal(
        await send(kit.gateway, `/pets?${name}=1`),
        'VALIDATION_FAILED',
        `${name}: is not a known query parameter.`,
      );
    },
  );

  it('refuses -0 as the petId and quantity of an order', async () => {
    const body = `{"petId":-0,"quantity":-0}`;
    expectRefusal(
      await send(kit.gateway, 'POST /store/orders', { body }),
      'VALIDATION_FAILED',
      /^petId: .*; quantity: /,
    );
  });

  it('reads an inventory quantity of -0 as 0, over REST and GraphQL', async () => {
    const { P } = await makeWorld(kit);
    const put = await send(kit.gateway, `PUT /store/inventory/${P}`, { body: '{"quantity":-0}' });
    expect([put.status, put.json.quantity]).toEqual([200, 0]);
    await send(kit.gateway, `PUT /store/inventory/${P}`, { body: '{"quantity":5}' });
    const mutation = `mutation { updateInventory(petId: ${P}, input: {quantity: -0}) { quantity } }`;
    expect((await kit.gateway.graphql(mutation)).text).toBe('{"data":{"updateInventory":{"quantity":0}}}');
  });

  it.each(['1.0', '1e0', '1E+1', '2147483648', '12345678901234567890', '-0.0', '"1"', '0.5', '1e400', '-1'])(
    'refuses %s as a quantity',
    async (quantity) => {
      const body = `{"quantity":${quantity}}`;
      const { P } = await makeWorld(kit);
      expectRefusal(
        await send(kit.gateway, 'POST /store/orders', { body }),
        'VALIDATION_FAILED',
        'quantity: must be an integer from 1 to 2147483647.',
      );
      expectRefusal(
        await send(kit.gateway, `PUT /store/inventory/${P}`, { body }),
        'VALIDATION_FAILED',
        'quantity: must be an integer from 0 to 2147483647.',
      );
    },
  );

  it.each([
    ['2026-01-31T09:30:00Z', '2026-01-31T09:30:00Z'],
    ['2026-01-31t09:30:00z', '2026-01-31T09:30:00Z'],
    ['2026-01-31T09:30:00.000Z', '2026-01-31T09:30:00Z'],
    ['2026-01-31T09:30:00.5Z', '2026-01-31T09:30:00.500Z'],
    ['2026-01-31T09:30:00.0009999Z', '2026-01-31T09:30:00Z'],
    ['2026-01-01T00:30:00+01:00', '2025-12-31T23:30:00Z'],
    ['2026-01-31T09:30:00-00:00', '2026-01-31T09:30:00Z'],
    ['2024-02-29T23:59:59-23:59', '2024-03-01T23:58:59Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ])('stores shipDate %s as %s', async (shipDate, stored) => {
    const created = await send(kit.gateway, 'POST /store/orders', { body: { shipDate } });
    expect([created.status, created.json?.shipDate], created.about).toEqual([201, stored]);
    const read = await send(kit.gateway, created.headers.location!);
    expect(read.text, read.about).toBe(created.text);
  });

  it.each([
    '2026-01-31',
    '2026-01-31T09:30Z',
    '2026-01-31T09:30:00',
    '2026-01-31 09:30:00Z',
    '2026-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-31T24:00:00Z',
    '2026-01-31T09:60:00Z',
    '2026-01-31T09:30:00+24:00',
    '2026-01-31T09:30:00.Z',
    '+002026-01-31T09:30:00Z',
    '26-1-31T9:30:00Z',
    '0000-01-01T00:00:00+00:01',
    '9999-12-31T23:59:59-00:01',
    '',
    ' 2026-01-31T09:30:00Z',
    'Sat, 31 Jan 2026 09:30:00 GMT',
  ])('refuses shipDate %j', async (shipDate) => {
    const message = 'shipDate: must be an RFC 3339 date-time such as 2026-01-31T09:30:00Z.';
    expectRefusal(
      await send(kit.gateway, 'POST /store/orders', { body: { shipDate } }),
      'VALIDATION_FAILED',
      message,
    );
  });
});

describe('REST checks', () => {
  const kit = useGateway(sqlite);

  it('counts a deletion towards the mutations per second, but not a read', async () => {
    const key = await kit.gateway.newKey('free');
    const statusOf = async (request: string) => (await send(kit.gateway, request, { key })).status;
    const statuses: number[] = [];
    for (let i = 0; i < 21; i++) statuses.push(await statusOf('DELETE /store/orders/404404'));
    expect(statuses).toEqual([...new Array(20).fill(404), 429]);
    for (let i = 0; i < 21; i++) expect(await statusOf('/store/orders/404404')).toBe(404);
  });

  it('runs the checks in the documented order', async () => {
    const { gateway } = kit;
    const { C, P } = await makeWorld(kit);
    const spent = await gateway.newKey('enterprise', { perMinute: 1, perDay: 1 });
    await send(gateway, '/pets', { key: spent });
    const missing = '9223372036854775806';
    const bad = { accept: 'text/html', 'content-type': 'text/plain', 'if-match': '"x"' };
    const large = `{"name":"${'x'.repeat(100_001)}"}`;
    // Each row also has the errors of the rows below it, as far as one request can have them.
    const rows: [code: string, request: string, options: Parameters<typeof send>[2]][] = [
      ['UNAUTHENTICATED', 'PURGE /nothing', { key: null, headers: bad, body: large }],
      ['RATE_LIMITED', 'PURGE /nothing', { key: spent, headers: bad, body: large }],
      ['NOT_FOUND', 'PURGE /nothing', { headers: bad, body: large }],
      ['METHOD_NOT_ALLOWED', 'POST /pets/0', { headers: bad, body: large }],
      ['NOT_ACCEPTABLE', 'PUT /pets/0?x=1', { headers: bad, body: large }],
      [
        'PAYLOAD_TOO_LARGE',
        'PUT /pets/0?x=1',
        { headers: { 'content-type': 'text/plain', 'if-match': '"x"' }, body: large },
      ],
      [
        'UNSUPPORTED_MEDIA_TYPE',
        'PUT /pets/0?x=1',
        { headers: { 'content-type': 'text/plain', 'if-match': '"x"' }, body: '{' },
      ],
      ['BAD_REQUEST', 'PUT /pets/0?x=1', { headers: { 'if-match': '"x"' }, body: '{' }],
      ['VALIDATION_FAILED', `PUT /pets/${missing}`, { headers: { 'if-match': '"x"' }, body: '{}' }],
      [
        'NOT_FOUND',
        `PUT /pets/${missing}`,
        { headers: { 'if-match': '"x"' }, body: `{"name":"x","categoryId":${missing}}` },
      ],
      [
        'PRECONDITION_FAILED',
        `PUT /pets/${P}`,
        { headers: { 'if-match': '"x"' }, body: `{"name":"x","categoryId":${missing}}` },
      ],
      ['UNKNOWN_REFERENCE', `PUT /pets/${P}`, { body: `{"name":"x","categoryId":${missing}}` }],
      ['PRECONDITION_FAILED', `DELETE /categories/${C}`, { headers: { 'if-match': '"x"' } }],
      ['CONFLICT', `DELETE /categories/${C}`, {}],
    ];
    for (const [code, request, options] of rows)
      expectRefusal(await send(gateway, request, options), code as 'CONFLICT');
  });

  it('accepts a body of 100,000 bytes and responds 413 to one byte more, chunked or not', async () => {
    const bodyOf = (bytes: number) => `{"name":"x"${' '.repeat(bytes - 12)}}`;
    const chunked: Record<string, string | string[]> = {
      'transfer-encoding': 'chunked',
      'content-length': [],
    };
    for (const headers of [{}, chunked]) {
      expectAnswer(await send(kit.gateway, 'POST /categories', { body: bodyOf(100_000), headers }), 201);
      const response = await send(kit.gateway, 'POST /categories', { body: bodyOf(100_001), headers });
      expectRefusal(response, 'PAYLOAD_TOO_LARGE');
      expect(response.headers['x-ratelimit-limit'], response.about).toBe('1000000');
    }
  });
});
