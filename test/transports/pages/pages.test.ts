import { readdirSync, readFileSync } from 'node:fs';
import { get } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { getVariableValues, type OperationDefinitionNode, parse, validate } from 'graphql';
import { describe, expect, it } from 'vitest';
import { ROUTES, STREAMS } from '../../../src/domains/routes.ts';
import { schema } from '../../../src/schema.ts';
import { type Sent, send, sqlite, useGateway } from '../../kit/petstore.ts';
import { exchangeRaw } from '../../kit/raw.ts';

/** What browsers send on navigation. */
const BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };
const browse = { key: null, headers: BROWSER };
const PAGES = ['/', '/docs', '/graphql', '/console', '/guides', '/guides/interface'];
const sdl = readFileSync(new URL('../../../schema/schema.graphql', import.meta.url), 'utf8');

/** The directives of the Content-Security-Policy with their sources. */
const policyOf = (response: Sent): Record<string, string[]> =>
  Object.fromEntries(
    (response.headers['content-security-policy'] as string).split('; ').map((directive) => {
      const [name, ...sources] = directive.split(' ');
      return [name, sources];
    }),
  );

const captures = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, capture]) => capture!);
const unescaped = (link: string) => link.replaceAll('&amp;', '&').replace(/#.*/, '');
const linksOf = (html: string) => captures(html, /<a [^>]*href="([^"]*)"/g);
const headingsOf = (html: string) => captures(html, /<h2>([^<]*)<\/h2>/g);
/** The paths in the list of endpoints that have a description. */
const endpointsOf = (html: string) =>
  captures(html, /<dt>(?:<a[^>]*>)?([^<]*)(?:<\/a>)?<\/dt>\n<dd>[^<]+<\/dd>/g);

const POLICY = {
  'default-src': ["'none'"],
  'script-src': ["'self'"],
  'style-src': ["'self'", "'unsafe-inline'"],
  'img-src': ["'self'", 'data:'],
  'font-src': ["'self'", 'data:'],
  'worker-src': ["'self'"],
  'connect-src': ["'self'"],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
  'frame-ancestors': ["'none'"],
};

const NO_CACHE = { 'cache-control': 'no-cache', etag: expect.stringMatching(/^W\/"[\w-]+"$/) };
const NO_STORE = { 'cache-control': 'no-store' };

