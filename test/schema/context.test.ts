import { describe, expect, it } from 'vitest';
import type { Session } from '../../src/access/session.ts';
import { Category } from '../../src/domains/category/category.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { allowanceOf } from '../../src/foundation/meter.ts';
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

it('yields before reading if an operation costs more than 20 units', async () => {
  const isDisconnected = () => false;
  expect(await yields({ cost: 20, isDisconnected })).toBe(false);
  expect(await yields({ cost: 21, isDisconnected })).toBe(true);
  expect(await yields({ cost: 21 })).toBe(true);
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

describe('reading', () => {
  const contextOf = (cost: number) =>
    newContext({ store: kit.gateway.store, now: kit.clock.now } as Session, { cost } as never);

  it('draws on what the operation has paid for', async () => {
    const { store } = kit.gateway;
    const { id } = await store.table(Category).insert({ name: 'C', description: '😀'.repeat(2_000) });
    const { loaders, meter } = contextOf(1);
    for (let n = 0; n < 3; n++) await loaders.page(Category, {}, { limit: 10 });
    expect([meter.left('entries'), meter.left('records')]).toEqual([97, allowanceOf('records', 1) - 3]);
    await loaders.pageOf(Pet, 'categoryId', id, {}, { limit: 10 });
    expect(meter.left('entries')).toBe(97);
    meter.draw('entries', 97);
    expect(() => loaders.page(Category, {}, { limit: 1 })).toThrow('more than 100 entries');
    const large = contextOf(50);
    await large.loaders.page(Category, {}, { limit: 1 });
    expect(allowanceOf('bytesHeld', 50) - large.meter.left('bytesHeld')).toBeGreaterThan(8_000);
  });

  it('lets others in many times while a large operation goes on', async () => {
    const { store } = kit.gateway;
    const ids: string[] = [];
    for (let n = 0; n < 60; n++) ids.push((await store.table(Category).insert({ name: `${n}` })).id);
    const turns = async (cost: number) => {
      const { loaders } = contextOf(cost);
      let count = 0;
      let isDone = false;
      const tick = () => {
        count++;
        if (!isDone) setImmediate(tick);
      };
      setImmediate(tick);
      const read = (id: string) => loaders.pageOf(Pet, 'categoryId', id, {}, { limit: 10 });
      await Promise.all([
        ...ids.map(read),
        ...ids.slice(0, 10).map((_, n) => loaders.page(Category, {}, { limit: 1 + n })),
      ]);
      isDone = true;
      return count;
    };
    expect(await turns(20)).toBeLessThan(5);
    expect(await turns(21)).toBeGreaterThan(40);
  });
});
