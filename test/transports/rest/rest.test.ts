import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { api } from '../../../src/api.ts';
import { expectAnswer, expectRefusal, makeWorld, send, sqlite, useGateway } from '../../kit/petstore.ts';
import { exchangeRaw } from '../../kit/raw.ts';

const PATHS = [...new Set(api.routes.map(({ path }) => path))];
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
const withIds = (path: string) => path.replace(/\{\w+\}/g, '1');

function allowOf(path: string): string[] {
  const methods = api.routes.filter((route) => route.path === path).map(({ method }): string => method);
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
    '/Pets',
    '/pets/',
    '/pets/1/',
    '//pets',
    '/pets//',
    '/store',
    '/store/inventory/1/',
    '/categories//pets',
    '/categories/1/pets/1',
    '/*',
    '/pets;x=1',
    '/pets%2F1',
    '/graphql/x',
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
    const target = `GET http://petstore.example/pets/${P} HTTP/1.1\r\nHost: petstore.example`;
    const sent = `${target}\r\nX-API-Key: ${kit.gateway.key}\r\nConnection: close\r\n\r\n`;
    expect(await exchangeRaw(kit.gateway.url, sent)).toContain(`\r\n\r\n${expected.text}`);
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
      const refused = await send(kit.gateway, path);
      expectRefusal(refused, 'NOT_FOUND');
      expect(refused.json.message).toContain(`There is no ${path}. `);
      expect(refused.json.message).toContain(path.includes('pets') ? 'mean /api/v1/pets' : ' /docs.');
    }
    expect((await send(kit.gateway, '/graphql?query={__typename}')).status).toBe(200);
  });
});

describe('BASE_PATH and PUBLIC_URL', () => {
  const below = useGateway(sqlite, { BASE_PATH: '/shop', REST_BASE_PATH: '/v1' });
  const PUBLIC_URL = 'https://pets.example/api/';
  const stripped = useGateway(sqlite, { PUBLIC_URL });
  const both = useGateway(sqlite, { BASE_PATH: '/shop', PUBLIC_URL: 'https://shop' });

  it.each([
    ['a prefix', below, '/shop', '/v1', '/shop/v1'],
    ['a proxy that takes the prefix away', stripped, '', '', 'https://pets.example/api'],
    ['both', both, '/shop', '', 'https://shop/shop'],
  ])('with %s: everything is served below it, and addresses have it', async (_, kit, at, rest, base) => {
    const post = (path: string, body: unknown) => send(kit.gateway, `POST ${at}${rest}${path}`, { body });
    const category = await post('/categories', { name: 'Dogs' });
    const { id } = category.json;
    expect(category.headers.location).toBe(`${base}/categories/${id}`);
    for (const name of ['Rex', 'Bella']) await post('/pets', { name, categoryId: id });
    const page = await send(kit.gateway, `${at}${rest}/pets?limit=1`);
    const [pet] = page.json;
    expect(page.headers.link).toBe(`<${base}/pets?limit=1&after=${pet.id}>; rel="next"`);
    const deprecated = await send(kit.gateway, `${at}${rest}/pets/${pet.id}`);
    const root = base.slice(0, base.length - rest.length);
    const missing = await send(kit.gateway, `${at}/nothing`);
    expect(missing.json.message).toBe(`There is no ${at}/nothing. All paths are listed at ${at}/docs.`);
    expect(deprecated.headers.link).toContain(
      `<${root}/docs#tag/Pets/getPet>; rel="deprecation", <${root}/graphql>`,
    );
    expect((await send(kit.gateway, `${at}/openapi.json`)).json.servers[0].url).toBe(base);
    expect((await send(kit.gateway, `${at}/graphql?query={__typename}`)).status).toBe(200);
    expect((await send(kit.gateway, `${at}/health/live`, { key: null })).status).toBe(200);
    expect((await send(kit.gateway, `${at}/docs/`, { key: null })).headers.location).toBe(`${root}/docs`);
  });

  it('has nothing outside of the prefix, with or without a key', async () => {
    for (const key of [null, undefined])
      for (const path of ['/', '/v1/pets', '/shopping', '/graphql', '/health/live', '/.well-known/oauth-x']) {
        const refused = await send(below.gateway, path, { ...(key === null && { key }) });
        expectRefusal(refused, 'NOT_FOUND', /below \/shop\//);
      }
    const page = await send(below.gateway, '/shop', { key: null, headers: { accept: 'text/html' } });
    expect(page.text).not.toMatch(/(?:src|href)="\/(?!shop\/)/);
    const [, script] = /src="(\/shop\/explorer\/[^"]+)"/.exec(page.text) ?? [];
    expect((await send(below.gateway, script!, { key: null })).status).toBe(200);
  });
});

