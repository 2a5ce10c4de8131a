import { choice, choices, defaulting, integer, name, reference, viewedBy } from '../../foundation/fields.ts';
import { MAX_INT32 } from '../../foundation/id.ts';
import { declareRecord } from '../../foundation/declare-record.ts';
import type { RecordOf } from '../../foundation/record.ts';
import { Category } from '../category/category.ts';

export const PetStatus = choices('PetStatus', 'The status of a pet.', {
  available: 'Can be ordered.',
  pending: 'Reserved.',
  sold: 'Sold to a new owner.',
});
export type PetStatus = (typeof PetStatus.values)[number];

/** An animal. Its stock is one of its fields, so an inventory entry cannot disagree with its pet. */
export const Pet = declareRecord({
  kind: 'pet',
  plural: 'pets',
  type: 'Pet',
  description: 'An animal in the store.',
  fields: {
    name: name("The animal's name", 'Rex'),
    categoryId: reference(Category, 'ID of the category the animal belongs to'),
    status: defaulting('available', choice(PetStatus, 'Status of the pet', 'available')),
    quantity: viewedBy('inventory', defaulting(0, integer(0, MAX_INT32, 'Current stock count', 3))),
  },
  filters: ['status', 'categoryId'],
  sorts: ['name', 'quantity'],
});
export type Pet = RecordOf<typeof Pet>;
