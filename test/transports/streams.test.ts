import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Category } from '../../src/domains/category/category.ts';
import { type AppError, eventsGone } from '../../src/foundation/errors.ts';
import { type EventPage, NOW } from '../../src/store/events.ts';
import type { Store } from '../../src/store/store.ts';
import { EventStreamClient, type StreamCall } from '../kit/event-stream.ts';
import { TestGateway } from '../kit/gateway.ts';
import { send, sqlite, useGateway } from '../kit/petstore.ts';
import { openRaw } from '../kit/raw.ts';
import { engines, type OpenedStore } from '../kit/stores.ts';

const SUBSCRIPTION = JSON.stringify({ query: 'subscription { events { id data } }' });
const OVER_SSE: StreamCall & { path: string } = { path: '/events/stream' };
const OVER_GRAPHQL: StreamCall & { path: string } = {
  path: '/graphql',
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: SUBSCRIPTION,
};

describe.each([
  ['GET /events/stream', OVER_SSE],
  ['subscription { events }', OVER_GRAPHQL],
])('%s', (_name, { path, ...call }) => {
  let opened: OpenedStore;
  let gateway: TestGateway;
  /** Called before the log is followed. */
  let beforeFollowing: () => void | Promise<void>;
  /** Ends the log as the store does when it cannot be followed any longer. */
  let endLog: (error: unknown) => void;
  /** The error of pages of the log. */
  let failure: unknown;
  const clients: EventStreamClient[] = [];

  beforeAll(async () => {
    opened = await engines[0]!.open();
    const { store } = opened;
    const watched: Store = {
      ...store,
      async eventPage(request) {
        if (request.after === NOW) await beforeFollowing();
        if (failure) throw failure;
        return store.eventPage(request);
      },
      async *followEvents(after) {
        const ended = new Promise<never>((_, reject) => {
          endLog = reject;
        });
        ended.catch(() => {});
        const pages = store.followEvents(after)[Symbol.asyncIterator]();
        const next = async (): Promise<EventPage> => (await Promise.race([pages.next(), ended])).value;
        for (;;) {
          const page = await next();
          // All at once what is more than is kept for readers who keep up.
          while (failure && page.events.length > 0 && page.events.length <= 1_000)
            page.events.push(...(await next()).events);
          yield page;
        }
      },
    };
    gateway = await TestGateway.start(watched);
  });
  afterAll(async () => {
    await gateway.close();
    await opened.close();
  });
  beforeEach(() => {
    beforeFollowing = () => {};
    failure = undefined;
    gateway.logs.length = 0;
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.close();
    await expect.poll(openStreams).toBe(0);
  });

  const open = async (more: StreamCall = {}) => {
    const client = await EventStreamClient.open(gateway, path, { ...call, ...more });
    clients.push(client);
    return client;
  };
  const openStreams = () => gateway.metric('event_streams');
  const logged = (message: string) =>
    gateway.logs.map((line) => JSON.parse(line)).filter(({ msg }) => msg === message);

  /** The request as it goes over the wire. */
  const requestOf = (key: string) =>
    [
      `${call.method ?? 'GET'} ${path} HTTP/1.1`,
      'Host: x',
      `X-API-Key: ${key}`,
      'Accept: text/event-stream',
      ...(call.body ? ['Content-Type: application/json', `Content-Length: ${call.body.length}`] : []),
      '',
      call.body ?? '',
    ].join('\r\n');

  it.each<[how: string, leave: (socket: Socket) => void, seenAs: 'end' | 'close']>([
    ['closes the connection', (socket) => socket.end(), 'end'],
    ['resets the connection', (socket) => socket.resetAndDestroy(), 'close'],
  ])('frees its place if the client %s while it is opened', async (_how, leave, seenAs) => {
    const key = await gateway.newKey('free');
    /** For each of our requests, that the server has seen its client leave. */
    const gone: Promise<unknown>[] = [];
    // The channel has the requests of all servers in this process, to which other tests may still send some.
    const onRequest = (message: unknown) => {
      const { request, socket } = message as { request: IncomingMessage; socket: Socket };
      if (request.headers['x-api-key'] === key)
        gone.push(new Promise((resolve) => socket.once(seenAs, resolve)));
    };
    subscribe('http.server.request.start', onRequest);
    let follow!: () => void;
    const mayFollow = new Promise<void>((resolve) => {
      follow = resolve;
    });
    const reached = new Promise<void>((resolve) => {
      beforeFollowing = () => {
        resolve();
        return mayFollow;
      };
    });
    try {
      const sockets = [await openRaw(gateway.url), await openRaw(gateway.url)];
      for (const socket of sockets) socket.write(requestOf(key));
      await reached;
      await expect.poll(() => gone.length).toBe(2);
      for (const socket of sockets) leave(socket);
      await Promise.all(gone);
    } finally {
      unsubscribe('http.server.request.start', onRequest);
      // Else the next test would wait for it too.
      follow();
    }
    await expect
      .poll(() => logged('stream ended').map(({ end }) => end))
      .toEqual(['client gone', 'client gone']);
    expect(await openStreams()).toBe(0);
    expect((await open({ key })).response.statusCode).toBe(200);
    expect((await open({ key })).response.statusCode).toBe(200);
    expect(logged('error')).toEqual([]);
  });

  it.each<[how: string, leave: (socket: Socket) => void]>([
    ['closes its half of the connection, since it will never read to the end', (socket) => socket.end()],
    ['resets the connection', (socket) => socket.resetAndDestroy()],
  ])('ends without an error when the client %s', async (_how, leave) => {
    const socket = await openRaw(gateway.url, { allowHalfOpen: true });
    const closed = new Promise((resolve) => socket.once('close', resolve));
    let text = '';
    const begun = new Promise<void>((resolve) => {
      socket.on('data', (chunk) => {
        text += chunk;
        resolve();
      });
    });
    socket.write(requestOf(gateway.key));
    await begun;
    leave(socket);
    await closed;
    await expect.poll(() => logged('stream ended')).toMatchObject([{ end: 'client gone', events: 0 }]);
    expect(text).not.toContain('INTERNAL');
    expect(logged('error')).toEqual([]);
  });

  it('sends a client that paused every event, from pages of the log', async () => {
    const socket = await openRaw(gateway.url);
    socket.write(requestOf(gateway.key));
    await new Promise((resolve) => socket.once('readable', resolve));
    const reading = await open();
    // More than the operating system buffers, and than is kept for readers who keep up.
    const count = 1_500;
    const category = { name: 'Long', description: '🐕'.repeat(2_000) };
    for (let written = 0; written < count; written += 100) {
      await opened.store.transaction(async ({ table }) => {
        for (let n = 0; n < 100; n++) await table(Category).insert(category);
      });
      await reading.until(written + 100);
    }
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk) => {
      text += chunk;
    });
    const received = () => text.match(/"name":"Long"/g)?.length ?? 0;
    await expect.poll(received, { timeout: 30_000 }).toBe(count);
    socket.destroy();
  });

  /** The error that ended the stream. */
  const lastError = async (client: EventStreamClient) => {
    await client.ended;
    const { event, data } = client.messages[0]!;
    const parsed = JSON.parse(data!);
    if (event === 'error') return parsed;
    const [{ message, extensions }] = parsed.errors;
    return { message, ...extensions };
  };

  it.each<[string, unknown, object]>([
    ['INTERNAL', new TypeError('secret'), { message: 'Something went wrong on our side.', status: 500 }],
    ['GONE', eventsGone(), { status: 410 }],
  ])(
    'ends with %s if it can be read no further, of which the log has what is ours',
    async (code, error, more) => {
      const client = await open();
      failure = error;
      await opened.store.transaction(async ({ table }) => {
        for (let n = 0; n <= 1_000; n++) await table(Category).insert({ name: 'Not read' });
      });
      expect(await lastError(client)).toMatchObject({ code, ...more });
      expect(client.text).not.toContain('secret');
      expect(logged('stream ended')).toMatchObject([{ end: code }]);
      const requestId = client.response.headers['x-request-id'];
      const errors = code === 'GONE' ? [] : [{ requestId }];
      expect(logged('error')).toMatchObject(errors);
      if (code !== 'GONE') expect(JSON.stringify(logged('error'))).toContain('secret');
    },
  );

  it('goes on when the log can be followed no further, which the log has', async () => {
    const client = await open();
    endLog(new TypeError('unexpected'));
    await opened.store.table(Category).insert({ name: 'Heard' });
    await client.until(1);
    expect(client.text).toContain('Heard');
    expect(logged('error')).toMatchObject([{ err: { type: 'TypeError', message: 'unexpected' } }]);
  });
});

