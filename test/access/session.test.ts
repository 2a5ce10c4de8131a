import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Access } from '../../src/access/access.ts';
import { newApiKey, newSecret } from '../../src/access/api-keys.ts';
import type { Session } from '../../src/access/session.ts';
import { UsageHistory } from '../../src/access/usage-history.ts';
import { AppError, unavailable } from '../../src/foundation/errors.ts';
import type { Store } from '../../src/store/store.ts';
import { Clock } from '../kit/gateway.ts';
import { engines, type OpenedStore } from '../kit/stores.ts';

const LIMITS = { perMinute: 3, perDay: 5 };
let clock: Clock;
let opened: OpenedStore;
let access: Access;
let key: string;
/** How often the store was charged, and the error it throws instead. */
let charges: number;
let failure: Error | undefined;
let store: Store;

beforeEach(async () => {
  clock = new Clock();
  opened = await engines[0]!.open(clock.now);
  access = new Access({ clock, storeOf: () => store, history: new UsageHistory(store, () => {}) });
  const made = newApiKey({ name: 'key', plan: 'enterprise', limits: LIMITS, now: clock.now() });
  ({ key } = made);
  await opened.store.createApiKey(made.apiKey);
  [charges, failure] = [0, undefined];
  store = {
    ...opened.store,
    charge: (charge) => {
      charges += 1;
      if (failure) throw failure;
      return opened.store.charge(charge);
    },
  };
});
afterEach(() => opened.close());

/** A new session, as for each request. */
const session = async (address?: string): Promise<Session> =>
  (await access.authenticate(key, store, address))!;

