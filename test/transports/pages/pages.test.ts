import { readdirSync, readFileSync } from 'node:fs';
import { getVariableValues, type OperationDefinitionNode, parse, validate } from 'graphql';
import { describe, expect, it } from 'vitest';
import { api } from '../../../src/api.ts';
import type { TestGateway } from '../../kit/gateway.ts';
import { send, sqlite, useGateway } from '../../kit/petstore.ts';
import { exchangeRaw } from '../../kit/raw.ts';

const { schema } = api;

/** The headers that browsers send on navigation, and another site's script would. */
const BROWSER = {
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  origin: 'https://elsewhere.example',
};
const browse = { key: null, headers: BROWSER };
const TITLES = {
  '/': 'Petstore',
  '/docs': 'Petstore REST API',
  '/graphql': 'Petstore GraphiQL',
  '/console': 'Petstore console',
  '/guides': 'Petstore guides',
  '/guides/interface': 'Interface · Petstore',
};
const PAGES = Object.keys(TITLES);
const sdl = readFileSync(new URL('../../../schema/schema.graphql', import.meta.url), 'utf8');

const captures = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, capture]) => capture!);
const linksOf = (html: string) => captures(html, /<a [^>]*href="([^"]*)"/g);
/** The paths in the list of endpoints that have a description. */
const endpointsOf = (html: string) =>
  captures(html, /<dt>(?:<a[^>]*>)?([^<]*)(?:<\/a>)?<\/dt>\n<dd>[^<]+<\/dd>/g);

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; " +
  "worker-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Follows the links of all pages. @returns the HTML of each; fails where a link or its fragment leads nowhere */
async function crawl({ gateway }: { gateway: TestGateway }): Promise<Map<string, string>> {
  const pages = new Map<string, string>();
  const fragments: [from: string, path: string, id: string][] = [];
  const visit = async (path: string, from: string): Promise<void> => {
    if (pages.has(path)) return;
    const { status, text, headers } = await send(gateway, path, browse);
    expect(status, `${from}: ${path}`).toBe(200);
    const isPage = headers['content-type']?.startsWith('text/html') ?? false;
    pages.set(path, isPage ? text : '');
    for (const link of isPage ? captures(text, /<a [^>]*href="([^"]*)"/g) : []) {
      if (link.startsWith('http')) continue;
      const [to = '', id] = link.replaceAll('&amp;', '&').split('#');
      // Links with a query lead to GraphiQL.
      await visit((to || path).replace(/\?.*/, ''), path);
      if (id) fragments.push([path, to || path, id]);
    }
  };
  await visit('/', '');
  for (const [from, path, id] of fragments)
    expect(pages.get(path)!.includes(`id="${id}"`), `${from}: ${path}#${id}`).toBe(true);
  return pages;
}

const NO_CACHE = { 'cache-control': 'no-cache', etag: expect.stringMatching(/^"[\w-]+"$/) };
const NO_STORE = { 'cache-control': 'no-store' };

