import createClient from 'openapi-fetch';
import type { paths } from './generated/petstore.ts';

/** Sells a pet through a client of openapi-fetch, with an order of the largest id that JavaScript reads exactly. */
export async function roundTrip(baseUrl: string, key: string) {
  const client = createClient<paths>({ baseUrl, headers: { 'X-API-Key': key } });
  const dataOf = <T>({ data, error }: { data?: T; error?: { code: string } }): T => {
    if (data === undefined) throw new Error(error?.code);
    return data;
  };

  const category = dataOf(await client.POST('/categories', { body: { name: 'Birds' } }));
  // Neither needs its status: the description calls them optional where they are.
  const pet = dataOf(await client.POST('/pets', { body: { name: 'Tweety', categoryId: category.id } }));
  const orderId = Number.MAX_SAFE_INTEGER;
  const order = dataOf(await client.POST('/store/orders', { body: { id: orderId, petId: pet.id } }));
  const path = { orderId: order.id };
  const read = dataOf(await client.GET('/store/orders/{orderId}', { params: { path } }));
  const listed = dataOf(
    await client.GET('/store/orders', { params: { query: { petId: pet.id, complete: false, limit: 1 } } }),
  );

  const replaced = dataOf(
    await client.PUT('/store/orders/{orderId}', { params: { path }, body: { ...read, quantity: 2 } }),
  );
  const { response } = await client.GET('/store/orders/{orderId}', { params: { path } });
  const patched = await client.PATCH('/store/orders/{orderId}', {
    params: { path, header: { 'If-Match': response.headers.get('ETag')!, 'Idempotency-Key': 'sale' } },
    body: { complete: true, quantity: null },
  });
  const stale = await client.DELETE('/store/orders/{orderId}', {
    params: { path, header: { 'If-Match': response.headers.get('ETag')! } },
  });
  await client.DELETE('/store/orders/{orderId}', { params: { path } });
  const gone = await client.GET('/store/orders/{orderId}', { params: { path } });

  const [created] = dataOf(
    await client.GET('/events', { params: { query: { sort: '-id', type: ['pet.created'] } } }),
  );
  // The type of an event says what its data is.
  const categoryId = created?.type === 'pet.created' ? created.data.categoryId : undefined;
  if (categoryId !== category.id) throw new Error(`The latest event is ${JSON.stringify(created)}`);

  // @ts-expect-error A pet has a name.
  const nameless = await client.POST('/pets', { body: { categoryId: category.id } });
  return {
    orders: [order, read, ...listed, replaced, dataOf(patched)],
    refusals: [stale.error?.code, gone.error?.code, nameless.error?.message],
  };
}
