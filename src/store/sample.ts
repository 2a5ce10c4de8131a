import { newApiKey, newSecret } from '../access/api-keys.ts';
import { DAY } from '../access/usage.ts';
import type { Category } from '../domains/category/category.ts';
import type { Order } from '../domains/order/order.ts';
import type { Pet } from '../domains/pet/pet.ts';
import { AppError } from '../errors.ts';
import type { MaybePromise } from '../maybe-promise.ts';
import type { PetstoreWrites, Store } from './store.ts';

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

/** The records of the sample that are there, in the order in which they are made. */
interface Sample {
  categories: readonly Category[];
  pets: readonly Pet[];
  orders: readonly Order[];
}

const NOTHING: Sample = { categories: [], pets: [], orders: [] };

/**
 * What a store that nobody has used yet holds of the sample: nothing if it is new, and a part of it if the process that began to
 * fill it was killed. Keys that nobody has used don't count: they may come before the first start.
 *
 * @returns null if somebody has used the store, or it holds something else
 */
export async function unusedSample(store: Store): Promise<Sample | null> {
  const keys = await store.apiKeys();
  const usage = await store.usage(keys.map(({ id }) => id));
  if (usage.some((state) => state !== null)) return null;
  const [{ items: categories }, { items: pets }, { items: orders }] = await Promise.all([
    store.categoryPage({ limit: CATEGORIES.length + 1 }),
    store.petPage({}, { limit: PETS.length + 1 }),
    store.orderPage({}, { limit: ORDERS.length + 1 }),
  ]);
  const isSample =
    categories.every(({ name }, i) => name === CATEGORIES[i]?.name) &&
    pets.every(({ name }, i) => name === PETS[i]?.name) &&
    orders.every(
      ({ quantity, complete }, i) => quantity === ORDERS[i]?.quantity && complete === ORDERS[i]?.complete,
    );
  return isSample ? { categories, pets, orders } : null;
}

/**
 * Puts a few pets, categories, orders and stock into the store, for people who want to try things out.
 *
 * @param begun what is there already
 * @throws CONFLICT while another process is at it; it can be tried again
 */
export async function addSampleData(store: Store, begun: Sample = NOTHING): Promise<void> {
  // Each record once, whoever else fills the same database at the moment.
  const make = async <T>(name: string, work: (writes: PetstoreWrites) => MaybePromise<T>): Promise<T> => {
    const call = {
      apiKeyId: 'sample',
      idempotencyKey: name,
      fingerprint: name,
      now: Date.now(),
      keepFor: DAY,
    };
    const { value, error } = await store.once(call, work);
    if (error) throw new AppError(error.code, error.message);
    return value as T;
  };
  const categories = begun.categories.map(({ id }) => id);
  for (const category of CATEGORIES.slice(categories.length)) {
    categories.push((await make(category.name, (writes) => writes.createCategory(category))).id);
  }
  const pets = begun.pets.map(({ id }) => id);
  for (const [i, { name, category, status, quantity }] of PETS.entries()) {
    pets[i] ??= (
      await make(name, (writes) => writes.createPet({ name, categoryId: categories[category]!, status }))
    ).id;
    // Changes nothing where that was done before.
    await store.updatePet(pets[i], { quantity });
  }
  for (const [i, { pet, ...order }] of ORDERS.entries()) {
    if (begun.orders[i]) continue;
    await make(`order ${i}`, (writes) => writes.createOrder({ petId: pets[pet]!, ...order }));
  }
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
