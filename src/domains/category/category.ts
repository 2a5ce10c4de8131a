import { name, optional, text } from '../../foundation/fields.ts';
import { declareRecord } from '../../foundation/declare-record.ts';
import type { RecordOf } from '../../foundation/record.ts';

/** A kind of animal. */
export const Category = declareRecord({
  kind: 'category',
  plural: 'categories',
  type: 'Category',
  description: 'A kind of animal.',
  fields: {
    name: name('The category name (for example a kind of animal)', 'Dogs'),
    description: optional(
      text(2_000, 'A short description of the category', 'Loyal, loud and always hungry'),
    ),
  },
  sorts: ['name'],
});
export type Category = RecordOf<typeof Category>;
