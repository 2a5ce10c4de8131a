import { beforeAll, describe, expect, it } from 'vitest';
import { Category } from '../../../src/domains/category/category.ts';
import { Order } from '../../../src/domains/order/order.ts';
import { Pet } from '../../../src/domains/pet/pet.ts';
import { deferred } from '../../../src/foundation/maybe-promise.ts';
import type { MongoStore } from '../../../src/store/mongo/mongo-store.ts';
import type { IdempotentCall } from '../../../src/store/store.ts';
import { codeOf, newDatabase } from './database.ts';

/** A document as it is stored. */
interface Stored {
  _id: bigint | string;
  [field: string]: unknown;
}

const onMongo = describe.runIf(process.env.TEST_MONGODB_URI);

const callOf = (idempotencyKey: string): IdempotentCall => ({
  apiKeyId: 'key',
  idempotencyKey,
  fingerprint: 'f',
  now: Date.now(),
  keepFor: 86_400_000,
});

// In transactions, test/store/contract.test.ts has most of them.
const WAYS = ['openStandalone', ...(process.env.AT_LENGTH === '1' ? (['open'] as const) : [])] as const;

onMongo.each(WAYS)('store rules (%s)', (open) => {
  const database = newDatabase();
  let storeA: MongoStore;
  let storeB: MongoStore;

  beforeAll(async () => {
    storeA = await database[open]();
    storeB = await database[open]();
  });

  const documents = (name: string) => storeA.client.db().collection<Stored>(name);

  async function expectNoOrphans(): Promise<void> {
    const keysOf = async (name: string) =>
      new Set((await documents(name).find().toArray()).map(({ _id }) => _id as unknown));
    const [categories, pets] = [await keysOf('categories'), await keysOf('pets')];
    for (const pet of await documents('pets').find().toArray())
      expect(categories, `category of pet ${pet._id}`).toContain(pet.categoryId);
    for (const order of await documents('orders').find({ complete: false }).toArray())
      if (order.petId !== undefined) expect(pets, `pet of order ${order._id}`).toContain(order.petId);
  }

  it('leaves no pet without its category when both are written concurrently', async () => {
    for (let round = 0; round < 6; round += 1) {
      const { id } = await storeA.table(Category).insert({ name: 'C' });
      const newPet = { name: 'P', categoryId: id, status: 'sold' } as const;
      const outcomes = await Promise.all(
        [
          storeA.table(Pet).insert(newPet),
          storeB.table(Category).remove(id),
          storeB.table(Pet).insert(newPet),
        ].map((outcome) => codeOf(Promise.resolve<unknown>(outcome))),
      );
      const left = (await storeA.table(Category).byIds([id]))[0] !== null;
      expect(outcomes[1]).toBe(left ? 'CONFLICT' : id);
      expect(await storeA.table(Pet).count({ categoryId: id })).toBe(
        outcomes.filter((outcome) => typeof outcome === 'object').length,
      );
    }
    await expectNoOrphans();
  });

  it('keeps referenced records when orders and pets are updated concurrently', async () => {
    const [a, b] = [
      await storeA.table(Category).insert({ name: 'A' }),
      await storeA.table(Category).insert({ name: 'B' }),
    ];
    const p = await storeA.table(Pet).insert({ name: 'P', categoryId: a.id, status: 'sold' });
    const q = await storeA.table(Pet).insert({ name: 'Q', categoryId: a.id, status: 'sold' });
    const { id } = await storeA.table(Order).insert({ petId: p.id, complete: false });
    await Promise.all(
      [
        storeA.table(Pet).update(p.id, { categoryId: b.id }),
        storeB.table(Pet).update(p.id, { categoryId: a.id, name: 'PP' }),
        storeA.table(Order).update(id, { petId: q.id }),
        storeB.table(Order).update(id, { complete: true }),
        storeA.table(Order).update(id, { petId: null }),
        storeB.table(Order).update(id, { petId: p.id, complete: false }),
        storeA.table(Pet).remove(q.id),
        storeB.table(Order).insert({ petId: q.id, complete: false }),
      ].map((outcome) => codeOf(Promise.resolve<unknown>(outcome))),
    );
    await expectNoOrphans();
  });

  it('completes 60 concurrent creations in one category, which they do not write', async () => {
    const { id } = await storeA.table(Category).insert({ name: 'Busy' });
    const category = () => documents('categories').findOne({ _id: BigInt(id) });
    const before = await category();
    const store = (i: number) => (i % 4 ? storeA : storeB);
    const pets = await Promise.all(
      Array.from({ length: 60 }, (_, i) =>
        store(i)
          .table(Pet)
          .insert({ name: `P${i}`, categoryId: id, status: 'sold' }),
      ),
    );
    expect(new Set(pets.map((pet) => pet.id)).size).toBe(60);
    await Promise.all(pets.slice(0, 30).map((pet, i) => store(i).table(Pet).remove(pet.id)));
    expect(await storeA.table(Pet).count({ categoryId: id })).toBe(30);
    expect(await category()).toEqual(before);
  });

  it('assigns no id twice when ids are chosen, assigned and deleted concurrently', async () => {
    const last = BigInt((await storeA.table(Order).insert({ complete: true })).id);
    const ids: string[] = [];
    await Promise.all(
      Array.from({ length: 24 }, async (_, i) => {
        const orders = (i % 4 < 2 ? storeA : storeB).table(Order);
        if (i % 2) {
          ids.push((await orders.insert({ complete: true })).id);
          return;
        }
        const id = String(last + BigInt(i));
        const outcome = await codeOf(Promise.resolve<unknown>(orders.insert({ id, complete: true })));
        if (outcome === 'CONFLICT') return;
        ids.push(id);
        // A deleted order's id must not be assigned again.
        await orders.remove(id);
      }),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });
});

onMongo('an idempotent call without transactions', () => {
  const database = newDatabase();
  let stores: MongoStore[];

  beforeAll(async () => {
    stores = [await database.openStandalone(), await database.openStandalone()];
  });

  it('creates one record for concurrent duplicates', async () => {
    const store = (i: number) => stores[i % 2]!;
    const duplicate = (i: number) =>
      store(i).once(callOf('p'), (writes) => writes.table(Category).insert({ name: 'Once' }));
    const outcomes = await Promise.all(
      Array.from({ length: 6 }, (_, i) => codeOf(Promise.resolve<unknown>(duplicate(i)))),
    );
    expect(await store(0).table(Category).count({})).toBe(1);
    const completed = outcomes.filter((outcome) => outcome !== 'CONFLICT');
    expect(completed.filter((outcome) => !(outcome as { replayed: boolean }).replayed)).toHaveLength(1);
    expect(await duplicate(1)).toMatchObject({ replayed: true, value: { name: 'Once' } });
  });

  it('may run again at once after an internal error', async () => {
    const broken = () => {
      throw new Error('ours');
    };
    await expect(stores[0]!.once(callOf('b'), broken)).rejects.toThrow('ours');
    expect(await stores[1]!.once(callOf('b'), () => 5)).toEqual({ replayed: false, value: 5 });
  });

  it('counts as running until its lease expires, after which a retry may run', async () => {
    const store = stores[0]!;
    const call = callOf('lease');
    const [started, finished] = [deferred(), deferred()];
    const first = store.once(call, async () => {
      started.resolve();
      await finished.promise;
      return 'first';
    });
    await started.promise;
    expect(await codeOf(Promise.resolve(store.once(call, () => 'second')))).toBe('CONFLICT');
    expect(await codeOf(Promise.resolve(store.once({ ...call, fingerprint: 'g' }, () => 'other')))).toBe(
      'IDEMPOTENCY_KEY_REUSED',
    );
    const later = { ...call, now: call.now + 60_000 };
    expect(await store.once(later, () => 'third')).toEqual({ replayed: false, value: 'third' });
    finished.resolve();
    // The late first call must not overwrite the outcome of the one that took over.
    await first;
    expect(await store.once(later, () => 'fourth')).toEqual({ replayed: true, value: 'third' });
  });
});
