import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Reply, TestGateway } from '../kit/gateway.ts';
import { onEachEngine } from '../kit/petstore.ts';
import type { OpenedStore } from '../kit/stores.ts';

// The library reads the clock of the machine; nothing else of time is replaced.
const NOON = Date.parse('2026-11-21T12:00:00Z');
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: NOON });
});
afterEach(() => {
  vi.useRealTimers();
});

const create = (gateway: TestGateway, key: string) =>
  gateway.call('/categories', { method: 'POST', key, body: { name: 'x' } });

const createOverGraphql = (gateway: TestGateway, key: string, count = 1) => {
  const fields = Array.from({ length: count }, (_, i) => `c${i}: createCategory(input: {name: "x"}) { id }`);
  return gateway.graphql(`mutation { ${fields.join(' ')} }`, undefined, { key });
};

const times = <T>(count: number, work: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, work));

const withStatus = (replies: readonly Reply[], status: number) =>
  replies.filter((reply) => reply.status === status);

const remaining = ({ headers }: Reply): number => Number(headers['x-ratelimit-remaining']);

/** What is left of the minute, asked for nothing. */
async function leftOf(gateway: TestGateway, key: string): Promise<number> {
  const reply = await gateway.graphql('{ rateLimit { minute { remaining } } }', undefined, { key });
  return reply.json.data.rateLimit.minute.remaining;
}

async function categories(gateway: TestGateway): Promise<number> {
  return (await gateway.graphql('{ categories(first: 1) { totalCount } }')).json.data.categories.totalCount;
}

onEachEngine('the burst guard', (kit) => {
  it.each([
    ['free', 20],
    ['pro', 20],
    ['business', 100],
  ] as const)('lets a key of the plan %s send %i mutations a second', async (plan, most) => {
    const { gateway } = kit;
    const key = await gateway.newKey(plan);
    const replies = await times(most + 5, () => create(gateway, key));
    expect(withStatus(replies, 201)).toHaveLength(most);
    const [refused] = withStatus(replies, 429);
    expect(refused!.json).toEqual({
      code: 'RATE_LIMITED',
      message: `The key exceeds ${most} mutations per second.`,
      status: 429,
    });
    expect(refused!.headers['retry-after']).toBe('1');
    expect(refused!.headers['x-ratelimit-limit']).toBe(String(most));
    expect(refused!.headers['x-ratelimit-remaining']).toBe('0');
    expect(Number(refused!.headers['x-ratelimit-reset'])).toBe(Math.ceil(gateway.clock.time / 1000) + 1);
    const overGraphql = await createOverGraphql(gateway, key);
    expect(overGraphql.status).toBe(429);
    expect(overGraphql.headers['retry-after']).toBe('1');
    expect(overGraphql.json).toEqual({
      errors: [{ message: refused!.json.message, extensions: { code: 'RATE_LIMITED', status: 429 } }],
    });
    expect((await gateway.call('/categories', { key })).status).toBe(200);
    vi.setSystemTime(NOON + 999);
    expect((await create(gateway, key)).status).toBe(429);
    vi.setSystemTime(NOON + 1_000);
    expect((await create(gateway, key)).status).toBe(201);
  });

  it('comes before the plan: of 40 creations at once 20 pass, for 20 units', async () => {
    const { gateway } = kit;
    const key = await gateway.newKey('free');
    const before = await categories(gateway);
    const replies = await times(40, () => create(gateway, key));
    expect(withStatus(replies, 201)).toHaveLength(20);
    expect(withStatus(replies, 429)).toHaveLength(20);
    expect(await leftOf(gateway, key)).toBe(40);
    expect(await categories(gateway)).toBe(before + 20);
  });

  it('lets all mutations of an operation pass, or none', async () => {
    const { gateway } = kit;
    const key = await gateway.newKey('free');
    const before = await categories(gateway);
    const tooMany = await createOverGraphql(gateway, key, 45);
    expect(tooMany.status).toBe(429);
    expect(tooMany.headers['retry-after']).toBe('1');
    expect(tooMany.json).not.toHaveProperty('data');
    expect(await leftOf(gateway, key)).toBe(60);
    expect(await categories(gateway)).toBe(before);
    // None of the refused ones counts.
    expect(remaining(tooMany)).toBe(20);
    expect((await createOverGraphql(gateway, key, 12)).json.errors).toBeUndefined();
    const nine = await createOverGraphql(gateway, key, 9);
    expect(nine.status).toBe(429);
    expect(remaining(nine)).toBe(8);
    expect((await createOverGraphql(gateway, key, 8)).json.errors).toBeUndefined();
    expect(await leftOf(gateway, key)).toBe(40);
    expect(await categories(gateway)).toBe(before + 20);
  });

  it('counts the fields that run: those of a batch together, and none that is left out or refused', async () => {
    const { gateway } = kit;
    const key = await gateway.newKey('free');
    const field = (name: string, rest = '') => `${name}: createCategory(input: {name: "x"}) ${rest} { id }`;
    const fields = (letter: string, count: number, rest = '') =>
      Array.from({ length: count }, (_, i) => field(letter + i, rest)).join(' ');
    const leftOut = await gateway.graphql(
      `mutation ($no: Boolean!) { __typename ${fields('a', 12)} ${fields('b', 12, '@skip(if: true)')} ${fields('c', 12, '@include(if: $no)')} }`,
      { no: false },
      { key },
    );
    expect(leftOut.json.errors).toBeUndefined();
    expect((await gateway.graphql(`mutation { ${fields('a', 25)} nope }`, undefined, { key })).status).toBe(
      400,
    );
    expect((await create(gateway, key)).status).toBe(201);
    const invalid = await gateway.call('/categories', { method: 'POST', key, body: { name: '' } });
    expect(invalid.status).toBe(400);
    const batch = (...counts: number[]) =>
      gateway.call('/graphql', {
        method: 'POST',
        key,
        body: counts.map((count) => ({
          query: `mutation { ...F } fragment F on Mutation { ${fields('f', count)} }`,
        })),
      });
    expect((await batch(4, 4)).status).toBe(429);
    expect((await batch(4, 3)).status).toBe(200);
    expect((await create(gateway, key)).status).toBe(429);
  });

  it('gives no strike, and a ban comes before it', async () => {
    const { gateway } = kit;
    const key = await gateway.newKey('pro');
    expect(withStatus(await times(100, () => create(gateway, key)), 429)).toHaveLength(80);
    expect((await create(gateway, key)).status).toBe(429);
    expect(await leftOf(gateway, key)).toBe(280);
    const { id } = (await gateway.store.apiKeys()).find(({ secrets: [secret] }) =>
      key.startsWith(secret!.prefix),
    )!;
    for (let i = 0; i < 22; i++) {
      await gateway.store.charge({
        apiKeyId: id,
        limits: { perMinute: 1, perDay: 1 },
        cost: 1,
        now: gateway.clock.time,
      });
    }
    expect((await create(gateway, key)).status).toBe(403);
  });

  it('is none on Enterprise', async () => {
    const { gateway } = kit;
    const replies = await times(150, () => create(gateway, gateway.key));
    expect(withStatus(replies, 201)).toHaveLength(150);
  });

  it('forgets when the clock is set back', async () => {
    const { gateway } = kit;
    const key = await gateway.newKey('free');
    expect(withStatus(await times(25, () => create(gateway, key)), 201)).toHaveLength(20);
    vi.setSystemTime(NOON - 3_600_000);
    expect((await create(gateway, key)).status).toBe(201);
  });
});

