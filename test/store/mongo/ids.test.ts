import type { CommandStartedEvent } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { Category } from '../../../src/domains/category/category.ts';
import { Order } from '../../../src/domains/order/order.ts';
import type { MongoStore } from '../../../src/store/mongo/mongo-store.ts';
import { newDatabase } from './database.ts';

describe.runIf(process.env.TEST_MONGODB_URI)('assignment of ids', () => {
  const database = newDatabase();
  const create = async (store: MongoStore) => (await store.table(Category).insert({ name: 'Dogs' })).id;
  const setCounter = (store: MongoStore, value: bigint, name = 'categories') =>
    store.client.db().collection<{ _id: string }>('counters').updateOne({ _id: name }, { $set: { value } });

  it('reserves one block of ids for 100 concurrent creations', async () => {
    const store = await database.open();
    await setCounter(store, 1_000n);
    let increments = 0;
    const listen = ({ commandName, command }: CommandStartedEvent) => {
      if (commandName === 'findAndModify' && command.findAndModify === 'counters') increments++;
    };
    store.client.on('commandStarted', listen);
    const ids = await Promise.all(Array.from({ length: 100 }, () => create(store)));
    expect(increments).toBe(1);
    expect(ids.map(Number).sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => 1_001 + i));
  });

  it('skips chosen order ids up to the largest and throws CONFLICT when none are left', async () => {
    const store = await database.open();
    const max = 2n ** 63n - 1n;
    const order = (id?: bigint) =>
      Promise.resolve(store.table(Order).insert({ ...(id && { id: `${id}` }), complete: true }));
    await setCounter(store, max - 4n, 'orders');
    await Promise.all([max - 3n, max - 1n].map(order));
    expect([(await order()).id, (await order()).id]).toEqual([`${max - 2n}`, `${max}`]);
    for (let time = 0; time < 2; time++)
      await expect(order()).rejects.toMatchObject({
        code: 'CONFLICT',
        message: 'There are no ids left to assign.',
      });
    expect((await order(5_000n)).id).toBe('5000');
  });
});