describe('a stream whose head cannot be written', () => {
  it.each([
    ['GET /events/stream', {}],
    ['POST /graphql', { body: { query: 'subscription { events { id } }' } }],
    ['GET /pets', { headers: { accept: 'application/x-ndjson' } }],
  ])('frees its place: %s', async (operation, call) => {
    const opened = await engines[0]!.open();
    const gateway = await TestGateway.start(opened.store);
    const key = await gateway.newKey('free');
    const [method, path] = operation.split(' ') as [string, string];
    const headers = { accept: 'text/event-stream' };
    const request = () => gateway.call(path, { method, key, headers, ...call });
    const breakHead = (message: unknown) => {
      const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
      if (request.headers['x-api-key'] !== key) return;
      response.writeHead = () => {
        throw new TypeError('Invalid character in header content');
      };
    };
    subscribe('http.server.request.start', breakHead);
    for (let time = 1; time <= 3; time++) await expect(request()).rejects.toThrow();
    unsubscribe('http.server.request.start', breakHead);
    const next = await EventStreamClient.open(gateway, '/events/stream', { key });
    expect(next.response.statusCode).toBe(200);
    next.close();
    expect(gateway.logs.join('')).toContain('Invalid character');
    await gateway.close();
    await opened.close();
  });
});

/** A way to keep something open at the gateway. */
interface Door {
  path: string;
  call: StreamCall;
  /** Units that open it and pay for 200 rows. */
  units: number;
  /** The rows that a client got, as a number, and the error at the end. */
  received(client: EventStreamClient): { rows: number; error: Partial<AppError> | undefined };
}

