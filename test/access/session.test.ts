import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Access } from '../../src/access/access.ts';
import { newApiKey } from '../../src/access/api-keys.ts';
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
let id: string;
/** What the store throws instead of charging. */
let failure: Error | undefined;
let store: Store;

beforeEach(async () => {
  clock = new Clock();
  opened = await engines[0]!.open(clock.now);
  access = new Access({ clock, storeOf: () => store, history: new UsageHistory(store, () => {}) });
  const made = newApiKey({ name: 'key', plan: 'enterprise', limits: LIMITS, now: clock.now() });
  ({ id } = made.apiKey);
  await opened.store.createApiKey(made.apiKey);
  failure = undefined;
  store = {
    ...opened.store,
    charge: (charge) => {
      if (failure) throw failure;
      return opened.store.charge(charge);
    },
  };
});
afterEach(() => opened.close());

/** A new session, as for each request. */
const session = async (): Promise<Session> => (await access.sessionOf(id, store))!;

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

describe('Session', () => {
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
    ({ id } = made.apiKey);
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
    await current.fail(failure);
    expect(current.units).toBe(2);
  });
});
