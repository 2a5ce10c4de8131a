import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { api } from '../src/api.ts';
import { addSampleData } from '../src/sample.ts';
import { temporaryFolder } from './kit/folder.ts';
import { TestGateway } from './kit/gateway.ts';
import { endServer, printedKey, type ServerProcess, startServer } from './kit/process.ts';
import { exchangeRaw } from './kit/raw.ts';
import { sqlite } from './kit/petstore.ts';
import type { OpenedStore } from './kit/stores.ts';

interface Sent {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string | Buffer;
}

const JSON_TYPE = { 'content-type': 'application/json' };
const post = (path: string, body: string | Buffer, headers: Record<string, string> = JSON_TYPE) => ({
  method: 'POST',
  path,
  body,
  headers,
});
const get = (path: string, headers: Record<string, string> = {}) => ({ method: 'GET', path, headers });
const graphql = (query: string, variables: object = {}) =>
  post('/graphql', JSON.stringify({ query, variables }));

/** Requests whose answers differ once the bundler removes or reorders anything that refuses them. */
const REQUESTS: Sent[] = [
  // Calls that are made because they may throw.
  ...['/pets/%ff', '/pets?name=%ff', '/pets?%', '/%c0%80', '/pets/%', '/guides/%ff', '/docs%ff'].map((path) =>
    get(path),
  ),
  ...['/graphql?query=%ff', '/graphql?query={pets{nodes{id}}}&variables=%e0%80%80', '/graphql?query='].map(
    (path) => get(path),
  ),
  ...['/pets/0', '/pets/01', '/pets/1.0', '/pets/9223372036854775808', '/pets/-1', '/pets/1e3'].map((path) =>
    get(path),
  ),
  ...['limit=0', 'limit=101', 'limit=x', 'after=x', 'after=%00', 'status=', 'status[]=sold', 'nope=1'].map(
    (query) => get(`/pets?${query}`),
  ),
  ...['/nowhere', '/pets/1/nowhere', '/events?after=x', '/events/stream?after=x', '/store/orders/x'].map(
    (path) => get(path),
  ),
  ...['application/xml', 'text/html;q=0', '*/*;q=0', ';', 'application/x-ndjson;q=x'].map((accept) =>
    get('/pets', { accept }),
  ),
  get('/pets/1', { 'if-match': 'x', 'if-none-match': 'W/' }),
  ...[
    '',
    '{',
    '[]',
    'null',
    '{"name":1}',
    '{"name":"\\ud800"}',
    '{"name":"\u0007"}',
    '{"name":"a","name":"b"}',
  ].map((body) => post('/categories', body)),
  post('/categories', Buffer.from([0x7b, 0xff, 0x7d])),
  post('/categories', '\ufeff{"name":""}'),
  post('/categories', `{"name":"${'x'.repeat(101_000)}"}`),
  post('/categories', `${'['.repeat(5_000)}${']'.repeat(5_000)}`),
  post('/categories', '{"name":"x"}', { ...JSON_TYPE, 'idempotency-key': '"' }),
  post('/categories', '{"name":"x"}', { 'content-type': 'application/json; charset=latin1' }),
  post('/categories', '{"name":"x"}', { 'content-type': 'text/plain' }),
  post('/categories', 'x', { ...JSON_TYPE, 'content-encoding': 'gzip' }),
  post('/store/orders', '{"id":9223372036854775808,"shipDate":"2026-02-30T00:00:00Z"}'),
  post('/store/orders', '{"petId":99999,"quantity":2.5}'),
  ...[
    '{',
    '{ nope }',
    '{ pets(first: 101) { nodes { id } } }',
    'query ($a: Int!) { pets(first: $a) { nodes { id } } }',
  ].map((text) => graphql(text)),
  graphql('query ($a: Boolean) { pets { nodes { id @skip(if: $a) } } }', { a: null }),
  graphql('mutation { createPet(input: {name: "", categoryId: "x"}) { id } }'),
  graphql('{ node(id: "%ff") { id } a: pet(id: 0) { id } }'),
  graphql('fragment F on Query { ...F } { ...F }'),
  post('/graphql', '{"query":1}'),
  post('/graphql', '[]'),
  post('/graphql', '{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"x"}}}'),
  post('/graphql/cost', '[{"query":"{ __typename }"}]'),
  ...['', '{}', '{"jsonrpc":"2.0","id":1,"method":"nope"}', '[{"jsonrpc":"2.0"}]'].map((body) =>
    post('/mcp', body, { ...JSON_TYPE, accept: 'application/json, text/event-stream' }),
  ),
  post('/webhooks', '{"url":"http://[::1"}'),
  { method: 'PUT', path: '/pets', headers: {} },
  { method: 'DELETE', path: '/pets/99999', headers: { 'if-match': '"x"' } },
  { method: 'DELETE', path: '/categories/1', headers: {} },
  // What is answered, whole.
  ...[
    '/pets',
    '/pets/1',
    '/store/inventory?limit=5',
    '/openapi.json',
    '/schema.graphql',
    '/docs',
    '/health/ready',
  ].map((path) => get(path)),
  graphql(
    '{ categories { nodes { id name pets { nodes { id name inventory { quantity } } } } } rateLimit { cost } }',
  ),
];

