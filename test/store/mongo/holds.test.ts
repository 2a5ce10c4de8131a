import type { CommandStartedEvent } from 'mongodb';
import { beforeAll, describe, expect, it } from 'vitest';
import { Category } from '../../../src/domains/category/category.ts';
import { Order } from '../../../src/domains/order/order.ts';
import { Pet } from '../../../src/domains/pet/pet.ts';
import type { Attempt } from '../../../src/store/mongo/attempts.ts';
import type { Database } from '../../../src/store/mongo/database.ts';
import { createHoldDocuments, type HoldDocuments } from '../../../src/store/mongo/hold-documents.ts';
import { createHolds } from '../../../src/store/mongo/holds.ts';
import type { MongoStore } from '../../../src/store/mongo/mongo-store.ts';
import { codeOf, newDatabase } from './database.ts';

interface Hold {
  _id: string;
  holders?: Record<string, Date>;
  closing?: { by: string; at: Date };
}

describe.runIf(process.env.TEST_MONGODB_URI)('holds', () => {
  const database = newDatabase();
  let storeA: MongoStore;
  let storeB: MongoStore;

  beforeAll(async () => {
    storeA = await database.open();
    storeB = await database.open();
  });

  const pets = () => storeA.table(Pet);
  const categories = () => storeA.table(Category);
  const holds = () => storeA.client.db().collection<Hold>('holds');
  const deletion = (store: MongoStore, id: string) =>
    codeOf(Promise.resolve(store.table(Category).remove(id)));
  const newPet = (categoryId: string) => ({ name: 'P', categoryId, status: 'sold' as const });
  const timeOf = async (work: () => Promise<unknown>): Promise<number> => {
    const began = performance.now();
    await work();
    return performance.now() - began;
  };

  it('lets a category be deleted that this or another instance held', async () => {
    const { id } = await categories().insert({ name: 'C' });
    await pets().remove((await pets().insert(newPet(id))).id);
    expect(Object.keys((await holds().findOne({ _id: `categories/${id}` }))?.holders ?? {})).toHaveLength(1);
    expect(await deletion(storeA, id)).toBe(id);

    const { id: second } = await categories().insert({ name: 'C' });
    await storeB.table(Pet).remove((await storeB.table(Pet).insert(newPet(second))).id);
    expect(await deletion(storeA, second)).toBe(second);
  });

  it('blocks deletion, but not creation, for a minute after the holder died', async () => {
    const { id } = await categories().insert({ name: 'C' });
    const _id = `categories/${id}`;
    const takenAgo = (milliseconds: number) =>
      holds().updateOne(
        { _id },
        { $set: { holders: { dead: new Date(Date.now() - milliseconds) } } },
        { upsert: true },
      );
    await takenAgo(50_000);
    expect(await deletion(storeA, id)).toBe('CONFLICT');
    await pets().remove((await pets().insert(newPet(id))).id);
    await takenAgo(60_000);
    expect(await deletion(storeA, id)).toBe(id);
  });

  it('lets deletions and creations continue after a deleter died, creations within 5 s', async () => {
    const marked = async () => {
      const { id } = await categories().insert({ name: 'C' });
      await holds().insertOne({ _id: `categories/${id}`, closing: { by: 'dead', at: new Date() } });
      return id;
    };
    const created = await marked();
    expect(await timeOf(async () => pets().insert(newPet(created)))).toBeLessThan(5_000);
    const deleted = await marked();
    expect(await deletion(storeA, deleted)).toBe(deleted);
  });

  it('lets a waiting creation continue once the deleter removes its mark', async () => {
    const { id } = await categories().insert({ name: 'C' });
    await holds().insertOne({ _id: `categories/${id}`, closing: { by: 'slow', at: new Date() } });
    const waiting = pets().insert(newPet(id));
    await holds().updateOne({ _id: `categories/${id}` }, { $unset: { closing: true } });
    expect(await waiting).toMatchObject({ categoryId: id });
  });

  it('adds no commands while it lasts, and is released afterwards', async () => {
    let id = '';
    const commandsOfMore = async () => {
      ({ id } = await categories().insert({ name: 'C' }));
      const commands: string[] = [];
      const listen = ({ commandName, command }: CommandStartedEvent) => {
        if (commandName !== 'hello') commands.push(`${commandName} ${command[commandName]}`);
      };
      await pets().insert(newPet(id));
      storeA.client.on('commandStarted', listen);
      await Promise.all(Array.from({ length: 20 }, () => pets().insert(newPet(id))));
      storeA.client.off('commandStarted', listen);
      return commands.filter((name) => !name.endsWith('holds'));
    };
    // Retried, because the hold lasts a second, which may be too short on a busy machine.
    await expect.poll(commandsOfMore, { timeout: 15_000 }).toEqual(['findAndModify counters', 'insert pets']);
    await expect.poll(() => holds().countDocuments({ _id: `categories/${id}` }), { timeout: 10_000 }).toBe(0);
  });

  it('is released when the store is closed', async () => {
    const { id } = await categories().insert({ name: 'C' });
    const third = await database.open();
    await third.table(Pet).insert(newPet(id));
    await third.close();
    expect(await holds().countDocuments({ _id: `categories/${id}` })).toBe(0);
  });

  it.each([
    ['deletes a parent', 0, undefined],
    ['deletes nothing if the command arrives too late by the clock of the server', 2_000, 'WriteConflict'],
  ])('%s', async (_what, lateness, error) => {
    const { id } = await categories().insert({ name: 'C' });
    const collection = storeA.client.db().collection<{ _id: bigint }>('categories');
    const parts = { db: storeA.client.db(), options: {}, timeoutMs: 5_000 } as Database;
    const documents = createHoldDocuments(parts);
    // As if it had been on its way for so long since the mark was set.
    const late: HoldDocuments = {
      ...documents,
      mark: async (name, by) => {
        const mark = (await documents.mark(name, by))!;
        return { ...mark, at: new Date(mark.at.getTime() - lateness) };
      },
    };
    const attempt = { written: new Set<string>(), onSettled: [] } as unknown as Attempt;
    const remove = async (condition: object) =>
      (await collection.deleteOne({ _id: BigInt(id), ...condition })).deletedCount === 1;
    const { deleteUnreferenced } = createHolds(parts, late);
    const done = deleteUnreferenced('categories', BigInt(id), attempt, { referrers: [], remove });
    expect(await done.catch((caught) => caught.constructor.name)).toBe(error);
    expect(await collection.countDocuments({ _id: BigInt(id) })).toBe(error ? 1 : 0);
  });

  describe('in a transaction', () => {
    it('sees the writes of the transaction, and leaves no hold behind', async () => {
      const moved = await storeA.transaction(async (writes) => {
        const { id } = await writes.table(Category).insert({ name: 'New' });
        return await writes.table(Pet).insert(newPet(id));
      });
      const target = await categories().insert({ name: 'Target' });
      // The last pet moves away and its category is deleted.
      await storeA.transaction(async (writes) => {
        await writes.table(Pet).update(moved.id, { categoryId: target.id });
        await writes.table(Category).remove(moved.categoryId);
      });
      expect(await categories().byIds([moved.categoryId])).toEqual([null]);
      const reference = storeA.transaction(async (writes) => {
        await writes.table(Pet).remove(moved.id);
        await writes.table(Category).remove(target.id);
        await writes.table(Pet).insert(newPet(target.id));
      });
      expect(await codeOf(Promise.resolve(reference))).toBe('UNKNOWN_REFERENCE');
      expect(await pets().byIds([moved.id])).toMatchObject([{ categoryId: target.id }]);
      const use = storeA.transaction(async (writes) => {
        const order = await writes.table(Order).insert({ petId: moved.id, complete: false });
        await writes.table(Pet).remove(moved.id);
        return order;
      });
      expect(await codeOf(Promise.resolve<unknown>(use))).toBe('CONFLICT');
      expect(await storeA.table(Order).count({ petId: moved.id })).toBe(0);
      // No hold or order is left behind that would prevent the deletions.
      expect(await deletion(storeB, target.id)).toBe('CONFLICT');
      await pets().remove(moved.id);
      expect(await deletion(storeB, target.id)).toBe(target.id);
    });
  });
});
