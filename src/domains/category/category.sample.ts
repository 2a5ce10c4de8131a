import type { SampleOf } from '../../kit/domain.ts';
import type { Category } from './category.ts';

export const categorySample: SampleOf<typeof Category> = [
  { name: 'Dogs', description: 'Loyal, loud and always hungry' },
  { name: 'Cats', description: 'They let you live with them' },
  { name: 'Birds' },
  { name: 'Fish', description: 'Quiet company for small flats' },
];
