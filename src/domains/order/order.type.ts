import { builder } from '../../kit/builder.ts';
import { type Domain, eventsOf, type SampleOf } from '../../kit/domain.ts';
import { exposed } from '../../kit/fields.ts';
import { sortEnum } from '../../kit/list-arguments.ts';
import { NODE_ID, NodeInterface, nodeType } from '../../kit/node.ts';
import {
  childList,
  connectionOf,
  creation,
  deletion,
  inputsOf,
  list,
  lookup,
  parent,
  update,
} from '../../kit/record-fields.ts';
import { Pet } from '../pet/pet.ts';
import { PetType } from '../pet/pet.type.ts';
import { orders } from './order.routes.ts';
import { Order } from './order.ts';

const { fields } = Order;

export const OrderType = builder.objectRef<Order>(Order.type).implement({
  interfaces: [NodeInterface],
  description: Order.description,
  fields: (t) => ({
    nodeId: t.id({ description: NODE_ID, resolve: nodeType(Order) }),
    id: t.exposeID('id', exposed(Order.id)),
    petId: t.exposeID('petId', exposed(fields.petId)),
    pet: t.field(
      parent(
        Order,
        'petId',
        Pet,
        PetType,
        'The animal in this order; null if the order has none, or if it was deleted after the order was completed.',
      ),
    ),
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

const inputs = inputsOf(Order, (t, options) => ({
  petId: t.id(options(fields.petId)),
  quantity: t.int(options(fields.quantity)),
  shipDate: t.field({ type: 'DateTime', ...options(fields.shipDate) }),
  complete: t.boolean(options(fields.complete)),
}));

const lists = { filter: OrderFilterInput, sort: OrderSort };
const ofPet = { ...lists, description: 'The orders for this pet, by default ordered by id.' };

builder.objectField(PetType, 'orders', (t) =>
  t.connection(childList(Order, OrderType, 'petId', ofPet), OrderConnection),
);

builder.queryFields((t) => ({
  order: t.field(lookup(Order, OrderType)),
  orders: t.connection(list(Order, OrderType, lists), OrderConnection),
}));

builder.mutationFields((t) => ({
  createOrder: t.field(creation(Order, OrderType, inputs.created, ' Does not change the stock.')),
  updateOrder: t.field(update(Order, OrderType, inputs.changes)),
  deleteOrder: t.id(deletion(Order)),
}));

export const order: Domain = {
  record: Order,
  resource: orders,
  type: OrderType,
  ...eventsOf(Order),
  sample: [
    { petId: 0, quantity: 1, shipDate: '2026-12-01T09:30:00Z', complete: false },
    { petId: 2, quantity: 1, shipDate: '2026-10-15T14:00:00Z', complete: true },
    { petId: 8, quantity: 10, complete: false },
  ] satisfies SampleOf<typeof Order>,
};
