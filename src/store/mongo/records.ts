import { formatInstant, parseInstant } from '../../domains/order/instant.ts';
import type { Category, NewOrder, Order, OrderPatch, Pet } from '../store.ts';
import type { CategoryDocument, OrderDocument, PetDocument } from './collections.ts';
import { idOf, keyOf } from './ids.ts';

/** What is read of a document to make the port's record of it; versions and counts stay in the database. */
export const PET_FIELDS = { name: 1, categoryId: 1, status: 1, quantity: 1 } as const;
export const CATEGORY_FIELDS = { name: 1, description: 1 } as const;
export const ORDER_FIELDS = { petId: 1, quantity: 1, shipDate: 1, complete: 1 } as const;

export const toPet = (pet: PetDocument): Pet => ({
  id: idOf(pet._id),
  name: pet.name,
  categoryId: idOf(pet.categoryId),
  status: pet.status,
  quantity: pet.quantity,
});

export const toCategory = ({ _id, name, description }: CategoryDocument): Category =>
  description === undefined ? { id: idOf(_id), name } : { id: idOf(_id), name, description };

export function toOrder(order: OrderDocument): Order {
  const record: Order = { id: idOf(order._id), complete: order.complete };
  if (order.petId !== undefined) record.petId = idOf(order.petId);
  if (order.quantity !== undefined) record.quantity = order.quantity;
  if (order.shipDate !== undefined) record.shipDate = formatInstant(order.shipDate.getTime());
  return record;
}

/** The values of an order as its document has them; what is missing or null stays so. */
export function orderValues({ petId, quantity, shipDate, complete }: NewOrder | OrderPatch) {
  return {
    petId: petId == null ? petId : keyOf(petId),
    quantity,
    shipDate: shipDate == null ? shipDate : dateOf(shipDate),
    complete,
  };
}

function dateOf(text: string): Date {
  const instant = parseInstant(text);
  if (instant === null) throw new TypeError(`Not an instant: ${text}`);
  return new Date(instant);
}
