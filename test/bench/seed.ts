import { copyFileSync } from 'node:fs';
import { api } from '../../src/api.ts';
import { newApiKey } from '../../src/access/api-keys.ts';
import { Category } from '../../src/domains/category/category.ts';
import { Pet, PetStatus } from '../../src/domains/pet/pet.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';

const CATEGORIES = 50;
const NAMES = ['Cat', 'Dog', 'Bird', 'Fish', 'Horse'];

/**
 * Fills a new data file with the benchmark's data: pet N has category `((N - 1) % 50) + 1`, status
 * `available|pending|sold` by `N % 3` and stock `(N * 7) % 100`.
 *
 * @returns a key of the Enterprise plan
 */
export async function seed(file: string, pets: number): Promise<string> {
  const written = `${file}.seed`;
  const store = openSqliteStore({ records: api.records, file: written, role: 'server' });
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
  // More than any run can use, so that the limiter counts but never refuses.
  const limits = { perMinute: 2_000_000_000, perDay: 2_000_000_000 };
  const { key, apiKey } = newApiKey({ name: 'bench', plan: 'enterprise', limits, now: Date.now() });
  await store.createApiKey(apiKey);
  await store.close();
  // A server has it alone: libsql keeps the one that this process has written open until garbage is collected.
  copyFileSync(written, file);
  return key;
}
