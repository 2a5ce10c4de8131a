import { createServer, type IncomingMessage, type Server } from 'node:http';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { isTracingConfigured, readConfig } from '../../src/config.ts';
import { within } from '../kit/deadline.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { endServer, printedKey, type ServerProcess, startServer } from '../kit/process.ts';

interface Received {
  path: string;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

interface Attribute {
  key: string;
  value: { stringValue?: string; intValue?: number };
}

/** A span in OTLP's JSON encoding. */
interface SpanJson {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes: Attribute[];
}

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';

const home = temporaryFolder();
let collector: Server;
let collectorUrl: string;
let received: Received[];
let server: ServerProcess | undefined;

beforeAll(async () => {
  collector = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    received.push({ path: request.url!, headers: request.headers, body: Buffer.concat(chunks) });
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  collectorUrl = `http://127.0.0.1:${(collector.address() as { port: number }).port}`;
});
afterAll(() => {
  collector.close();
});
beforeEach(() => {
  received = [];
});
afterEach(() => endServer(server));

const start = async (settings: Record<string, string>) => {
  server = await startServer({ DATA_FILE: join(home, 'petstore.db'), ...settings });
  return server;
};

/** Sends two requests as a traced client, then stops the server, which flushes its spans. */
async function requestAndStop(traced: ServerProcess, key: string): Promise<void> {
  const headers = {
    'x-api-key': key,
    traceparent: `00-${TRACE}-${PARENT}-01`,
    'x-forwarded-proto': 'https',
  };
  expect((await fetch(`${traced.url}/pets/1`, { headers })).status).toBe(200);
  const body = JSON.stringify({ query: 'query Names { pets { nodes { category { name } } } }' });
  const post = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body };
  expect((await fetch(`${traced.url}/graphql`, post)).status).toBe(200);
  expect(await endServer(traced, 'SIGTERM')).toBe(0);
}

const spansIn = ({ body }: Received): SpanJson[] =>
  JSON.parse(body.toString()).resourceSpans.flatMap((resource: { scopeSpans: { spans: SpanJson[] }[] }) =>
    resource.scopeSpans.flatMap(({ spans }) => spans),
  );

const attributesOf = ({ attributes }: SpanJson) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));

describe('tracing', () => {
  it("exports a span per request below the caller's, and one per store call below that", async () => {
    const traced = await start({
      OTEL_EXPORTER_OTLP_ENDPOINT: collectorUrl,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      TRUST_PROXY: '1',
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=pets,deployment.environment.name=test',
    });
    const key = printedKey(traced);
    await requestAndStop(traced, key);

    expect(received.length).toBeGreaterThan(0);
    for (const { path, headers } of received) {
      expect(path).toBe('/v1/traces');
      expect(headers['content-type']).toBe('application/json');
    }
    const resource = JSON.parse(received[0]!.body.toString()).resourceSpans[0].resource;
    expect(attributesOf(resource)).toMatchObject({
      'service.name': 'pets',
      'service.version': expect.stringMatching(/^\d/),
      'deployment.environment.name': 'test',
    });

    const spans = received.flatMap(spansIn).filter(({ traceId }) => traceId === TRACE);
    const rest = spans.find(({ name }) => name === 'GET /pets/{petId}')!;
    expect(rest).toMatchObject({ parentSpanId: PARENT, kind: 2 });
    expect(attributesOf(rest)).toMatchObject({
      'http.request.method': 'GET',
      'http.route': '/pets/{petId}',
      'http.response.status_code': 200,
      'url.path': '/pets/1',
      // As the proxy says.
      'url.scheme': 'https',
      'client.address': '127.0.0.1',
      'server.address': '127.0.0.1',
      'user_agent.original': 'node',
      'petstore.operation': 'getPet',
      'petstore.units': 1,
    });
    const graphql = spans.find(({ name }) => name === 'POST /graphql')!;
    expect(graphql.parentSpanId).toBe(PARENT);
    expect(attributesOf(graphql)).toMatchObject({
      'graphql.operation.name': 'Names',
      'graphql.operation.type': 'query',
      'petstore.operation': 'pets',
    });
    const calls = spans.filter(({ parentSpanId }) => parentSpanId === graphql.spanId);
    expect(calls.map(({ name }) => name)).toEqual(expect.arrayContaining(['charge', 'pets.page']));
    for (const call of calls) {
      expect(call.kind).toBe(3);
      expect(attributesOf(call)).toMatchObject({
        'db.system.name': 'sqlite',
        'db.operation.name': call.name,
        ...(call.name === 'pets.page' && { 'db.collection.name': 'pets' }),
      });
      if (call.name === 'charge') expect(attributesOf(call)).not.toHaveProperty(['db.collection.name']);
    }
    expect(received.map(({ body }) => body.toString()).join('')).not.toContain(key.slice(9));
    // The log refers to the trace.
    expect(traced.output()).toContain(`"traceId":"${TRACE}"`);
  });

  it('exports spans as protobuf by default', async () => {
    const traced = await start({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collectorUrl}/elsewhere` });
    await requestAndStop(traced, printedKey(traced));
    expect(received[0]).toMatchObject({
      path: '/elsewhere',
      headers: { 'content-type': 'application/x-protobuf' },
    });
    expect(received.map(({ body }) => body.toString('latin1')).join('')).toContain('GET /pets/{petId}');
  });

  it('affects neither requests nor the exit if the collector is unreachable', async () => {
    const traced = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' });
    await within(8_000, requestAndStop(traced, printedKey(traced)));
  });

  it.each<[boolean, Record<string, string>]>([
    [false, {}],
    [false, { OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }],
    [false, { OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }],
    [true, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }],
  ])('is configured (%s) by %j', (isConfigured, settings) => {
    expect(isTracingConfigured(readConfig(settings))).toBe(isConfigured);
  });
});
