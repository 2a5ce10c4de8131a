import { statSync } from 'node:fs';
import { expect, it } from 'vitest';
import { Category } from '../../../src/domains/category/category.ts';
import { Pet } from '../../../src/domains/pet/pet.ts';
import { useFolder } from './folder.ts';

const folder = useFolder();
const MB = 2 ** 20;

it('what a long reader leaves in the log is moved beside writes, and the log cut, by no commit', async () => {
  const store = folder.open({ busyTimeout: 2_000 });
  const { id: categoryId } = await store.table(Category).insert({ name: 'Dogs' });
  const sizeOf = (suffix: string) => statSync(folder.file + suffix).size;
  const reader = folder.outsider();
  reader.exec('begin');
  const countIn = () => reader.prepare('select count(*) from pets').get([])![0];
  expect(countIn()).toBe(0);
  const description = 'A long text. '.repeat(75);
  const pets = Array.from({ length: 500 }, (_, n) => ({ name: `Pet ${n}`, description, categoryId }));
  let count = 0;
  for (; sizeOf('-wal') < 40 * MB; count += pets.length) await store.table(Pet).insertAll(pets);
  expect(countIn()).toBe(0);
  reader.exec('rollback');
  // Nothing of it is in the data file yet, and the next commit doesn't put it there.
  expect(sizeOf('')).toBeLessThan(MB);
  await store.table(Category).insert({ name: 'Cats' });
  expect(sizeOf('')).toBeLessThan(MB);
  const sizes = [sizeOf('-wal')];
  let isMoving = true;
  // Between any two steps of the store, each of which begins with a timer, however slow the machine is.
  const sample = () => {
    const size = sizeOf('-wal');
    if (size !== sizes.at(-1)) sizes.push(size);
    if (isMoving) setImmediate(sample);
  };
  sample();
  await expect
    .poll(
      async () => {
        await store.table(Category).insert({ name: `Kind ${sizes.length}` });
        return sizeOf('-wal');
      },
      { timeout: 30_000, interval: 100 },
    )
    .toBeLessThanOrEqual(17 * MB);
  isMoving = false;
  expect(sizeOf('')).toBeGreaterThan(5 * MB);
  // In pieces.
  for (const [n, size] of sizes.entries()) expect(sizes[n - 1]! - size).not.toBeGreaterThan(17 * MB);
  expect(await store.table(Pet).count({})).toBe(count);
  expect(reader.prepare('pragma quick_check').get([])).toEqual(['ok']);
});
