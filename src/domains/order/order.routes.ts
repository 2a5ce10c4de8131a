import { restDialect } from '../../foundation/validation.ts';
import { idParameter, PAGE_PARAMETERS, type QueryParameter } from '../../schema/parameter.ts';
import type { Body, Resource } from '../../schema/route.ts';
import {
  boolean,
  id,
  instant,
  optional,
  pageOf,
  quantity,
  type Shape,
  selectionOf,
} from '../../schema/shape.ts';
import { newOrder, orderPatch } from './order.ts';

const Order: Shape = {
  type: 'Order',
  name: 'StoredOrder',
  listName: 'Orders',
  description: 'A stored order, which always has an id and says whether it is complete.',
  idField: 'id',
  fields: {
    id: id('Unique order identifier'),
    petId: optional(id('ID of the animal in this order')),
    quantity: optional(quantity(1, 'Number of units ordered')),
    shipDate: optional(instant('Expected or actual ship date')),
    complete: boolean('Whether the order has been fulfilled'),
  },
  example: { id: 1, petId: 1, quantity: 1, shipDate: '2026-12-01T09:30:00Z', complete: false },
};

const completeParameter: QueryParameter = {
  name: 'complete',
  description: 'Only fulfilled orders, or only unfulfilled ones.',
  schema: { type: 'boolean' },
  rule: 'must be true or false',
  read: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
};

const updateOrder = `mutation updateOrder($orderId: ID!, $input: OrderPatch!) {
  result: updateOrder(id: $orderId, input: $input) ${selectionOf(Order)}
}`;

const common = { tag: 'Store', kind: 'order', stability: 'stable' } as const;
const one = { ...common, path: '/store/orders/{orderId}', pathParameter: 'orderId' } as const;

/** Used for both creating and replacing, as in the specification. */
const orderBody: Body = {
  name: 'Order',
  rules: newOrder(restDialect),
  description: 'An order for an animal. No field is required.',
};

/** PUT replaces the order: missing optional fields are removed. */
const replacement = (order: { petId?: string; quantity?: number; shipDate?: string; complete: boolean }) => ({
  petId: order.petId ?? null,
  quantity: order.quantity ?? null,
  shipDate: order.shipDate ?? null,
  complete: order.complete,
});

export const orders: Resource = {
  scope: 'orders',
  shape: Order,
  tags: { Store: 'Orders, stock and the events of the store.' },
  routes: [
    {
      ...common,
      operationId: 'listOrders',
      method: 'GET',
      path: '/store/orders',
      summary: 'List orders',
      document: `query listOrders($petId: ID, $complete: Boolean, $limit: Int, $after: String) {
        page: orders(filter: { petId: $petId, complete: $complete }, first: $limit, after: $after) ${pageOf(Order)}
      }`,
      status: 200,
      shape: Order,
      list: true,
      explorer: false,
      query: [idParameter('petId', 'Only orders for this pet.'), completeParameter, ...PAGE_PARAMETERS],
    },
    {
      ...common,
      operationId: 'createOrder',
      method: 'POST',
      path: '/store/orders',
      summary: 'Create an order',
      description: 'No field is required, and the id is assigned by default. Does not change the stock.',
      document: `mutation createOrder($input: NewOrder!) {
        result: createOrder(input: $input) ${selectionOf(Order)}
      }`,
      status: 201,
      shape: Order,
      body: orderBody,
      errors: ['UNKNOWN_REFERENCE'],
    },
    {
      ...one,
      operationId: 'getOrder',
      method: 'GET',
      summary: 'Get an order',
      document: `query getOrder($orderId: ID!) {
        result: order(id: $orderId) ${selectionOf(Order)}
      }`,
      status: 200,
      shape: Order,
    },
    {
      ...one,
      operationId: 'replaceOrder',
      method: 'PUT',
      summary: 'Replace an order',
      document: updateOrder,
      status: 200,
      shape: Order,
      body: { ...orderBody, toInput: replacement, ownId: 'id' },
      errors: ['UNKNOWN_REFERENCE'],
    },
    {
      ...one,
      operationId: 'updateOrder',
      method: 'PATCH',
      stability: 'beta',
      summary: 'Update an order',
      document: updateOrder,
      status: 200,
      shape: Order,
      body: { name: 'OrderPatch', rules: orderPatch(restDialect), ownId: 'id', example: { complete: true } },
      errors: ['UNKNOWN_REFERENCE'],
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