describe('REST requests', () => {
  const kit = useGateway(sqlite);

  it.each([
    ['/pet', '/pets'],
    ['/Pets/', '/pets'],
    ['/pet/1', '/pets/{petId}'],
    ['/v1/pets', '/pets or /pets/counts'],
    ['/orders', '/store/orders'],
    ['/category/7/pets', '/categories/{categoryId}/pets'],
    ['/graphq', '/graphql'],
    ['/wp-login.php', undefined],
    [`/${'pets'.repeat(4_000)}`, undefined],
  ])('answers %.20s with the paths near it and where all are listed', async (path, near) => {
    const refused = await send(kit.gateway, path);
    expectRefusal(refused, 'NOT_FOUND');
    const guess = near ? ` Did you mean ${near}?` : '';
    expect(refused.json.message).toMatch(/^There is no \/[^ ]+\. /);
    expect(refused.json.message.replace(/^There is no [^ ]+/, '')).toBe(
      `${guess} All paths are listed at /docs.`,
    );
  });

  it('accepts a merge patch with PATCH alone, and a body without a type or with that of its charset', async () => {
    const { O } = await makeWorld(kit);
    const write = (method: string, path: string, type?: string) =>
      send(kit.gateway, `${method} ${path}`, {
        body: '{}',
        headers: type === undefined ? {} : { 'content-type': type },
      });
    const patch = 'application/merge-patch+json';
    const types = [
      'application/json',
      'application/json; charset=utf-8',
      'Application/Json ; Charset=utf-8',
      'application/json; charset="UTF-8"',
    ];
    for (const type of [undefined, '', ...types, patch]) {
      expectAnswer(await write('PATCH', `/store/orders/${O}`, type), 200);
      if (type !== patch) expectAnswer(await write('POST', '/store/orders', type), 201);
    }
    for (const type of [
      patch,
      'text/plain',
      'text/json',
      'application/json; charset=us-ascii',
      'application/json; charset=utf-16',
    ])
      expectRefusal(
        await write('POST', '/store/orders', type),
        'UNSUPPORTED_MEDIA_TYPE',
        /application\/json/,
      );
    const both = /application\/json or application\/merge-patch\+json/;
    expectRefusal(await write('PATCH', `/store/orders/${O}`, 'text/plain'), 'UNSUPPORTED_MEDIA_TYPE', both);
  });
});

describe('REST checks', () => {
  const kit = useGateway(sqlite);

  it.each([
    ['a deletion', 'DELETE', undefined],
    ['a patch that changes nothing', 'PATCH', {}],
  ])('counts %s towards the mutations per second, but not a read', async (_write, method, body) => {
    // The second is the machine's.
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const key = await kit.gateway.newKey('free');
    const statusOf = async (request: string) => (await send(kit.gateway, request, { key, body })).status;
    const statuses: number[] = [];
    for (let i = 0; i < 21; i++) statuses.push(await statusOf(`${method} /store/orders/404404`));
    expect(statuses).toEqual([...Array(20).fill(404), 429]);
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
