import { expect, it } from 'vitest';
import type { Session } from '../../src/access/session.ts';
import { Category } from '../../src/domains/category/category.ts';
import { newContext } from '../../src/schema/context.ts';
import { sqlite, useGateway } from '../kit/petstore.ts';

const kit = useGateway(sqlite);

/** Whether other callbacks run before an operation of this cost reads a record. */
async function yields(call: { cost: number; isDisconnected?: () => boolean }): Promise<boolean> {
  const session = { store: kit.gateway.store, now: kit.clock.now } as Session;
  const { loaders } = newContext(session, call as never);
  let hasRun = false;
  const other = new Promise<void>((resolve) =>
    setImmediate(() => {
      hasRun = true;
      resolve();
    }),
  );
  expect(await loaders.record(Category, '1')).toBeNull();
  const hasYielded = hasRun;
  await other;
  return hasYielded;
}

it('yields before reading if an operation costs more than 20 units and can be abandoned', async () => {
  const isDisconnected = () => false;
  expect(await yields({ cost: 20, isDisconnected })).toBe(false);
  expect(await yields({ cost: 21, isDisconnected })).toBe(true);
  expect(await yields({ cost: 21 })).toBe(false);
});

it('stops reading once the client has disconnected', async () => {
  let isDisconnected = false;
  const session = { store: kit.gateway.store, now: kit.clock.now } as Session;
  const { loaders } = newContext(session, { cost: 1, isDisconnected: () => isDisconnected } as never);
  expect(await loaders.record(Category, '1')).toBeNull();
  isDisconnected = true;
  expect(() => loaders.page(Category, {}, { limit: 1 })).toThrow('The client went away.');
  await expect(loaders.record(Category, '2')).rejects.toThrow('The client went away.');
});

it('provides the budget for the cost of the operation, and the clock', () => {
  const costs: number[] = [];
  const session = {
    store: kit.gateway.store,
    now: () => 7,
    budget: (cost: number) => {
      costs.push(cost);
      return { cost };
    },
  } as unknown as Session;
  const context = newContext(session, { cost: 3 } as never);
  expect([context.rateLimit(), context.now(), costs]).toEqual([{ cost: 3 }, 7, [3]]);
});
