import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Order } from '../../src/domains/order/order.ts';
import { type Call, Clock, type Reply, TestGateway } from '../kit/gateway.ts';
import { newDatabase } from '../store/mongo/database.ts';

const countByStatus = (replies: readonly Reply[]) => {
  const counts: Record<number, number> = {};
  for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};

/** Each gateway has its own store, as if on its own machine. */
describe.runIf(process.env.TEST_MONGODB_URI)('a deployment of two instances on MongoDB', () => {
  const database = newDatabase();
  const clock = new Clock();
  const instances: TestGateway[] = [];

  beforeAll(async () => {
    for (let i = 0; i < 2; i++) {
      instances.push(await TestGateway.start(await database.open(), {}, clock));
    }
  });
  afterAll(async () => {
    for (const gateway of instances) await gateway.close();
  });

  /** Sends the same call concurrently, alternating between the instances. */
  const everywhere = (count: number, path: string, call: Call) =>
    Promise.all(Array.from({ length: count }, (_, i) => instances[i % 2]!.call(path, call)));
  /** A key created at one instance is valid at both. */
  const newKey = (...args: Parameters<TestGateway['newKey']>) => instances[0]!.newKey(...args);

  it('shares one exact budget and its bans', async () => {
    const key = await newKey('free');
    const replies = await everywhere(120, '/pets?limit=1', { key });
    // The first refusal is no strike; 19 strikes follow, and the 20th bans at both instances.
    expect(countByStatus(replies)).toEqual({ 200: 60, 429: 20, 403: 40 });
    const told = replies.filter(({ status }) => status === 200).map(({ headers }) => headers);
    expect(new Set(told.map((headers) => headers['x-ratelimit-remaining'])).size).toBe(60);
    for (const instance of instances) expect((await instance.call('/pets', { key })).status).toBe(403);
  });

  it('runs an idempotent request once', async () => {
    const { key, store } = instances[0]!;
    const before = await store.table(Order).count({});
    const call = { method: 'POST', key, body: {}, headers: { 'idempotency-key': randomUUID() } };
    const replies = await everywhere(10, '/store/orders', call);
    for (const { status } of replies) expect([201, 409]).toContain(status);
    const made = replies.filter(({ status }) => status === 201);
    expect(new Set(made.map(({ text }) => text)).size).toBe(1);
    expect(await store.table(Order).count({})).toBe(before + 1);
    for (const instance of instances) {
      const again = await instance.call('/store/orders', call);
      expect([again.text, again.headers['idempotency-replayed']]).toEqual([made[0]!.text, 'true']);
    }
  });

  it('passes exactly one of 10 concurrent writes with the same If-Match', async () => {
    const { key } = instances[0]!;
    const created = await instances[1]!.call('/categories', { method: 'POST', key, body: { name: 'Cats' } });
    const { location, etag } = created.headers;
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        instances[i % 2]!.call(location!, {
          method: 'PUT',
          key,
          body: { name: `Cats ${i}` },
          headers: { 'if-match': etag as string },
        }),
      ),
    );
    expect(countByStatus(replies)).toEqual({ 200: 1, 412: 9 });
  });
});
