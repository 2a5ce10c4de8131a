import { beforeAll, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/errors.ts';
import type { MongoStore } from '../../../src/store/mongo/mongo-store.ts';
import type { IdempotentCall, PetstoreWrites } from '../../../src/store/store.ts';
import { codeOf, newDatabase } from './database.ts';

/** Whatever the tests look at in a document. */
interface Stored {
  _id: bigint | string;
  [field: string]: unknown;
}

const onMongo = describe.runIf(process.env.TEST_MONGODB_URI);

const callOf = (idempotencyKey: string, fingerprint = 'f'): IdempotentCall => ({
  apiKeyId: 'key',
  idempotencyKey,
  fingerprint,
  now: Date.now(),
  keepFor: 86_400_000,
});

onMongo.each(['auto', 'off'] as const)('Rules with transactions: %s', (transactions) => {
  const database = newDatabase();
  let one: MongoStore;
  let other: MongoStore;

  beforeAll(async () => {
    one = await database.open({ transactions });
    other = await database.open({ transactions });
  });

  const documents = (name: string) => one.client.db().collection<Stored>(name);

  /** Every child has its parent. */
  async function expectNoOrphans(): Promise<void> {
    const keysOf = async (name: string) =>
      new Set((await documents(name).find().toArray()).map(({ _id }) => _id as unknown));
    const [categories, pets] = [await keysOf('categories'), await keysOf('pets')];
    for (const pet of await documents('pets').find().toArray())
      expect(categories, `category of pet ${pet._id}`).toContain(pet.categoryId);
    for (const order of await documents('orders').find({ complete: false }).toArray())
      if (order.petId !== undefined) expect(pets, `pet of order ${order._id}`).toContain(order.petId);
  }

  it('no pet is left without its category when both are written at once', { timeout: 60_000 }, async () => {
    for (let round = 0; round < 6; round += 1) {
      const { id } = await one.createCategory({ name: 'C' });
      const outcomes = await Promise.all([
        codeOf(Promise.resolve(one.createPet({ name: 'P', categoryId: id, status: 'sold' }))),
        codeOf(Promise.resolve(other.deleteCategory(id))),
        codeOf(Promise.resolve(other.createPet({ name: 'Q', categoryId: id, status: 'sold' }))),
      ]);
      const left = (await one.categoriesById([id]))[0] !== null;
      expect(outcomes[1]).toBe(left ? 'CONFLICT' : id);
      expect(await one.petCount({ categoryId: id })).toBe(
        outcomes.filter((outcome) => typeof outcome === 'object').length,
      );
    }
    await expectNoOrphans();
  });

  it('what is referred to stays while orders and pets move about', { timeout: 60_000 }, async () => {
    const [a, b] = [await one.createCategory({ name: 'A' }), await one.createCategory({ name: 'B' })];
    const p = await one.createPet({ name: 'P', categoryId: a.id, status: 'sold' });
    const q = await one.createPet({ name: 'Q', categoryId: a.id, status: 'sold' });
    const { id } = await one.createOrder({ petId: p.id, complete: false });
    await Promise.all(
      [
        one.updatePet(p.id, { categoryId: b.id }),
        other.updatePet(p.id, { categoryId: a.id, name: 'PP' }),
        one.updateOrder(id, { petId: q.id }),
        other.updateOrder(id, { complete: true }),
        one.updateOrder(id, { petId: null }),
        other.updateOrder(id, { petId: p.id, complete: false }),
        one.deletePet(q.id),
        other.createOrder({ petId: q.id, complete: false }),
      ].map((outcome) => codeOf(Promise.resolve<unknown>(outcome))),
    );
    await expectNoOrphans();
  });

  it('many creations in one category at once all succeed', { timeout: 60_000 }, async () => {
    const { id } = await one.createCategory({ name: 'Busy' });
    const pets = await Promise.all(
      Array.from({ length: 60 }, (_, i) =>
        (i % 4 ? one : other).createPet({ name: `P${i}`, categoryId: id, status: 'sold' }),
      ),
    );
    expect(new Set(pets.map((pet) => pet.id)).size).toBe(60);
    await Promise.all(pets.slice(0, 30).map((pet, i) => (i % 4 ? one : other).deletePet(pet.id)));
    expect(await one.petCount({ categoryId: id })).toBe(30);
    await expectNoOrphans();
  });

  it('of concurrent writes that expect the same version one passes', async () => {
    const { id } = await one.createCategory({ name: 'C' });
    const isC = (category: { name: string }) => {
      if (category.name !== 'C') throw new AppError('PRECONDITION_FAILED', 'Changed.');
    };
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        codeOf(Promise.resolve((i % 2 ? one : other).updateCategory(id, { name: `C${i}` }, isC))),
      ),
    );
    expect(outcomes.filter((outcome) => outcome === 'PRECONDITION_FAILED')).toHaveLength(7);
  });

  it('a reference that comes or goes does not disturb a writer of the parent', async () => {
    const { id } = await one.createCategory({ name: 'C' });
    const versionOf = async () => (await documents('categories').findOne({ _id: BigInt(id) }))?.version;
    const before = await versionOf();
    const pet = await one.createPet({ name: 'P', categoryId: id, status: 'sold' });
    await one.deletePet(pet.id);
    expect(await versionOf()).toBe(before);
  });

  it('assigned order ids avoid all that were ever chosen, and the end of the range is a CONFLICT', async () => {
    const last = BigInt((await one.createOrder({ complete: true })).id);
    const chosen = [1n, 2n, 4n].map((step) => String(last + step));
    for (const id of chosen) await one.createOrder({ id, complete: true });
    await one.deleteOrder(chosen[1]!);
    await one.createOrder({ id: '9223372036854775807', complete: true });
    expect(await codeOf(Promise.resolve(one.createOrder({ id: chosen[0]!, complete: true })))).toBe(
      'CONFLICT',
    );
    const assigned = [
      (await one.createOrder({ complete: true })).id,
      (await other.createOrder({ complete: true })).id,
    ];
    expect(assigned).toEqual([String(last + 3n), String(last + 5n)]);
  });

  it('orders that choose and orders that are assigned the same ids at once stay apart', {
    timeout: 60_000,
  }, async () => {
    const last = BigInt((await one.createOrder({ complete: true })).id);
    const ids = new Map<string, number>();
    const note = (id: unknown) => ids.set(String(id), (ids.get(String(id)) ?? 0) + 1);
    await Promise.all(
      Array.from({ length: 24 }, async (_, i) => {
        const store = i % 4 < 2 ? one : other;
        if (i % 2) {
          note((await store.createOrder({ complete: true })).id);
          return;
        }
        const id = String(last + BigInt(i));
        if (
          (await codeOf(Promise.resolve<unknown>(store.createOrder({ id, complete: true })))) === 'CONFLICT'
        )
          return;
        note(id);
        // A deleted one must not be assigned again.
        await store.deleteOrder(id);
      }),
    );
    expect([...ids.values()].every((count) => count === 1)).toBe(true);
  });

  it('a long run of chosen ids is passed over at once', async () => {
    const counter = (await documents('counters').findOne({ _id: 'orders' })) as unknown as { value: bigint };
    const start = counter.value + 1n;
    // Some of the first may be chosen already, by what ran before.
    await documents('counters').bulkWrite(
      Array.from({ length: 2500 }, (_, i) => {
        const _id = `orders/${String(start + BigInt(i)).padStart(19, '0')}`;
        return { updateOne: { filter: { _id }, update: { $setOnInsert: { _id } }, upsert: true } };
      }),
    );
    expect((await one.createOrder({ complete: true })).id).toBe(String(start + 2500n));
  });

  it('parallel duplicates of an idempotent call create once', { timeout: 60_000 }, async () => {
    const before = await one.categoryCount();
    const work = (writes: PetstoreWrites) => writes.createCategory({ name: 'Once' });
    const outcomes = await Promise.all(
      Array.from({ length: 6 }, (_, i) =>
        codeOf(Promise.resolve((i % 2 ? one : other).once(callOf('p'), work))),
      ),
    );
    expect(await one.categoryCount()).toBe(before + 1);
    const fresh = outcomes.filter((outcome) => outcome !== 'CONFLICT') as {
      replayed: boolean;
      value: unknown;
    }[];
    expect(fresh.filter((outcome) => !outcome.replayed)).toHaveLength(1);
    expect(new Set(fresh.map((outcome) => JSON.stringify(outcome.value))).size).toBe(1);
    expect(await one.once(callOf('p'), work)).toEqual({ replayed: true, value: fresh[0]!.value });
    expect(await codeOf(Promise.resolve(one.once(callOf('p', 'g'), work)))).toBe('IDEMPOTENCY_KEY_REUSED');
  });

  it('an error of the client is an outcome, one of ours is not', async () => {
    let calls = 0;
    const work = (writes: PetstoreWrites) => {
      calls += 1;
      return writes.deleteCategory('999999');
    };
    const outcome = await one.once(callOf('e'), work);
    expect(outcome).toMatchObject({ replayed: false, error: { code: 'NOT_FOUND', status: 404 } });
    expect(await one.once(callOf('e'), work)).toEqual({ ...outcome, replayed: true });
    expect(calls).toBe(1);
    const broken = () => {
      throw new Error('ours');
    };
    await expect(one.once(callOf('b'), broken)).rejects.toThrow('ours');
    expect(await one.once(callOf('b'), () => 5)).toEqual({ replayed: false, value: 5 });
  });

  it('an expired outcome counts no more, even if it is still there', async () => {
    const call = { ...callOf('x'), keepFor: 3_600_000 };
    await one.once(call, () => 1);
    expect(await one.once({ ...call, now: call.now + 3_599_999 }, () => 2)).toEqual({
      replayed: true,
      value: 1,
    });
    expect(await one.once({ ...call, now: call.now + 3_600_000 }, () => 2)).toEqual({
      replayed: false,
      value: 2,
    });
  });
});

