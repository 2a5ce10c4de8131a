import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MutationBursts } from '../../src/access/mutation-bursts.ts';
import type { Reply, TestGateway } from '../kit/gateway.ts';
import { sqlite, useGateway } from '../kit/petstore.ts';

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

/** The remaining units of the minute, read with a free request. */
async function leftOf(gateway: TestGateway, key: string): Promise<number> {
  const reply = await gateway.graphql('{ rateLimit { minute { remaining } } }', undefined, { key });
  return reply.json.data.rateLimit.minute.remaining;
}

async function categories(gateway: TestGateway): Promise<number> {
  return (await gateway.graphql('{ categories(first: 1) { totalCount } }')).json.data.categories.totalCount;
}

/** The library counts by the clock of the machine. */
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});
const advance = (milliseconds: number) => vi.setSystemTime(Date.now() + milliseconds);

it('counts up to the limit in any second, each key on its own, and no refusals', async () => {
  const bursts = new MutationBursts();
  const admitted = async (account: string, ...amounts: number[]) => {
    const passes = await Promise.all(amounts.map((amount) => bursts.take(account, amount, 10)));
    return passes.filter(Boolean).length;
  };
  const ones = Array<number>(20).fill(1);
  expect(bursts.remaining('a', 10)).toBe(10);
  expect(await admitted('a', 3, 1, 7)).toBe(2);
  expect(bursts.remaining('a', 10)).toBe(6);
  advance(600);
  expect(await admitted('a', ...ones)).toBe(6);
  expect(await admitted('b', ...ones)).toBe(10);
  advance(399);
  expect(await admitted('a', ...ones)).toBe(0);
  // The first four are now a second old.
  advance(1);
  expect(bursts.remaining('a', 10)).toBe(4);
  expect(await admitted('a', 5, 4)).toBe(1);
  // A clock that is set back keeps nobody waiting until it has caught up.
  advance(-60_000);
  expect(bursts.remaining('a', 10)).toBe(10);
});

describe('bursts of mutations', () => {
  const kit = useGateway(sqlite);

  it.each([
    ['free', 20],
    ['pro', 20],
    ['business', 100],
  ] as const)('allows a key on the %s plan %i mutations per second', async (plan, max) => {
    const { gateway } = kit;
    const key = await gateway.newKey(plan);
    const replies = await times(max + 5, () => create(gateway, key));
    expect(withStatus(replies, 201)).toHaveLength(max);
    const [refused] = withStatus(replies, 429);
    expect(refused!.json).toEqual({
      code: 'RATE_LIMITED',
      message: `The key exceeds ${max} mutations per second. Retry in 1 s.`,
      status: 429,
    });
    expect(refused!.headers['retry-after']).toBe('1');
    expect(refused!.headers['x-ratelimit-limit']).toBe(String(max));
    expect(refused!.headers['x-ratelimit-remaining']).toBe('0');
    expect(Number(refused!.headers['x-ratelimit-reset'])).toBe(Math.ceil(gateway.clock.time / 1000) + 1);
    const overGraphql = await createOverGraphql(gateway, key);
    expect(overGraphql.status).toBe(429);
    expect(overGraphql.headers['retry-after']).toBe('1');
    expect(overGraphql.json).toEqual({
      errors: [{ message: refused!.json.message, extensions: { code: 'RATE_LIMITED', status: 429 } }],
    });
    expect((await gateway.call('/categories', { key })).status).toBe(200);
    advance(999);
    expect((await create(gateway, key)).status).toBe(429);
    advance(1);
    expect((await create(gateway, key)).status).toBe(201);
  });

  it('passes all mutations of an operation or none, and counts none that it refuses', async () => {
    const { gateway } = kit;
    const key = await gateway.newKey('free');
    const before = await categories(gateway);
    const tooMany = await createOverGraphql(gateway, key, 45);
    expect(tooMany.status).toBe(429);
    expect(tooMany.headers['retry-after']).toBe('1');
    expect(tooMany.json.errors[0].message).toMatch(/Send at most 20 at once\.$/);
    expect(tooMany.json).not.toHaveProperty('data');
    expect(await leftOf(gateway, key)).toBe(60);
    expect(await categories(gateway)).toBe(before);
    expect(remaining(tooMany)).toBe(20);
    expect((await createOverGraphql(gateway, key, 12)).json.errors).toBeUndefined();
    const nine = await createOverGraphql(gateway, key, 9);
    expect(nine.status).toBe(429);
    expect(remaining(nine)).toBe(8);
    expect((await createOverGraphql(gateway, key, 8)).json.errors).toBeUndefined();
    expect(await leftOf(gateway, key)).toBe(40);
    expect(await categories(gateway)).toBe(before + 20);
  });

  it('counts the mutations that run: all of a batch, but neither skipped nor invalid ones', async () => {
    const { gateway } = kit;
    const key = await gateway.newKey('free');
    const field = (name: string, rest = '') => `${name}: createCategory(input: {name: "x"}) ${rest} { id }`;
    const fields = (letter: string, count: number, rest = '') =>
      Array.from({ length: count }, (_, i) => field(letter + i, rest)).join(' ');
    const skipped = await gateway.graphql(
      `mutation ($no: Boolean!) { __typename ${fields('a', 12)} ${fields('b', 12, '@skip(if: true)')} ${fields('c', 12, '@include(if: $no)')} }`,
      { no: false },
      { key },
    );
    expect(skipped.json.errors).toBeUndefined();
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

  it('does not count refusals as strikes, and yields to a ban', async () => {
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

  it('does not apply to the Enterprise plan', async () => {
    const { gateway } = kit;
    const replies = await times(150, () => create(gateway, gateway.key));
    expect(withStatus(replies, 201)).toHaveLength(150);
  });
});