const AT_ONCE = { path: '/events?after=now&wait=25', call: { headers: { accept: '*/*' } } };
const WAITING = { jsonrpc: '2.0', id: 1, method: 'tools/call' };
const BY_MCP = {
  path: '/mcp',
  call: {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: '*/*' },
    body: JSON.stringify({
      ...WAITING,
      params: { name: 'listEvents', arguments: { after: 'now', wait: 25 } },
    }),
  },
};

describe('the rules for what is open', () => {
  const kit = useGateway(sqlite);
  const clients: EventStreamClient[] = [];
  /** Where the log was before there were rows. */
  let after: string;

  beforeAll(async () => {
    const { gateway } = kit;
    const { headers } = await send(gateway, '/events?after=now');
    [, after = ''] = /after=([^&>]+)/.exec(String(headers.link))!;
    // Twice what the system keeps for a client that does not read.
    const names = Array.from({ length: 1_500 }, (_, n) => `${n}`);
    const description = '🐕'.repeat(2_000);
    await Promise.all(names.map((name) => gateway.store.table(Category).insert({ name, description })));
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.close();
  });

  const doors: Record<string, () => Door> = {
    'GET /events/stream': () => ({
      path: `/events/stream?after=${after}`,
      call: {},
      units: 3,
      received({ messages }) {
        const rows = messages.filter(({ event }) => event !== 'error');
        const error = messages.find(({ event }) => event === 'error');
        return { rows: rows.length, error: error && JSON.parse(error.data!) };
      },
    }),
    'subscription { events }': () => ({
      path: '/graphql',
      call: {
        ...OVER_GRAPHQL,
        body: JSON.stringify({ query: `subscription { events(after: "${after}") { id data } }` }),
      },
      units: 3,
      received({ messages }) {
        const results = messages.filter(({ data }) => data).map(({ data }) => JSON.parse(data!));
        const [error] = results.flatMap(({ errors = [] }) => errors);
        return { rows: results.filter(({ data }) => data).length, error: error?.extensions };
      },
    }),
    'an export': () => ({
      path: '/categories',
      call: { headers: { accept: 'application/x-ndjson' } },
      units: 2,
      received({ text }) {
        const lines = text.split('\n').slice(0, -1);
        const last = JSON.parse(lines.at(-1)!);
        return { rows: lines.length - (last.code ? 1 : 0), error: last.code && last };
      },
    }),
  };
  const each = it.each(Object.entries(doors));

  const open = async (door: Pick<Door, 'path' | 'call'>, key: string, gateway = kit.gateway) => {
    const client = await EventStreamClient.open(gateway, door.path, { ...door.call, key });
    clients.push(client);
    return client;
  };
  /** Opens it as a client that reads nothing yet. */
  const openUnread = async (door: Door, key: string, gateway = kit.gateway) => {
    const client = await open(door, key, gateway);
    expect(client.response.statusCode).toBe(200);
    client.response.pause();
    return client;
  };
  /** Its text about its end, once it is read. */
  const endOf = async (door: Door, client: EventStreamClient) => {
    client.response.resume();
    await client.ended;
    return door.received(client).error;
  };
  const withLimit = (perMinute: number) => kit.gateway.newKey('enterprise', { perMinute, perDay: 1_000 });

  each('%s pays for every 100 rows ahead, ends with an Error, and opens no more', async (_name, doorOf) => {
    const door = doorOf();
    const key = await withLimit(door.units);
    const client = await open(door, key);
    expect(client.response.headers['x-ratelimit-remaining']).toBe(String(door.units - 1));
    await client.ended;
    const { rows, error } = door.received(client);
    expect(rows).toBe(200);
    expect(error).toMatchObject({ code: 'RATE_LIMITED', status: 429 });
    const refused = (await open(door, key)).response;
    expect(refused.statusCode).toBe(429);
    // Clients that reconnect by themselves wait as long.
    if (door.path !== '/categories') {
      const waits = client.text.match(/^retry: .*$/gm)!;
      expect(waits.at(-1)).toBe(`retry: ${refused.headers['retry-after']}000`);
    }
    expect(client.response.headers).toMatchObject({
      'cache-control': 'private, no-cache',
      'x-accel-buffering': 'no',
      vary: expect.stringContaining('X-API-Key'),
    });
  });

  const places = { ...doors, 'GET /events?wait': () => AT_ONCE, 'listEvents of MCP': () => BY_MCP };
  it.each(Object.entries(places))('%s takes one of the places of its plan', async (_name, doorOf) => {
    const openStreams = () => kit.gateway.metric('event_streams');
    await expect.poll(openStreams).toBe(0);
    const key = await kit.gateway.newKey('free');
    const first = await open({ path: '/events/stream', call: {} }, key);
    const second = EventStreamClient.open(kit.gateway, doorOf().path, { ...doorOf().call, key });
    let isAnswered = false;
    second.then((client) => {
      client.response.pause();
      isAnswered = true;
    });
    // Long polls answer once there is something.
    await expect.poll(async () => isAnswered || (await openStreams()) === 2).toBe(true);
    for (const door of Object.values(places)) {
      const { response, ended, ...refused } = await open(door(), key);
      expect([200, 429]).toContain(response.statusCode);
      await ended;
      expect(refused.text).toMatch(/The plan allows 2 concurrent streams\. Close one first\./);
    }
    first.close();
    await expect.poll(async () => (await open(doors['an export']!(), key)).response.statusCode).toBe(200);
    await kit.gateway.store.table(Category).insert({ name: 'Last' });
    (await second).close();
  });

  it('costs nothing to be refused for too many', async () => {
    const key = await kit.gateway.newKey('free');
    const opened = [1, 2].map(() => open({ path: '/events/stream', call: {} }, key));
    for (const client of opened) await client;
    for (const door of Object.values(places)) {
      const { response, ended } = await open(door(), key);
      await ended;
      expect(response.headers['x-ratelimit-remaining']).toBe('58');
    }
    for (const client of opened) (await client).close();
  });

  each('%s ends when its key is revoked, with the reason', async (_name, doorOf) => {
    const { key, apiKey } = await kit.gateway.keyRecord({});
    const client = await openUnread(doorOf(), key);
    await kit.gateway.store.revokeApiKey(apiKey.id, kit.clock.now());
    kit.clock.advance(5_000);
    await expect.poll(() => reasons(apiKey.id)).toEqual(['UNAUTHENTICATED']);
    expect(await endOf(doorOf(), client)).toMatchObject({ code: 'UNAUTHENTICATED', status: 401 });
  });

  each('%s ends when its key is banned', async (_name, doorOf) => {
    // The latest key is told by its time.
    kit.clock.advance(1);
    const key = await withLimit(20);
    const client = await openUnread(doorOf(), key);
    while ((await kit.gateway.call('/pets', { key })).status !== 403);
    const [apiKey] = (await kit.gateway.store.apiKeys()).slice(-1);
    await expect.poll(() => reasons(apiKey!.id), { timeout: 5_000 }).toEqual(['API_KEY_BANNED']);
    expect(await endOf(doorOf(), client)).toMatchObject({ code: 'API_KEY_BANNED', status: 403 });
  });

  each('%s ends when the server stops, after which none is opened', async (name, doorOf) => {
    const gateway = await TestGateway.start(kit.gateway.store, {}, kit.clock);
    const client = await openUnread(doorOf(), kit.gateway.key, gateway);
    gateway.endStreams();
    const error = await endOf(doorOf(), client);
    // The others reconnect by themselves and go on.
    if (name === 'an export') expect(error).toMatchObject({ code: 'UNAVAILABLE', after: expect.any(String) });
    else expect(error).toBeUndefined();
    expect(client.text).not.toContain('event: complete');
    expect((await open(doorOf(), kit.gateway.key, gateway)).response.statusCode).toBe(503);
    await gateway.close();
  });

  /** Why the streams of a key have ended. */
  const reasons = (id: string) =>
    kit.gateway.logs
      .map((line) => JSON.parse(line))
      .filter(({ msg, apiKey }) => msg === 'stream ended' && apiKey === id)
      .map(({ end }) => end);
});
