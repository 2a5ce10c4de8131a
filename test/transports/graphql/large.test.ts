import { createHash } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Category } from '../../../src/domains/category/category.ts';
import { Pet } from '../../../src/domains/pet/pet.ts';
import type { Store } from '../../../src/store/store.ts';
import { TestGateway } from '../../kit/gateway.ts';
import { openRaw } from '../../kit/raw.ts';
import { enginesAtLength, type OpenedStore } from '../../kit/stores.ts';

const LARGE = '{ categories(first: 10) { nodes { id name pets(first: 100) { nodes { id name } } } } }';

describe.each(enginesAtLength)('a large GraphQL response ($name)', (engine) => {
  let opened: OpenedStore;
  let gateway: TestGateway;
  /** Called after the categories of a request are read but before its pets are. */
  let beforePages: () => void | Promise<void> = () => {};
  let pagesRead = 0;
  /** The responses of the gateway, in order. */
  const responses: ServerResponse[] = [];

  beforeAll(async () => {
    opened = await engine.open();
    const { store } = opened;
    for (let c = 1; c <= 10; c++) await store.table(Category).insert({ name: `C${c}` });
    for (let p = 1; p <= 30; p++)
      await store.table(Pet).insert({ name: `P${p}`, categoryId: String((p % 10) + 1), status: 'sold' });
    const watched: Store = {
      ...store,
      table(record) {
        const table = store.table(record);
        return {
          ...table,
          page: async (filter, page) => {
            const result = await table.page(filter, page);
            if (record.kind === 'category') await beforePages();
            return result;
          },
          pagesByParent: (...args) => {
            pagesRead++;
            return table.pagesByParent(...args);
          },
        };
      },
    };
    gateway = await TestGateway.start(watched);
    subscribe('http.server.request.start', onRequest);
  });
  const onRequest = (message: unknown) =>
    void responses.push((message as { response: ServerResponse }).response);
  afterAll(async () => {
    unsubscribe('http.server.request.start', onRequest);
    await gateway.close();
    await opened.close();
  });

  it('is the same alone and in a batch, which is sent without Content-Length', async () => {
    const small = await gateway.graphql(LARGE.replace('100', '3'));
    const large = await gateway.graphql(LARGE);
    expect(large.status).toBe(200);
    expect(large.json).toEqual(small.json);
    const batch = await gateway.call('/graphql', {
      method: 'POST',
      body: [{ query: LARGE }, { query: '{' }, { query: LARGE }],
    });
    expect(batch.headers['content-length']).toBeUndefined();
    const queried = await gateway.call('/graphql', {
      method: 'QUERY',
      body: [{ query: LARGE }, { query: '{' }, { query: LARGE }],
    });
    expect(queried.text).toBe(batch.text);
    expect(batch.json).toHaveLength(3);
    expect(batch.json[0]).toEqual(small.json);
    expect(batch.json[1].errors[0].extensions.code).toBe('GRAPHQL_PARSE_FAILED');
    expect(batch.json[2]).toEqual(small.json);
  });

  it('is sent in pieces, with the ETag of the whole to reads, as JSON only', async () => {
    const posted = await gateway.graphql(LARGE);
    expect(posted.headers['content-length']).toBeUndefined();
    const path = `/graphql?query=${encodeURIComponent(LARGE)}`;
    const read = await gateway.call(path);
    expect(read.text).toBe(posted.text);
    expect(read.headers.etag).toBe(`"${createHash('sha256').update(read.text).digest('base64url')}"`);
    const again = await gateway.call(path, { headers: { 'if-none-match': read.headers.etag! } });
    expect([again.status, again.text]).toEqual([304, '']);
    const head = await gateway.call(path, { method: 'HEAD' });
    expect([head.status, head.headers.etag, head.text]).toEqual([200, read.headers.etag, '']);
    const streamed = await gateway.graphql(LARGE, undefined, { headers: { accept: 'text/event-stream' } });
    expect([streamed.status, streamed.json.errors[0].extensions.code]).toEqual([406, 'NOT_ACCEPTABLE']);
  });

  /** Sends a request and calls `act` between its levels. */
  async function sendAnd(act: (socket: Socket) => void | Promise<void>): Promise<Socket> {
    pagesRead = 0;
    const key = await gateway.newKey('pro');
    const body = JSON.stringify({ query: LARGE });
    const socket = await openRaw(gateway.url, { allowHalfOpen: true });
    const acted = new Promise<void>((resolve) => {
      beforePages = async () => {
        beforePages = () => {};
        await act(socket);
        resolve();
      };
    });
    const head = `POST /graphql HTTP/1.1\r\nhost: x\r\nx-api-key: ${key}\r\ncontent-type: application/json\r\nconnection: close`;
    socket.write(`${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    await acted;
    return socket;
  }

  it.each<[string, (socket: Socket) => void]>([
    ['closed the connection', (socket) => socket.destroy()],
    ['closed its side of the connection', (socket) => socket.end()],
    ['reset the connection', (socket) => socket.resetAndDestroy()],
  ])('is abandoned once the client has %s', async (_how, disconnect) => {
    const logged = gateway.logs.length;
    await sendAnd(async (socket) => {
      const closed = new Promise((resolve) => responses.at(-1)!.once('close', resolve));
      disconnect(socket);
      await closed;
    });
    const lines = () => gateway.logs.slice(logged);
    await expect
      .poll(() => lines().some((line) => line.includes('"aborted":true')), { timeout: 5_000 })
      .toBe(true);
    expect(pagesRead).toBe(0);
    expect(lines().filter((line) => line.includes('"level":50'))).toEqual([]);
  });
});
