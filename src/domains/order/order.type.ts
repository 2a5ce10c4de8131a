import { newRules, patchRules } from '../../foundation/record.ts';
import { graphqlDialect } from '../../foundation/validation.ts';
import { builder } from '../../schema/builder.ts';
import { childConnection, recordConnection } from '../../schema/connection.ts';
import { connectionOf } from '../../schema/connection-type.ts';
import { type Domain, deletionDescription, eventsOf } from '../../schema/domain.ts';
import { changed, exposed, filterOf, given } from '../../schema/fields.ts';
import { checkedBy } from '../../schema/input-rules.ts';
import { NODE_ID, NodeInterface, nodeType } from '../../schema/node.ts';
import { sortArgument, sortEnum } from '../../schema/sort.ts';
import { creating, deleting, updating } from '../../schema/write.ts';
import { Pet } from '../pet/pet.ts';
import { PetType } from '../pet/pet.type.ts';
import { orders } from './order.routes.ts';
import { orderSample } from './order.sample.ts';
import { Order } from './order.ts';

const { fields } = Order;

const OrderType = builder.objectRef<Order>(Order.type).implement({
  interfaces: [NodeInterface],
  description: Order.description,
  fields: (t) => ({
    nodeId: t.id({ description: NODE_ID, resolve: nodeType(Order) }),
    id: t.exposeID('id', exposed(Order.id)),
    petId: t.exposeID('petId', exposed(fields.petId)),
    pet: t.field({
      type: PetType,
      nullable: true,
      description:
        'The animal in this order; null if the order has none, or if it was deleted after the order was completed.',
      resolve: ({ petId }, _args, { loaders }) => (petId === undefined ? null : loaders.record(Pet, petId)),
    }),
    quantity: t.exposeInt('quantity', exposed(fields.quantity)),
    shipDate: t.expose('shipDate', { type: 'DateTime', ...exposed(fields.shipDate) }),
    complete: t.exposeBoolean('complete', exposed(fields.complete)),
  }),
});

const OrderConnection = connectionOf(OrderType);

const OrderFilterInput = builder.inputType('OrderFilter', {
  description: 'Selects orders that match all given conditions.',
  fields: (t) => ({
    petId: t.id({ description: 'Orders for this pet.' }),
    complete: t.boolean({ description: 'Only fulfilled orders, or only unfulfilled ones.' }),
  }),
});

const OrderSort = builder.enumType('OrderSort', sortEnum(Order));

const NewOrderInput = builder.inputType('NewOrder', {
  description: 'Input for a new order. No field is required.',
  ...checkedBy(newRules(Order, graphqlDialect)),
  fields: (t) => ({
    id: t.id({ description: 'The id of the order; assigned by default.' }),
    petId: t.id(given(fields.petId)),
    quantity: t.int(given(fields.quantity)),
    shipDate: t.field({ type: 'DateTime', ...given(fields.shipDate) }),
    complete: t.boolean(given(fields.complete)),
  }),
});

const OrderPatchInput = builder.inputType('OrderPatch', {
  description: 'Changes to an order. Omitted fields stay as they are; null removes a value.',
  ...checkedBy(patchRules(Order, graphqlDialect)),
  fields: (t) => ({
    petId: t.id(changed(fields.petId)),
    quantity: t.int(changed(fields.quantity)),
    shipDate: t.field({ type: 'DateTime', ...changed(fields.shipDate) }),
    complete: t.boolean(changed(fields.complete)),
  }),
});

builder.objectField(PetType, 'orders', (t) =>
  t.connection(
    {
      type: OrderType,
      description: 'The orders for this pet, by default ordered by id.',
      args: {
        filter: t.arg({ type: OrderFilterInput, description: 'Which orders to return.' }),
        sort: t.arg({ type: OrderSort, ...sortArgument(Order) }),
      },
      resolve: ({ id }, args, context) =>
        childConnection(Order, 'petId', id, args, filterOf(args.filter), context),
    },
    OrderConnection,
  ),
);

builder.queryFields((t) => ({
  order: t.field({
    type: OrderType,
    nullable: true,
    description: 'Looks up an order by id; null if there is none.',
    args: { id: t.arg.id({ required: true, description: 'The id of the order.' }) },
    resolve: (_root, { id }, { loaders }) => loaders.record(Order, id),
  }),
  orders: t.connection(
    {
      type: OrderType,
      description: 'All orders, by default ordered by id.',
      args: {
        filter: t.arg({ type: OrderFilterInput, description: 'Which orders to return.' }),
        sort: t.arg({ type: OrderSort, ...sortArgument(Order) }),
      },
      resolve: (_root, args, context) => recordConnection(Order, args, filterOf(args.filter), context),
    },
    OrderConnection,
  ),
}));

builder.mutationFields((t) => ({
  createOrder: t.field({
    type: OrderType,
    description: 'Creates an order. Does not change the stock.',
    args: { input: t.arg({ type: NewOrderInput, required: true, description: 'The order.' }) },
    resolve: creating(Order),
  }),
  updateOrder: t.field({
    type: OrderType,
    description: 'Updates an order.',
    args: {
      id: t.arg.id({ required: true, description: 'The id of the order.' }),
      input: t.arg({ type: OrderPatchInput, required: true, description: 'The changes.' }),
    },
    resolve: updating(Order),
  }),
  deleteOrder: t.id({
    description: `Deletes an order and returns its id. ${deletionDescription(Order)}`.trimEnd(),
    args: { id: t.arg.id({ required: true, description: 'The id of the order.' }) },
    resolve: deleting(Order),
  }),
}));

export const order: Domain = {
  record: Order,
  resource: orders,
  type: OrderType,
  ...eventsOf(Order),
  sample: orderSample,
};
