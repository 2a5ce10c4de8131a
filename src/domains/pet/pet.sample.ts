import type { Sample } from '../../schema/sample.ts';
import { Category } from '../category/category.ts';
import { Pet } from './pet.ts';

/** `category` is an index into the sample of categories. */
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

export const petSample: Sample<typeof Pet> = {
  record: Pet,
  size: PETS.length,
  refersTo: Category,
  matches: ({ name }, n) => name === PETS[n]!.name,
  create(n, tables, categoryIds) {
    const { name, category, status } = PETS[n]!;
    return tables.table(Pet).insert({ name, categoryId: categoryIds[category]!, status });
  },
  // Has no effect if it was done before.
  complete: (n, id, tables) => tables.table(Pet).update(id, { quantity: PETS[n]!.quantity }),
};
