import { connect } from 'node:net';
import { expect, it } from 'vitest';
import type { Store } from '../../src/store/store.ts';
import { Clock, type Reply, TestGateway } from '../kit/gateway.ts';
import { onEachEngine } from '../kit/petstore.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Sends only the beginning of a request, which promises a body, and waits for the answer: the body is never sent. */
function withoutBody(gateway: TestGateway, path: string, key: string): Promise<string> {
  const { port } = new URL(gateway.url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1');
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk;
      if (!answer.includes('\r\n\r\n{')) return;
      socket.destroy();
      resolve(answer);
    });
    socket.on('error', reject);
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${key}\r\nContent-Type: application/json\r\nContent-Length: 90000\r\n\r\n{`,
    );
  });
}

const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);

/** A store whose charges are counted. */
function counting(store: Store): { store: Store; charges: () => number } {
  let charges = 0;
  const charge: Store['charge'] = (request) => {
    charges++;
    return store.charge(request);
  };
  return {
    charges: () => charges,
    store: new Proxy(store, {
      get: (target, name) => {
        if (name === 'charge') return charge;
        const member = Reflect.get(target, name);
        return typeof member === 'function' ? member.bind(target) : member;
      },
    }),
  };
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

const RATE_LIMIT = '{ rateLimit { minute { remaining } } }';

onEachEngine('what is known to be refused', (kit) => {
  it.each(['/graphql', '/graphql/cost', '/pets', '/nope'])(
    'is refused on %s before its body is there: a ban, by which the store is not asked',
    async (path) => {
      const { store, charges } = counting(kit.opened.store);
      const gateway = await TestGateway.start(store, {}, kit.clock);
      const key = await spentKey(gateway);
      await ban(gateway, key);
      const before = charges();
      const answer = await withoutBody(gateway, path, key);
      expect(statusOf(answer)).toBe(403);
      expect(answer).toContain('API_KEY_BANNED');
      expect(answer).toMatch(/\r\nRetry-After: 60\r\n/);
      expect(answer).toMatch(/\r\nX-RateLimit-Limit: 1\r\n/);
      expect(charges()).toBe(before);
      kit.clock.advance(MINUTE);
      expect((await gateway.call('/pets', { key })).status).toBe(200);
      await gateway.close();
    },
  );

  it('is refused before its body is there: nothing left, which counts strikes until the ban', async () => {
    const { gateway } = kit;
    const key = await spentKey(gateway);
    const statuses = [];
    for (let i = 0; i < 22; i++) statuses.push(statusOf(await withoutBody(gateway, '/pets', key)));
    expect(statuses).toEqual([...Array.from({ length: 20 }, () => 429), 403, 403]);
  });

  it('is logged and counted like everything else', async () => {
    const { gateway } = kit;
    const key = await spentKey(gateway);
    await ban(gateway, key);
    gateway.logs.length = 0;
    await gateway.graphql(RATE_LIMIT, undefined, { key });
    const [line] = gateway.logs.map((text) => JSON.parse(text)).filter(({ msg }) => msg === 'request');
    expect(line).toMatchObject({
      method: 'POST',
      path: '/graphql',
      transport: 'graphql',
      status: 403,
      units: 0,
    });
    expect(line.apiKey).toMatch(/^key_/);
    const metrics = (await gateway.call('/metrics')).text;
    expect(metrics).toMatch(/petstore_limiter_decisions_total\{outcome="banned",plan="enterprise"\} \d+/);
  });

  it('is over with the window: what fits then passes at once', async () => {
    const { gateway, clock } = kit;
    const key = await spentKey(gateway);
    expect((await gateway.call('/pets', { key })).status).toBe(429);
    clock.advance(MINUTE);
    expect((await gateway.graphql('{ pet(id: 1) { id } }', undefined, { key })).status).toBe(200);
  });

  it('leaves rateLimit ten answers a second where nothing is left', async () => {
    const { gateway, clock } = kit;
    const key = await spentKey(gateway);
    const ask = async (times: number) => {
      const statuses = [];
      for (let i = 0; i < times; i++)
        statuses.push((await gateway.graphql(RATE_LIMIT, undefined, { key })).status);
      return statuses;
    };
    const ten = Array.from({ length: 10 }, () => 200);
    expect(await ask(11)).toEqual([...ten, 429]);
    expect(statusOf(await withoutBody(gateway, '/graphql', key))).toBe(429);
    clock.advance(SECOND);
    expect(await ask(11)).toEqual([...ten, 429]);
    // What has a cost is refused by its cost, and counts as one of the ten that are read.
    clock.advance(SECOND);
    expect((await gateway.graphql('{ pet(id: 1) { id } }', undefined, { key })).status).toBe(429);
    expect(await ask(10)).toEqual([...ten.slice(1), 429]);
  });

  it('is asked of the store again where another instance may know better', async () => {
    const { gateway, clock, opened } = kit;
    const key = await spentKey(gateway);
    expect((await gateway.call('/pets', { key })).status).toBe(429);
    const ahead = new Clock();
    ahead.time = clock.time + MINUTE;
    const other = await TestGateway.start(opened.store, {}, ahead);
    // By the clock of the other instance, the window is over.
    expect((await other.call('/pets', { key })).status).toBe(200);
    await other.close();
    // By the clock of this one, the new window lies ahead: it is spent all the same, and ends in its time.
    const refused = await gateway.call('/pets', { key });
    expect(refused.status).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60);
    clock.advance(MINUTE);
    expect((await gateway.call('/pets', { key })).status).toBe(200);
  });
});

onEachEngine('a clock that is set back', (kit) => {
  it('makes no window longer: Retry-After is at most a minute, and is kept', async () => {
    const { gateway, clock } = kit;
    const key = await spentKey(gateway, { perMinute: 3, perDay: 100 });
    expect((await gateway.call('/pets', { key })).headers['retry-after']).toBe('60');
    clock.advance(20 * SECOND);
    clock.setBack(HOUR);
    const refused = await gateway.call('/pets', { key });
    expect(refused.status).toBe(429);
    const retryAfter = Number(refused.headers['retry-after']);
    expect(retryAfter).toBeGreaterThan(0);
    expect(retryAfter).toBeLessThanOrEqual(60);
    expect(Number(refused.headers['x-ratelimit-reset'])).toBeLessThanOrEqual(
      Math.ceil(clock.time / SECOND) + 60,
    );
    expect(refused.headers.ratelimit).toMatch(/^"minute";r=0;t=(60|[1-5]?\d), "day";r=97;t=\d{1,5}$/);
    clock.advance(retryAfter * SECOND);
    expect((await gateway.call('/pets', { key })).status).toBe(200);
  });

  it('makes no ban longer', async () => {
    const { gateway, clock } = kit;
    const key = await spentKey(gateway);
    await ban(gateway, key);
    clock.setBack(HOUR);
    const banned = await gateway.call('/pets', { key });
    expect(banned.status).toBe(403);
    expect(Number(banned.headers['retry-after'])).toBeLessThanOrEqual(60);
    clock.advance(MINUTE);
    expect((await gateway.call('/pets', { key })).status).toBe(200);
  });

  it('makes no day longer, and no strike of what was promised', async () => {
    const { gateway, clock } = kit;
    const key = await spentKey(gateway, { perMinute: 2, perDay: 2 });
    expect((await gateway.call('/pets', { key })).headers['retry-after']).toBe('86400');
    clock.setBack(HOUR);
    const refused = await gateway.call('/pets', { key });
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(86_400);
    clock.advance(24 * HOUR);
    expect((await gateway.call('/pets', { key })).status).toBe(200);
  });

  it('does so after a restart too, where the times that are stored lie ahead', async () => {
    const { gateway, clock, opened } = kit;
    const key = await spentKey(gateway);
    await ban(gateway, key);
    clock.setBack(HOUR);
    const restarted = await TestGateway.start(opened.store, {}, clock);
    const banned = await restarted.call('/pets', { key });
    expect(banned.status).toBe(403);
    expect(Number(banned.headers['retry-after'])).toBeLessThanOrEqual(60);
    await restarted.close();
  });

  it('keeps no revoked key in force for more than 5 s', async () => {
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

  it('makes the minute of an address without a key no longer', async () => {
    const gateway = await TestGateway.start(kit.opened.store, {}, kit.clock);
    const knock = () => gateway.call('/pets', { key: null });
    for (let i = 0; i < 60; i++) expect((await knock()).status).toBe(401);
    kit.clock.advance(10 * SECOND);
    kit.clock.setBack(HOUR);
    const refused = await knock();
    expect(refused.status).toBe(429);
    expect(refused.headers['retry-after']).toBe('50');
    expect(refused.headers['x-ratelimit-reset']).toBe(String(Math.ceil(kit.clock.time / SECOND) + 50));
    kit.clock.advance(50 * SECOND);
    expect((await knock()).status).toBe(401);
    await gateway.close();
  });
});
