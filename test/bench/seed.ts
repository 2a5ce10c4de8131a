import { copyFileSync } from 'node:fs';
import { newApiKey } from '../../src/access/api-keys.ts';
import { Category } from '../../src/domains/category/category.ts';
import { RECORDS } from '../../src/domains/index.ts';
import { Pet, PetStatus } from '../../src/domains/pet/pet.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { ApiKeyStore, Limits, Store } from '../../src/store/store.ts';
import { removeData } from './harness.ts';

const CATEGORIES = 50;
const NAMES = ['Cat', 'Dog', 'Bird', 'Fish', 'Horse'];
/** More than any run can use, so that the limiter counts but never refuses. */
const NO_LIMITS = { perMinute: 2_000_000_000, perDay: 2_000_000_000 };

/**
 * Fills a new data file, which a server can have alone afterwards: libsql keeps the one that this process has written
 * open until garbage is collected.
 */
export async function fillFile<R>(
  file: string,
  fill: (store: ReturnType<typeof openSqliteStore>) => Promise<R>,
): Promise<R> {
  const written = `${file}.seed`;
  const store = openSqliteStore({ records: RECORDS, file: written, role: 'server' });
  let result: R;
  try {
    result = await fill(store);
  } finally {
    await store.close();
  }
  copyFileSync(written, file);
  removeData(written);
  return result;
}

/**
 * Fills a store with the benchmark's data: pet N has category `((N - 1) % 50) + 1`, status `available|pending|sold` by
 * `N % 3` and stock `(N * 7) % 100`.
 *
 * @returns a key of the Enterprise plan
 */
export async function seed(store: Store, pets: number): Promise<string> {
  for (let n = 1; n <= CATEGORIES; n++) await store.table(Category).insert({ name: `Category ${n}` });
  const writes: unknown[] = [];
  for (let n = 1; n <= pets; n++) {
    const pet = {
      name: `${NAMES[n % 5]} ${n}`,
      categoryId: String(((n - 1) % CATEGORIES) + 1),
      status: PetStatus.values[n % 3]!,
      quantity: (n * 7) % 100,
    };
    writes.push(store.table(Pet).insert(pet));
    // Writes of one turn are committed together. Limiting their number limits the memory.
    if (writes.length === 1_000 || n === pets) await Promise.all(writes.splice(0));
  }
  return await unlimitedKey(store);
}

/** Creates a key of the Enterprise plan, by default one that the limiter counts but never refuses. */
export async function unlimitedKey(store: ApiKeyStore, limits: Limits = NO_LIMITS): Promise<string> {
  const { key, apiKey } = newApiKey({ name: 'bench', plan: 'enterprise', limits, now: Date.now() });
  await store.createApiKey(apiKey);
  return key;
}
