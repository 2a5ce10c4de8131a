import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Database from 'libsql';
import { afterAll, describe, expect, it } from 'vitest';
import { Category } from '../../src/domains/category/category.ts';
import { RECORDS } from '../../src/domains/index.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { STEP } from '../../src/store/folding.ts';
import type { MongoStore } from '../../src/store/mongo/mongo-store.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import { engines } from '../kit/stores.ts';

const home = mkdtempSync(join(tmpdir(), 'petstore-folding-'));
afterAll(() => rmSync(home, { recursive: true }));

/** What takes several steps. */
const COUNT = 2 * STEP + 50;

async function fill(store: Store): Promise<void> {
  const { id: categoryId } = await store.table(Category).insert({ name: 'Dögs' });
  const all = Array.from({ length: COUNT }, (_, n) => ({ name: `Ä${COUNT - n}`, categoryId }));
  for (let n = 0; n < COUNT; n += 100)
    await Promise.all(all.slice(n, n + 100).map(async (pet) => await store.table(Pet).insert(pet)));
}

const byName = async (store: Store, prefix: string) =>
  (
    await store
      .table(Pet)
      .page({ name: { prefix } }, { limit: 100, order: { field: 'name', descending: false } })
  ).items;

/** A store with names that are not folded is served, but for what needs them, until they are. */
async function expectTakenOver(store: Store): Promise<void> {
  await expect((async () => byName(store, 'a11'))()).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    retryAfter: 5,
  });
  await expect((async () => store.table(Pet).count({ name: { prefix: 'a' } }))()).rejects.toMatchObject({
    code: 'UNAVAILABLE',
  });
  expect((await store.table(Pet).page({}, { limit: 5 })).items).toHaveLength(5);
  // Written meanwhile.
  await store.table(Pet).update('1', { name: 'Zoë' });
  await store.table(Pet).insert({ name: 'Änew', categoryId: '1' });
  const found = async () => (await byName(store, 'a11')).map(({ name }) => name);
  await expect
    .poll(() => found().catch(({ code }) => code), { timeout: 40_000 })
    .toEqual(['Ä11', ...Array.from({ length: 10 }, (_, n) => `Ä11${n}`)]);
  expect((await byName(store, 'zoe')).map(({ id }) => id)).toEqual(['1']);
  expect((await byName(store, 'anew')).map(({ name }) => name)).toEqual(['Änew']);
}

/**
 * Looks, whenever others have their turn, at how many names of pets are folded.
 *
 * @returns a function that stops it and returns the largest growth between two looks
 */
function watchSteps(file: string): () => Promise<number> {
  const db = new Database(file);
  const count = db.prepare('select count(name_folded) from pets').raw();
  let isOver = false;
  let most = 0;
  const watching = (async () => {
    for (let before = 0; !isOver; await nextTurn()) {
      const [now] = count.get() as [number];
      most = Math.max(most, now - before);
      before = now;
    }
    db.close();
  })();
  return async () => {
    isOver = true;
    await watching;
    return most;
  };
}

describe('names of an earlier version', () => {
  it('are folded beside requests in the embedded store', async () => {
    const file = join(home, 'old.db');
    const open = () => openSqliteStore({ records: RECORDS, file, role: 'server' });
    let store = open();
    await fill(store);
    store.close();
    const db = new Database(file);
    for (const index of ['pets_by_name_folded', 'categories_by_name_folded']) db.exec(`drop index ${index}`);
    for (const table of ['pets', 'categories']) db.exec(`alter table ${table} drop column name_folded`);
    db.exec('drop table folded');
    db.close();
    store = open();
    const stopWatching = watchSteps(file);
    await expectTakenOver(store);
    // With the one that was written meanwhile.
    expect(await stopWatching()).toBeLessThanOrEqual(STEP + 1);
    store.close();
    // Once is enough, until Unicode changes.
    store = open();
    expect(await byName(store, 'zoe')).toHaveLength(1);
    store.close();
    const older = new Database(file);
    older.exec("update folded set unicode = 5; update pets set name_folded = 'old' where id = 1");
    older.close();
    store = open();
    await expect.poll(async () => (await byName(store, 'zoe')).length, { timeout: 20_000 }).toBe(1);
    store.close();
  });

  it.runIf(engines.length > 1)('are folded beside requests in MongoDB', async () => {
    const opened = await engines[1]!.open();
    const { store: first } = opened;
    const { id: categoryId } = await first.table(Category).insert({ name: 'Dögs' });
    await first.table(Pet).insert({ name: `Ä${COUNT}`, categoryId });
    const db = (first as MongoStore).client.db();
    // Through the store, so many would take seconds.
    const pets = db.collection<{ _id: bigint }>('pets');
    const pet = await pets.findOne();
    await pets.insertMany(
      Array.from({ length: COUNT - 1 }, (_, n) => ({ ...pet, _id: BigInt(COUNT + n), name: `Ä${n + 1}` })),
    );
    for (const name of ['pets', 'categories'])
      await db.collection(name).updateMany({}, { $unset: { nameFolded: '' } });
    await db.collection<{ _id: string }>('layout').deleteMany({ _id: /^folded/ });
    const store = await opened.reopen();
    const before = await store.eventPage({ limit: 1 });
    await expectTakenOver(store);
    const { events } = await store.eventPage({ after: before.next, limit: 100 });
    expect(events.filter(({ type }) => type === 'pet.updated').length).toBeLessThanOrEqual(1);
    await opened.close();
  });
});
