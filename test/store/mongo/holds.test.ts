import type { CommandStartedEvent } from 'mongodb';
import { beforeAll, describe, expect, it } from 'vitest';
import type { MongoStore } from '../../../src/store/mongo/mongo-store.ts';
import { codeOf, newDatabase } from './database.ts';

interface Hold {
  _id: string;
  holders?: Record<string, Date>;
  closing?: { by: string; at: Date };
}

describe.runIf(process.env.TEST_MONGODB_URI)('What others hold', () => {
  const database = newDatabase();
  let one: MongoStore;
  let other: MongoStore;

  beforeAll(async () => {
    one = await database.open({ monitorCommands: true });
    other = await database.open();
  });

  const holds = () => one.client.db().collection<Hold>('holds');
  const deletion = (store: MongoStore, id: string) => codeOf(Promise.resolve(store.deleteCategory(id)));
  const newPet = (categoryId: string) => ({ name: 'P', categoryId, status: 'sold' as const });
  const timeOf = async (work: () => Promise<unknown>): Promise<number> => {
    const began = performance.now();
    await work();
    return performance.now() - began;
  };

  it('is waited for by who deletes, and own holds are not', { timeout: 30_000 }, async () => {
    const { id } = await one.createCategory({ name: 'C' });
    await one.deletePet((await one.createPet(newPet(id))).id);
    expect(Object.keys((await holds().findOne({ _id: `categories/${id}` }))?.holders ?? {})).toHaveLength(1);
    expect(await deletion(one, id)).toBe(id);

    const { id: second } = await one.createCategory({ name: 'C' });
    await other.deletePet((await other.createPet(newPet(second))).id);
    expect(await deletion(one, second)).toBe(second);
  });

  it('of a dead instance keeps a category for a minute, and nobody from creating in it', async () => {
    const { id } = await one.createCategory({ name: 'C' });
    const _id = `categories/${id}`;
    const takenAgo = (milliseconds: number) =>
      holds().updateOne(
        { _id },
        { $set: { holders: { dead: new Date(Date.now() - milliseconds) } } },
        { upsert: true },
      );
    await takenAgo(50_000);
    expect(await deletion(one, id)).toBe('CONFLICT');
    await one.deletePet((await one.createPet(newPet(id))).id);
    await takenAgo(60_000);
    expect(await deletion(one, id)).toBe(id);
  });

  it('by a deleter that died keeps nobody from creating for long, and the next deleter neither', {
    timeout: 30_000,
  }, async () => {
    const marked = async () => {
      const { id } = await one.createCategory({ name: 'C' });
      await holds().insertOne({ _id: `categories/${id}`, closing: { by: 'dead', at: new Date() } });
      return id;
    };
    const created = await marked();
    expect(await timeOf(async () => one.createPet(newPet(created)))).toBeLessThan(5_000);
    const deleted = await marked();
    expect(await deletion(one, deleted)).toBe(deleted);
  });

  it('by a deleter that gives up lets who waits go on at once', async () => {
    const { id } = await one.createCategory({ name: 'C' });
    await holds().insertOne({ _id: `categories/${id}`, closing: { by: 'slow', at: new Date() } });
    const waiting = one.createPet(newPet(id));
    await holds().updateOne({ _id: `categories/${id}` }, { $unset: { closing: true } });
    expect(await waiting).toMatchObject({ categoryId: id });
  });

  it('costs nothing further while it lasts, and is given back', { timeout: 30_000 }, async () => {
    let id = '';
    const commandsOfMore = async () => {
      ({ id } = await one.createCategory({ name: 'C' }));
      const seen: string[] = [];
      const listen = ({ commandName, command }: CommandStartedEvent) => {
        if (commandName !== 'hello') seen.push(`${commandName} ${command[commandName]}`);
      };
      await one.createPet(newPet(id));
      one.client.on('commandStarted', listen);
      await Promise.all(Array.from({ length: 20 }, () => one.createPet(newPet(id))));
      one.client.off('commandStarted', listen);
      return seen.filter((name) => !name.endsWith('holds'));
    };
    // More than once: it lasts a second, which may be over on a busy machine.
    await expect.poll(commandsOfMore, { timeout: 15_000 }).toEqual(['findAndModify counters', 'insert pets']);
    await expect.poll(() => holds().countDocuments({ _id: `categories/${id}` }), { timeout: 10_000 }).toBe(0);
  });

  it('is given back when the store is closed', async () => {
    const { id } = await one.createCategory({ name: 'C' });
    const third = await database.open();
    await third.createPet(newPet(id));
    await third.close();
    expect(await holds().countDocuments({ _id: `categories/${id}` })).toBe(0);
  });

  describe('in a transaction', () => {
    it('sees what the transaction has written, and nothing else', { timeout: 30_000 }, async () => {
      const moved = await one.transaction(async (writes) => {
        const { id } = await writes.createCategory({ name: 'New' });
        return await writes.createPet(newPet(id));
      });
      const target = await one.createCategory({ name: 'Target' });
      // The last pet leaves, and the category goes with it.
      await one.transaction(async (writes) => {
        await writes.updatePet(moved.id, { categoryId: target.id });
        await writes.deleteCategory(moved.categoryId);
      });
      expect(await one.categoriesById([moved.categoryId])).toEqual([null]);
      const reference = one.transaction(async (writes) => {
        await writes.deletePet(moved.id);
        await writes.deleteCategory(target.id);
        await writes.createPet(newPet(target.id));
      });
      expect(await codeOf(Promise.resolve(reference))).toBe('UNKNOWN_REFERENCE');
      expect(await one.petsById([moved.id])).toMatchObject([{ categoryId: target.id }]);
      const use = one.transaction(async (writes) => {
        const order = await writes.createOrder({ petId: moved.id, complete: false });
        await writes.deletePet(moved.id);
        return order;
      });
      expect(await codeOf(Promise.resolve<unknown>(use))).toBe('CONFLICT');
      expect(await one.orderCount({ petId: moved.id })).toBe(0);
      // Nothing is left behind that would keep them.
      expect(await deletion(other, target.id)).toBe('CONFLICT');
      await one.deletePet(moved.id);
      expect(await deletion(other, target.id)).toBe(target.id);
    });
  });
});
