import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { request, type ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { TestGateway } from '../../kit/gateway.ts';
import { sqlite } from '../../kit/petstore.ts';
import type { OpenedStore } from '../../kit/stores.ts';

const LARGE = '{ categories(first: 10) { nodes { id name pets(first: 100) { nodes { id name } } } } }';

describe('A large GraphQL answer', () => {
  let opened: OpenedStore;
  let gateway: TestGateway;
  /** Called before pages of pets are read, of how many categories. */
  let beforePages: (categories: number) => void | Promise<void> = () => {};
  let pagesRead = 0;
  /** Those of the gateway, in order. */
  const responses: ServerResponse[] = [];

  beforeAll(async () => {
    opened = await sqlite.open();
    const { store } = opened;
    for (let c = 1; c <= 10; c++) await store.createCategory({ name: `C${c}` });
    for (let p = 1; p <= 30; p++)
      await store.createPet({ name: `P${p}`, categoryId: String((p % 10) + 1), status: 'sold' });
    const watched: Store = {
      ...store,
      categoryPage: async (page) => {
        const found = await store.categoryPage(page);
        await beforePages(found.items.length);
        return found;
      },
      petPagesByCategory: (...args) => {
        pagesRead++;
        return store.petPagesByCategory(...args);
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

  it('is the same alone and in a batch, which goes out an operation at a time', async () => {
    const small = await gateway.graphql(LARGE.replace('100', '3'));
    const large = await gateway.graphql(LARGE);
    expect(large.status).toBe(200);
    expect(large.json).toEqual(small.json);
    const batch = await gateway.call('/graphql', {
      method: 'POST',
      body: [{ query: LARGE }, { query: '{' }, { query: LARGE }],
    });
    expect(batch.headers['content-length']).toBeUndefined();
    expect(batch.json).toHaveLength(3);
    expect(batch.json[0]).toEqual(small.json);
    expect(batch.json[1].errors[0].extensions.code).toBe('GRAPHQL_PARSE_FAILED');
    expect(batch.json[2]).toEqual(small.json);
  });

  it('is not read on once the client is gone', async () => {
    pagesRead = 0;
    const key = await gateway.newKey('pro');
    await new Promise<void>((resolve, reject) => {
      const body = JSON.stringify({ query: LARGE });
      const asked = request(`${gateway.url}/graphql`, {
        method: 'POST',
        agent: false,
        headers: { 'x-api-key': key, 'content-type': 'application/json', 'content-length': body.length },
      });
      beforePages = async () => {
        const gone = new Promise((resolve) => responses.at(-1)!.once('close', resolve));
        asked.socket!.resetAndDestroy();
        await gone;
        resolve();
      };
      asked.on('error', () => {});
      asked.on('response', () => reject(new Error('It was answered.')));
      asked.end(body);
    });

    await expect
      .poll(() => gateway.logs.some((line) => line.includes('"aborted":true')), { timeout: 5_000 })
      .toBe(true);
    beforePages = () => {};
    expect(pagesRead).toBe(0);
    expect(gateway.logs.filter((line) => line.includes('"level":50'))).toEqual([]);
  });
});
