import type { Sample } from '../../schema/sample.ts';
import { Pet } from '../pet/pet.ts';
import { Order } from './order.ts';

/** `pet` is an index into the sample of pets. */
const ORDERS = [
  { pet: 0, quantity: 1, shipDate: '2026-12-01T09:30:00Z', complete: false },
  { pet: 2, quantity: 1, shipDate: '2026-10-15T14:00:00Z', complete: true },
  { pet: 8, quantity: 10, complete: false },
] as const;

export const orderSample: Sample<typeof Order> = {
  record: Order,
  size: ORDERS.length,
  refersTo: Pet,
  matches: ({ quantity, complete }, n) =>
    quantity === ORDERS[n]!.quantity && complete === ORDERS[n]!.complete,
  create(n, tables, petIds) {
    const { pet, ...order } = ORDERS[n]!;
    return tables.table(Order).insert({ petId: petIds[pet]!, ...order });
  },
};
