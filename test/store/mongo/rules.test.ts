import { beforeAll, describe, expect, it } from 'vitest';
import { Category } from '../../../src/domains/category/category.ts';
import { Order } from '../../../src/domains/order/order.ts';
import { Pet } from '../../../src/domains/pet/pet.ts';
import { AppError } from '../../../src/foundation/errors.ts';
import type { MongoStore } from '../../../src/store/mongo/mongo-store.ts';
import type { IdempotentCall } from '../../../src/store/store.ts';
import type { Tables } from '../../../src/store/table.ts';
import { codeOf, newDatabase } from './database.ts';

/** A document as it is stored. */
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

onMongo.each(['open', 'openStandalone'] as const)('store rules (%s)', (open) => {
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

  it('leaves no pet without its category when both are written concurrently', {
    timeout: 60_000,
  }, async () => {
    for (let round = 0; round < 6; round += 1) {
      const { id } = await storeA.table(Category).insert({ name: 'C' });
      const outcomes = await Promise.all([
        codeOf(Promise.resolve(storeA.table(Pet).insert({ name: 'P', categoryId: id, status: 'sold' }))),
        codeOf(Promise.resolve(storeB.table(Category).remove(id))),
        codeOf(Promise.resolve(storeB.table(Pet).insert({ name: 'Q', categoryId: id, status: 'sold' }))),
      ]);
      const left = (await storeA.table(Category).byIds([id]))[0] !== null;
      expect(outcomes[1]).toBe(left ? 'CONFLICT' : id);
      expect(await storeA.table(Pet).count({ categoryId: id })).toBe(
        outcomes.filter((outcome) => typeof outcome === 'object').length,
      );
    }
    await expectNoOrphans();
  });

  it('keeps referenced records when orders and pets are updated concurrently', {
    timeout: 60_000,
  }, async () => {
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

  it('completes 60 concurrent creations in one category', { timeout: 60_000 }, async () => {
    const { id } = await storeA.table(Category).insert({ name: 'Busy' });
    const pets = await Promise.all(
      Array.from({ length: 60 }, (_, i) =>
        (i % 4 ? storeA : storeB).table(Pet).insert({ name: `P${i}`, categoryId: id, status: 'sold' }),
      ),
    );
    expect(new Set(pets.map((pet) => pet.id)).size).toBe(60);
    await Promise.all(pets.slice(0, 30).map((pet, i) => (i % 4 ? storeA : storeB).table(Pet).remove(pet.id)));
    expect(await storeA.table(Pet).count({ categoryId: id })).toBe(30);
    await expectNoOrphans();
  });

  it('lets one of 8 concurrent writes with the same precondition pass', async () => {
    const { id } = await storeA.table(Category).insert({ name: 'C' });
    const isC = (category: { name: string }) => {
      if (category.name !== 'C') throw new AppError('PRECONDITION_FAILED', 'Changed.');
    };
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        codeOf(Promise.resolve((i % 2 ? storeA : storeB).table(Category).update(id, { name: `C${i}` }, isC))),
      ),
    );
    expect(outcomes.filter((outcome) => outcome === 'PRECONDITION_FAILED')).toHaveLength(7);
  });

  it('does not change the version of the parent when a child is added or removed', async () => {
    const { id } = await storeA.table(Category).insert({ name: 'C' });
    const versionOf = async () => (await documents('categories').findOne({ _id: BigInt(id) }))?.version;
    const before = await versionOf();
    const pet = await storeA.table(Pet).insert({ name: 'P', categoryId: id, status: 'sold' });
    await storeA.table(Pet).remove(pet.id);
    expect(await versionOf()).toBe(before);
  });

  it('refuses a taken order id, and never assigns a chosen one, even if it was deleted', async () => {
    const last = BigInt((await storeA.table(Order).insert({ complete: true })).id);
    const chosen = [1n, 2n, 4n].map((step) => String(last + step));
    for (const id of chosen) await storeA.table(Order).insert({ id, complete: true });
    await storeA.table(Order).remove(chosen[1]!);
    await storeA.table(Order).insert({ id: '9223372036854775807', complete: true });
    expect(
      await codeOf(Promise.resolve(storeA.table(Order).insert({ id: chosen[0]!, complete: true }))),
    ).toBe('CONFLICT');
    const assigned = [
      (await storeA.table(Order).insert({ complete: true })).id,
      (await storeB.table(Order).insert({ complete: true })).id,
    ];
    expect(assigned).toEqual([String(last + 3n), String(last + 5n)]);
  });

  it('never gives one id to two orders when ids are chosen and assigned concurrently', {
    timeout: 60_000,
  }, async () => {
    const last = BigInt((await storeA.table(Order).insert({ complete: true })).id);
    const ids = new Map<string, number>();
    const count = (id: unknown) => ids.set(String(id), (ids.get(String(id)) ?? 0) + 1);
    await Promise.all(
      Array.from({ length: 24 }, async (_, i) => {
        const store = i % 4 < 2 ? storeA : storeB;
        if (i % 2) {
          count((await store.table(Order).insert({ complete: true })).id);
          return;
        }
        const id = String(last + BigInt(i));
        if (
          (await codeOf(Promise.resolve<unknown>(store.table(Order).insert({ id, complete: true })))) ===
          'CONFLICT'
        )
          return;
        count(id);
        // A deleted order's id must not be assigned again.
        await store.table(Order).remove(id);
      }),
    );
    expect([...ids.values()].every((count) => count === 1)).toBe(true);
  });

  it('skips 2,500 consecutive chosen ids', async () => {
    const counter = (await documents('counters').findOne({ _id: 'orders' })) as unknown as { value: bigint };
    const start = counter.value + 1n;
    // Earlier tests may have chosen some of the first.
    const chosen = Array.from({ length: 2500 }, (_, i) => ({
      _id: `orders/${String(start + BigInt(i)).padStart(19, '0')}`,
    }));
    await documents('counters').deleteMany({ _id: { $in: chosen.slice(0, 100).map(({ _id }) => _id) } });
    await documents('counters').insertMany(chosen);
    expect((await storeA.table(Order).insert({ complete: true })).id).toBe(String(start + 2500n));
  });

  it('creates one record for concurrent duplicates of an idempotent call', { timeout: 60_000 }, async () => {
    const before = await storeA.table(Category).count({});
    const work = (writes: Tables) => writes.table(Category).insert({ name: 'Once' });
    const outcomes = await Promise.all(
      Array.from({ length: 6 }, (_, i) =>
        codeOf(Promise.resolve((i % 2 ? storeA : storeB).once(callOf('p'), work))),
      ),
    );
    expect(await storeA.table(Category).count({})).toBe(before + 1);
    const completed = outcomes.filter((outcome) => outcome !== 'CONFLICT') as {
      replayed: boolean;
      value: unknown;
    }[];
    expect(completed.filter((outcome) => !outcome.replayed)).toHaveLength(1);
    expect(new Set(completed.map((outcome) => JSON.stringify(outcome.value))).size).toBe(1);
    expect(await storeA.once(callOf('p'), work)).toEqual({ replayed: true, value: completed[0]!.value });
    expect(await codeOf(Promise.resolve(storeA.once(callOf('p', 'g'), work)))).toBe('IDEMPOTENCY_KEY_REUSED');
  });

  it('replays client errors but not internal errors', async () => {
    let calls = 0;
    const work = (writes: Tables) => {
      calls += 1;
      return writes.table(Category).remove('999999');
    };
    const outcome = await storeA.once(callOf('e'), work);
    expect(outcome).toMatchObject({ replayed: false, error: { code: 'NOT_FOUND', status: 404 } });
    expect(await storeA.once(callOf('e'), work)).toEqual({ ...outcome, replayed: true });
    expect(calls).toBe(1);
    const broken = () => {
      throw new Error('ours');
    };
    await expect(storeA.once(callOf('b'), broken)).rejects.toThrow('ours');
    expect(await storeA.once(callOf('b'), () => 5)).toEqual({ replayed: false, value: 5 });
  });

  it('ignores an expired outcome that is still stored', async () => {
    const call = { ...callOf('x'), keepFor: 3_600_000 };
    await storeA.once(call, () => 1);
    expect(await storeA.once({ ...call, now: call.now + 3_599_999 }, () => 2)).toEqual({
      replayed: true,
      value: 1,
    });
    expect(await storeA.once({ ...call, now: call.now + 3_600_000 }, () => 2)).toEqual({
      replayed: false,
      value: 2,
    });
  });
});

onMongo('an idempotent call with transactions', () => {
  const database = newDatabase();

  it('rolls back all its writes on an error', async () => {
    const store = await database.open();
    const outcome = await store.once(callOf('k'), async (writes) => {
      const { id } = await writes.table(Category).insert({ name: 'C' });
      await writes.table(Pet).insert({ name: 'P', categoryId: id, status: 'sold' });
      await writes.table(Pet).remove('999');
    });
    expect(outcome).toMatchObject({ replayed: false, error: { code: 'NOT_FOUND' } });
    expect([await store.table(Category).count({}), await store.table(Pet).count({})]).toEqual([0, 0]);
    expect(await store.once(callOf('k'), () => 'not run')).toMatchObject({ replayed: true });
  });
});

onMongo('an idempotent call without transactions', () => {
  const database = newDatabase();

  it('counts as running until its lease expires, after which a retry may run', async () => {
    const store = await database.openStandalone();
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