describe('pages', () => {
  const kit = useGateway(sqlite);

  it.each(Object.entries(TITLES))(
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
        'cross-origin-resource-policy': 'same-origin',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'x-frame-options': 'DENY',
      });
      for (const absent of ['x-ratelimit-limit', 'access-control-allow-origin'])
        expect(headers[absent]).toBeUndefined();
      expect(headers['content-security-policy']).toBe(POLICY);
      // The policy would block inline scripts and event handlers.
      expect(text).not.toMatch(/<script>|<[^>]+\son\w+=/);
      const head = await send(kit.gateway, `HEAD ${path}`, browse);
      expect([head.status, head.text]).toEqual([200, '']);
      expect(head.headers['content-length']).toBe(headers['content-length']);
      expect(headers.etag).toMatch(/^"/);
      for (const tag of [headers.etag!, `W/${headers.etag}`, headers.etag!.replace(/"$/, '-gzip"')]) {
        const cached = { headers: { ...browse.headers, 'if-none-match': tag } };
        const again = await send(kit.gateway, path, cached);
        expect([again.status, again.text, again.headers.vary], tag).toEqual([304, '', headers.vary]);
      }

      expect(text).toMatch(/^<!doctype html>\n<html lang="en" /);
      expect(text).toContain(`<title>${title}</title>`);
      expect(text).toMatch(/<meta name="description" content="[^"]{40,160}">/);
      expect(text).toContain('<link rel="icon" href="/favicon.svg">');
      // No API key.
      expect(text).not.toMatch(/petstore_[0-9A-Za-z]{40}/);
      const [navigation] = text.match(/<nav[\s\S]*?<\/nav>/)!;
      const destinations = ['/graphql', '/docs', '/guides', '/console'];
      expect(linksOf(navigation)).toEqual(destinations);
      const marked = captures(navigation, /<a href="([^"]*)" aria-current="page">/g);
      expect(marked).toEqual(destinations.filter((to) => to === path));
    },
  );

  it('shows a first call and every endpoint on the landing page', async () => {
    const { text } = await send(kit.gateway, '/', browse);
    expect(text).toContain(`curl -H 'X-API-Key: YOUR_KEY' \\\n  '${kit.gateway.url}/pets?limit=2'`);
    const others = [
      '/openapi.json',
      '/postman.json',
      '/schema.graphql',
      '/health/ready',
      '/health/live',
      '/metrics',
    ];
    expect(endpointsOf(text)).toEqual(['/docs', '/graphql', '/console', '/mcp', '/pets', ...others]);
    for (const expected of [...others, '/docs#tag/Store/createOrder', '/guides/tasks', '/guides/growing'])
      expect(linksOf(text)).toContain(expected);
  });

  it.each([
    ['/health/live', 'application/json', NO_STORE, '{"status":"live"}'],
    ['/health/ready', 'application/json', NO_STORE, '{"status":"ready"}'],
    ['/openapi.json', 'application/json', NO_CACHE, '{"openapi":'],
    ['/favicon.svg', 'image/svg+xml', NO_CACHE, '<svg xmlns="http://www.w3.org/2000/svg"'],
    ['/robots.txt', 'text/plain', NO_CACHE, '# Crawlers'],
    ['/schema.graphql', 'text/plain; charset=utf-8', NO_CACHE, sdl],
  ])('serves %s without a key and without rate-limit headers', async (path, type, headers, start) => {
    const response = await send(kit.gateway, path, {
      key: null,
      headers: { origin: 'https://elsewhere.example' },
    });
    expect(response.status).toBe(200);
    expect(response.headers).toMatchObject({ 'content-type': type, ...headers });
    if (path === '/openapi.json') expect(response.headers['access-control-allow-origin']).toBe('*');
    expect(response.text.slice(0, start.length)).toBe(start);
    expect(response.headers['x-ratelimit-limit']).toBeUndefined();
  });

  it('serves pages and their files from its own origin, compressed as Accept-Encoding allows, files for ever', async () => {
    const paths = new Set(['/docs', '/graphql', '/openapi.json']);
    for (const page of PAGES) {
      const { text } = await send(kit.gateway, page, browse);
      const links = captures(text, /<(?:script|link|img)\s[^>]*(?:src|href)="([^"#]+)"/g);
      expect(links.filter((link) => !link.startsWith('/') || link.startsWith('//'))).toEqual([]);
      for (const link of links) if (link.startsWith('/explorer/')) paths.add(link);
    }
    const types = { js: 'text/javascript', css: 'text/css', woff2: 'font/woff2' };
    for (const path of paths) {
      const isFile = path.startsWith('/explorer/');
      const get = async (accepted: string) => {
        const headers = { ...BROWSER, 'accept-encoding': accepted };
        const response = await fetch(kit.gateway.url + path, { headers });
        return { response, coding: response.headers.get('content-encoding'), text: await response.text() };
      };
      const { response, text } = await get('identity');
      if (isFile) {
        expect(Object.fromEntries(response.headers), path).toMatchObject({
          'cache-control': 'public, max-age=31536000, immutable',
          'content-type': types[path.replace(/.*\./, '') as 'js'],
        });
        expect(response.headers.has('x-ratelimit-limit'), path).toBe(false);
        for (const font of captures(text, /url\((\/[^)]*woff2)\)/g)) paths.add(font);
      }
      for (const [accepted, coding] of [
        ['identity', null],
        ['br, gzip;q=0', isFile ? 'br' : null],
        ['gzip', 'gzip'],
        ['gzip, deflate, br, zstd', isFile ? 'br' : 'gzip'],
      ] as const)
        expect(await get(accepted), `${path} ${accepted}`).toMatchObject({ coding, text });
    }
  });

  it('responds 401 to other paths of the build without a key, as they were sent', async () => {
    const below = ['', '../docs.html', '../package.json', '%2e%2e/package.json', 'constructor'];
    const others = ['/docs/../package.json', '/docs.html', '/favicon.svg.br'];
    for (const target of [...below.map((path) => `/explorer/${path}`), ...others]) {
      // Clients would normalise it.
      const answer = await exchangeRaw(kit.gateway.url, `GET ${target} HTTP/1.0\r\n\r\n`);
      expect(answer, target).toMatch(/^HTTP\/1.1 401/);
    }
  });

  it('lists every operation in the docs without scripts, with a valid operation and variables for GraphiQL', async () => {
    const { text } = await send(kit.gateway, '/docs', browse);
    for (const { tag, operationId, method, path } of [...api.routes, ...api.streamRoutes]) {
      const [section = ''] = text.split(`<section id="tag/${tag}/${operationId}">`).slice(1);
      expect(section).toContain(`<span class="method">${method}</span> <code>${path}</code>`);
      const [link] = captures(section.replace(/<\/section>.*/s, ''), /href="(\/graphql\?[^"]*)"/g);
      const parameters = new URL(link!.replaceAll('&amp;', '&'), kit.gateway.url).searchParams;
      const document = parse(parameters.get('query')!);
      const { variableDefinitions = [] } = document.definitions[0] as OperationDefinitionNode;
      const variables = JSON.parse(parameters.get('variables') ?? '{}');
      expect(validate(schema, document), operationId).toEqual([]);
      expect(getVariableValues(schema, variableDefinitions, variables).errors, operationId).toBeUndefined();
    }
  });

  it('serves each file of docs as a guide, and no link of any page leads nowhere', async () => {
    const pages = await crawl(kit);
    const files = readdirSync(new URL('../../../docs/', import.meta.url));
    for (const name of files.filter((file) => file.endsWith('.md')))
      expect(pages.get(`/guides/${name.slice(0, -3)}`), name).toMatch(/<h1[ >]/);
    expect([...pages.keys()]).toEqual(expect.arrayContaining([...PAGES, '/schema.graphql', '/openapi.json']));
  });

  it.each([
    ['/docs/', '/docs'],
    ['/graphql/?query=%7B__typename%7D', '/graphql?query=%7B__typename%7D'],
  ])('redirects %s to %s', async (path, location) => {
    for (const method of ['GET', 'HEAD']) {
      const response = await send(kit.gateway, `${method} ${path}`, { key: null });
      expect([response.status, response.headers.location, response.text]).toEqual([308, location, '']);
    }
    expect((await send(kit.gateway, `POST ${path}`, { key: null, body: '{}' })).status).toBe(401);
    expect((await send(kit.gateway, `POST ${path}`, { body: '{}' })).status).toBe(404);
  });

  it.each(['/', '/docs', '/openapi.json', '/health/live'])(
    'allows only GET, HEAD and OPTIONS on %s',
    async (path) => {
      const options = await send(kit.gateway, `OPTIONS ${path}`, { key: null });
      expect([options.status, options.headers.allow]).toEqual([204, 'GET, HEAD, OPTIONS']);
      const post = await send(kit.gateway, `POST ${path}`, { key: null, body: '{}' });
      expect([post.status, post.headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
    },
  );

  it('serves a page at /graphql to browsers that follow a link with a query, but none there and at / to programs', async () => {
    const { status, text } = await send(kit.gateway, '/graphql?query=%7B__typename%7D', browse);
    expect([status, text]).toEqual([200, (await send(kit.gateway, '/graphql', browse)).text]);
    expect((await send(kit.gateway, '/', { key: null })).status).toBe(401);
    expect((await send(kit.gateway, '/', { headers: { accept: 'application/json' } })).status).toBe(404);
    const response = await send(kit.gateway, '/graphql?query=%7B__typename%7D');
    expect([response.status, response.json]).toEqual([200, { data: { __typename: 'Query' } }]);
    expect((await send(kit.gateway, '/graphql', { key: null })).status).toBe(401);
    const posted = await send(kit.gateway, 'POST /graphql', {
      headers: { ...BROWSER, 'content-type': 'application/json' },
      body: { query: '{__typename}' },
    });
    expect([posted.status, posted.json]).toEqual([200, { data: { __typename: 'Query' } }]);
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

  it('shows no schema and no GraphQL operation, also in the guides', async () => {
    const pages = await crawl(kit);
    expect([...pages.keys()]).toEqual(expect.arrayContaining(PAGES));
    for (const [path, text] of pages) expect(linksOf(text), path).not.toContain('/schema.graphql');
    expect(pages.get('/docs')).not.toContain('/graphql?');
    // None of these requests was counted, because they need no key.
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
    for (const path of ['/graphql', '/graphql/', '/schema.graphql'])
      expect((await send(kit.gateway, path, browse)).status, path).toBe(401);
    for (const [path, text] of await crawl(kit))
      expect(text, path).not.toMatch(/href="\/(?:graphql|metrics)/);
  });

  it('shows the public origin, the base path and only the enabled endpoints', async () => {
    const at = (path: string, headers: Record<string, string>) =>
      send(kit.gateway, path, { key: null, headers: { ...BROWSER, ...headers } });
    const proxied = { host: 'pets.example', 'x-forwarded-proto': 'https' };
    const { text } = await at('/', proxied);
    expect(text).toContain('https://pets.example/api/v1/pets?limit=2');
    expect(endpointsOf(text)).toContain('/api/v1/pets');
    for (const [sent, protocol] of [
      // One proxy is trusted, which appends what it saw.
      [' https ,http', 'http'],
      ['http, HTTPS', 'https'],
      ['', 'http'],
    ] as const) {
      const headers = { host: 'pets.example', 'x-forwarded-proto': sent };
      expect((await at('/', headers)).text, sent).toContain(`${protocol}://pets.example/api/v1/pets?limit=2`);
    }
    // Reached at whatever origin it is read from, and so with the right protocol behind any proxy.
    expect((await at('/openapi.json', proxied)).json.servers[0].url).toBe('/api/v1');
  });
});