describe('pages', () => {
  const kit = useGateway(sqlite);

  it.each([
    ['/', 'Petstore'],
    ['/docs', 'Petstore REST API'],
    ['/graphql', 'Petstore GraphiQL'],
    ['/console', 'Petstore console'],
    ['/guides', 'Petstore guides'],
    ['/guides/interface', 'Interface · Petstore'],
  ])(
    'serves %s to browsers without a key, private, with a strict policy and no inline scripts',
    async (path, title) => {
      const response = await send(kit.gateway, path, browse);
      const { status, headers, text, about } = response;
      expect(status, about).toBe(200);
      expect(headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'private, no-cache',
        vary: 'Accept, Accept-Encoding, X-API-Key, Authorization',
        'cross-origin-opener-policy': 'same-origin',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'x-frame-options': 'DENY',
      });
      expect(headers['x-ratelimit-limit']).toBeUndefined();
      expect(policyOf(response)).toEqual(POLICY);
      // The policy would block inline scripts and event handlers.
      expect(text).not.toMatch(/<script>|<[^>]+\son\w+=/);
      const head = await send(kit.gateway, `HEAD ${path}`, browse);
      expect([head.status, head.text]).toEqual([200, '']);
      expect(head.headers['content-length']).toBe(headers['content-length']);
      const known = { headers: { ...browse.headers, 'if-none-match': headers.etag! } };
      const again = await send(kit.gateway, path, known);
      expect([again.status, again.text, again.headers.vary]).toEqual([304, '', headers.vary]);

      expect(text).toMatch(/^<!doctype html>\n<html lang="en">/);
      expect(text).toContain(`<title>${title}</title>`);
      expect(text).toMatch(/<meta name="description" content="[^"]{40,160}">/);
      expect(text).toContain('<link rel="icon" href="/favicon.svg">');
      // No API key.
      expect(text).not.toMatch(/petstore_[0-9A-Za-z]{40}/);
      const [navigation] = text.match(/<nav[\s\S]*?<\/nav>/)!;
      const links = [...navigation.matchAll(/<a href="([^"]*)"([^>]*)>([^<]+)<\/a>/g)];
      expect(links.map(([, to, , name]) => [to, name])).toEqual([
        ['/graphql', 'GraphiQL'],
        ['/docs', 'REST docs'],
        ['/guides', 'Guides'],
        ['/console', 'Console'],
      ]);
      const marked = links.filter(([, , attributes]) => attributes === ' aria-current="page"');
      expect(marked.map(([, to]) => to)).toEqual(['/', '/guides/interface'].includes(path) ? [] : [path]);
    },
  );

  it('links the landing page to every endpoint, with no broken links', async () => {
    const { text } = await send(kit.gateway, '/', browse);
    expect(headingsOf(text)).toEqual([
      'Query',
      'Answer',
      'Your first call',
      'And then',
      'Endpoints',
      'Guides',
    ]);
    expect(text).toContain(`curl -H 'X-API-Key: YOUR_KEY' \\\n  '${kit.gateway.url}/pets?limit=2'`);
    const pages = ['/docs', '/graphql', '/console'];
    const others = ['/openapi.json', '/schema.graphql', '/health/ready', '/health/live', '/metrics'];
    expect(endpointsOf(text)).toEqual([...pages, '/mcp', '/pets', ...others]);
    const links = linksOf(text);
    for (const expected of [...pages, ...others, '/docs#tag/Store/createOrder', '/guides/tasks'])
      expect(links).toContain(expected);
    for (const link of links)
      expect((await send(kit.gateway, unescaped(link), browse)).status, link).toBe(200);
    expect(text).toContain('<a href="/openapi.json" download="petstore-openapi.json">');
    expect(text).toContain('<a href="/schema.graphql" download="petstore.graphql">');
  });

  it.each([
    ['/health/live', 'application/json', NO_STORE, '{"status":"live"}'],
    ['/health/ready', 'application/json', NO_STORE, '{"status":"ready"}'],
    // Weak, because the compressed and plain representations share it (RFC 9110 section 8.8.1).
    ['/openapi.json', 'application/json', NO_CACHE, '{"openapi":'],
    ['/favicon.svg', 'image/svg+xml', NO_CACHE, '<svg xmlns="http://www.w3.org/2000/svg"'],
    ['/robots.txt', 'text/plain', NO_CACHE, '# Crawlers'],
    ['/schema.graphql', 'text/plain; charset=utf-8', NO_CACHE, sdl],
  ])('serves %s without a key and without rate-limit headers', async (path, type, headers, start) => {
    const response = await send(kit.gateway, path, { key: null });
    expect(response.status).toBe(200);
    expect(response.headers).toMatchObject({ 'content-type': type, ...headers });
    expect(response.text.slice(0, start.length)).toBe(start);
    expect(response.headers['x-ratelimit-limit']).toBeUndefined();
  });

  it.each(['/docs', '/graphql', '/openapi.json'])(
    'compresses %s only if Accept-Encoding allows gzip',
    async (path) => {
      const plain = await send(kit.gateway, path, browse);
      expect(plain.headers['content-encoding']).toBeUndefined();
      const refusing = { key: null, headers: { ...BROWSER, 'accept-encoding': 'br, gzip;q=0' } };
      const none = await send(kit.gateway, path, refusing);
      expect(none.headers['content-encoding']).toBeUndefined();
      expect(none.text).toBe(plain.text);
      expect(plain.headers.vary).toContain('Accept-Encoding');
      const url = kit.gateway.url + path;
      const { headers, body } = await raw(url, { ...BROWSER, 'accept-encoding': 'gzip, deflate, br' });
      expect(headers['content-encoding']).toBe('gzip');
      expect(Number(headers['content-length'])).toBe(body.length);
      expect(gunzipSync(body).toString()).toBe(plain.text);
      const known = { key: null, headers: { ...BROWSER, 'if-none-match': headers.etag as string } };
      const again = await send(kit.gateway, path, known);
      expect([again.status, again.text, again.headers['content-encoding']]).toEqual([304, '', undefined]);
    },
  );

  it('serves scripts, styles and fonts of the pages from its own origin, compressed and immutable', async () => {
    const assets = new Set<string>();
    for (const path of PAGES) {
      const page = await send(kit.gateway, path, browse);
      const links = captures(page.text, /<(?:script|link|img)\s[^>]*(?:src|href)="([^"#]+)"/g);
      expect(links.filter((link) => !link.startsWith('/') || link.startsWith('//'))).toEqual([]);
      for (const link of links) if (link.startsWith('/explorer/')) assets.add(link);
    }
    const styles = [...assets].filter((path) => path.endsWith('.css'));
    for (const path of styles)
      for (const font of captures(
        (await send(kit.gateway, path, { key: null })).text,
        /url\(([^)]*woff2)\)/g,
      ))
        assets.add(font);
    const types = { js: 'text/javascript', css: 'text/css', woff2: 'font/woff2' };
    const expand = { br: brotliDecompressSync, gzip: gunzipSync };
    for (const asset of assets) {
      const plain = await raw(kit.gateway.url + asset, {});
      expect(plain.headers, asset).toMatchObject({
        'cache-control': 'public, max-age=31536000, immutable',
        'content-type': types[asset.replace(/.*\./, '') as 'js'],
      });
      expect(plain.headers['content-encoding'], asset).toBeUndefined();
      expect(plain.headers['x-ratelimit-limit'], asset).toBeUndefined();
      for (const [accepted, coding] of [
        ['gzip, deflate, br, zstd', 'br'],
        ['gzip', 'gzip'],
      ] as const) {
        const { headers, body } = await raw(kit.gateway.url + asset, { 'accept-encoding': accepted });
        expect([headers['content-encoding'], headers.vary], asset).toEqual([coding, 'Accept-Encoding']);
        expect(expand[coding](body).equals(plain.body), asset).toBe(true);
      }
    }
  });

  /** Of a request whose target is sent as it is written: clients normalise it. */
  const statusOf = async (target: string) =>
    Number(
      /^HTTP\/1.1 (\d+)/.exec(
        await exchangeRaw(kit.gateway.url, `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`),
      )![1],
    );

  it('responds 401 to other paths below /explorer/ without a key, as they were sent', async () => {
    for (const path of [
      '',
      '.vite/manifest.json',
      '../.vite/manifest.json',
      'operations.json',
      '../package.json',
      '%2e%2e/package.json',
      'graphiql',
      'constructor',
    ])
      expect(await statusOf(`/explorer/${path}`), path).toBe(401);
    expect(await statusOf('/docs/../package.json')).toBe(401);
  });

  it('links each REST operation of the docs to GraphiQL with a valid operation and valid variables', async () => {
    const { text } = await send(kit.gateway, '/docs', browse);
    const links = [...text.matchAll(/<section id="tag\/\w+\/(\w+)">[\s\S]*?<\/section>/g)].flatMap(
      ([section, operationId]) =>
        captures(section, /href="(\/graphql\?[^"]*)"/g).map((link) => ({
          operationId,
          link: unescaped(link),
        })),
    );
    expect(links.map(({ operationId }) => operationId)).toEqual(ROUTES.map(({ operationId }) => operationId));
    for (const { operationId, link } of links) {
      const given = new URL(link, kit.gateway.url).searchParams;
      const document = parse(given.get('query')!);
      const { variableDefinitions = [] } = document.definitions[0] as OperationDefinitionNode;
      const variables = JSON.parse(given.get('variables') ?? '{}');
      expect(validate(schema, document), operationId).toEqual([]);
      expect(getVariableValues(schema, variableDefinitions, variables).errors, operationId).toBeUndefined();
    }
  });

  it('serves each file of docs as a guide, whose links and headings lead somewhere', async () => {
    const { text: list } = await send(kit.gateway, '/guides', browse);
    const guides = new Set(linksOf(list).filter((link) => /^\/guides\/[\w-]+$/.test(link)));
    const names = readdirSync(new URL('../../../docs/', import.meta.url)).filter((name) =>
      name.endsWith('.md'),
    );
    expect([...guides].toSorted()).toEqual(names.map((name) => `/guides/${name.slice(0, -3)}`).toSorted());
    const pages = new Map<string, string>();
    for (const guide of guides) pages.set(guide, (await send(kit.gateway, guide, browse)).text);
    for (const [guide, text] of pages) {
      expect(text).toMatch(/<h1[ >]/);
      for (const link of linksOf(text).filter((to) => !to.startsWith('http'))) {
        const [path, id] = link.split('#') as [string, string | undefined];
        if (pages.has(path) || path === '')
          expect(
            id === undefined || pages.get(path || guide)!.includes(`id="${id}"`),
            `${guide}: ${link}`,
          ).toBe(true);
        else expect((await send(kit.gateway, path, browse)).status, `${guide}: ${link}`).toBe(200);
      }
    }
  });

  it.each([
    ['/docs/', '/docs'],
    ['/console/', '/console'],
    ['/graphql/', '/graphql'],
    ['/graphql/?query=%7B__typename%7D', '/graphql?query=%7B__typename%7D'],
  ])('redirects %s to %s', async (path, location) => {
    for (const method of ['GET', 'HEAD']) {
      const response = await send(kit.gateway, `${method} ${path}`, { key: null });
      expect([response.status, response.headers.location, response.text]).toEqual([308, location, '']);
    }
    expect((await send(kit.gateway, `POST ${path}`, { key: null, body: '{}' })).status).toBe(401);
    expect((await send(kit.gateway, `POST ${path}`, { body: '{}' })).status).toBe(404);
  });

  it.each(['/docs', '/openapi.json', '/health/live'])(
    'allows only GET, HEAD and OPTIONS on %s',
    async (path) => {
      const options = await send(kit.gateway, `OPTIONS ${path}`, { key: null });
      expect([options.status, options.headers.allow]).toEqual([204, 'GET, HEAD, OPTIONS']);
      const post = await send(kit.gateway, `POST ${path}`, { key: null, body: '{}' });
      expect([post.status, post.headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
    },
  );

  it('serves GraphiQL to a browser that follows a link with a query', async () => {
    const { status, text } = await send(kit.gateway, '/graphql?query=%7B__typename%7D', browse);
    expect([status, text]).toEqual([200, (await send(kit.gateway, '/graphql', browse)).text]);
  });

  it('lists every operation in the docs without scripts, where its links lead', async () => {
    const { text } = await send(kit.gateway, '/docs', browse);
    for (const { tag, operationId, method, path } of [...ROUTES, ...STREAMS]) {
      expect(text).toContain(`<section id="tag/${tag}/${operationId}">`);
      expect(text).toContain(`<span class="method">${method}</span> <code>${path}</code>`);
    }
  });

  it('serves no page at / and /graphql to API clients', async () => {
    expect((await send(kit.gateway, '/', { key: null })).status).toBe(401);
    expect((await send(kit.gateway, '/', { headers: { accept: 'application/json' } })).status).toBe(404);
    expect((await send(kit.gateway, 'POST /', { headers: BROWSER, body: '{}' })).status).toBe(404);
    const response = await send(kit.gateway, '/graphql?query=%7B__typename%7D');
    expect([response.status, response.json]).toEqual([200, { data: { __typename: 'Query' } }]);
    expect((await send(kit.gateway, '/graphql', { key: null })).status).toBe(401);
    const posted = await send(kit.gateway, 'POST /graphql', {
      headers: { ...BROWSER, 'content-type': 'application/json' },
      body: { query: '{__typename}' },
    });
    expect([posted.status, posted.json]).toEqual([200, { data: { __typename: 'Query' } }]);
  });

  it('lets scripts of any origin read /openapi.json, but not the pages', async () => {
    const headers = { ...BROWSER, origin: 'https://elsewhere.example' };
    const openApi = await send(kit.gateway, '/openapi.json', { key: null, headers });
    expect(openApi.headers['access-control-allow-origin']).toBe('*');
    for (const path of PAGES) {
      const response = await send(kit.gateway, path, { key: null, headers });
      expect(response.headers['access-control-allow-origin'], path).toBeUndefined();
      expect(response.headers['cross-origin-resource-policy'], path).toBe('same-origin');
    }
  });

  it('shows localhost if Host is unsafe or missing, and ignores X-Forwarded-Proto without TRUST_PROXY', async () => {
    const headers = { ...BROWSER, host: "x'$(id)", 'x-forwarded-proto': 'https' };
    const { text } = await send(kit.gateway, '/', { key: null, headers });
    expect(text).toContain('http://localhost/pets?limit=2');
    expect(text).not.toContain('$(id)');
    const withoutHost = await exchangeRaw(kit.gateway.url, 'GET / HTTP/1.0\r\nAccept: text/html\r\n\r\n');
    expect(withoutHost).toContain('http://localhost/pets?limit=2');
  });
});

