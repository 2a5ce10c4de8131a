import type { CommandStartedEvent } from 'mongodb';
import { describe, expect, it } from 'vitest';
import type { MongoStore } from '../../../src/store/mongo/mongo-store.ts';
import { codeOf, newDatabase } from './database.ts';

describe.runIf(process.env.TEST_MONGODB_URI)('assignment of ids', () => {
  const database = newDatabase();
  const create = async (store: MongoStore) => (await store.createCategory({ name: 'Dogs' })).id;
  const setCounter = (store: MongoStore, value: bigint) =>
    store.client
      .db()
      .collection<{ _id: string }>('counters')
      .updateOne({ _id: 'categories' }, { $set: { value } });

  it('reserves one block of ids for 100 concurrent creations', async () => {
    const store = await database.open({ monitorCommands: true });
    await setCounter(store, 1_000n);
    let increments = 0;
    const listen = ({ commandName, command }: CommandStartedEvent) => {
      if (commandName === 'findAndModify' && command.findAndModify === 'counters') increments++;
    };
    store.client.on('commandStarted', listen);
    const ids = await Promise.all(Array.from({ length: 100 }, () => create(store)));
    store.client.off('commandStarted', listen);
    expect(increments).toBe(1);
    expect(ids.map(Number).sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => 1_001 + i));
  });

  it('never assigns the same id on two instances', async () => {
    const stores = await Promise.all([database.open(), database.open()]);
    const ids = await Promise.all(Array.from({ length: 100 }, (_, i) => create(stores[i % 2]!)));
    expect(new Set(ids).size).toBe(100);
  });

  it('assigns every id up to the largest and then throws CONFLICT, even concurrently', async () => {
    const store = await database.open();
    await setCounter(store, 9_223_372_036_854_775_804n);
    const results = await Promise.allSettled(Array.from({ length: 10 }, () => create(store)));
    const made = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    expect(made.sort()).toEqual(['9223372036854775805', '9223372036854775806', '9223372036854775807']);
    const codes = results.flatMap((result) => (result.status === 'rejected' ? [result.reason.code] : []));
    expect(codes).toEqual(new Array(7).fill('CONFLICT'));
    expect(await codeOf(create(store))).toBe('CONFLICT');
  });
});
