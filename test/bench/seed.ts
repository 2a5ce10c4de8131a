import { copyFileSync } from 'node:fs';
import { api } from '../../src/api.ts';
import { newApiKey } from '../../src/access/api-keys.ts';
import { Category } from '../../src/domains/category/category.ts';
import { Pet, PetStatus } from '../../src/domains/pet/pet.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';

const CATEGORIES = 50;
const ROWS_AT_ONCE = 1_000;
const NAMES = ['Cat', 'Dog', 'Bird', 'Fish', 'Horse'];

/**
 * Fills a new data file with the benchmark's data: pet N has category `((N - 1) % 50) + 1`, status
 * `available|pending|sold` by `N % 3` and stock `(N * 7) % 100`.
 *
 * @returns keys of the Enterprise plan
 */
export async function seed(file: string, pets: number, keys = 1): Promise<string[]> {
  const written = `${file}.seed`;
  const store = openSqliteStore({ records: api.records, file: written, role: 'server' });
  for (let n = 1; n <= CATEGORIES; n++) await store.table(Category).insert({ name: `Category ${n}` });
  for (let n = 1; n <= pets; n += ROWS_AT_ONCE)
    await store.table(Pet).insertAll(
      Array.from({ length: Math.min(ROWS_AT_ONCE, pets - n + 1) }, (_, i) => ({
        name: `${NAMES[(n + i) % 5]} ${n + i}`,
        categoryId: String(((n + i - 1) % CATEGORIES) + 1),
        status: PetStatus.values[(n + i) % 3]!,
        quantity: ((n + i) * 7) % 100,
      })),
    );
  // More than any run can use, so that the limiter counts but never refuses.
  const limits = { perMinute: 2_000_000_000, perDay: 2_000_000_000 };
  const made = Array.from({ length: keys }, (_, n) =>
    newApiKey({ name: `bench ${n}`, plan: 'enterprise', limits, now: Date.now() }),
  );
  for (const { apiKey } of made) await store.createApiKey(apiKey);
  await store.close();
  // A server has it alone: libsql keeps the one that this process has written open until garbage is collected.
  copyFileSync(written, file);
  return made.map(({ key }) => key);
}
