import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { HOUR, MINUTE, SECOND } from '../../src/foundation/instant.ts';
import { withCalls } from '../../src/observability/instrumented-store.ts';
import type { Store } from '../../src/store/store.ts';
import { type Reply, TestGateway } from '../kit/gateway.ts';
import { onAnyEngine, sqlite, useGateway } from '../kit/petstore.ts';

/** Announces a body of which only the first byte is sent, and waits for the response. */
function sendWithoutBody(gateway: TestGateway, path: string, key: string): Promise<string> {
  const { port } = new URL(gateway.url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1');
    let response = '';
    socket.on('data', (chunk) => {
      response += chunk;
      if (!response.includes('\r\n\r\n{')) return;
      socket.destroy();
      resolve(response);
    });
    socket.on('error', reject);
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${key}\r\nContent-Type: application/json\r\nContent-Length: 90000\r\n\r\n{`,
    );
  });
}

const statusOf = (response: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(response)?.[1]);

/** Counts the charges made at a store. */
function countingCharges(store: Store): { store: Store; charges: () => number } {
  let charges = 0;
  const counting = withCalls(store, (name, call) => (...args) => {
    if (name === 'charge') charges++;
    return call(...args);
  });
  return { store: counting, charges: () => charges };
}

const spentKey = async (gateway: TestGateway, limits = { perMinute: 1, perDay: 100 }): Promise<string> => {
  const key = await gateway.newKey('enterprise', limits);
  for (let i = 0; i < limits.perMinute; i++) expect((await gateway.call('/pets', { key })).status).toBe(200);
  return key;
};

const ban = async (gateway: TestGateway, key: string): Promise<void> => {
  let last: Reply;
  let tries = 0;
  do last = await gateway.call('/pets', { key });
  while (last.status === 429 && ++tries < 30);
  expect(last.status).toBe(403);
};

describe('requests already known to be refused', () => {
  const kit = useGateway(sqlite);

  it.each(['/graphql', '/graphql/cost', '/pets', '/nope'])(
    'responds 403 on %s before the body arrives, without a charge, if the key is banned',
    async (path) => {
      const { store, charges } = countingCharges(kit.opened.store);
      const gateway = await TestGateway.start(store, {}, kit.clock);
      const key = await spentKey(gateway);
      await ban(gateway, key);
      const before = charges();
      const response = await sendWithoutBody(gateway, path, key);
      expect(statusOf(response)).toBe(403);
      expect(response).toContain('API_KEY_BANNED');
      expect(response).toMatch(/\r\nRetry-After: 60\r\n/);
      expect(response).toMatch(/\r\nX-RateLimit-Limit: 1\r\n/);
      expect(charges()).toBe(before);
      kit.clock.advance(MINUTE);
      expect((await gateway.call('/pets', { key })).status).toBe(200);
      await gateway.close();
    },
  );

  it('responds 429 before the body arrives if the budget is exhausted, and 403 after 20 strikes', async () => {
    const { gateway } = kit;
    const key = await spentKey(gateway);
    const statuses = [];
    for (let i = 0; i < 22; i++) statuses.push(statusOf(await sendWithoutBody(gateway, '/pets', key)));
    expect(statuses).toEqual([...Array.from({ length: 20 }, () => 429), 403, 403]);
  });
});

onAnyEngine('a clock set back', (kit) => {
  it('does not keep a revoked key valid for more than 5 seconds', async () => {
    const { gateway, clock } = kit;
    const key = await gateway.newKey('pro');
    expect((await gateway.call('/pets', { key })).status).toBe(200);
    const { id } = (await gateway.store.apiKeys()).find(({ secrets: [secret] }) =>
      key.startsWith(secret!.prefix),
    )!;
    await gateway.store.revokeApiKey(id, clock.time);
    clock.setBack(HOUR);
    clock.advance(5 * SECOND);
    expect((await gateway.call('/pets', { key })).status).toBe(401);
  });
});