async function errorOf(work: () => unknown): Promise<AppError> {
  try {
    await work();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('Nothing was thrown.');
}

const spend = async (units: number) => (await session()).charge(units);

/** Retries until the key is banned. */
async function getBanned(): Promise<void> {
  await spend(3);
  for (let i = 0; i < 21; i++) await errorOf(() => spend(1));
}

describe('Session', () => {
  it('is opened for a valid key only', async () => {
    expect(await access.authenticate(undefined, store)).toBeNull();
    expect(await access.authenticate(newSecret().key, store)).toBeNull();
    expect((await session()).principal).toMatchObject({ name: 'key', plan: 'enterprise', limits: LIMITS });
  });

  it('sums the units it charged and shows the remaining budget', async () => {
    const current = await session();
    expect(current.decision?.outcome === 'passed').toBe(false);
    await current.charge(1);
    await current.charge(2);
    expect(current.units).toBe(3);
    expect(current.decision?.outcome === 'passed').toBe(true);
    const [minute, day] = [60_000, 86_400_000].map((length) => clock.now() + length);
    expect(current.budget(7)).toEqual({
      ...{ cost: 7, plan: 'enterprise' },
      minute: { limit: 3, remaining: 0, resetAt: minute },
      day: { limit: 5, remaining: 2, resetAt: day },
    });
  });

  it('refuses with the window, its remainder and the seconds to wait', async () => {
    await spend(2);
    clock.advance(10_000);
    const current = await session();
    expect(await errorOf(() => current.charge(2))).toMatchObject({
      code: 'RATE_LIMITED',
      message: 'The plan allows 3 requests per minute; 1 are left and this one costs 2. Retry in 50 s.',
      retryAfter: 50,
    });
    expect([current.decision?.outcome === 'passed', current.units]).toEqual([false, 0]);
    clock.advance(50_000);
    await spend(2);
    expect((await errorOf(() => spend(2))).message).toBe(
      'The plan allows 5 requests per day; 1 are left and this one costs 2. Retry in 86340 s.',
    );
  });

  it('says that a request can never fit only if its cost exceeds a limit of the plan', async () => {
    expect((await errorOf(() => spend(4))).message).toMatch(/costs 4\. It can never fit; request less/);
    expect((await errorOf(() => spend(6))).message).toMatch(/It can never fit/);
    await spend(1);
    expect((await errorOf(() => spend(3))).message).toMatch(/costs 3\. Retry in 60 s\.$/);
  });

  it('refuses even a free charge during a ban, with the remaining seconds', async () => {
    await getBanned();
    const current = await session();
    expect(await errorOf(() => current.charge(0))).toMatchObject({
      code: 'API_KEY_BANNED',
      message: 'The API key is banned for too many retries. Retry in 60 s.',
      retryAfter: 60,
    });
    expect(current.decision?.outcome === 'passed').toBe(false);
  });

  it('rejects a charge that the store cannot make and shows an empty budget', async () => {
    failure = unavailable();
    const current = await session();
    expect(await errorOf(() => current.charge(1))).toBe(failure);
    expect(current.decision?.outcome === 'passed').toBe(false);
    const window = { limit: 3, remaining: 0, resetAt: clock.now() + 1_000 };
    expect(current.decision).toEqual({
      ...{ outcome: 'refused', minute: window, tightest: window },
      day: { ...window, limit: 5 },
    });
  });
});

describe('Session.requireFree', () => {
  it('passes 10 requests per second and refuses more with Retry-After 1', async () => {
    for (let i = 0; i < 10; i++) await (await session()).requireFree();
    const current = await session();
    expect(await errorOf(() => current.requireFree())).toMatchObject({
      code: 'RATE_LIMITED',
      message: 'The key exceeds 10 free requests per second. Retry in 1 s.',
      retryAfter: 1,
    });
    const tightest = { limit: 10, remaining: 0, resetAt: clock.now() + 1_000 };
    expect(current.decision).toMatchObject({ outcome: 'refused', tightest });
    clock.advance(1_000);
    const next = await session();
    await next.requireFree();
    expect(next.units).toBe(0);
  });

  it('refuses requests during a ban', async () => {
    await getBanned();
    expect((await errorOf(async () => (await session()).requireFree())).code).toBe('API_KEY_BANNED');
  });
});

describe('Session.chargeFree', () => {
  const free = async (): Promise<number> => {
    const current = await session();
    await current.begin('perhaps free');
    await current.chargeFree();
    return current.units;
  };

  it('charges nothing 10 times a second, and a unit beyond', async () => {
    for (let n = 0; n < 10; n++) expect(await free()).toBe(0);
    expect([await free(), await free(), await free()]).toEqual([1, 1, 1]);
    expect((await errorOf(free)).code).toBe('RATE_LIMITED');
    clock.advance(1_000);
    // Of an empty budget as many are read, each of which is one of those that are free.
    for (let n = 0; n < 10; n++) expect(await free()).toBe(0);
    expect((await errorOf(free)).code).toBe('RATE_LIMITED');
  });
});

describe('the price of a body', () => {
  it.each([
    [1, 10_000, 1],
    [1, 10_001, 2],
    [1, 100_000, 10],
    [7, 50_000, 7],
    [0, 10_000, 0],
    [0, 10_001, 2],
  ])('makes a request of %i units and %i bytes cost %i, once', async (units, bytes, due) => {
    const made = newApiKey({ name: 'other', plan: 'pro', now: clock.now() });
    key = made.key;
    await opened.store.createApiKey(made.apiKey);
    const current = await session();
    current.bodyBytes = bytes;
    await current.charge(units);
    expect(current.units).toBe(due);
    await current.charge(0);
    expect(current.units).toBe(due);
  });

  it('is due of what fails', async () => {
    const current = await session();
    current.bodyBytes = 10_500;
    await current.fail();
    expect(current.units).toBe(2);
  });
});

describe('Session.begin', () => {
  it('does not call the store if the key is not known to be exhausted or banned', async () => {
    await spend(1);
    charges = 0;
    await (await session()).begin('charged');
    expect(charges).toBe(0);
  });

  it('refuses a key known to be banned without calling the store', async () => {
    await getBanned();
    charges = 0;
    expect((await errorOf(async () => (await session()).begin('perhaps free'))).code).toBe('API_KEY_BANNED');
    expect(charges).toBe(0);
  });

  it('charges an exhausted key at the store unless the request may be free', async () => {
    await spend(3);
    charges = 0;
    expect((await errorOf(async () => (await session()).begin('charged'))).code).toBe('RATE_LIMITED');
    expect(charges).toBe(1);
    for (let i = 0; i < 10; i++) await (await session()).begin('perhaps free');
    expect(charges).toBe(1);
    expect((await errorOf(async () => (await session()).begin('perhaps free'))).code).toBe('RATE_LIMITED');
    expect(charges).toBe(2);
  });
});

describe('Access.rejection', () => {
  it('is UNAUTHENTICATED 60 times per minute and address, then RATE_LIMITED', async () => {
    const caller = { apiKey: undefined, address: '192.0.2.1', query: '' };
    const rejection = () => access.rejection(caller, false, opened.store);
    for (let i = 0; i < 60; i++) expect(await rejection()).toMatchObject({ code: 'UNAUTHENTICATED' });
    clock.advance(20_000);
    expect(await rejection()).toMatchObject({
      code: 'RATE_LIMITED',
      message: 'Too many requests without a valid API key. Retry in 40 s.',
      retryAfter: 40,
    });
    expect(access.addressWindow('192.0.2.1')).toEqual({
      ...{ limit: 60, remaining: 0, resetAt: clock.now() + 40_000 },
    });
  });
});
