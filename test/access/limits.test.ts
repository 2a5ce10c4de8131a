import { describe, expect, it } from 'vitest';
import { DAY, HOUR, MINUTE, SECOND } from '../../src/foundation/instant.ts';
import type { Store } from '../../src/store/store.ts';
import { type Reply, TestGateway } from '../kit/gateway.ts';
import { onAnyEngine, sqlite, useGateway } from '../kit/petstore.ts';

const ONE_PET = '{ pet(id: 1) { name } }';

const numbers = ({ headers }: Reply) => ({
  limit: Number(headers['x-ratelimit-limit']),
  remaining: Number(headers['x-ratelimit-remaining']),
  reset: Number(headers['x-ratelimit-reset']),
});

/** Uses up this many units, one request each. */
async function spend(gateway: TestGateway, key: string, units: number): Promise<void> {
  for (let i = 0; i < units; i++) await gateway.call('/pets?limit=1', { key });
}

onAnyEngine('the budget shared by REST and GraphQL', (kit) => {
  it('passes exactly 60 of 200 concurrent REST and GraphQL requests on the free plan', async () => {
    const { gateway } = kit;
    const key = await gateway.newKey('free');
    const replies = await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        i % 2 ? gateway.call('/pets?limit=1', { key }) : gateway.graphql(ONE_PET, undefined, { key }),
      ),
    );
    // The first refusal is no strike; 19 strikes follow, and the 20th bans.
    const counts = [200, 429, 403].map((code) => replies.filter(({ status }) => status === code).length);
    expect(counts).toEqual([60, 20, 120]);
  });

  it.each([
    [9_999, 1],
    [10_500, 2],
    [99_999, 10],
  ])('charges a REST call with a body of %i bytes, accepted or refused, %i units', async (bytes, units) => {
    const { gateway } = kit;
    const key = await gateway.newKey('free');
    for (const [n, [body, status]] of [
      ['{"name":"Long"}', 201] as const,
      ['{"name":7}', 400] as const,
      ['{', 400] as const,
    ].entries()) {
      const headers = { 'content-type': 'application/json' };
      const reply = await gateway.call('/categories', {
        method: 'POST',
        key,
        headers,
        body: body.padEnd(bytes),
      });
      expect([reply.status, numbers(reply).remaining]).toEqual([status, 60 - (n + 1) * units]);
    }
  });

  it('charges one unit for a request that fails before its cost is known', async () => {
    const { gateway } = kit;
    const key = await gateway.newKey('free');
    const failures = [
      () => gateway.graphql('{', undefined, { key }),
      () => gateway.graphql('{ nope }', undefined, { key }),
      () => gateway.graphql('query($id: ID!) { pet(id: $id) { id } }', { id: 0 }, { key }),
      () =>
        gateway.graphql(
          '{ categories(first: 100) { nodes { pets(first: 100) { nodes { id } } } } }',
          undefined,
          { key },
        ),
      () => gateway.call('/graphql', { method: 'POST', key, body: 'no JSON' }),
      () => gateway.call('/nope', { key }),
      () => gateway.call('/pets', { method: 'POST', key, body: 'no JSON' }),
      () => gateway.call('/pets', { method: 'DELETE', key }),
    ];
    for (const [i, fail] of failures.entries()) {
      const reply = await fail();
      expect(reply.status, reply.text).toBeGreaterThanOrEqual(400);
      expect(numbers(reply).remaining, reply.text).toBe(59 - i);
    }
  });

  it('serves rateLimit free of charge when the budget is exhausted', async () => {
    const { gateway } = kit;
    const key = await gateway.newKey('free');
    await spend(gateway, key, 60);
    const query =
      '{ rateLimit { plan minute { limit remaining resetAt } day { limit remaining } } __typename }';
    const reply = await gateway.graphql(query, undefined, { key });
    expect(reply.json.data.rateLimit).toEqual({
      plan: 'free',
      minute: {
        limit: 60,
        remaining: 0,
        resetAt: new Date(gateway.clock.time + MINUTE).toISOString().replace('.000', ''),
      },
      day: { limit: 1000, remaining: 940 },
    });
    expect(numbers(reply).remaining).toBe(0);
  });
});

