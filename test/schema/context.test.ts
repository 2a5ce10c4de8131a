import { describe, expect, it } from 'vitest';
import type { Session } from '../../src/access/session.ts';
import { Category } from '../../src/domains/category/category.ts';
import { Order } from '../../src/domains/order/order.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { newContext } from '../../src/schema/context.ts';
import { withCalls } from '../../src/observability/instrumented-store.ts';
import { sqlite, useGateway } from '../kit/petstore.ts';

const kit = useGateway(sqlite);
const session = () => ({ store: kit.gateway.store, now: kit.clock.now, counters: {} }) as Session;

/** True if other callbacks run before an operation of this price reads a record. */
async function yields(call: { price: number; client?: { destroyed: boolean } }): Promise<boolean> {
  const { loaders } = newContext(session(), call as never);
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
  const client = { destroyed: false };
  expect(await yields({ price: 10, client })).toBe(false);
  expect(await yields({ price: 11, client })).toBe(true);
  expect(await yields({ price: 11 })).toBe(true);
});

it('stops reading once the client has disconnected', async () => {
  const client = { destroyed: false };
  const { loaders } = newContext(session(), { price: 1, client } as never);
  expect(await loaders.record(Category, '1')).toBeNull();
  client.destroyed = true;
  expect(() => loaders.page(Category, {}, { limit: 1 })).toThrow('The client disconnected.');
  expect(() => loaders.record(Category, '2')).toThrow('The client disconnected.');
});

describe('reading', () => {
  const contextOf = (price: number) => newContext(session(), { price } as never);

  it('reads each level of a transaction with one command too, and what the transaction wrote', async () => {
    const { store } = kit.gateway;
    const { id } = await store.table(Category).insert({ name: 'C' });
    const reads: number[] = [];
    await store.transaction(async (transaction) => {
      const pets: string[] = [];
      for (let n = 0; n < 20; n++) {
        const pet = await transaction.table(Pet).insert({ name: `${n}`, categoryId: id, status: 'sold' });
        await transaction.table(Order).insert({ petId: pet.id, complete: true });
        pets.push(pet.id);
      }
      const counting = withCalls(transaction, (name, call) => (...args) => {
        if (name.endsWith('.pagesByParent')) reads.push((args[1] as unknown[]).length);
        return call(...args);
      });
      const { loaders, meter } = contextOf(1);
      const own = loaders.within(counting, meter);
      const { items } = await own.pagesByParent(Pet, 'categoryId', {}, { limit: 20 })(id);
      expect(items.map((pet) => pet.id)).toEqual(pets);
      const pages = await Promise.all(
        pets.map((pet) => own.pagesByParent(Order, 'petId', {}, { limit: 5 })(pet)),
      );
      expect(pages.map((page) => page.items[0]!.petId)).toEqual(pets);
      expect(meter.left('entries')).toBe(100 - 20 - 20);
    });
    expect(reads).toEqual([1, 20]);
  });
});
