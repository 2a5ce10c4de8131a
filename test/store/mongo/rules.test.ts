import { beforeAll, describe, expect, it } from 'vitest';
import { Category } from '../../../src/domains/category/category.ts';
import { Order } from '../../../src/domains/order/order.ts';
import { Pet } from '../../../src/domains/pet/pet.ts';
import type { MongoStore } from '../../../src/store/mongo/mongo-store.ts';
import { cases } from '../../kit/cases.ts';
import { codeOf } from '../../kit/errors.ts';
import { newDatabase } from './database.ts';
import { within } from '../../kit/deadline.ts';

describe.runIf(process.env.TEST_MONGODB_URI)('the rules of records on two instances', () => {
  const database = newDatabase();
  let storeA: MongoStore;
  let storeB: MongoStore;

  beforeAll(async () => {
    // What is tested must not depend on how many transactions a slow machine can do in ten seconds.
    storeA = await database.open({ timeoutMs: 60_000 });
    storeB = await database.open({ timeoutMs: 60_000 });
  });

  const documents = (name: string) =>
    storeA.client.db().collection<{ _id: bigint; [field: string]: unknown }>(name);
  const category = async () => (await storeA.table(Category).insert({ name: 'C' })).id;

  async function expectNoOrphans(): Promise<void> {
    const keysOf = async (name: string) =>
      new Set((await documents(name).find().toArray()).map(({ _id }) => _id));
    const categories = await keysOf('categories');
    const pets = await keysOf('pets');
    for (const pet of await documents('pets').find().toArray())
      expect(categories, `category of pet ${pet._id}`).toContain(pet.categoryId);
    for (const order of await documents('orders').find({ complete: false }).toArray())
      if (order.petId !== undefined) expect(pets, `pet of order ${order._id}`).toContain(order.petId);
  }

  it.each([false, true])('leave no pet without its category (which had pets before: %s)', async (hadPets) => {
    for (let round = 0; round < cases(4, 12); round += 1) {
      const id = await category();
      const newPet = { name: 'P', categoryId: id };
      if (hadPets) await storeA.table(Pet).remove((await storeA.table(Pet).insert(newPet)).id);
      const codes = await Promise.all(
        [
          storeA.table(Pet).insert(newPet),
          storeB.table(Category).remove(id),
          storeB.table(Pet).insert(newPet),
        ].map((call: Promise<unknown>) => codeOf(call)),
      );
      const isLeft = (await storeA.table(Category).byIds([id]))[0] !== null;
      expect(codes[1]).toBe(isLeft ? 'CONFLICT' : undefined);
      expect(await storeA.table(Pet).count({ categoryId: id })).toBe(
        [codes[0], codes[2]].filter((code) => code === undefined).length,
      );
    }
    await expectNoOrphans();
    expect(await documents('locks').countDocuments({ of: { $not: /^categories/ } })).toBe(0);
  });

  it('keep referenced records when orders and pets are updated concurrently', async () => {
    const a = await category();
    const b = await category();
    for (let round = 0; round < 4; round += 1) {
      const p = await storeA.table(Pet).insert({ name: 'P', categoryId: a });
      const q = await storeA.table(Pet).insert({ name: 'Q', categoryId: a });
      const { id } = await storeA.table(Order).insert({ petId: p.id, complete: false });
      const other = await storeA.table(Order).insert({ petId: q.id, complete: true });
      await Promise.all(
        [
          storeA.table(Pet).update(p.id, { categoryId: b }),
          storeB.table(Pet).update(p.id, { categoryId: a, name: 'PP' }),
          storeA.table(Order).update(id, { petId: q.id }),
          storeB.table(Order).update(id, { complete: true }),
          storeA.table(Order).update(id, { petId: null }),
          storeB.table(Order).update(id, { petId: p.id, complete: false }),
          storeB.table(Order).update(other.id, { complete: false }),
          storeA.table(Pet).remove(q.id),
          storeB.table(Order).insert({ petId: q.id, complete: false }),
        ].map((call: Promise<unknown>) => codeOf(call)),
      );
    }
    await expectNoOrphans();
  });

  it('let a parent be deleted that had no children, lost them, or got and lost them in one transaction', async () => {
    const moved = await storeA.transaction(async (writes) => {
      const { id } = await writes.table(Category).insert({ name: 'New' });
      return await writes.table(Pet).insert({ name: 'P', categoryId: id });
    });
    const target = await category();
    // The last pet moves away and its category is deleted.
    await storeA.transaction(async (writes) => {
      await writes.table(Pet).update(moved.id, { categoryId: target });
      await writes.table(Category).remove(moved.categoryId);
    });
    const taken = storeA.transaction(async (writes) => {
      await writes.table(Pet).remove(moved.id);
      await writes.table(Category).remove(target);
      await writes.table(Pet).insert({ name: 'P', categoryId: target });
    });
    expect(await codeOf(taken)).toBe('UNKNOWN_REFERENCE');
    const used = storeA.transaction(async (writes) => {
      await writes.table(Order).insert({ petId: moved.id, complete: false });
      await writes.table(Pet).remove(moved.id);
    });
    expect(await codeOf(used)).toBe('CONFLICT');
    expect(await codeOf(storeB.table(Category).remove(target))).toBe('CONFLICT');
    await storeB.table(Pet).remove(moved.id);
    expect(await storeB.table(Category).remove(target)).toBe(target);
    expect(await documents('locks').countDocuments({ of: `categories/${target}` })).toBe(0);
  });

  it('complete 60 concurrent creations in one category within 5 s, which only the first writes', async () => {
    const id = await category();
    const create = (i: number) =>
      (i % 4 ? storeA : storeB).table(Pet).insert({ name: `P${i}`, categoryId: id });
    await create(0);
    const before = await documents('categories').findOne({ _id: BigInt(id) });
    const pets = await within(5_000, Promise.all(Array.from({ length: 60 }, (_, i) => create(i))));
    expect(new Set(pets.map((pet) => pet.id)).size).toBe(60);
    expect(await documents('categories').findOne({ _id: BigInt(id) })).toEqual(before);
    expect(await storeA.table(Category).update(id, { name: 'Busy' })).toMatchObject({ name: 'Busy' });
  });

  it('refuse a deletion while a child is being added, which it does not hold up', async () => {
    const id = await category();
    const newPet = { name: 'P', categoryId: id };
    await storeA.table(Pet).remove((await storeA.table(Pet).insert(newPet)).id);
    // Another program, whose session is not published.
    const session = storeB.client.startSession();
    session.startTransaction();
    const locks = storeB.client.db().collection<{ _id: string }>('locks');
    await locks.updateOne({ _id: `categories/${id}/3` }, { $inc: { taken: 1 } }, { session });
    const deletion = codeOf(storeA.table(Category).remove(id));
    const pets = await Promise.all(Array.from({ length: 20 }, () => storeA.table(Pet).insert(newPet)));
    expect(await deletion).toBe('CONFLICT');
    for (const pet of pets) await storeA.table(Pet).remove(pet.id);
    await expect(storeA.table(Category).remove(id)).rejects.toThrow(
      /while records are created that refer to it/,
    );
    await session.abortTransaction();
    await session.endSession();
    expect(await storeA.table(Category).remove(id)).toBe(id);
  });

  it('assign no id twice when ids are chosen, assigned and deleted concurrently', async () => {
    const last = BigInt((await storeA.table(Order).insert({ complete: true })).id);
    const assigned: string[] = [];
    await Promise.all(
      Array.from({ length: 24 }, async (_, i) => {
        const orders = (i % 4 < 2 ? storeA : storeB).table(Order);
        if (i % 2) assigned.push((await orders.insert({ complete: true })).id);
        else {
          const id = String(last + BigInt(i));
          if ((await codeOf(orders.insert({ id, complete: true }))) !== 'CONFLICT') await orders.remove(id);
        }
      }),
    );
    expect(new Set(assigned).size).toBe(assigned.length);
  });
});
