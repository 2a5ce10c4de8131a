import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Category } from '../../src/domains/category/category.ts';
import { Order } from '../../src/domains/order/order.ts';
import { Pet, PetStatus } from '../../src/domains/pet/pet.ts';
import { AppError, type ErrorCode, unavailable } from '../../src/foundation/errors.ts';
import type { Id } from '../../src/foundation/id.ts';
import { andThen, type MaybePromise } from '../../src/foundation/maybe-promise.ts';
import type { ApiKey, IdempotentCall, Limits, Store, Transaction } from '../../src/store/store.ts';
import type { Page, PageRequest, Tables } from '../../src/store/table.ts';
import { chargeUsage, DAY, FIRST_BAN, initialUsage, MINUTE, STRIKES_TO_BAN } from '../../src/store/usage.ts';
import { cases } from '../kit/cases.ts';
import { engines, type OpenedStore } from '../kit/stores.ts';

const MAX = '9223372036854775807';
const T = Date.parse('2026-03-01T12:00:00Z');

/** The code of the error that a call throws; 'none' if it succeeds. */
async function codeOf(run: () => unknown): Promise<ErrorCode | 'none'> {
  try {
    await run();
    return 'none';
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
}

/** The error that a call throws; undefined if it succeeds. */
async function errorOf(run: () => unknown): Promise<unknown> {
  try {
    await run();
    return undefined;
  } catch (error) {
    return error;
  }
}

const inParallel = <T>(count: number, run: (index: number) => T | Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, async (_, index) => run(index)));

/** Calls one after the other; synchronously on the embedded engine. */
const inOrder = (calls: readonly (() => MaybePromise<unknown>)[]): MaybePromise<unknown[]> =>
  calls.reduce<MaybePromise<unknown[]>>(
    (before, call) => andThen(before, (results) => andThen(call(), (result) => [...results, result])),
    [],
  );

const byId = (a: { id: Id }, b: { id: Id }) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1);

/** The expected page, computed from all records. */
function pageOf<T extends { id: Id }>(
  all: readonly T[],
  { limit, after, before, backward }: PageRequest,
): Page<T> {
  const range = [...all]
    .sort(byId)
    .filter(
      ({ id }) =>
        (after === undefined || BigInt(id) > BigInt(after)) &&
        (before === undefined || BigInt(id) < BigInt(before)),
    );
  const items = backward ? range.slice(Math.max(0, range.length - limit)) : range.slice(0, limit);
  return { items, hasMore: range.length > limit };
}

