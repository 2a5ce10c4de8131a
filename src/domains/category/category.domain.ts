import { recordDomain } from '../record-domain.ts';
import { Category } from './category.ts';

export const category = recordDomain(Category, {
  tag: 'Pets',
  descriptions: { CategoryFilter: 'Selects categories.' },
  example: { description: null },
  sample: [
    { name: 'Dogs', description: 'Loyal, loud and always hungry' },
    { name: 'Cats', description: 'They let you live with them' },
    { name: 'Birds' },
    { name: 'Fish', description: 'Quiet company for small flats' },
  ],
});