describe('pages with INTROSPECTION=off', () => {
  const kit = useGateway(sqlite, { INTROSPECTION: 'off' });

  it.each(['/', '/docs', '/graphql', '/console'])(
    'shows no schema and no GraphQL operation on %s',
    async (path) => {
      const { status, text } = await send(kit.gateway, path, browse);
      expect(status).toBe(200);
      expect(linksOf(text)).not.toContain('/schema.graphql');
      if (path === '/docs') expect(text).not.toContain('/graphql?');
    },
  );

  it('does not count requests for what needs no key', async () => {
    for (let i = 0; i < 70; i++) {
      for (const path of ['/favicon.ico', '/favicon.svg', '/robots.txt', '/openapi.json'])
        expect((await send(kit.gateway, path, { key: null })).status, path).toBeLessThan(400);
    }
    const withoutKey = await send(kit.gateway, '/pets/1', { key: null });
    expect([withoutKey.status, withoutKey.headers['x-ratelimit-remaining']]).toEqual([401, '59']);
  });
});

describe('pages with non-default settings', () => {
  const kit = useGateway(sqlite, {
    GRAPHIQL: 'off',
    INTROSPECTION: 'off',
    METRICS: 'off',
    REST_BASE_PATH: '/api/v1',
    TRUST_PROXY: '1',
  });

  it('serves no GraphiQL and no schema', async () => {
    for (const path of ['/graphql', '/graphql/', '/schema.graphql', '/explorer/operations.json'])
      expect((await send(kit.gateway, path, browse)).status, path).toBe(401);
    expect((await send(kit.gateway, '/docs', browse)).text).not.toContain('/graphql?');
  });

  it('shows the public origin, the base path and only the enabled endpoints', async () => {
    const at = (path: string, headers: Record<string, string>) =>
      send(kit.gateway, path, { key: null, headers: { ...BROWSER, ...headers } });
    const proxied = { host: 'pets.example', 'x-forwarded-proto': 'https' };
    const { text } = await at('/', proxied);
    expect(text).toContain('https://pets.example/api/v1/pets?limit=2');
    expect(endpointsOf(text)).toEqual([
      '/docs',
      '/graphql',
      '/console',
      '/mcp',
      '/api/v1/pets',
      '/openapi.json',
      '/health/ready',
      '/health/live',
    ]);
    expect(linksOf(text).filter((link) => /graphql|metrics/.test(link))).toEqual([]);
    // Tools that import the description from a URL need an absolute one. More addresses than are kept.
    const serverAt = async (headers: Record<string, string>) =>
      (await at('/openapi.json', headers)).json.servers[0].url;
    for (const [sent, protocol] of [
      ['https, http', 'https'],
      [' https ,http', 'https'],
      ['http, https', 'http'],
      ['', 'http'],
    ] as const) {
      const headers = { host: 'pets.example', 'x-forwarded-proto': sent };
      expect((await at('/', headers)).text, sent).toContain(`${protocol}://pets.example/api/v1/pets?limit=2`);
    }
    for (let n = 0; n < 6; n++) expect(await serverAt({ host: `h${n}` })).toBe(`http://h${n}/api/v1`);
    expect(await serverAt(proxied)).toBe('https://pets.example/api/v1');
    expect(await serverAt({})).toBe(`${kit.gateway.url}/api/v1`);
  });
});

/** A GET that returns the body as received, without decompression. */
function raw(url: string, headers: Record<string, string>) {
  return new Promise<{ headers: Record<string, unknown>; body: Buffer }>((resolve, reject) => {
    get(url, { headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve({ headers: response.headers, body: Buffer.concat(chunks) }));
    }).on('error', reject);
  });
}
