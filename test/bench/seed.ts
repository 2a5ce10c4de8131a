import { copyFileSync } from 'node:fs';
import { api } from '../../src/api.ts';
import { newApiKey } from '../../src/access/api-keys.ts';
import { Category } from '../../src/domains/category/category.ts';
import { Pet, PetStatus } from '../../src/domains/pet/pet.ts';
import { openStore } from '../../src/store/open.ts';

const ROWS_AT_ONCE = 10_000;
const NAMES = ['Cat', 'Dog', 'Bird', 'Fish', 'Horse'];

/**
 * Fills a new data file, or the empty database of MONGODB_URI, with the benchmark's data: pet N has category `((N - 1) % categories) + 1`, status
 * `available|pending|sold` by `N % 3` and stock `(N * 7) % 100`.
 *
 * @returns keys of the Enterprise plan
 */
export async function seed(file: string, pets: number, keys = 1, categories = 50): Promise<string[]> {
  const written = `${file}.seed`;
  const { MONGODB_URI } = process.env;
  const settings = {
    MONGODB_URI,
    DATA_FILE: written,
    EVENTS_KEEP: 86_400_000,
    DURABILITY: 'process',
  } as const;
  const store = await openStore(settings, api, 'tool');
  for (let n = 1; n <= categories; n++) await store.table(Category).insert({ name: `Category ${n}` });
  await store.filling(Pet, pets, async () => {
    for (let n = 1; n <= pets; n += ROWS_AT_ONCE)
      await store.table(Pet).insertAll(
        Array.from({ length: Math.min(ROWS_AT_ONCE, pets - n + 1) }, (_, i) => ({
          name: `${NAMES[(n + i) % 5]} ${n + i}`,
          categoryId: String(((n + i - 1) % categories) + 1),
          status: PetStatus.values[(n + i) % 3]!,
          quantity: ((n + i) * 7) % 100,
        })),
      );
  });
  // More than any run can use, so that the limiter counts but never refuses.
  const limits = { perMinute: 2_000_000_000, perDay: 2_000_000_000 };
  const made = Array.from({ length: keys }, (_, n) =>
    newApiKey({ name: `bench ${n}`, plan: 'enterprise', limits, now: Date.now() }),
  );
  for (const { apiKey } of made) await store.createApiKey(apiKey);
  await store.close();
  // A server has it alone: libsql keeps the one that this process has written open until garbage is collected.
  if (MONGODB_URI === undefined) copyFileSync(written, file);
  return made.map(({ key }) => key);
}
