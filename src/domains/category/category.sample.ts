import type { NewOf } from '../../foundation/record.ts';
import type { Sample } from '../../schema/sample.ts';
import { Category } from './category.ts';

const CATEGORIES: readonly NewOf<typeof Category>[] = [
  { name: 'Dogs', description: 'Loyal, loud and always hungry' },
  { name: 'Cats', description: 'They let you live with them' },
  { name: 'Birds' },
  { name: 'Fish', description: 'Quiet company for small flats' },
];

export const categorySample: Sample<typeof Category> = {
  record: Category,
  size: CATEGORIES.length,
  matches: ({ name }, n) => name === CATEGORIES[n]!.name,
  create: (n, tables) => tables.table(Category).insert(CATEGORIES[n]!),
};
