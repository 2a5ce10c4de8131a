import type { Sample } from '../../schema/sample.ts';
import type { Category, NewCategory } from './category.ts';

const CATEGORIES: readonly NewCategory[] = [
  { name: 'Dogs', description: 'Loyal, loud and always hungry' },
  { name: 'Cats', description: 'They let you live with them' },
  { name: 'Birds' },
  { name: 'Fish', description: 'Quiet company for small flats' },
];

export const categorySample: Sample<Category> = {
  name: 'categories',
  size: CATEGORIES.length,
  page: (store, limit) => store.categoryPage({ limit }),
  matches: ({ name }, n) => name === CATEGORIES[n]!.name,
  create: (n, writes) => writes.createCategory(CATEGORIES[n]!),
};
