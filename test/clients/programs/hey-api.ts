import { createClient } from './generated/hey-api/client/index.ts';
import * as petstore from './generated/hey-api/sdk.gen.ts';
import type { NewPet, StoredOrder } from './generated/hey-api/types.gen.ts';

/** Sells a pet through a client of Hey API. */
export async function roundTrip(baseUrl: string, key: string) {
  const client = createClient({ baseUrl, auth: key, throwOnError: true });

  const { data: category } = await petstore.createCategory({
    client,
    body: { name: 'Birds' },
    throwOnError: true,
  });
  const newPet: NewPet = { name: 'Tweety', categoryId: category.id };
  const { data: pet } = await petstore.createPet({ client, body: newPet, throwOnError: true });
  const { data: order } = await petstore.createOrder({
    client,
    body: { petId: pet.id, quantity: 2 },
    headers: { 'Idempotency-Key': 'tweety' },
    throwOnError: true,
  });
  const path = { orderId: order.id satisfies number };
  const { data: read } = await petstore.getOrder({ client, path, throwOnError: true });
  const { data: listed } = await petstore.listOrders({
    client,
    query: { petId: pet.id, complete: false },
    throwOnError: true,
  });
  const { data: replaced } = await petstore.replaceOrder({
    client,
    path,
    body: { ...read, quantity: 3 },
    throwOnError: true,
  });
  const { data: patched } = await petstore.updateOrder({
    client,
    path,
    body: { complete: true, quantity: null },
    throwOnError: true,
  });
  await petstore.deleteOrder({ client, path, throwOnError: true });
  const { error } = await petstore.getOrder({ client, path, throwOnError: false });
  const orders: StoredOrder[] = [order, read, ...listed, replaced, patched];
  return { orders, refusals: [error?.code] };
}
