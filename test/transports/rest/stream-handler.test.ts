import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it, vi } from 'vitest';
import { api } from '../../../src/api.ts';
import { readConfig } from '../../../src/config.ts';
import { Category } from '../../../src/domains/category/category.ts';
import { openApiJson } from '../../../src/openapi/description.ts';
import { EventStreamClient, type StreamCall } from '../../kit/event-stream.ts';
import { Description } from '../../kit/openapi.ts';
import { expectRefusal, makeWorld, onAnyEngine, send } from '../../kit/petstore.ts';

const openClients: EventStreamClient[] = [];
afterEach(() => {
  for (const client of openClients.splice(0)) client.close();
});

onAnyEngine('GET /events/stream', (kit) => {
  const stream = async (query = '', call: StreamCall = {}) => {
    const client = await EventStreamClient.open(kit.gateway, `/events/stream${query}`, call);
    openClients.push(client);
    return client;
  };
  const create = (name: string) => kit.gateway.store.table(Category).insert({ name });
  const namesOf = (client: EventStreamClient) => client.events.map(({ data }) => data.name);
  const metric = (name: string) => kit.gateway.metric(name);
  /** Waits until the gateway has noticed that all earlier streams were closed. */
  const untilNoneOpen = async () => {
    while ((await metric('event_streams')) > 0) await sleep(5);
  };

  it('sends each write as it is committed, in the format of GET /events', async () => {
    const client = await stream();
    expect(client.response.statusCode).toBe(200);
    expect(client.response.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'x-ratelimit-limit': '1000000',
      'x-request-id': expect.any(String),
    });
    // Proxies must not buffer the stream, and chunked encoding would frame it again for each reader.
    expect(client.response.headers).toMatchObject({ 'x-accel-buffering': 'no', connection: 'close' });
    expect(client.response.headers['transfer-encoding']).toBeUndefined();
    await client.untilText('retry: 3000\n');
    await makeWorld(kit);
    const messages = await client.until(7);
    // No block is without data, which some clients would take for an event.
    expect(client.text).toMatch(/^retry: 3000\nid: \S+\nevent: category.created\ndata: /);
    const types = ['category.created', 'category.created', 'pet.created', 'inventory.updated'];
    expect(messages.map(({ event }) => event)).toEqual([
      ...types,
      'pet.created',
      'order.created',
      'order.created',
    ]);
    const listed = await send(kit.gateway, `/events?after=${messages[0]!.id}`);
    expect(client.events.slice(1)).toEqual(listed.json);
    expect(messages.map(({ id }) => id)).toEqual(client.events.map(({ id }) => id));
    const [first] = messages;
    expect(client.text).toContain(`id: ${first!.id}\nevent: category.created\ndata: ${first!.data}\n\n`);
  });

  it('resumes after Last-Event-ID or after without a gap, then sends new events', async () => {
    const first = await stream();
    for (const name of ['A', 'B', 'C\u2028', 'D']) await create(name);
    const ids = (await first.until(4)).map(({ id }) => id!);
    first.close();
    const byHeader = await stream(`?after=${ids[3]}`, { headers: { 'last-event-id': ids[0]! } });
    const byQuery = await stream(`?after=${ids[1]}`);
    await byHeader.until(3);
    await byQuery.until(2);
    await create('E');
    await byHeader.until(4);
    await byQuery.until(3);
    expect(namesOf(byHeader)).toEqual(['B', 'C\u2028', 'D', 'E']);
    expect(namesOf(byQuery)).toEqual(['C\u2028', 'D', 'E']);
    // Clients without an id yet may send an empty header.
    const byEmptyHeader = await stream(`?after=${ids[2]}`, { headers: { 'last-event-id': '' } });
    await byEmptyHeader.until(2);
    expect(namesOf(byEmptyHeader)).toEqual(['D', 'E']);
    const atEnd = await stream(`?after=${byQuery.messages[2]!.id}`);
    await create('F');
    await atEnd.until(1);
    expect(namesOf(atEnd)).toEqual(['F']);
  });

  it.each([
    ['?type=pet.sold', {}, 'VALIDATION_FAILED', /^type: /],
    ['?type=pet.deleted&type=pet.deleted', {}, 'VALIDATION_FAILED', 'type: must not have a value twice.'],
    ['?after=nonsense', {}, 'VALIDATION_FAILED', /^after: /],
    ['?after=', {}, 'VALIDATION_FAILED', /^after: /],
    ['', { 'last-event-id': 'nonsense' }, 'VALIDATION_FAILED', /^Last-Event-ID: must be the id of an event/],
    ['?limit=5', {}, 'VALIDATION_FAILED', /^limit: /],
    ['', { accept: 'application/json' }, 'NOT_ACCEPTABLE', /text\/event-stream/],
    ['', { accept: 'text/event-stream;q=0, */*' }, 'NOT_ACCEPTABLE', /text\/event-stream/],
  ] as const)('refuses the query "%s" with the headers %j', async (query, headers, code, message) => {
    expectRefusal(await send(kit.gateway, `/events/stream${query}`, { headers }), code, message);
  });

  it('allows cross-origin requests, opens no stream for HEAD, and responds 405 to POST', async () => {
    const client = await stream('', { headers: { accept: '*/*', origin: 'https://shop.example' } });
    expect(client.response.headers['access-control-allow-origin']).toBe('*');
    expect(client.response.headers['access-control-expose-headers']).toContain('X-RateLimit-Remaining');
    const head = await send(kit.gateway, 'HEAD /events/stream');
    expect([head.status, head.text, head.headers['content-type']]).toEqual([200, '', 'text/event-stream']);
    // GET has no Content-Length, so HEAD must not have one either (RFC 9110 section 8.6).
    expect(head.headers['content-length']).toBeUndefined();
    const description = new Description(openApiJson(api, readConfig({})));
    expect(description.differences('streamEvents', { ...head, text: 'x', json: 'x' })).toEqual([]);
    const post = await send(kit.gateway, 'POST /events/stream');
    expectRefusal(post, 'METHOD_NOT_ALLOWED');
    expect(post.headers.allow).toBe('GET, HEAD, OPTIONS');
  });

  it('sends a comment every 15 seconds', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    try {
      const client = await stream();
      await client.untilText('retry: 3000\n');
      vi.advanceTimersByTime(14_999);
      await create('Between');
      await client.until(1);
      expect(client.text).not.toMatch(/^:/m);
      vi.advanceTimersByTime(1);
      await client.untilText('\n\n:\n');
      vi.advanceTimersByTime(30_000);
      await client.untilText(':\n:\n:\n');
      client.close();
      await client.ended;
    } finally {
      vi.useRealTimers();
    }
  });

  it('counts sent events and exposes their lag in the metrics', async () => {
    await untilNoneOpen();
    const before = await metric('events_sent_total');
    const clients = [await stream(), await stream()];
    await create('Counted');
    for (const client of clients) await client.until(1);
    expect(await metric('events_sent_total')).toBe(before + 2);
    expect(await metric('event_lag_seconds')).toBeGreaterThanOrEqual(0);
  });
});
