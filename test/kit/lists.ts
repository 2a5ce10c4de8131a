import { Category } from '../../src/domains/category/category.ts';
import { Order } from '../../src/domains/order/order.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import type { AnyRecord } from '../../src/foundation/record.ts';

/** Every list: its orders, of which undefined is that by id, and its filters apart from that by name. */
export const LISTS: readonly {
  record: AnyRecord;
  sorts: readonly (string | undefined)[];
  filters: readonly Record<string, unknown>[];
}[] = [
  {
    record: Pet,
    sorts: [undefined, 'name', 'quantity'],
    filters: [
      {},
      { status: ['sold'] },
      { status: ['sold', 'pending'] },
      { categoryId: '1' },
      { categoryId: '1', status: ['sold', 'pending'] },
    ],
  },
  { record: Category, sorts: [undefined, 'name'], filters: [{}] },
  {
    record: Order,
    sorts: [undefined, 'shipDate'],
    filters: [{}, { complete: true }, { petId: '1' }, { petId: '1', complete: false }],
  },
];