describe('graphql-rate-limit', () => {
  type Library = typeof import('graphql-rate-limit');
  /** What the library was asked. */
  let calls: unknown[];
  /** What the library answers instead of its own decision; undefined: its own. */
  let answer: (() => unknown) | undefined;
  let opened: OpenedStore;
  let gateway: TestGateway;
  let key: string;

  beforeAll(async () => {
    // A gateway of modules of its own, since those that are loaded have the library already.
    vi.resetModules();
    vi.doMock('graphql-rate-limit', async (original) => {
      const real = await original<Library>();
      const getGraphQLRateLimiter: Library['getGraphQLRateLimiter'] = (config) => {
        const limiter = real.getGraphQLRateLimiter(config);
        return async (...call) => {
          calls.push(call[1]);
          const own = await limiter(...call);
          return answer ? (answer() as typeof own) : own;
        };
      };
      return { ...real, getGraphQLRateLimiter };
    });
    const kit = await import('../kit/gateway.ts');
    const stores = await import('../kit/stores.ts');
    opened = await stores.engines[0]!.open();
    gateway = await kit.TestGateway.start(opened.store);
  });
  beforeEach(async () => {
    calls = [];
    answer = undefined;
    key = await gateway.newKey('free');
  });
  afterAll(async () => {
    await gateway?.close();
    await opened?.close();
    vi.doUnmock('graphql-rate-limit');
    vi.resetModules();
  });

  it('is asked once for each request that writes, in its own terms', async () => {
    await create(gateway, key);
    await createOverGraphql(gateway, key, 3);
    await gateway.call('/categories', { key });
    const terms = { max: 20, window: '1s', uncountRejected: true };
    expect(calls).toEqual([expect.objectContaining(terms), expect.objectContaining(terms)]);
  });

  it('is not asked on Enterprise', async () => {
    expect((await create(gateway, gateway.key)).status).toBe(201);
    expect(calls).toEqual([]);
  });

  it('decides: what it lets through passes', async () => {
    answer = () => undefined;
    expect(withStatus(await times(30, () => create(gateway, key)), 201)).toHaveLength(30);
  });

  it('decides: what it refuses is refused, in its words', async () => {
    answer = () => 'Not now.';
    const reply = await create(gateway, key);
    expect(reply.status).toBe(429);
    expect(reply.json.message).toBe('Not now.');
    expect(await leftOf(gateway, key)).toBe(60);
  });
});
