import { filterParameter, listParameters } from '../../rows/parameter.ts';
import { recordRoutes } from '../../rows/record-routes.ts';
import type { Resource } from '../../rows/route.ts';
import { shapeOf } from '../../rows/shape.ts';
import { Order } from './order.ts';

const shape = shapeOf(Order, {
  // The specification's Order is what creating one takes.
  name: 'StoredOrder',
  description: 'A stored order, which always has an id and says whether it is complete.',
});

const routes = recordRoutes(Order, shape, {
  tag: 'Store',
  path: '/store/orders',
  query: [
    filterParameter(Order, 'petId', 'Only orders for this pet.'),
    filterParameter(Order, 'complete', 'Only fulfilled orders, or only unfulfilled ones.'),
    ...listParameters(Order),
  ],
  example: { complete: true },
});

/** Used for both creating and replacing, as in the specification. */
const body = {
  ...routes.create.body,
  name: 'Order',
  description: 'An order for an animal. No field is required.',
};

export const orders: Resource = {
  scope: 'orders',
  shape,
  tags: { Store: 'Orders, stock and the events of the store.' },
  routes: [
    { ...routes.list, described: { 'x-explorer-enabled': false } },
    {
      ...routes.create,
      description: 'No field is required, and the id is assigned by default. Does not change the stock.',
      body,
    },
    routes.get,
    { ...routes.replace, body },
    routes.update,
    routes.delete,
  ],
};
