import { newRules, patchRules } from '../../foundation/record.ts';
import { restDialect } from '../../foundation/validation.ts';
import { booleanParameter, idParameter, listParameters } from '../../schema/parameter.ts';
import type { Body, Resource } from '../../schema/route.ts';
import { pageOf, selectionOf, shapeOf } from '../../schema/shape.ts';
import { Order } from './order.ts';

const shape = shapeOf(Order, {
  // The specification's Order is what creating one takes.
  name: 'StoredOrder',
  description: 'A stored order, which always has an id and says whether it is complete.',
});

const updateOrder = `mutation updateOrder($orderId: ID!, $input: OrderPatch!) {
  result: updateOrder(id: $orderId, input: $input) ${selectionOf(shape)}
}`;

const common = { tag: 'Store', kind: 'order', stability: 'stable' } as const;
const one = { ...common, path: '/store/orders/{orderId}', pathParameter: 'orderId' } as const;

/** Used for both creating and replacing, as in the specification. */
const orderBody: Body = {
  name: 'Order',
  rules: newRules(Order, restDialect),
  description: 'An order for an animal. No field is required.',
};

export const orders: Resource = {
  scope: 'orders',
  shape,
  tags: { Store: 'Orders, stock and the events of the store.' },
  routes: [
    {
      ...common,
      operationId: 'listOrders',
      method: 'GET',
      path: '/store/orders',
      summary: 'List orders',
      document: `query listOrders($petId: ID, $complete: Boolean, $sort: OrderSort, $limit: Int, $after: String) {
        page: orders(filter: { petId: $petId, complete: $complete }, sort: $sort, first: $limit, after: $after) ${pageOf(shape)}
      }`,
      status: 200,
      shape,
      list: 'pages',
      explorer: false,
      query: [
        idParameter('petId', 'Only orders for this pet.'),
        booleanParameter('complete', 'Only fulfilled orders, or only unfulfilled ones.'),
        ...listParameters(Order),
      ],
    },
    {
      ...common,
      operationId: 'createOrder',
      method: 'POST',
      path: '/store/orders',
      summary: 'Create an order',
      description: 'No field is required, and the id is assigned by default. Does not change the stock.',
      document: `mutation createOrder($input: NewOrder!) {
        result: createOrder(input: $input) ${selectionOf(shape)}
      }`,
      status: 201,
      shape,
      body: orderBody,
    },
    {
      ...one,
      operationId: 'getOrder',
      method: 'GET',
      summary: 'Get an order',
      document: `query getOrder($orderId: ID!) {
        result: order(id: $orderId) ${selectionOf(shape)}
      }`,
      status: 200,
      shape,
    },
    {
      ...one,
      operationId: 'replaceOrder',
      method: 'PUT',
      summary: 'Replace an order',
      document: updateOrder,
      status: 200,
      shape,
      body: { ...orderBody },
    },
    {
      ...one,
      operationId: 'updateOrder',
      method: 'PATCH',
      stability: 'beta',
      summary: 'Update an order',
      document: updateOrder,
      status: 200,
      shape,
      body: {
        name: 'OrderPatch',
        rules: patchRules(Order, restDialect),
        example: { complete: true },
      },
    },
    {
      ...one,
      operationId: 'deleteOrder',
      method: 'DELETE',
      summary: 'Delete an order',
      document: 'mutation deleteOrder($orderId: ID!) { deleted: deleteOrder(id: $orderId) }',
      status: 204,
    },
  ],
};