onMongo('With transactions', () => {
  const database = newDatabase();

  it('an error rolls back all that an idempotent call wrote', async () => {
    const store = await database.open();
    const outcome = await store.once(callOf('k'), async (writes) => {
      const { id } = await writes.createCategory({ name: 'C' });
      await writes.createPet({ name: 'P', categoryId: id, status: 'sold' });
      await writes.deletePet('999');
    });
    expect(outcome).toMatchObject({ replayed: false, error: { code: 'NOT_FOUND' } });
    expect([await store.categoryCount(), await store.petCount({})]).toEqual([0, 0]);
    expect(await store.once(callOf('k'), () => 'not run')).toMatchObject({ replayed: true });
  });
});

onMongo('Without transactions', () => {
  const database = newDatabase();

  it('a call is running until its lease is over, then a retry may run again', async () => {
    const store = await database.open({ transactions: 'off' });
    const call = callOf('lease');
    let finish = () => {};
    let started = () => {};
    const running = new Promise<void>((resolve) => {
      started = resolve;
    });
    const first = store.once(call, async () => {
      started();
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      return 'first';
    });
    await running;
    expect(await codeOf(Promise.resolve(store.once(call, () => 'second')))).toBe('CONFLICT');
    expect(await codeOf(Promise.resolve(store.once({ ...call, fingerprint: 'g' }, () => 'other')))).toBe(
      'IDEMPOTENCY_KEY_REUSED',
    );
    const later = { ...call, now: call.now + 60_000 };
    expect(await store.once(later, () => 'third')).toEqual({ replayed: false, value: 'third' });
    finish();
    // The late first call must not overwrite the outcome of the one that took over.
    await first;
    expect(await store.once(later, () => 'fourth')).toEqual({ replayed: true, value: 'third' });
  });
});
