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
  /** Called before a request is charged, and after its categories are read but before its pets are. */
  const steps: Record<'beforeCharge' | 'beforePages', () => void | Promise<void>> = {
    beforeCharge: () => {},
    beforePages: () => {},
  };
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
            const found = await table.page(filter, page);
            if (record.kind === 'category') await steps.beforePages();
            return found;
          },
          pagesByParent: (...args) => {
            pagesRead++;
            return table.pagesByParent(...args);
          },
        };
      },
      charge: async (...args) => {
        await steps.beforeCharge();
        return store.charge(...args);
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

  /** Sends a request and calls `act` at one of its steps. */
  async function sendAnd(
    act: (socket: Socket) => void | Promise<void>,
    request: object = { query: LARGE },
    when: 'beforeCharge' | 'beforePages' = 'beforePages',
  ): Promise<Socket> {
    pagesRead = 0;
    const key = await gateway.newKey('pro');
    const body = JSON.stringify(request);
    const socket = await openRaw(gateway.url, { allowHalfOpen: true });
    const acted = new Promise<void>((resolve) => {
      steps[when] = async () => {
        steps[when] = () => {};
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

  it('does at most a quarter of the work of 40 requests whose clients leave before their second level', async () => {
    const query = '{ categories(first: 49) { nodes { id pets(first: 100) { nodes { id } } } } }';
    const body = JSON.stringify({ query });
    const cost = await gateway.call('/graphql/cost', { method: 'POST', body });
    expect(cost.json.cost).toBe(50);
    const logged = gateway.logs.length;
    const sockets = await Promise.all(Array.from({ length: 40 }, () => openRaw(gateway.url)));
    pagesRead = 0;
    let begun = 0;
    const allBegun = new Promise<void>((resolve) => {
      steps.beforePages = () => {
        begun++;
        if (begun === 40) {
          for (const socket of sockets) socket.end();
          resolve();
        }
        return allBegun;
      };
    });
    const head = `POST /graphql HTTP/1.1\r\nhost: x\r\nx-api-key: ${gateway.key}\r\ncontent-type: application/json`;
    for (const socket of sockets) socket.write(`${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    const ended = () => gateway.logs.slice(logged).filter((line) => line.includes('"msg":"request"'));
    await expect.poll(() => ended().length, { timeout: 10_000 }).toBe(40);
    steps.beforePages = () => {};
    expect(pagesRead).toBeLessThanOrEqual(10);
  });

  it.each(['beforeCharge', 'beforePages'] as const)(
    'is abandoned in a batch when the client resets the connection %s',
    async (when) => {
      const logged = gateway.logs.length;
      let wasRead = false;
      await sendAnd(
        async (socket) => {
          const closed = new Promise((resolve) => responses.at(-1)!.once('close', resolve));
          socket.resetAndDestroy();
          await closed;
          if (when === 'beforePages') return;
          steps.beforePages = () => {
            wasRead = true;
          };
        },
        [{ query: LARGE }, { query: LARGE }],
        when,
      );
      const lines = () => gateway.logs.slice(logged).map((line) => JSON.parse(line));
      await expect
        .poll(() => lines().filter(({ msg }) => msg === 'stream ended'), { timeout: 5_000 })
        .toMatchObject([{ aborted: true }]);
      expect([pagesRead, wasRead]).toEqual([0, false]);
      steps.beforePages = () => {};
      expect(lines().filter(({ level }) => level >= 50)).toEqual([]);
    },
  );
});
