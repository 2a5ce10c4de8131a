import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generateKey } from '../../src/access/api-keys.ts';
import { Category } from '../../src/domains/category/category.ts';
import { WEBHOOK_COUNTS } from '../../src/webhooks/stored-webhooks.ts';
import { codeOf } from '../kit/errors.ts';
import { within } from '../kit/deadline.ts';
import { Clock, type Reply, TestGateway } from '../kit/gateway.ts';
import { newDatabase } from '../store/mongo/database.ts';
import { openProxy } from '../store/mongo/proxy.ts';

/** The store's time limit in these tests, and the same with a margin for slow machines. */
const TIMEOUT = 1_500;
const SOON = 3 * TIMEOUT;

function expectUnavailable({ status, headers, json }: Reply, error: { code: string; status: number }): void {
  expect(status, JSON.stringify(json)).toBe(503);
  expect(error).toMatchObject({ code: 'UNAVAILABLE', status: 503 });
  expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1);
  for (const name of ['limit', 'remaining', 'reset']) expect(headers[`x-ratelimit-${name}`]).toMatch(/^\d+$/);
}

describe.runIf(process.env.TEST_MONGODB_URI)('MongoDB outages', () => {
  const database = newDatabase();
  let proxy: Awaited<ReturnType<typeof openProxy>>;
  let gateway: TestGateway;

  beforeAll(async () => {
    proxy = await openProxy(database.name);
    gateway = await TestGateway.start(
      await database.open({ uri: proxy.uri, timeoutMs: TIMEOUT }),
      {},
      new Clock(),
    );
    // On a slow machine the gateway's own limit of time may not be enough for it.
    await (await database.open()).table(Category).insert({ name: 'Dogs' });
  });
  afterAll(async () => {
    await gateway.close();
    await proxy.close();
  });

  it.each([
    ['refuses connections', () => proxy.close()],
    ['hangs', () => proxy.freeze()],
    ['reads nothing', () => proxy.stall()],
  ])('responds 503 in time while MongoDB %s, and recovers without a restart', async (_how, fail) => {
    await expect.poll(async () => (await gateway.call('/pets')).status, { timeout: 15_000 }).toBe(200);
    await fail();
    const rest = await within(SOON, gateway.call('/pets'));
    expectUnavailable(rest, rest.json);
    const write = await within(SOON, gateway.call('/categories', { method: 'POST', body: { name: 'Cats' } }));
    expectUnavailable(write, write.json);
    const graphql = await within(SOON, gateway.graphql('{ pets { nodes { id } } }'));
    expectUnavailable(graphql, graphql.json.errors[0].extensions);
    expect(graphql.json).not.toHaveProperty('data');
    // A key that is not cached can't be checked, so it is neither accepted nor refused as unknown.
    const uncachedKey = await within(SOON, gateway.call('/pets', { key: generateKey().key }));
    expectUnavailable(uncachedKey, uncachedKey.json);
    const ready = () => gateway.call('/health/ready', { key: null });
    expect((await within(SOON, ready())).status).toBe(503);
    expect((await gateway.call('/health/live', { key: null })).status).toBe(200);
    expect(gateway.logs.join('')).toContain('UNAVAILABLE');
    await proxy.close();
    await proxy.open();
    await expect.poll(async () => (await ready()).status, { timeout: 15_000 }).toBe(200);
    const categories = async () => (await gateway.call('/categories')).json;
    await expect.poll(categories, { timeout: 15_000 }).toEqual([{ id: 1, name: 'Dogs' }]);
  });

  it('gives a write up in time, and closes in time, though the server takes no more than its beginning', async () => {
    const store = await database.open({ uri: proxy.uri, timeoutMs: TIMEOUT });
    await expect.poll(() => codeOf(store.ping()), { timeout: 15_000 }).toBeUndefined();
    proxy.stall();
    // More than all buffers on the way hold.
    const value = 'x'.repeat(1_000_000);
    const large = Array.from({ length: 12 }, (_, n) => ({ owner: `large ${n}`, created: 0, value }));
    const written = within(
      SOON,
      codeOf(store.transaction(({ objects }) => objects(WEBHOOK_COUNTS).put(large))),
    );
    expect(await written).toBe('UNAVAILABLE');
    await within(SOON, Promise.resolve(store.close()));
    await proxy.close();
    await proxy.open();
  });
});
