import { graphqlDialect } from '../../foundation/validation.ts';
import { builder } from '../../schema/builder.ts';
import { connect, emptySource } from '../../schema/connection.ts';
import type { Domain } from '../../schema/domain.ts';
import { ChildSource, RecordSource } from '../../schema/loaders.ts';
import { NODE_ID, NodeInterface, nodeType } from '../../schema/node.ts';
import { write } from '../../schema/write.ts';
import type { PageRequest } from '../../store/store.ts';
import { PetType, petSource } from '../pet/pet.type.ts';
import { orders } from './order.routes.ts';
import { orderSample } from './order.sample.ts';
import {
  type NewOrder,
  newOrder,
  type Order,
  type OrderFilter,
  type OrderPatch,
  orderPatch,
} from './order.ts';

const orderSource = new RecordSource<Order>((store, ids) => store.ordersById(ids));
const pagesByPet = new ChildSource((store, ids, filter: OrderFilter, page: PageRequest) =>
  store.orderPagesByPet(ids, filter, page),
);
const countsByPet = new ChildSource((store, ids, filter: OrderFilter) => store.orderCountsByPet(ids, filter));

const OrderType = builder.objectRef<Order>('Order').implement({
  interfaces: [NodeInterface],
  description: 'An order for an animal.',
  fields: (t) => ({
    nodeId: t.id({
      description: NODE_ID,
      resolve: nodeType('Order', (id, { loaders }) => loaders.record(orderSource, id)),
    }),
    id: t.exposeID('id', { description: 'Unique order identifier, chosen by the client or assigned.' }),
    petId: t.exposeID('petId', { nullable: true, description: 'The id of the animal in this order.' }),
    pet: t.field({
      type: PetType,
      nullable: true,
      description:
        'The animal in this order; null if the order has none, or if it was deleted after the order was completed.',
      resolve: (order, _args, { loaders }) =>
        order.petId === undefined ? null : loaders.record(petSource, order.petId),
    }),
    quantity: t.exposeInt('quantity', { nullable: true, description: 'Number of units ordered.' }),
    shipDate: t.expose('shipDate', {
      type: 'DateTime',
      nullable: true,
      description: 'Expected or actual ship date.',
    }),
    complete: t.exposeBoolean('complete', { description: 'Whether the order has been fulfilled.' }),
  }),
});

const OrderFilterInput = builder.inputType('OrderFilter', {
  description: 'Selects orders that match all given conditions.',
  fields: (t) => ({
    petId: t.id({ description: 'Orders for this pet.' }),
    complete: t.boolean({ description: 'Only fulfilled orders, or only unfulfilled ones.' }),
  }),
});

function orderFilter(
  filter: { petId?: string | null | undefined; complete?: boolean | null | undefined } | null | undefined,
): OrderFilter {
  const wanted: OrderFilter = {};
  if (filter?.petId != null) wanted.petId = filter.petId;
  if (filter?.complete != null) wanted.complete = filter.complete;
  return wanted;
}

const NewOrderInput = builder.inputType('NewOrder', {
  description: 'Input for a new order. No field is required.',
  validate: newOrder(graphqlDialect),
  fields: (t) => ({
    id: t.id({ description: 'The id of the order; assigned by default.' }),
    petId: t.id({ description: 'The id of the animal to order.' }),
    quantity: t.int({ description: 'Number of units, 1 to 2147483647.' }),
    shipDate: t.field({ type: 'DateTime', description: 'Expected or actual ship date.' }),
    complete: t.boolean({ description: 'Whether the order has been fulfilled; defaults to false.' }),
  }),
});

const OrderPatchInput = builder.inputType('OrderPatch', {
  description: 'Changes to an order. Omitted fields stay as they are; null removes a value.',
  validate: orderPatch(graphqlDialect),
  fields: (t) => ({
    petId: t.id({ description: 'The id of the animal; null removes it.' }),
    quantity: t.int({ description: 'Number of units, 1 to 2147483647; null removes it.' }),
    shipDate: t.field({ type: 'DateTime', description: 'Expected or actual ship date; null removes it.' }),
    complete: t.boolean({ description: 'Whether the order has been fulfilled.' }),
  }),
});

builder.objectField(PetType, 'orders', (t) =>
  t.connection({
    type: OrderType,
    description: 'The orders for this pet, ordered by id.',
    args: { filter: t.arg({ type: OrderFilterInput, description: 'Which orders to return.' }) },
    resolve: (pet, args, { loaders }) => {
      const { petId = pet.id, ...filter } = orderFilter(args.filter);
      // Otherwise a hundred aliases could count the orders of a hundred other pets.
      if (petId !== pet.id) return connect<Order>(args, emptySource());
      return connect<Order>(args, {
        idOf: (order) => order.id,
        pageOf: (page) => loaders.forParent(pagesByPet, pet.id, filter, page),
        count: () => loaders.forParent(countsByPet, pet.id, filter),
      });
    },
  }),
);

builder.queryFields((t) => ({
  order: t.field({
    type: OrderType,
    nullable: true,
    description: 'Looks up an order by id; null if there is none.',
    args: { id: t.arg.id({ required: true, description: 'The id of the order.' }) },
    resolve: (_root, { id }, { loaders }) => loaders.record(orderSource, id),
  }),
  orders: t.connection({
    type: OrderType,
    description: 'All orders, ordered by id.',
    args: { filter: t.arg({ type: OrderFilterInput, description: 'Which orders to return.' }) },
    resolve: (_root, args, { loaders }) => {
      const filter = orderFilter(args.filter);
      return connect<Order>(args, {
        idOf: (order) => order.id,
        pageOf: (page) => loaders.store.orderPage(filter, page),
        count: () => loaders.store.orderCount(filter),
      });
    },
  }),
}));

builder.mutationFields((t) => ({
  createOrder: t.field({
    type: OrderType,
    description: 'Creates an order. Does not change the stock.',
    args: { input: t.arg({ type: NewOrderInput, required: true, description: 'The order.' }) },
    resolve: write((writes, { input }) => writes.createOrder(input as NewOrder)),
  }),
  updateOrder: t.field({
    type: OrderType,
    description: 'Updates an order.',
    args: {
      id: t.arg.id({ required: true, description: 'The id of the order.' }),
      input: t.arg({ type: OrderPatchInput, required: true, description: 'The changes.' }),
    },
    resolve: write((writes, { id, input }, { precondition }) =>
      writes.updateOrder(id, input as OrderPatch, precondition && ((order) => precondition('Order', order))),
    ),
  }),
  deleteOrder: t.id({
    description: 'Deletes an order and returns its id.',
    args: { id: t.arg.id({ required: true, description: 'The id of the order.' }) },
    resolve: write((writes, { id }, { precondition }) =>
      writes.deleteOrder(id, precondition && ((order) => precondition('Order', order))),
    ),
  }),
}));

export const order: Domain<Order, 'order'> = {
  resource: orders,
  type: OrderType,
  source: orderSource,
  events: {
    'order.created': 'An order was created.',
    'order.updated': 'An order was updated.',
    'order.deleted': 'An order was deleted.',
  },
  eventField: {
    name: 'order',
    description: 'For `order_…` events: the order in its current state; null if it has been deleted.',
  },
  sample: orderSample,
};
