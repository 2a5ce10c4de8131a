import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Access } from '../../src/access/access.ts';
import { newApiKey, newSecret } from '../../src/access/api-keys.ts';
import type { Session } from '../../src/access/session.ts';
import { AppError, unavailable } from '../../src/errors.ts';
import type { Store } from '../../src/store/store.ts';
import { Clock } from '../kit/gateway.ts';
import { engines, type OpenedStore } from '../kit/stores.ts';

const LIMITS = { perMinute: 3, perDay: 5 };
let clock: Clock;
let opened: OpenedStore;
let access: Access;
let key: string;
/** How often the store was asked to charge, and what it throws instead. */
let charges: number;
let failure: Error | undefined;
let store: Store;

beforeEach(async () => {
  clock = new Clock();
  opened = await engines[0]!.open(clock.now);
  access = new Access(clock);
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

/** The session of one request, as each request has one. */
const session = async (): Promise<Session> => (await access.authenticate(key, store))!;

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

describe('A session', () => {
  it('is there for a valid key alone', async () => {
    expect(await access.authenticate(undefined, store)).toBeNull();
    expect(await access.authenticate(newSecret().key, store)).toBeNull();
    expect((await session()).principal).toMatchObject({ name: 'key', plan: 'enterprise', limits: LIMITS });
  });

  it('adds up what it charged, and shows what is left', async () => {
    const own = await session();
    expect(own.isAdmitted).toBe(false);
    await own.charge(1);
    await own.charge(2);
    expect(own.units).toBe(3);
    expect(own.isAdmitted).toBe(true);
    const [minute, day] = [60_000, 86_400_000].map((length) => clock.now() + length);
    expect(own.budget(7)).toEqual({
      ...{ cost: 7, plan: 'enterprise' },
      minute: { limit: 3, remaining: 0, resetAt: minute },
      day: { limit: 5, remaining: 2, resetAt: day },
    });
  });

  it('says which window refuses, what is left of it and when to retry', async () => {
    await spend(2);
    clock.advance(10_000);
    const own = await session();
    expect(await errorOf(() => own.charge(2))).toMatchObject({
      code: 'RATE_LIMITED',
      message: 'The plan allows 3 requests per minute; 1 are left and this one costs 2. Retry in 50 s.',
      retryAfter: 50,
    });
    expect([own.isAdmitted, own.units]).toEqual([false, 0]);
    clock.advance(50_000);
    await spend(2);
    expect((await errorOf(() => spend(2))).message).toBe(
      'The plan allows 5 requests per day; 1 are left and this one costs 2. Retry in 86340 s.',
    );
  });

  it('says that a request can never pass only where it can not', async () => {
    expect((await errorOf(() => spend(4))).message).toMatch(/costs 4\. It can never fit; request less/);
    expect((await errorOf(() => spend(6))).message).toMatch(/It can never fit/);
    await spend(1);
    expect((await errorOf(() => spend(3))).message).toMatch(/costs 3\. Retry in 60 s\.$/);
  });

  it('says how long a ban lasts', async () => {
    await getBanned();
    const own = await session();
    expect(await errorOf(() => own.charge(0))).toMatchObject({
      code: 'API_KEY_BANNED',
      message: 'The API key is banned for too many retries. Retry in 60 s.',
      retryAfter: 60,
    });
    expect(own.isAdmitted).toBe(false);
  });

  it('passes nothing that the store cannot count, and shows nothing left', async () => {
    failure = unavailable();
    const own = await session();
    expect(await errorOf(() => own.charge(1))).toBe(failure);
    expect(own.isAdmitted).toBe(false);
    const window = { limit: 3, remaining: 0, resetAt: clock.now() + 1_000 };
    expect(own.decision).toEqual({
      ...{ outcome: 'refused', minute: window, tightest: window },
      day: { ...window, limit: 5 },
    });
  });
});

describe('Free requests of a session', () => {
  it('are ten a second, and the next one is told to come back in a second', async () => {
    for (let i = 0; i < 10; i++) await (await session()).admitFree();
    const own = await session();
    expect(await errorOf(() => own.admitFree())).toMatchObject({
      code: 'RATE_LIMITED',
      message: 'At most 10 free requests per second are allowed. Retry in 1 s.',
      retryAfter: 1,
    });
    expect(own.isAdmitted).toBe(false);
    const tightest = { limit: 10, remaining: 0, resetAt: clock.now() + 1_000 };
    expect(own.decision).toMatchObject({ outcome: 'refused', tightest });
    clock.advance(1_000);
    const next = await session();
    await next.admitFree();
    expect(next.units).toBe(0);
  });

  it('are refused during a ban', async () => {
    await getBanned();
    expect((await errorOf(async () => (await session()).admitFree())).code).toBe('API_KEY_BANNED');
  });
});

describe('A session begins', () => {
  it('with nothing asked of the store where nothing is known', async () => {
    await spend(1);
    charges = 0;
    await (await session()).begin('charged');
    expect(charges).toBe(0);
  });

  it('with the refusal of a ban that is known, of which the store is not asked', async () => {
    await getBanned();
    charges = 0;
    expect((await errorOf(async () => (await session()).begin('free'))).code).toBe('API_KEY_BANNED');
    expect(charges).toBe(0);
  });

  it('with a refusal by the store where nothing is left, unless the request may be free', async () => {
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

  /** Of a key of which this process knows that nothing is left, and the store that something is. */
  const sessionAfterCountsWereLost = async (): Promise<Session> => {
    await spend(3);
    const charge: Store['charge'] = (one) => opened.store.charge({ ...one, apiKeyId: 'counted anew' });
    return (await access.authenticate(key, { ...opened.store, charge }))!;
  };

  it('with a unit paid ahead where the store has something left after all', async () => {
    const own = await sessionAfterCountsWereLost();
    await own.begin('charged');
    expect(own.units).toBe(1);
    await own.charge(2);
    expect(own.units).toBe(2);
    // Paid ahead once, not again.
    await own.charge(1);
    expect(own.units).toBe(3);
    expect(own.budget(3).minute.remaining).toBe(0);
  });

  it('with a unit paid ahead that covers a charge of nothing', async () => {
    const own = await sessionAfterCountsWereLost();
    await own.begin('charged');
    await own.charge(0);
    expect([own.units, own.budget(0).minute.remaining]).toEqual([1, 2]);
  });
});

describe('Who has no valid key', () => {
  it('is told so 60 times a minute, and then when to come back', () => {
    for (let i = 0; i < 60; i++) {
      expect(access.unauthenticatedError('192.0.2.1')).toMatchObject({
        code: 'UNAUTHENTICATED',
        message: 'A valid API key is required: X-API-Key: <key> or Authorization: Bearer <key>.',
      });
    }
    clock.advance(20_000);
    expect(access.unauthenticatedError('192.0.2.1')).toMatchObject({
      code: 'RATE_LIMITED',
      message: 'Too many requests without a valid API key. Retry in 40 s.',
      retryAfter: 40,
    });
    expect(access.addressWindow('192.0.2.1')).toEqual({
      ...{ limit: 60, remaining: 0, resetAt: clock.now() + 40_000 },
    });
  });
});