onAnyEngine('rate limit windows', (kit) => {
  it('charges both windows or neither and shows the tighter one in the headers', async () => {
    const { gateway } = kit;
    const key = await gateway.newKey('enterprise', { perMinute: 5, perDay: 7 });
    expect(numbers(await gateway.call('/pets', { key }))).toMatchObject({ limit: 5, remaining: 4 });
    await spend(gateway, key, 4);
    const day = gateway.clock.time + DAY;
    gateway.clock.advance(MINUTE);
    const sixth = await gateway.call('/pets', { key });
    expect(numbers(sixth)).toEqual({ limit: 7, remaining: 1, reset: Math.ceil(day / 1000) });
    expect(sixth.headers['ratelimit-policy']).toBe('"minute";q=5;w=60, "day";q=7;w=86400');
    expect(sixth.headers.ratelimit).toBe('"minute";r=4;t=60, "day";r=1;t=86340');
    await spend(gateway, key, 1);
    const refused = await gateway.call('/pets', { key });
    expect(refused.status).toBe(429);
    expect(numbers(refused)).toMatchObject({ limit: 7, remaining: 0 });
    expect(refused.headers.ratelimit).toContain('"minute";r=3');
    expect(Number(refused.headers['retry-after'])).toBe(86_340);
    // Another process knows nothing of it before it charges, what fails too.
    const other = await TestGateway.start(gateway.store, {}, gateway.clock);
    expect((await other.call('/nope', { key })).status).toBe(429);
    await other.close();
  });
});

onAnyEngine('limits that are lowered', (kit) => {
  it('leave nothing rather than less', async () => {
    const { gateway } = kit;
    const key = await gateway.newKey('enterprise', { perMinute: 5, perDay: 7 });
    await spend(gateway, key, 4);
    const { id } = (await gateway.store.apiKeys()).find(({ limits }) => limits.perMinute === 5)!;
    await gateway.store.updateApiKey(id, { limits: { perMinute: 3, perDay: 7 } });
    gateway.clock.advance(10 * SECOND);
    const refused = await gateway.call('/pets', { key });
    expect([refused.status, numbers(refused).remaining]).toEqual([429, 0]);
    expect(refused.headers.ratelimit).toBe('"minute";r=0;t=50, "day";r=3;t=86390');
  });
});

/** One that passes, a refusal that is no strike yet, 19 strikes, and the 20th. */
const UNTIL_BANNED = [200, ...Array.from({ length: 20 }, () => 429), 403];

