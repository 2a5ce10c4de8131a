import { describe, expect, it, vi } from 'vitest';
import type { Session } from '../../src/access/session.ts';
import { Category } from '../../src/domains/category/category.ts';
import { Order } from '../../src/domains/order/order.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { allowanceOf } from '../../src/foundation/meter.ts';
import type { RecordOf } from '../../src/foundation/record.ts';
import { newContext } from '../../src/schema/context.ts';
import type { Transaction } from '../../src/store/store.ts';
import type { Page } from '../../src/store/table.ts';
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

it('yields before reading if an operation costs more than 10 units', async () => {
  const isDisconnected = () => false;
  expect(await yields({ cost: 10, isDisconnected })).toBe(false);
  expect(await yields({ cost: 11, isDisconnected })).toBe(true);
  expect(await yields({ cost: 11 })).toBe(true);
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

  it('hands out the entries of lists of large operations in turns', async () => {
    expect(contextOf(10).loaders.entries([1, 2])).toEqual([1, 2]);
    let hasRun = false;
    const clock = vi.spyOn(performance, 'now').mockReturnValue(0);
    const [first, second] = contextOf(11).loaders.entries([1, 2]);
    setImmediate(() => {
      hasRun = true;
    });
    expect([await first, await second, hasRun]).toEqual([1, 2, false]);
    clock.mockRestore();
    const paced = await Promise.all(contextOf(11).loaders.entries([1, 2]));
    expect(paced).toEqual([1, 2]);
  });

  it('reads ahead in a transaction, and draws only what is asked for', async () => {
    const { store } = kit.gateway;
    const { id } = await store.table(Category).insert({ name: 'C' });
    const pets: string[] = [];
    for (let n = 0; n < 20; n++) {
      const pet = await store.table(Pet).insert({ name: `${n}`, categoryId: id, status: 'sold' });
      await store.table(Order).insert({ petId: pet.id, complete: true });
      pets.push(pet.id);
    }
    const reads: number[] = [];
    await store.transaction((transaction) => {
      const counting: Transaction = {
        ...transaction,
        table: (record) => {
          const table = transaction.table(record);
          const pagesByParent: typeof table.pagesByParent = (field, parents, ...rest) => {
            reads.push(parents.length);
            return table.pagesByParent(field, parents, ...rest);
          };
          return { ...table, pagesByParent };
        },
      };
      const { loaders, meter } = contextOf(1);
      const own = loaders.within(counting);
      own.pageOf(Pet, 'categoryId', id, {}, { limit: 20 });
      for (const pet of pets.slice(0, 8)) {
        const page = own.pageOf(Order, 'petId', pet, {}, { limit: 5 }) as Page<RecordOf<typeof Order>>;
        expect(page.items.map(({ petId }) => petId)).toEqual([pet]);
      }
      expect(meter.left('entries')).toBe(100 - 20 - 8);
      // Others are asked for out of order: nothing is read ahead that is not used.
      for (const pet of [pets[19]!, pets[17]!, pets[15]!]) own.pageOf(Order, 'petId', pet, {}, { limit: 5 });
      return undefined;
    });
    // The pets, then their orders: up to three times as many as were asked for.
    expect(reads.slice(0, 4)).toEqual([1, 1, 4, 15]);
    expect(reads.slice(1).reduce((sum, count) => sum + count)).toBeLessThanOrEqual(20);
  });
});
