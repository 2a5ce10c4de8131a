import { recordDomain } from '../record-domain.ts';
import { Order } from './order.ts';

const OF_STATE = 'Only fulfilled orders, or only unfulfilled ones.';

export const order = recordDomain(Order, {
  tag: 'Store',
  tags: { Store: 'Orders, stock and the events of the store.' },
  path: '/store/orders',
  example: { complete: true },
  descriptions: {
    'Order.pet':
      'The animal in this order; null if the order has none, or if it was deleted after the order was completed.',
    'Pet.orders': 'The orders for this pet, by default ordered by id.',
    'OrderFilter.petId': 'Orders for this pet.',
    'OrderFilter.complete': OF_STATE,
    '?petId': 'Only orders for this pet.',
    '?complete': OF_STATE,
    'Mutation.createOrder': 'Creates an order. Does not change the stock.',
  },
  // The specification uses the name Order for the input.
  form: {
    name: 'StoredOrder',
    description: 'A stored order, which always has an id and says whether it is complete.',
  },
  routes(rows) {
    // For both creating and replacing, as in the specification.
    const body = {
      ...rows.create.body,
      name: 'Order',
      description: 'An order for an animal. No field is required.',
    };
    return [
      { ...rows.list, described: { 'x-explorer-enabled': false } },
      rows.counts!,
      {
        ...rows.create,
        description: 'No field is required, and the id is assigned by default. Does not change the stock.',
        body,
      },
      rows.get,
      { ...rows.replace, body },
      rows.update,
      rows.delete,
    ];
  },
  sample: [
    { petId: 0, quantity: 1, shipDate: '2026-12-01T09:30:00Z', complete: false },
    { petId: 2, quantity: 1, shipDate: '2026-10-15T14:00:00Z', complete: true },
    { petId: 8, quantity: 10, complete: false },
  ],
});
