import { copyFileSync } from 'node:fs';
import { newApiKey } from '../../src/access/api-keys.ts';
import { Category } from '../../src/domains/category/category.ts';
import { RECORDS } from '../../src/domains/index.ts';
import { Pet, PetStatus } from '../../src/domains/pet/pet.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { AccessStore, Limits } from '../../src/store/store.ts';

const CATEGORIES = 50;
const NAMES = ['Cat', 'Dog', 'Bird', 'Fish', 'Horse'];
/** More than any run can use, so that the limiter counts but never refuses. */
const NO_LIMITS = { perMinute: 2_000_000_000, perDay: 2_000_000_000 };

/**
 * Fills a new data file with the benchmark's data: pet N has category `((N - 1) % 50) + 1`, status
 * `available|pending|sold` by `N % 3` and stock `(N * 7) % 100`.
 *
 * @returns a key of the Enterprise plan
 */
export async function seed(file: string, pets: number): Promise<string> {
  const written = `${file}.seed`;
  const store = openSqliteStore({ records: RECORDS, file: written, role: 'server' });
  let key: string;
  try {
    for (let n = 1; n <= CATEGORIES; n++) await store.table(Category).insert({ name: `Category ${n}` });
    for (let n = 1; n <= pets; n++) {
      const pet = store.table(Pet).insert({
        name: `${NAMES[n % 5]} ${n}`,
        categoryId: String(((n - 1) % CATEGORIES) + 1),
        status: PetStatus.values[n % 3]!,
      });
      const stock = store.table(Pet).update(String(n), { quantity: (n * 7) % 100 });
      // Writes of one turn are committed together. Limiting their number limits the memory.
      if (n % 1_000 === 0 || n === pets) await Promise.all([pet, stock]);
    }
    key = await unlimitedKey(store);
  } finally {
    store.close();
  }
  release(written, file);
  return key;
}

/**
 * Copies a data file that this process has written and closed to where a server can have it alone: libsql
 * keeps it open here until garbage is collected.
 */
export const release = (written: string, file: string): void => copyFileSync(written, file);

/** Creates a key of the Enterprise plan, by default one that the limiter counts but never refuses. */
export async function unlimitedKey(store: AccessStore, limits: Limits = NO_LIMITS): Promise<string> {
  const { key, apiKey } = newApiKey({
    name: 'bench',
    plan: 'enterprise',
    limits,
    now: Date.now(),
  });
  await store.createApiKey(apiKey);
  return key;
}