/** Answers are the same but for their times, keys and counts. */
const HEADERS = [
  'content-type',
  'allow',
  'vary',
  'etag',
  'link',
  'www-authenticate',
  'accept',
  'cache-control',
];

describe('the built program', () => {
  const home = temporaryFolder();
  let opened: OpenedStore;
  let gateway: TestGateway;
  let server: ServerProcess;

  beforeAll(async () => {
    opened = await sqlite.open();
    await addSampleData(opened.store, api);
    [gateway, server] = await Promise.all([
      TestGateway.start(opened.store),
      startServer({ DATA_FILE: join(home, 'petstore.db') }),
    ]);
  });
  afterAll(async () => {
    await endServer(server);
    await gateway?.close();
    await opened?.close();
  });

  const answerTo = async (url: string, key: string, { method, path, headers, body = '' }: Sent) => {
    const lines = Object.entries({ host: 'localhost', 'x-api-key': key, connection: 'close', ...headers });
    lines.push(['content-length', String(Buffer.byteLength(body))]);
    const head = `${method} ${path} HTTP/1.1\r\n${lines.map((line) => `${line.join(': ')}\r\n`).join('')}\r\n`;
    const text = await exchangeRaw(url, Buffer.concat([Buffer.from(head), Buffer.from(body)]));
    const end = text.indexOf('\r\n\r\n');
    const received = text.slice(0, end).split('\r\n');
    return {
      status: received[0],
      headers: received.filter((line) => HEADERS.includes(line.split(':')[0]!.toLowerCase())),
      body: text.slice(end + 4),
    };
  };

  it('answers as its sources do, to malformed requests above all', async () => {
    for (const each of REQUESTS) {
      const about = `${each.method} ${each.path} ${each.body?.slice(0, 100) ?? ''}`;
      const bySources = await answerTo(gateway.url, gateway.key, each);
      expect(bySources.status, about).toMatch(/^HTTP\/1\.1 [2-4]/);
      expect(await answerTo(server.url, printedKey(server), each), about).toEqual(bySources);
    }
  });

  it('refuses broken percent-encoding', async () => {
    for (const path of ['/pets?name=%ff', '/pets/%ff'])
      expect((await answerTo(server.url, printedKey(server), get(path))).status, path).toContain(' 400 ');
  });

  it('has a command that can be executed, and a map of every file', () => {
    expect(statSync('dist/petstore.js').mode & 0o777).toBe(0o755);
    expect(existsSync('dist/main.js.map')).toBe(true);
    expect(readFileSync('dist/petstore.js', 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
  });
});

it('the programs have nothing that would take more of each start, of memory or of each request', () => {
  // An import that loads more than is needed, a character for which V8 keeps two bytes of each, libraries' checks.
  const costly = /^import .*"node:http"|[^\0-\xff]|process\.env\.NODE_ENV/m;
  for (const name of readdirSync('dist').filter((name) => name.endsWith('.js')))
    expect(costly.exec(readFileSync(join('dist', name), 'utf8'))?.[0], name).toBeUndefined();
});
