import { newApiKey, newSecret } from '../access/api-keys.ts';
import { DAY } from '../access/usage.ts';
import type { Store } from './store.ts';

const KEY_NAME = 'development';

const CATEGORIES = [
  { name: 'Dogs', description: 'Loyal, loud and always hungry' },
  { name: 'Cats', description: 'They let you live with them' },
  { name: 'Birds' },
  { name: 'Fish', description: 'Quiet company for small flats' },
];

const PETS = [
  { name: 'Rex', category: 0, status: 'available', quantity: 3 },
  { name: 'Bella', category: 0, status: 'pending', quantity: 1 },
  { name: 'Charlie', category: 0, status: 'sold', quantity: 0 },
  { name: 'Mimi', category: 1, status: 'available', quantity: 2 },
  { name: 'Tom', category: 1, status: 'available', quantity: 5 },
  { name: 'Luna', category: 1, status: 'sold', quantity: 0 },
  { name: 'Tweety', category: 2, status: 'available', quantity: 12 },
  { name: 'Kiwi', category: 2, status: 'pending', quantity: 4 },
  { name: 'Nemo', category: 3, status: 'available', quantity: 40 },
  { name: 'Dory', category: 3, status: 'available', quantity: 25 },
] as const;

const ORDERS = [
  { pet: 0, quantity: 1, shipDate: '2026-12-01T09:30:00Z', complete: false },
  { pet: 2, quantity: 1, shipDate: '2026-10-15T14:00:00Z', complete: true },
  { pet: 8, quantity: 10, complete: false },
] as const;

/** Whether nothing has ever been put into the store. Keys that nobody has used yet don't count: they may come before the first start. */
export async function isEmpty(store: Store): Promise<boolean> {
  const [pets, categories, keys] = await Promise.all([
    store.petCount({}),
    store.categoryCount(),
    store.apiKeys(),
  ]);
  if (pets > 0 || categories > 0) return false;
  const usage = await store.usage(keys.map(({ id }) => id));
  return usage.every((state) => state === null);
}

/** Puts a few pets, categories, orders and stock into the store, for people who want to try things out. */
export async function addSampleData(store: Store): Promise<void> {
  const categories: string[] = [];
  for (const category of CATEGORIES) categories.push((await store.createCategory(category)).id);
  const pets: string[] = [];
  for (const { name, category, status, quantity } of PETS) {
    const pet = await store.createPet({ name, categoryId: categories[category]!, status });
    await store.updatePet(pet.id, { quantity });
    pets.push(pet.id);
  }
  for (const { pet, ...order } of ORDERS) await store.createOrder({ petId: pets[pet]!, ...order });
}

/**
 * A key to try things out with, for development starts only. Since no key is stored, each start makes a new one for the
 * same budget; the one before works for another day.
 *
 * @param create whether to make the key where there is none
 * @returns the key, shown nowhere else
 */
export async function developmentKey(store: Store, create: boolean, now: number): Promise<string | null> {
  const existing = (await store.apiKeys()).find(
    (key) => key.name === KEY_NAME && key.revokedAt === undefined,
  );
  if (existing) {
    const { key, secret } = newSecret();
    await store.rotateApiKey(existing.id, secret, now + DAY);
    return key;
  }
  if (!create) return null;
  const { key, apiKey } = newApiKey({ name: KEY_NAME, plan: 'business', now });
  await store.createApiKey(apiKey);
  return key;
}