// The test server for MongoDB handles a few hundred calls per second, so the long runs are shorter there.
describe.each(engines)('$name', (engine) => {
  const runs = (sqlite: number, mongodb: number) => (engine.name === 'sqlite' ? sqlite : mongodb);
  let opened: OpenedStore;
  let store: Store;

  beforeAll(async () => {
    opened = await engine.open();
    store = opened.store;
  });
  afterAll(() => opened.close());

  const newCategory = async (): Promise<Category> => store.table(Category).insert({ name: 'Dogs' });
  const newPet = async (categoryId?: Id, status: PetStatus = 'available'): Promise<Pet> =>
    store.table(Pet).insert({ name: 'Rex', categoryId: categoryId ?? (await newCategory()).id, status });

  describe('records', () => {
    it('returns records as they were stored', async () => {
      const plain = await store.table(Category).insert({ name: 'Cats 🐈 "quoted" \\ \n' });
      const described = await store.table(Category).insert({ name: 'Dogs', description: '$loyal.' });
      expect(plain).toStrictEqual({ id: plain.id, name: 'Cats 🐈 "quoted" \\ \n' });
      expect(described).toStrictEqual({ id: described.id, name: 'Dogs', description: '$loyal.' });
      expect(await store.table(Category).byIds([plain.id, described.id])).toStrictEqual([plain, described]);

      const pet = await store.table(Pet).insert({ name: 'Rex', categoryId: plain.id, status: 'pending' });
      expect(pet).toStrictEqual({
        id: pet.id,
        name: 'Rex',
        categoryId: plain.id,
        status: 'pending',
        quantity: 0,
      });
      expect(await store.table(Pet).byIds([pet.id])).toStrictEqual([pet]);

      const bare = await store.table(Order).insert({ complete: false });
      const full = await store.table(Order).insert({
        petId: pet.id,
        quantity: 2147483647,
        shipDate: '2026-01-31T09:30:00.250Z',
        complete: true,
      });
      expect(bare).toStrictEqual({ id: bare.id, complete: false });
      expect(full).toStrictEqual({
        id: full.id,
        petId: pet.id,
        quantity: 2147483647,
        shipDate: '2026-01-31T09:30:00.250Z',
        complete: true,
      });
      expect(await store.table(Order).byIds([full.id, bare.id])).toStrictEqual([full, bare]);
    });

    it('returns records in the order of the ids, with null for missing ones and with repetitions', async () => {
      const a = await newPet();
      const b = await newPet(a.categoryId);
      expect(await store.table(Pet).byIds([b.id, MAX, a.id, b.id])).toEqual([b, null, a, b]);
      expect(await store.table(Pet).byIds([])).toEqual([]);
      expect(await store.table(Category).byIds([MAX])).toEqual([null]);
      expect(await store.table(Order).byIds(['1234567'])).toEqual([null]);
    });

    it('keeps ids exact up to the largest int64', async () => {
      const ids = ['9007199254740992', '9007199254740993', '9223372036854775806', MAX];
      for (const id of ids) expect((await store.table(Order).insert({ id, complete: false })).id).toBe(id);
      expect((await store.table(Order).byIds(ids)).map((order) => order?.id)).toEqual(ids);
      const page = await store.table(Order).page({}, { limit: 100, after: '9007199254740992' });
      expect(page.items.map(({ id }) => id)).toEqual(ids.slice(1));
      const before = await store.table(Order).page({}, { limit: 1, before: MAX, backward: true });
      expect(before.items.map(({ id }) => id)).toEqual(['9223372036854775806']);
      expect((await store.table(Order).page({}, { limit: 100, after: MAX })).items).toEqual([]);
      expect((await store.table(Order).update(MAX, { quantity: 5 })).id).toBe(MAX);
      for (const id of ids) expect(await store.table(Order).remove(id)).toBe(id);
    });

    it('returns instants in UTC, with milliseconds only if they are not zero', async () => {
      const dates = ['0001-01-01T00:00:00Z', '1969-12-31T23:59:59.999Z', '9999-12-31T23:59:59Z'];
      for (const shipDate of dates) {
        const { id } = await store.table(Order).insert({ shipDate, complete: false });
        expect((await store.table(Order).byIds([id]))[0]?.shipDate).toBe(shipDate);
      }
    });

    it('refuses text that is not an instant and stores nothing', async () => {
      const before = await store.table(Order).count({});
      const created = await errorOf(() =>
        store.table(Order).insert({ shipDate: 'tomorrow', complete: false }),
      );
      expect(String(created)).toContain('tomorrow');
      expect(await store.table(Order).count({})).toBe(before);
    });
  });

  describe('pages', () => {
    let all: Pet[];
    let categories: Id[];
    beforeAll(async () => {
      categories = [];
      all = [];
      for (let i = 0; i < 3; i++) categories.push((await newCategory()).id);
      // The third category stays empty.
      for (let i = 0; i < 18; i++) all.push(await newPet(categories[i % 2]!, PetStatus.values[(i * 7) % 3]!));
    });

    const filter = fc.record({ status: fc.option(fc.subarray([...PetStatus.values]), { nil: undefined }) });
    const request = fc
      .record({
        limit: fc.constantFrom(0, 1, 2, 5, 100),
        after: fc.option(fc.nat(17), { nil: undefined }),
        before: fc.option(fc.nat(17), { nil: undefined }),
        backward: fc.boolean(),
      })
      .map(
        ({ after, before, ...rest }) =>
          (): PageRequest => ({
            ...rest,
            ...(after !== undefined && { after: all[after]!.id }),
            ...(before !== undefined && { before: all[before]!.id }),
          }),
      );
    const matching = (categoryId: Id, status?: readonly PetStatus[]) =>
      all.filter((pet) => pet.categoryId === categoryId && (!status || status.includes(pet.status)));

    it('returns the pets that match the range, filter and direction', async () => {
      await fc.assert(
        fc.asyncProperty(filter, request, fc.nat(2), async ({ status }, makeRequest, category) => {
          const categoryId = categories[category]!;
          const expected = pageOf(matching(categoryId, status), makeRequest());
          expect(await store.table(Pet).page({ status, categoryId }, makeRequest())).toEqual(expected);
        }),
        { numRuns: runs(cases(60, 300), cases(15, 60)) },
      );
    });

    it('returns a page and a count for each parent, in the order of the parents', async () => {
      await fc.assert(
        fc.asyncProperty(
          filter,
          request,
          fc.array(fc.nat(2), { maxLength: 4 }),
          async ({ status }, makeRequest, parents) => {
            const ids = parents.map((parent) => categories[parent]!);
            const expected = ids.map((id) => pageOf(matching(id, status), makeRequest()));
            expect(
              await store.table(Pet).pagesByParent('categoryId', ids, { status }, makeRequest()),
            ).toEqual(expected);
            const counts = ids.map((id) => matching(id, status).length);
            expect(await store.table(Pet).countsByParent('categoryId', ids, { status })).toEqual(counts);
            const [categoryId] = ids;
            if (categoryId === undefined) return;
            // A category in the filter leaves nothing for the other parents.
            const ofOne = counts.map((count, i) => (ids[i] === categoryId ? count : 0));
            expect(await store.table(Pet).countsByParent('categoryId', ids, { status, categoryId })).toEqual(
              ofOne,
            );
          },
        ),
        { numRuns: runs(cases(40, 200), cases(8, 30)) },
      );
    });

    it('returns pets of all categories without a category filter', async () => {
      const after = (BigInt(all[0]!.id) - 1n).toString();
      for (const status of [
        undefined,
        ['sold'],
        ['sold', 'available'],
        ['available', 'sold', 'pending'],
      ] as const) {
        const expected = all.filter((pet) => !status || (status as readonly string[]).includes(pet.status));
        const request = { limit: 4, after, before: all.at(-1)!.id };
        expect(await store.table(Pet).page({ status }, request)).toEqual(pageOf(expected, request));
      }
      expect(await store.table(Pet).page({}, { limit: 2, after: '0' })).toEqual(
        await store.table(Pet).page({}, { limit: 2 }),
      );
      const within = { limit: 9, after: all[1]!.id, before: all[3]!.id, inclusive: true };
      expect((await store.table(Pet).page({}, within)).items).toEqual(all.slice(1, 4));
      const { categoryId, id } = all[1]!;
      const [page] = await store
        .table(Pet)
        .pagesByParent('categoryId', [categoryId], {}, { ...within, before: id });
      expect(page!.items).toEqual([all[1]]);
    });

    it('pages through categories and orders by the same rules', async () => {
      const [first, second, third] = await Promise.all([newCategory(), newCategory(), newCategory()]).then(
        (made) => made.sort(byId),
      );
      const range = { after: first!.id, before: third!.id };
      expect(await store.table(Category).page({}, { limit: 5, ...range })).toEqual({
        items: [second],
        hasMore: false,
      });
      expect((await store.table(Category).page({}, { limit: 1, backward: true })).hasMore).toBe(true);

      const pets = [await newPet(first!.id), await newPet(first!.id)];
      const made: Order[] = [];
      for (let i = 0; i < 10; i++) {
        made.push(await store.table(Order).insert({ petId: pets[i % 2]!.id, complete: i % 3 === 0 }));
      }
      const petIds = [pets[1]!.id, MAX, pets[0]!.id];
      for (const complete of [undefined, true, false]) {
        const of = (petId: Id) =>
          made.filter(
            (order) => order.petId === petId && (complete === undefined || order.complete === complete),
          );
        for (const request of [
          { limit: 2 },
          { limit: 2, after: made[3]!.id },
          { limit: 3, backward: true },
        ]) {
          const pages = petIds.map((petId) => pageOf(of(petId), request));
          expect(await store.table(Order).pagesByParent('petId', petIds, { complete }, request)).toEqual(
            pages,
          );
          expect(await store.table(Order).page({ petId: petIds[0]!, complete }, request)).toEqual(pages[0]);
        }
        const counts = petIds.map((petId) => of(petId).length);
        expect(await store.table(Order).countsByParent('petId', petIds, { complete })).toEqual(counts);
        const ofOne = [counts[0], 0, 0];
        expect(
          await store.table(Order).countsByParent('petId', petIds, { complete, petId: petIds[0]! }),
        ).toEqual(ofOne);
        expect(await store.table(Order).count({ petId: petIds[2]!, complete })).toBe(counts[2]);
      }
      const afterFirst = { limit: 100, after: made[0]!.id };
      expect((await store.table(Order).page({ complete: true }, afterFirst)).items).toEqual(
        made.slice(1).filter((order) => order.complete),
      );
    });

    it('updates the counts with every write', async () => {
      const { id: categoryId } = await newCategory();
      const other = (await newCategory()).id;
      const counts = async () => ({
        categories: await store.table(Category).count({}),
        pets: await store.table(Pet).count({}),
        sold: await store.table(Pet).count({ status: ['sold'] }),
        here: await store.table(Pet).count({ categoryId }),
        soldHere: await store.table(Pet).count({ categoryId, status: ['sold', 'sold', 'pending'] }),
        none: await store.table(Pet).count({ status: [] }),
        orders: await store.table(Order).count({}),
        complete: await store.table(Order).count({ complete: true }),
      });
      const start = await counts();
      expect(start).toMatchObject({ here: 0, soldHere: 0, none: 0 });
      const a = await newPet(categoryId, 'sold');
      const b = await newPet(categoryId);
      const order = await store.table(Order).insert({ complete: false });
      const plus = (change: Partial<typeof start>) =>
        Object.fromEntries(
          Object.entries(start).map(([name, n]) => [name, n + (change[name as keyof typeof start] ?? 0)]),
        );
      expect(await counts()).toEqual(plus({ pets: 2, sold: 1, here: 2, soldHere: 1, orders: 1 }));
      await store.table(Pet).update(b.id, { status: 'sold' });
      await store.table(Pet).update(a.id, { categoryId: other });
      await store.table(Order).update(order.id, { complete: true });
      expect(await counts()).toEqual(
        plus({ pets: 2, sold: 2, here: 1, soldHere: 1, orders: 1, complete: 1 }),
      );
      for (const id of [a.id, b.id]) await store.table(Pet).remove(id);
      await store.table(Order).remove(order.id);
      for (const id of [other, categoryId]) await store.table(Category).remove(id);
      expect(await counts()).toEqual({ ...start, categories: start.categories - 2 });
    });
  });

  describe('writes', () => {
    it('changes only the fields in the patch', async () => {
      const pet = await newPet();
      expect(await store.table(Pet).update(pet.id, {})).toEqual(pet);
      expect(await store.table(Pet).update(pet.id, { quantity: 2147483647 })).toEqual({
        ...pet,
        quantity: 2147483647,
      });
      expect(await store.table(Pet).update(pet.id, { name: 'Tom', status: 'sold', quantity: 0 })).toEqual({
        ...pet,
        name: 'Tom',
        status: 'sold',
      });
      const moved = await store
        .table(Pet)
        .update(pet.id, { categoryId: (await newCategory()).id, name: undefined });
      expect(await store.table(Pet).byIds([pet.id])).toStrictEqual([moved]);

      const category = await store.table(Category).insert({ name: 'Dogs', description: 'Loyal' });
      expect(await store.table(Category).update(category.id, { name: 'Hounds' })).toEqual({
        ...category,
        name: 'Hounds',
      });
      expect(await store.table(Category).update(category.id, { description: null })).toStrictEqual({
        id: category.id,
        name: 'Hounds',
      });
      const described = await store.table(Category).update(category.id, { description: '' });
      expect(await store.table(Category).byIds([category.id])).toStrictEqual([described]);

      const order = await store.table(Order).insert({
        petId: pet.id,
        quantity: 1,
        shipDate: '2026-01-31T09:30:00Z',
        complete: false,
      });
      expect(await store.table(Order).update(order.id, { quantity: 3, shipDate: undefined })).toEqual({
        ...order,
        quantity: 3,
      });
      expect(
        await store.table(Order).update(order.id, { petId: null, quantity: null, shipDate: null }),
      ).toStrictEqual({
        id: order.id,
        complete: false,
      });
      const last = await store
        .table(Order)
        .update(order.id, { shipDate: '2026-02-01T00:00:00.5Z', complete: true });
      expect(last).toEqual({ id: order.id, shipDate: '2026-02-01T00:00:00.500Z', complete: true });
      expect(await store.table(Order).byIds([order.id])).toStrictEqual([last]);
    });

    it('applies patches of a single field', async () => {
      const category = await store.table(Category).insert({ name: 'Dogs', description: 'Loyal' });
      const pet = await newPet(category.id);
      const order = await store.table(Order).insert({ petId: pet.id, quantity: 1, complete: false });
      const [otherCategory, otherPet] = [(await newCategory()).id, (await newPet()).id];
      let expected: object = pet;
      for (const patch of [{ name: 'Tom' }, { categoryId: otherCategory }, { status: 'sold' }] as const) {
        expected = { ...expected, ...patch };
        expect(await store.table(Pet).update(pet.id, patch)).toStrictEqual(expected);
        expect(await store.table(Pet).byIds([pet.id])).toStrictEqual([expected]);
      }
      expected = order;
      const instants = ['2026-01-31T09:30:00Z', '2026-01-31T09:30:01Z'];
      const changes = [...instants.map((shipDate) => ({ shipDate })), { petId: otherPet }, { quantity: 2 }];
      for (const patch of [...changes, { complete: true }]) {
        expected = { ...expected, ...patch };
        expect(await store.table(Order).update(order.id, patch)).toStrictEqual(expected);
        expect(await store.table(Order).byIds([order.id])).toStrictEqual([expected]);
      }
      expected = category;
      for (const patch of [{ name: 'Hounds' }, { description: 'Old' }]) {
        expected = { ...expected, ...patch };
        expect(await store.table(Category).update(category.id, patch)).toStrictEqual(expected);
        expect(await store.table(Category).byIds([category.id])).toStrictEqual([expected]);
      }
    });

    it('stores -0 as 0', async () => {
      const { id } = await newPet();
      await store.table(Pet).update(id, { quantity: 5 });
      await store.table(Pet).update(id, { quantity: -0 });
      expect(await store.table(Pet).byIds([id])).toMatchObject([{ quantity: 0 }]);
    });

    it('throws NOT_FOUND for a missing record before any other check', async () => {
      const check = () => expect.unreachable();
      expect(await codeOf(() => store.table(Pet).update(MAX, { categoryId: MAX }, check))).toBe('NOT_FOUND');
      expect(await codeOf(() => store.table(Pet).remove(MAX, check))).toBe('NOT_FOUND');
      expect(await codeOf(() => store.table(Category).update(MAX, {}, check))).toBe('NOT_FOUND');
      expect(await codeOf(() => store.table(Category).remove(MAX, check))).toBe('NOT_FOUND');
      expect(await codeOf(() => store.table(Order).update(MAX, { petId: MAX }, check))).toBe('NOT_FOUND');
      expect(await codeOf(() => store.table(Order).remove(MAX, check))).toBe('NOT_FOUND');
      const messages = [
        await errorOf(() => store.table(Pet).update(MAX, {})),
        await errorOf(() => store.table(Category).update(MAX, {})),
        await errorOf(() => store.table(Order).update(MAX, {})),
      ].map((error) => (error as AppError).message);
      expect(messages).toEqual(['pet', 'category', 'order'].map((kind) => `There is no ${kind} ${MAX}.`));
    });

    it('throws UNKNOWN_REFERENCE for a reference to a missing record, and writes nothing', async () => {
      const pet = await newPet();
      const newOrphan = { name: 'Rex', categoryId: MAX, status: 'sold' } as const;
      expect(await codeOf(() => store.table(Pet).insert(newOrphan))).toBe('UNKNOWN_REFERENCE');
      expect(await codeOf(() => store.table(Pet).update(pet.id, { categoryId: MAX, quantity: 7 }))).toBe(
        'UNKNOWN_REFERENCE',
      );
      expect(await store.table(Pet).byIds([pet.id])).toEqual([pet]);
      const taken = await store.table(Order).insert({ complete: true });
      for (const id of [undefined, taken.id]) {
        expect(await codeOf(() => store.table(Order).insert({ id, petId: MAX, complete: true }))).toBe(
          'UNKNOWN_REFERENCE',
        );
      }
      expect(await codeOf(() => store.table(Order).update(taken.id, { petId: MAX }))).toBe(
        'UNKNOWN_REFERENCE',
      );
      expect(await store.table(Order).byIds([taken.id])).toEqual([taken]);
      const [noCategory, noPet] = [
        `categoryId: there is no category ${MAX}.`,
        `petId: there is no pet ${MAX}.`,
      ];
      for (const [message, run] of [
        [noCategory, () => store.table(Pet).insert(newOrphan)],
        [noCategory, () => store.table(Pet).update(pet.id, { categoryId: MAX })],
        [noPet, () => store.table(Order).insert({ petId: MAX, complete: true })],
        [noPet, () => store.table(Order).update(taken.id, { petId: MAX })],
      ] as const)
        expect((await errorOf(run)) as AppError).toMatchObject({ message });
    });

    it('runs the precondition on the current record before the other checks', async () => {
      const category = await newCategory();
      const pet = await newPet(category.id);
      const order = await store.table(Order).insert({ petId: pet.id, complete: false });
      const refuse = <T>(expected: T) => ({
        run: (current: T) => {
          expect(current).toEqual(expected);
          throw new AppError('PRECONDITION_FAILED', 'another version');
        },
      });
      const attempts = [
        () => store.table(Pet).update(pet.id, { categoryId: MAX }, refuse(pet).run),
        () => store.table(Pet).remove(pet.id, refuse(pet).run),
        () => store.table(Category).update(category.id, { name: 'x' }, refuse(category).run),
        () => store.table(Category).remove(category.id, refuse(category).run),
        () => store.table(Order).update(order.id, { petId: MAX }, refuse(order).run),
        () => store.table(Order).remove(order.id, refuse(order).run),
      ];
      for (const run of attempts) expect(await codeOf(run)).toBe('PRECONDITION_FAILED');
      expect(await store.table(Pet).byIds([pet.id])).toEqual([pet]);
      expect(await store.table(Category).byIds([category.id])).toEqual([category]);
      expect(await store.table(Order).byIds([order.id])).toEqual([order]);
    });

    it('lets exactly one of several concurrent writes with the same precondition pass', async () => {
      const pet = await newPet();
      const codes = await inParallel(runs(20, 8), (i) =>
        codeOf(() =>
          store.table(Pet).update(pet.id, { quantity: i + 1 }, ({ quantity }) => {
            if (quantity !== 0) throw new AppError('PRECONDITION_FAILED', 'another version');
          }),
        ),
      );
      expect(codes.filter((code) => code === 'none')).toHaveLength(1);
      expect(new Set(codes)).toEqual(new Set(['none', 'PRECONDITION_FAILED']));
    });
  });

  describe('references', () => {
    it('refuses to delete a category that has pets', async () => {
      const pet = await newPet();
      expect(await codeOf(() => store.table(Category).remove(pet.categoryId))).toBe('CONFLICT');
      expect(await store.table(Pet).remove(pet.id)).toBe(pet.id);
      expect(await store.table(Pet).byIds([pet.id])).toEqual([null]);
      expect(await store.table(Category).remove(pet.categoryId)).toBe(pet.categoryId);
      expect(await store.table(Category).byIds([pet.categoryId])).toEqual([null]);
    });

    it('refuses to delete a pet that has an incomplete order; a complete one outlives it', async () => {
      const pet = await newPet();
      const order = await store.table(Order).insert({ petId: pet.id, complete: false });
      expect(await codeOf(() => store.table(Pet).remove(pet.id))).toBe('CONFLICT');
      const done = await store.table(Order).update(order.id, { complete: true });
      await store.table(Pet).remove(pet.id);
      expect(await store.table(Order).byIds([order.id])).toEqual([done]);
      expect(await store.table(Order).update(order.id, { petId: pet.id, quantity: 2 })).toEqual({
        ...done,
        quantity: 2,
      });
      expect(await codeOf(() => store.table(Order).update(order.id, { complete: false }))).toBe(
        'UNKNOWN_REFERENCE',
      );
      expect(await store.table(Order).update(order.id, { complete: false, petId: null })).toEqual({
        id: order.id,
        quantity: 2,
        complete: false,
      });
      expect(await codeOf(() => store.table(Order).update(order.id, { petId: pet.id }))).toBe(
        'UNKNOWN_REFERENCE',
      );
    });

    it('leaves no pet without its category when pets are created during its deletion', async () => {
      const category = await newCategory();
      const made: Id[] = [];
      const [codes, deleted] = await Promise.all([
        inParallel(30, (i) =>
          codeOf(async () => {
            const pet = await store
              .table(Pet)
              .insert({ name: `Pet ${i}`, categoryId: category.id, status: 'sold' });
            made.push(pet.id);
          }),
        ),
        (async () => {
          await new Promise((resolve) => setTimeout(resolve, runs(0, 20)));
          return codeOf(() => store.table(Category).remove(category.id));
        })(),
      ]);
      const [left] = await store.table(Category).byIds([category.id]);
      if (deleted === 'none') {
        expect(left).toBeNull();
        expect(made).toEqual([]);
      } else {
        expect(deleted).toBe('CONFLICT');
        expect(left).toEqual(category);
      }
      expect(codes.filter((code) => code === 'none')).toHaveLength(made.length);
      expect(await store.table(Pet).count({ categoryId: category.id })).toBe(made.length);
    });

    it('leaves no incomplete order without its pet when orders are created during its deletion', async () => {
      const pet = await newPet();
      const [ordered, deleted] = await Promise.all([
        inParallel(10, () => codeOf(() => store.table(Order).insert({ petId: pet.id, complete: false }))),
        codeOf(() => store.table(Pet).remove(pet.id)),
      ]);
      const [left] = await store.table(Pet).byIds([pet.id]);
      expect(left === null).toBe(deleted === 'none');
      if (deleted === 'none')
        expect(await store.table(Order).count({ petId: pet.id, complete: false })).toBe(0);
      else expect(ordered).toContain('none');
    });
  });

  describe('ids', () => {
    let own: OpenedStore;
    beforeAll(async () => {
      own = await engine.open();
    });
    afterAll(() => own.close());

    it('never reuses an id, even after a deletion and a restart', async () => {
      const { store } = own;
      const category = await store.table(Category).insert({ name: 'Dogs' });
      const last = await store.table(Category).insert({ name: 'Cats' });
      const pet = await store.table(Pet).insert({ name: 'Rex', categoryId: category.id, status: 'sold' });
      const order = await store.table(Order).insert({ complete: true });
      await store.table(Pet).remove(pet.id);
      await store.table(Category).remove(last.id);
      await store.table(Order).remove(order.id);
      const again = await own.reopen();
      const newer = await again.table(Pet).insert({ name: 'Tom', categoryId: category.id, status: 'sold' });
      expect(BigInt(newer.id)).toBeGreaterThan(BigInt(pet.id));
      expect(BigInt((await again.table(Category).insert({ name: 'x' })).id)).toBeGreaterThan(BigInt(last.id));
      expect(BigInt((await again.table(Order).insert({ complete: true })).id)).toBeGreaterThan(
        BigInt(order.id),
      );
    });

    it('refuses order ids that are taken, and never assigns a chosen one, even if it was deleted', async () => {
      const store = await own.reopen();
      const start = BigInt((await store.table(Order).insert({ complete: true })).id);
      const chosen = [1n, 2n, 3n, 5n, 8n].map((n) => (start + n).toString());
      for (const id of chosen) await store.table(Order).insert({ id, complete: true });
      expect(await codeOf(() => store.table(Order).insert({ id: chosen[1]!, complete: false }))).toBe(
        'CONFLICT',
      );
      expect(await codeOf(() => store.table(Order).insert({ id: start.toString(), complete: false }))).toBe(
        'CONFLICT',
      );
      for (const id of chosen.slice(0, 4)) await store.table(Order).remove(id);
      const next = await own.reopen();
      const assigned: bigint[] = [];
      for (let i = 0; i < 6; i++)
        assigned.push(BigInt((await next.table(Order).insert({ complete: true })).id));
      for (const id of chosen) expect(assigned).not.toContain(BigInt(id));
      expect(new Set(assigned).size).toBe(6);
      // A client may choose the id of a deleted order again.
      expect((await next.table(Order).insert({ id: chosen[0]!, complete: false })).id).toBe(chosen[0]);
      await next.table(Order).insert({ id: MAX, complete: false });
      expect((await next.table(Order).insert({ complete: true })).id).not.toBe(MAX);
    });

    it('never gives one id to two orders when ids are assigned and chosen concurrently', async () => {
      const store = await own.reopen();
      const start = BigInt((await store.table(Order).insert({ complete: true })).id);
      const ids: Id[] = [];
      await inParallel(50, async (i) => {
        const id = i % 2 === 0 ? undefined : (start + BigInt(i)).toString();
        const code = await codeOf(async () => {
          ids.push((await store.table(Order).insert({ id, complete: true })).id);
        });
        if (id === undefined) expect(code).toBe('none');
        else expect(['none', 'CONFLICT']).toContain(code);
      });
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids.length).toBeGreaterThanOrEqual(25);
      expect((await store.table(Order).byIds(ids)).every((order) => order !== null)).toBe(true);
    });
  });

  describe('once', () => {
    const call = (overrides: Partial<IdempotentCall> = {}): IdempotentCall => ({
      apiKeyId: 'key',
      idempotencyKey: randomUUID(),
      fingerprint: 'a',
      now: Date.now(),
      keepFor: DAY,
      ...overrides,
    });

    it('replays the outcome for the same API key and payload', async () => {
      const first = call();
      const category = await store.once(first, (writes) => writes.table(Category).insert({ name: 'Dogs' }));
      expect(category).toMatchObject({ replayed: false, value: { name: 'Dogs' } });
      const again = await store.once(first, () => expect.unreachable());
      expect(again).toEqual({ ...category, replayed: true });
      const reused = () => store.once({ ...first, fingerprint: 'b' }, () => expect.unreachable());
      expect(await codeOf(reused)).toBe('IDEMPOTENCY_KEY_REUSED');
      const otherKey = await store.once({ ...first, apiKeyId: 'other' }, () => 'mine');
      expect(otherKey).toEqual({ replayed: false, value: 'mine' });
    });

    /** Writes twice and then fails; synchronously on the embedded engine, which requires it. */
    const writeThenFail =
      (fault: Error, pet: Pet) =>
      (writes: Tables): MaybePromise<Category> => {
        const made = writes.table(Category).insert({ name: 'Never' });
        const fail = (): never => {
          throw fault;
        };
        if (!(made instanceof Promise)) {
          writes.table(Pet).update(pet.id, { quantity: 99 });
          return fail();
        }
        return made.then(() => writes.table(Pet).update(pet.id, { quantity: 99 })).then(fail);
      };

    it('replays an error below 500, with nothing written', async () => {
      const pet = await newPet();
      const before = await store.table(Category).count({});
      const failing = call();
      const error = { code: 'CONFLICT', message: 'It is in use.', status: 409 };
      const work = writeThenFail(new AppError('CONFLICT', error.message), pet);
      expect(await store.once(failing, work)).toEqual({ replayed: false, error });
      expect(await store.once(failing, () => expect.unreachable())).toEqual({ replayed: true, error });
      expect(await store.table(Category).count({})).toBe(before);
      expect(await store.table(Pet).byIds([pet.id])).toEqual([pet]);
    });

    it('keeps nothing after any other error', async () => {
      const pet = await newPet();
      const before = await store.table(Category).count({});
      for (const fault of [
        unavailable(),
        new AppError('INTERNAL', 'a fault'),
        new TypeError('a mistake'),
        new AppError('PRECONDITION_FAILED', 'another If-Match may pass'),
      ]) {
        const failing = call();
        await expect((async () => store.once(failing, writeThenFail(fault, pet)))()).rejects.toBe(fault);
        expect(await store.table(Category).count({})).toBe(before);
        expect(await store.table(Pet).byIds([pet.id])).toEqual([pet]);
        expect(await store.once(failing, () => 'done')).toEqual({ replayed: false, value: 'done' });
      }
    });

    it('forgets an outcome after keepFor', async () => {
      const now = Date.now();
      const first = call({ now, keepFor: 60_000 });
      await store.once(first, () => 1);
      expect(await store.once({ ...first, now: now + 59_999 }, () => 2)).toEqual({
        replayed: true,
        value: 1,
      });
      const later = { ...first, now: now + 60_000, fingerprint: 'b' };
      expect(await store.once(later, () => 3)).toEqual({ replayed: false, value: 3 });
      expect(await store.once(later, () => 4)).toEqual({ replayed: true, value: 3 });
    });

    it('writes once for concurrent duplicates', async () => {
      const { id: categoryId } = await newCategory();
      const duplicate = call();
      const outcomes = await inParallel(8, async () => {
        try {
          return await store.once(duplicate, (writes) =>
            writes.table(Pet).insert({ name: 'Rex', categoryId, status: 'available' }),
          );
        } catch (error) {
          expect((error as AppError).code).toBe('CONFLICT');
          return null;
        }
      });
      expect(outcomes.filter((outcome) => outcome?.replayed === false)).toHaveLength(1);
      expect(new Set(outcomes.flatMap((outcome) => outcome?.value?.id ?? [])).size).toBe(1);
      expect(await store.table(Pet).count({ categoryId })).toBe(1);
    });
  });

  describe('a transaction', () => {
    /** Creates a category with a pet in it; synchronously on the embedded engine, which requires it. */
    const createBoth = (writes: Tables): MaybePromise<Pet> =>
      andThen(writes.table(Category).insert({ name: 'Dogs' }), ({ id: categoryId }) =>
        writes.table(Pet).insert({ name: 'Rex', categoryId, status: 'sold' }),
      );

    it('commits all writes of its work and returns its result', async () => {
      expect(await store.hasTransactions()).toBe(true);
      const pet = await store.transaction(createBoth);
      expect(pet).toMatchObject({ name: 'Rex', status: 'sold' });
      expect(await store.table(Pet).byIds([pet.id])).toEqual([pet]);
      expect(await store.table(Category).byIds([pet.categoryId])).toEqual([
        { id: pet.categoryId, name: 'Dogs' },
      ]);
    });

    it('writes nothing if its work throws', async () => {
      const before = [await store.table(Category).count({}), await store.table(Pet).count({})];
      const fault = new AppError('CONFLICT', 'no');
      const work = (writes: Tables): MaybePromise<never> =>
        andThen(createBoth(writes), () => {
          throw fault;
        });
      expect(await errorOf(() => store.transaction(work))).toBe(fault);
      expect([await store.table(Category).count({}), await store.table(Pet).count({})]).toEqual(before);
    });

    it.each<[outcome: string, fault?: AppError]>([
      ['is committed'],
      ['fails', new AppError('CONFLICT', 'no')],
    ])('shows others nothing of itself until it %s', async (_outcome, fault) => {
      const { id: categoryId } = await store.table(Category).insert({ name: 'Before' });
      const pet = await store.table(Pet).insert({ name: 'Before', categoryId, status: 'available' });
      const gone = await store.table(Pet).insert({ name: 'Gone', categoryId, status: 'available' });
      const look = async () => ({
        byIds: await store.table(Pet).byIds([pet.id, gone.id]),
        page: await store.table(Pet).page({ categoryId }, { limit: 5 }),
        pages: await store.table(Pet).pagesByParent('categoryId', [categoryId], {}, { limit: 5 }),
        count: await store.table(Pet).count({ categoryId }),
      });
      const before = await look();
      let created: Pet;
      const work = async ({ table }: Transaction) => {
        const changed = await table(Pet).update(pet.id, { name: 'Within' });
        expect(await look()).toEqual(before);
        await table(Pet).remove(gone.id);
        created = await table(Pet).insert({ name: 'New', categoryId, status: 'sold' });
        await new Promise((resolve) => setImmediate(resolve));
        expect(await look()).toEqual(before);
        if (fault) throw fault;
        return changed;
      };
      const call = { apiKeyId: 'key', idempotencyKey: randomUUID(), fingerprint: 'a', now: T, keepFor: DAY };
      const once = () => store.once({ ...call, takesTime: true }, work);
      if (fault) {
        expect(await errorOf(() => store.transaction(work))).toBe(fault);
        for (const replayed of [false, true]) expect(await once()).toMatchObject({ replayed, error: {} });
        expect(await look()).toEqual(before);
        expect(await store.table(Pet).byIds([created!.id])).toEqual([null]);
        return;
      }
      const { value } = await once();
      const items = [value!, created!];
      const page = { items, hasMore: false };
      expect(await once()).toEqual({ replayed: true, value });
      expect(await look()).toEqual({ byIds: [value, null], page, pages: [page], count: 2 });
      const next = await store.table(Pet).insert({ name: 'Next', categoryId, status: 'sold' });
      expect(items.map(({ id }) => id)).not.toContain(next.id);
    });

    it('reads its own writes, which leave nothing behind when it fails', async () => {
      const { id: categoryId } = await store.table(Category).insert({ name: 'Before' });
      const { id } = await store.table(Pet).insert({ name: 'Before', categoryId, status: 'available' });
      const look = (reads: Tables): MaybePromise<unknown[]> =>
        inOrder([
          () => reads.table(Pet).byIds([id]),
          () => reads.table(Pet).byIds([id, '999999']),
          () => reads.table(Category).byIds([categoryId]),
          () => reads.table(Pet).page({ categoryId }, { limit: 5 }),
          () => reads.table(Pet).pagesByParent('categoryId', [categoryId], {}, { limit: 5 }),
          () => reads.table(Pet).count({ categoryId }),
          () => reads.table(Pet).countsByParent('categoryId', [categoryId], {}),
        ]);
      const before = await look(store);
      const pet = { id, name: 'Within', categoryId, status: 'available' as const, quantity: 0 };
      const fault = new AppError('CONFLICT', 'no');
      let seen: unknown;
      const work = (transaction: Transaction): MaybePromise<never> =>
        andThen(transaction.table(Pet).update(id, { name: 'Within' }), () =>
          andThen(transaction.table(Category).update(categoryId, { name: 'Also' }), () =>
            andThen(transaction.table(Pet).insert(pet), (other) =>
              andThen(look(transaction), (found) => {
                seen = [other, found];
                throw fault;
              }),
            ),
          ),
        );
      const once = { apiKeyId: 'key', idempotencyKey: randomUUID(), fingerprint: 'a', now: T, keepFor: DAY };
      for (const run of [() => store.transaction(work), () => store.once(once, work)]) {
        await errorOf(run);
        const [other, found] = seen as [Pet, unknown];
        const page = { items: [pet, other], hasMore: false };
        expect(found).toEqual([[pet], [pet, null], [{ id: categoryId, name: 'Also' }], page, [page], 2, [2]]);
        expect(await look(store)).toEqual(before);
      }
    });
  });

  describe('API keys', () => {
    let created = T;
    const newKey = (overrides: Partial<ApiKey> = {}): ApiKey => ({
      id: randomUUID(),
      name: 'My app',
      plan: 'enterprise',
      limits: { perMinute: 7_000, perDay: 1_000_000_000 },
      createdAt: created++,
      secrets: [{ hash: randomUUID(), prefix: 'pk_ab' }],
      ...overrides,
    });

    it('finds keys by the hash of a secret, and lists them oldest first', async () => {
      const newer = newKey({ createdAt: T + 5_000 });
      const secrets = [{ hash: randomUUID(), prefix: 'pk_cd', expiresAt: T + 1 }];
      const older = newKey({ secrets, revokedAt: T + 9 });
      await store.createApiKey(newer);
      await store.createApiKey(older);
      expect(await store.apiKeyBySecretHash(newer.secrets[0]!.hash)).toStrictEqual(newer);
      expect(await store.apiKeyBySecretHash(older.secrets[0]!.hash)).toStrictEqual(older);
      expect(await store.apiKeyBySecretHash('nothing')).toBeNull();
      const others = [3_000, 1_000, 4_000, 2_000].map((age) => newKey({ createdAt: T + age }));
      for (const key of others) await store.createApiKey(key);
      const created = new Set([newer, older, ...others].map(({ id }) => id));
      const listed = (await store.apiKeys()).filter(({ id }) => created.has(id));
      const [third, first, fourth, second] = others;
      expect(listed).toStrictEqual([older, first, second, third, fourth, newer]);
    });

    it('keeps what a key may do, and changes just what is asked for', async () => {
      const restrictions = {
        expiresAt: T + 50,
        scopes: ['pets:read', 'orders:write'],
        allow: ['10.0.0.0/8'],
        documents: 'report:web',
      };
      const key = newKey({ lastUsedAt: T + 3 });
      const restricted = { ...key, ...restrictions };
      await store.createApiKey(restricted);
      expect(await store.apiKeyById(key.id)).toStrictEqual(restricted);
      const renamed = { ...restricted, name: 'Other', expiresAt: T + 60 };
      expect(await store.updateApiKey(key.id, { name: 'Other', expiresAt: T + 60 })).toStrictEqual(renamed);
      expect(await store.updateApiKey(key.id, {})).toStrictEqual(renamed);
      const limits = { perMinute: 300, perDay: 10_000 };
      const widened = { expiresAt: null, scopes: null, allow: null, documents: null, limits };
      const bare = { ...key, name: 'Other', plan: 'pro' as const, limits };
      expect(await store.updateApiKey(key.id, { plan: 'pro', ...widened })).toStrictEqual(bare);
      expect(await store.apiKeyById(key.id)).toStrictEqual(bare);
      expect(await store.updateApiKey(key.id, restrictions)).toStrictEqual({ ...bare, ...restrictions });
      expect(await store.apiKeyById('nothing')).toBeNull();
      expect(await store.updateApiKey('nothing', { name: 'x' })).toBeNull();
      await store.revokeApiKey(key.id, T + 10);
      expect(await store.updateApiKey(key.id, { name: 'x' })).toBeNull();
      expect(await store.updateApiKey(key.id, {})).toBeNull();
      expect(await store.apiKeyById(key.id)).toMatchObject({ name: 'Other', ...restrictions });
    });

    it('revokes a key once, after which it cannot be rotated', async () => {
      const key = newKey();
      await store.createApiKey(key);
      const revoked = { ...key, revokedAt: T + 10 };
      expect(await store.revokeApiKey(key.id, T + 10)).toEqual(revoked);
      expect(await store.revokeApiKey(key.id, T + 20)).toEqual(revoked);
      expect(await store.apiKeyBySecretHash(key.secrets[0]!.hash)).toEqual(revoked);
      expect(await store.revokeApiKey('nothing', T)).toBeNull();
      const secret = { hash: randomUUID(), prefix: 'pk_ef' };
      expect(await store.rotateApiKey(key.id, secret, T)).toBeNull();
      expect(await store.apiKeyBySecretHash(secret.hash)).toBeNull();
    });

    it('adds a secret on rotation and makes the others expire', async () => {
      const soon = { hash: randomUUID(), prefix: 'pk_1', expiresAt: T + 5 };
      const never = { hash: randomUUID(), prefix: 'pk_2' };
      const late = { hash: randomUUID(), prefix: 'pk_3', expiresAt: T + 5_000 };
      const key = newKey({ secrets: [soon, never, late] });
      await store.createApiKey(key);
      const secret = { hash: randomUUID(), prefix: 'pk_4' };
      const rotated = await store.rotateApiKey(key.id, secret, T + 100);
      expect(rotated).toEqual({
        ...key,
        secrets: [soon, { ...never, expiresAt: T + 100 }, { ...late, expiresAt: T + 100 }, secret],
      });
      for (const { hash } of [never, secret]) expect(await store.apiKeyBySecretHash(hash)).toEqual(rotated);
      expect(await store.rotateApiKey('nothing', { hash: 'x', prefix: 'x' }, T)).toBeNull();
    });
  });

  describe('charges', () => {
    const limits: Limits = { perMinute: 60, perDay: 1_000 };
    const usageOf = async (apiKeyId: string) => (await store.usage([apiKeyId]))[0];

    it('passes exactly 60 of 200 concurrent charges with a limit of 60', async () => {
      const apiKeyId = randomUUID();
      const results = await inParallel(200, () => store.charge({ apiKeyId, limits, cost: 1, now: T }));
      expect(results.filter(({ outcome }) => outcome === 'passed')).toHaveLength(60);
      expect(await usageOf(apiKeyId)).toMatchObject({ minuteUsed: 60, dayUsed: 60 });
    });

    it('counts in both windows or in neither', async () => {
      const apiKeyId = randomUUID();
      const charge = (cost: number, now: number, perDay = 8) =>
        store.charge({ apiKeyId, limits: { perMinute: 5, perDay }, cost, now });
      expect(await usageOf(apiKeyId)).toBeNull();
      expect((await charge(0, T)).outcome).toBe('passed');
      expect(await usageOf(apiKeyId)).toBeNull();
      expect((await charge(5, T)).usage).toMatchObject({ minuteUsed: 5, dayUsed: 5 });
      const refused = await charge(1, T + 1_500);
      expect(refused).toMatchObject({ outcome: 'refused', usage: { minuteUsed: 5, dayUsed: 5 } });
      expect(refused.usage.refusedUntil).toBe(T + 1_500 + 59_000);
      expect(await charge(4, T + MINUTE)).toMatchObject({ outcome: 'refused', usage: { dayUsed: 5 } });
      expect((await charge(3, T + MINUTE)).usage).toMatchObject({
        minuteStart: T + MINUTE,
        minuteUsed: 3,
        dayUsed: 8,
      });
      expect((await charge(5, T + DAY)).usage).toMatchObject({
        dayStart: T + DAY,
        minuteUsed: 5,
        dayUsed: 5,
      });
      expect((await store.usage(['nobody', apiKeyId])).map((usage) => usage?.dayUsed)).toEqual([
        undefined,
        5,
      ]);
    });

    it('begins a ban after the last strike, longer each time until a quiet day', async () => {
      const apiKeyId = randomUUID();
      const charge = (now: number) =>
        store.charge({ apiKeyId, limits: { perMinute: 1, perDay: 1_000 }, cost: 1, now });
      /** Uses up the budget, then strikes until the ban. @returns the length of the ban */
      const beBanned = async (now: number) => {
        expect((await charge(now)).outcome).toBe('passed');
        expect(await charge(now)).toMatchObject({ outcome: 'refused', usage: { strikes: [] } });
        for (let i = 1; i < STRIKES_TO_BAN; i++) expect((await charge(now)).outcome).toBe('refused');
        const { outcome, usage } = await charge(now);
        expect(outcome).toBe('banned');
        return usage.bannedUntil - now;
      };
      expect(await beBanned(T)).toBe(FIRST_BAN);
      expect((await charge(T + FIRST_BAN - 1)).outcome).toBe('banned');
      expect(await beBanned(T + FIRST_BAN)).toBe(2 * FIRST_BAN);
      const quiet = T + FIRST_BAN + 2 * FIRST_BAN + DAY;
      expect(await beBanned(quiet)).toBe(FIRST_BAN);
    });

    it('ends a ban in time for charges of cost 0 after the clock was set back', async () => {
      const apiKeyId = randomUUID();
      const charge = (cost: number, now: number) =>
        store.charge({ apiKeyId, limits: { perMinute: 1, perDay: 1_000 }, cost, now });
      for (let i = 0; i < STRIKES_TO_BAN + 1; i++) await charge(1, T);
      expect((await charge(1, T)).outcome).toBe('banned');
      const back = T - 60 * MINUTE;
      for (let waited = 0; waited < FIRST_BAN; waited += 10_000)
        expect((await charge(0, back + waited)).outcome, `${waited}`).toBe('banned');
      expect((await charge(0, back + FIRST_BAN)).outcome).toBe('passed');
    });

    it('agrees with chargeUsage on any sequence', async () => {
      const charges = fc.array(
        fc.record({
          cost: fc.constantFrom(0, 1, 1, 1, 2, 5),
          wait: fc.constantFrom(0, 0, 0, 1, 999, 30_000, MINUTE, DAY),
        }),
        { minLength: 1, maxLength: 30 },
      );
      await fc.assert(
        fc.asyncProperty(charges, fc.integer({ min: 1, max: 5 }), async (steps, perMinute) => {
          const apiKeyId = randomUUID();
          let expected = initialUsage();
          let now = T;
          for (const { cost, wait } of steps) {
            now += wait;
            const charge = { apiKeyId, limits: { perMinute, perDay: 12 }, cost, now };
            const pure = chargeUsage(expected, charge);
            expect(await store.charge(charge)).toEqual(pure);
            expected = pure.usage;
          }
        }),
        { numRuns: runs(cases(30, 100), cases(4, 12)) },
      );
    });

    it('keeps the usage across a restart', async () => {
      const own = await engine.open(() => T);
      try {
        const charge = { apiKeyId: 'k', limits: { perMinute: 2, perDay: 3 }, cost: 1, now: T };
        await own.store.charge(charge);
        await own.store.charge(charge);
        const { outcome, usage } = await own.store.charge(charge);
        expect(outcome).toBe('refused');
        const again = await own.reopen();
        expect(await again.usage(['k'])).toEqual([usage]);
        expect((await again.charge({ ...charge, now: T + 1 })).usage.strikes).toEqual([T + 1]);
      } finally {
        await own.close();
      }
    });
  });

  it('responds to a ping and names its engine', async () => {
    await store.ping();
    expect(store.engine).toBe(engine.name);
  });
});
