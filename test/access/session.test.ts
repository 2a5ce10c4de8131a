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
  access = new Access(clock, new UsageHistory(store, () => {}));
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
      refusalsUntilBan: 20,
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
      strikes: [],
    });
  });
});

describe('Session.admitFree', () => {
  it('admits 10 requests per second and refuses more with Retry-After 1', async () => {
    for (let i = 0; i < 10; i++) await (await session()).admitFree(1_000);
    const current = await session();
    expect(await errorOf(() => current.admitFree(1_000))).toMatchObject({
      code: 'RATE_LIMITED',
      message: 'The key exceeds 10 free requests per second. Retry in 1 s.',
      retryAfter: 1,
    });
    expect(current.decision?.outcome === 'passed').toBe(false);
    const tightest = { limit: 10, remaining: 0, resetAt: clock.now() + 1_000 };
    expect(current.decision).toMatchObject({ outcome: 'refused', tightest });
    clock.advance(1_000);
    const next = await session();
    await next.admitFree(1_000);
    expect(next.units).toBe(0);
  });

  it('refuses requests during a ban', async () => {
    await getBanned();
    expect((await errorOf(async () => (await session()).admitFree(1_000))).code).toBe('API_KEY_BANNED');
  });
});

describe('free work', () => {
  /** A request that turns out to cost nothing. @returns the units it was charged */
  const free = async (bytes: number, address?: string, documents?: number): Promise<number> => {
    const current = await session(address);
    await current.begin('perhaps free');
    await current.admit(0, 0, bytes, documents);
    return current.units;
  };
  const chargesOf = async (count: number, bytes: number, address?: string) => {
    let units = 0;
    for (let i = 0; i < count; i++) units += await free(bytes, address);
    return units;
  };

  it.each([
    ['small', 120, 1],
    ['of 1 kB', 120, 1_000],
    ['of the largest size', 10, 12_000],
  ])('is limited per second by requests and bytes: %s', async (_size, fitting, bytes) => {
    expect(await chargesOf(fitting, bytes)).toBe(0);
    // What comes then costs a unit each, paid before anything is read, until nothing is left.
    expect(await chargesOf(2, 1)).toBe(2);
    await spend(1);
    expect((await errorOf(() => free(1))).code).toBe('RATE_LIMITED');
    clock.advance(1_000);
    expect(await free(1)).toBe(0);
  });

  it('is counted by documents, if they are many', async () => {
    for (let n = 0; n < 12; n++) expect(await free(1_000, undefined, 10)).toBe(0);
    expect(await free(1)).toBe(1);
  });

  it('is limited for an address too, over all keys used from it', async () => {
    const units = async () => {
      const made = newApiKey({ name: 'other', plan: 'free', now: clock.now() });
      key = made.key;
      await opened.store.createApiKey(made.apiKey);
      return chargesOf(100, 1, '2001:db8::1');
    };
    expect([await units(), await units(), await units()]).toEqual([0, 0, 60]);
  });

  it('of an empty budget may read no more than what is free, unless it can be paid after all', async () => {
    await spend(3);
    const current = await session();
    await current.begin('perhaps free');
    expect(current.hasPaid).toBe(false);
    expect((await errorOf(() => current.pay())).code).toBe('RATE_LIMITED');
    clock.advance(60_000);
    await current.pay();
    expect([current.hasPaid, current.units]).toEqual([true, 1]);
    await current.charge(1);
    expect(current.units).toBe(1);
  });

  it('counts requests that are free by their path by their bytes too', async () => {
    for (let i = 0; i < 9; i++) await (await session('192.0.2.1')).admitFree(12_000);
    expect(await errorOf(async () => (await session('192.0.2.1')).admitFree(13_000))).toMatchObject({
      code: 'RATE_LIMITED',
      message: 'Too much free work. Retry in 1 s.',
      retryAfter: 1,
    });
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
    expect((await errorOf(async () => (await session()).begin('free'))).code).toBe('API_KEY_BANNED');
    expect(charges).toBe(0);
  });

  it('charges an exhausted key at the store unless the request may be free', async () => {
    await spend(3);
    charges = 0;
    expect((await errorOf(async () => (await session()).begin('charged'))).code).toBe('RATE_LIMITED');
    expect(charges).toBe(1);
    await (await session()).begin('free');
    for (let i = 0; i < 10; i++) await (await session()).begin('perhaps free');
    expect(charges).toBe(1);
    expect((await errorOf(async () => (await session()).begin('perhaps free'))).code).toBe('RATE_LIMITED');
    expect(charges).toBe(2);
  });

  /** A session whose key is exhausted by the cache but has budget left at the store. */
  const sessionWithStaleCache = async (): Promise<Session> => {
    await spend(3);
    const charge: Store['charge'] = (request) => opened.store.charge({ ...request, apiKeyId: 'other' });
    return (await access.authenticate(key, { ...opened.store, charge }))!;
  };

  it('prepays one unit if the store still has budget', async () => {
    const current = await sessionWithStaleCache();
    await current.begin('charged');
    expect(current.units).toBe(1);
    await current.charge(2);
    expect(current.units).toBe(2);
    // The unit is prepaid only once.
    await current.charge(1);
    expect(current.units).toBe(3);
    expect(current.budget(3).minute.remaining).toBe(0);
  });

  it('prepays one unit that a free charge does not refund', async () => {
    const current = await sessionWithStaleCache();
    await current.begin('charged');
    await current.charge(0);
    expect([current.units, current.budget(0).minute.remaining]).toEqual([1, 2]);
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