onAnyEngine('bans', (kit) => {
  const strike = async (key: string, times: number) => {
    const replies: Reply[] = [];
    for (let i = 0; i < times; i++) replies.push(await kit.gateway.call('/pets', { key }));
    return replies.map(({ status }) => status);
  };

  it('bans one key at the 20th strike, each time twice as long up to a day, and starts over after a day', async () => {
    const { gateway } = kit;
    const key = await gateway.newKey('enterprise', { perMinute: 1, perDay: 1_000 });
    await spend(gateway, key, 1);
    // The first refusal is not a strike.
    expect(await strike(key, 20)).toEqual(Array.from({ length: 20 }, () => 429));
    expect(await gateway.call('/pets', { key })).toMatchObject({
      status: 403,
      json: { code: 'API_KEY_BANNED' },
      headers: { 'retry-after': '60' },
    });
    const overGraphql = await gateway.graphql('{ rateLimit { plan } }', undefined, { key });
    expect(overGraphql.status).toBe(403);
    expect(overGraphql.json).toEqual({
      errors: [{ message: expect.any(String), extensions: { code: 'API_KEY_BANNED', status: 403 } }],
    });
    expect((await gateway.call('/pets')).status).toBe(200);
    gateway.clock.advance(59_999);
    expect((await gateway.call('/pets', { key })).status).toBe(403);
    gateway.clock.advance(1);
    for (const minutes of [2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 1_440, 1_440]) {
      expect(await strike(key, 22)).toEqual(UNTIL_BANNED);
      expect((await gateway.call('/pets', { key })).headers['retry-after']).toBe(String(minutes * 60));
      gateway.clock.advance(minutes * MINUTE);
    }
    gateway.clock.advance(DAY);
    expect((await strike(key, 22)).at(-1)).toBe(403);
    expect((await gateway.call('/pets', { key })).headers['retry-after']).toBe('60');
  });

  it('are begun by strikes of the last 10 minutes alone', async () => {
    const { gateway } = kit;
    const key = await gateway.newKey('enterprise', { perMinute: 1_000, perDay: 1 });
    await spend(gateway, key, 2);
    await strike(key, 1);
    gateway.clock.advance(1);
    await strike(key, 18);
    gateway.clock.advance(10 * MINUTE - 1);
    expect(await strike(key, 2)).toEqual([429, 403]);
  });

  it('leave the next refusal without a strike, also if a window was full that lasts longer', async () => {
    const { gateway } = kit;
    const key = await gateway.newKey('enterprise', { perMinute: 1, perDay: 2 });
    await spend(gateway, key, 1);
    await strike(key, 20);
    const both = await gateway.graphql('{ a: pet(id: 1) { id } b: pet(id: 1) { id } }', undefined, { key });
    expect(both.status).toBe(403);
    gateway.clock.advance(MINUTE);
    expect(await strike(key, 22)).toEqual(UNTIL_BANNED);
  });

  it('and windows from the future, after the clock was set back, last no longer than if they began now', async () => {
    const { gateway } = kit;
    const key = await gateway.newKey('enterprise', { perMinute: 1, perDay: 1_000 });
    const other = await gateway.newKey('enterprise', { perMinute: 1, perDay: 1_000 });
    const free = await gateway.newKey('free');
    await strike(key, 22);
    for (const used of [other, free]) await spend(gateway, used, 1);
    gateway.clock.setBack(HOUR);
    expect(await strike(key, 2)).toEqual([429, 429]);
    const second = await gateway.call('/pets', { key: free });
    expect(second.headers.ratelimit).toBe('"minute";r=58;t=60, "day";r=998;t=86400');
    expect(await strike(other, 1)).toEqual([429]);
    gateway.clock.advance(MINUTE);
    expect(await strike(key, 2)).toEqual([200, 429]);
    // Nor is the first refusal a strike, as the Retry-After of the one before is over.
    expect(await strike(other, 22)).toEqual(UNTIL_BANNED);
  });
});

describe('the message of a refusal', () => {
  const kit = useGateway(sqlite);

  it('names the window, what is left of it, and whether a retry can ever fit', async () => {
    const { gateway } = kit;
    const key = await gateway.newKey('enterprise', { perMinute: 3, perDay: 5 });
    const spendAtOnce = async (units: number) => {
      const pets = Array.from({ length: units }, (_, n) => `p${n}: pet(id: 1) { id }`);
      return (await gateway.graphql(`{ ${pets.join(' ')} }`, undefined, { key })).json.errors?.[0].message;
    };
    expect(await spendAtOnce(4)).toMatch(/costs 4\. It can never fit; request less at once\.$/);
    expect(await spendAtOnce(2)).toBeUndefined();
    expect(await spendAtOnce(2)).toBe(
      'The plan allows 3 requests per minute; 1 are left and this one costs 2. Retry in 60 s.',
    );
    gateway.clock.advance(MINUTE);
    expect(await spendAtOnce(2)).toBeUndefined();
    expect(await spendAtOnce(2)).toMatch(
      /^The plan allows 5 requests per day; 1 are left .* Retry in 86340 s\.$/,
    );
  });
});

describe('a store that cannot charge', () => {
  it('lets no request pass, and its error is logged', async () => {
    const opened = await sqlite.open();
    const store: Store = {
      ...opened.store,
      charge: () => {
        throw new Error('away');
      },
    };
    const gateway = await TestGateway.start(store);
    const { status, headers } = await gateway.call('/pets');
    expect(status).toBe(500);
    expect(headers['x-ratelimit-remaining']).toBe('0');
    expect(gateway.logs.join('')).toContain('away');
    await gateway.close();
    await opened.close();
  });
});
