import { afterEach, expect, it } from 'vitest';
import { Category } from '../../../src/domains/category/category.ts';
import { Order } from '../../../src/domains/order/order.ts';
import { Pet } from '../../../src/domains/pet/pet.ts';
import { EventStreamClient, type StreamCall } from '../../kit/event-stream.ts';
import { dataOf, exactly, expectQueryRefusal, onAnyEngine, query, send } from '../../kit/petstore.ts';

const clients: EventStreamClient[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

onAnyEngine('subscription { events }', (kit) => {
  const subscribe = async (text: string, variables: object = {}, call: StreamCall = {}) => {
    const client = await EventStreamClient.open(kit.gateway, '/graphql', {
      method: 'POST',
      body: JSON.stringify({ query: text, variables }),
      ...call,
      headers: { 'content-type': 'application/json', ...call.headers },
    });
    clients.push(client);
    return client;
  };
  const resultsOf = (client: EventStreamClient) =>
    client.messages.filter(({ event }) => event === 'next').map(({ data }) => JSON.parse(data!));
  const create = (name: string) => kit.gateway.store.table(Category).insert({ name });

  it('sends each event when it is committed, with its record in the current state', async () => {
    const client = await subscribe(`subscription {
      events(types: [pet_created, pet_deleted, inventory_updated]) {
        id type time data pet { name category { name } } inventoryItem { quantity pet { id } } order { id }
      }
    }`);
    expect([client.response.statusCode, client.response.headers['content-type']]).toEqual([
      200,
      'text/event-stream',
    ]);
    expect(client.response.headers['x-ratelimit-remaining']).toBe('999999');
    const { store } = kit.gateway;
    const dogs = await create('Dogs');
    const rex = await store
      .table(Pet)
      .insert({ name: 'Rex\u2028II', categoryId: dogs.id, status: 'available' });
    await client.until(1);
    await store.table(Pet).update(rex.id, { quantity: 3 });
    await client.until(2);
    await store.table(Pet).remove(rex.id);
    await client.until(3);
    const events = resultsOf(client).map((result) => dataOf({ status: 200, json: result } as never).events);
    const id = Number(rex.id);
    const envelope = { id: expect.any(String), time: expect.stringMatching(/Z$/), order: null };
    expect(events).toEqual([
      {
        ...envelope,
        type: 'pet_created',
        data: { id, name: 'Rex\u2028II', categoryId: Number(dogs.id), status: 'available' },
        pet: { name: 'Rex\u2028II', category: { name: 'Dogs' } },
        inventoryItem: null,
      },
      {
        ...envelope,
        type: 'inventory_updated',
        data: { petId: id, quantity: 3, status: 'available' },
        pet: null,
        inventoryItem: { quantity: 3, pet: { id: rex.id } },
      },
      { ...envelope, type: 'pet_deleted', data: { id }, pet: null, inventoryItem: null },
    ]);
  });

  it('runs the named operation of a document with several', async () => {
    const text =
      'query A { __typename } subscription B { events { type } } subscription C { events { time } }';
    const body = JSON.stringify({ query: text, operationName: 'B' });
    const client = await subscribe(text, {}, { body });
    await create('Dogs');
    await client.until(1);
    expect(resultsOf(client)).toEqual([{ data: { events: { type: 'category_created' } } }]);
  });

  it('keeps ids beyond 2^53 exact', async () => {
    const client = await subscribe('subscription { events(types: [order_created]) { data order { id } } }');
    await kit.gateway.store.table(Order).insert({ id: '9223372036854775806', complete: true });
    const [message] = await client.until(1);
    expect(exactly(message!.data!)).toEqual({
      data: {
        events: {
          data: { id: '#9223372036854775806', complete: true },
          order: { id: '9223372036854775806' },
        },
      },
    });
  });

  it.each([
    ['subscription { events(after: "nonsense") { id } }', 'VALIDATION_FAILED', {}],
    ['subscription { events(types: []) { id } }', 'VALIDATION_FAILED', {}],
    ['subscription { events(types: [pet_created, pet_created]) { id } }', 'VALIDATION_FAILED', {}],
    ['subscription {', 'GRAPHQL_PARSE_FAILED', {}],
    ['subscription { events { id } rest: events { id } }', 'GRAPHQL_VALIDATION_FAILED', {}],
    ...['@skip(if: false)', '@include(if: true)'].flatMap((condition) =>
      [
        `subscription { events ${condition} { id } }`,
        `subscription { ...F ${condition} } fragment F on Subscription { events { id } }`,
        `subscription ($s: Boolean!) { events ${condition.replace(/true|false/, '$s')} { id } }`,
      ].map((text) => [text, 'GRAPHQL_VALIDATION_FAILED', {}] as const),
    ),
    ['subscription { events { id } }', 'NOT_ACCEPTABLE', { accept: 'application/json' }],
  ] as const)('refuses %s with %s', async (text, code, headers) => {
    const sent = await query(kit.gateway, text, undefined, {
      headers: { accept: 'text/event-stream', ...headers },
    });
    expectQueryRefusal(sent, code);
    if (code === 'NOT_ACCEPTABLE') expect(sent.json.errors[0].message).toContain('text/event-stream');
  });

  it('refuses a subscription over GET and in a batch', async () => {
    const text = 'subscription { events { id } }';
    const headers = { accept: 'text/event-stream' };
    expectQueryRefusal(
      await send(kit.gateway, `/graphql?query=${encodeURIComponent(text)}`, { headers }),
      'METHOD_NOT_ALLOWED',
    );
    const body = JSON.stringify([{ query: text }, { query: '{ __typename }' }]);
    const batch = { headers: { ...headers, 'content-type': 'application/json' }, body };
    expectQueryRefusal(
      await send(kit.gateway, 'POST /graphql', batch),
      'BAD_REQUEST',
      /subscription .* batch/,
    );
  });
});
