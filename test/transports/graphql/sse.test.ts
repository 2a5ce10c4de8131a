import { beforeAll, describe, expect, it } from 'vitest';
import { Order } from '../../../src/domains/order/order.ts';
import {
  expectQueryRefusal,
  fill,
  makeWorld,
  send,
  sqlite,
  useGateway,
  type World,
} from '../../kit/petstore.ts';

const kit = useGateway(sqlite);
let world: World;
beforeAll(async () => {
  world = await makeWorld(kit);
  await kit.gateway.store.table(Order).insert({ id: '9223372036854775807', complete: true });
});

const SSE = { accept: 'application/json;q=0, application/graphql-response+json;q=0, text/event-stream' };

/** Subscriptions are in subscription.test.ts. */
describe('an operation that is no subscription, over SSE', () => {
  it.each([
    '{ pet(id: $P) { id name category { name } } }',
    '{ pet(id: 404404) { id } a: events(after: "x") { nodes { id } } }',
    '{ events(last: 1) { nodes { data } } rateLimit { cost } }',
    '{ __schema { queryType { name } } }',
    'mutation { a: updatePet(id: $P, input: {name: "A"}) { name } b: updatePet(id: $P, input: {name: "B\\u2029C"}) { name } }',
    'mutation { a: updatePet(id: $P, input: {name: "C"}) { name } b: deleteOrder(id: 99) }',
  ])('has the result that JSON has: %s', async (query) => {
    const body = { query: fill(query, world) };
    const call = query.startsWith('mutation') ? 'POST /graphql' : 'QUERY /graphql';
    const json = await send(kit.gateway, call, { body });
    const sse = await send(kit.gateway, call, { body, headers: SSE });
    expect([sse.status, sse.headers['content-type'], 'etag' in sse.headers]).toEqual([
      200,
      'text/event-stream',
      'etag' in json.headers,
    ]);
    expect(/^event: next\ndata: (.*)\n\nevent: complete\n/m.exec(sse.text)?.[1], sse.about).toBe(
      json.text.replace('\u2029', String.raw`\u2029`),
    );
  });

  it.each([
    ['{', 400, 'GRAPHQL_PARSE_FAILED'],
    [
      `{ ${Array.from({ length: 11 }, (_, n) => `a${n}: pet(id: 1) { id }`).join(' ')} }`,
      406,
      'NOT_ACCEPTABLE',
    ],
    [['{ __typename }'], 406, 'NOT_ACCEPTABLE'],
  ])('is JSON if there is nothing to stream: %s', async (queries, status, code) => {
    const body = Array.isArray(queries) ? queries.map((query) => ({ query })) : { query: queries };
    const sent = await send(kit.gateway, 'POST /graphql', { body, headers: SSE });
    expect([sent.status, sent.json.errors[0].extensions.code], sent.about).toEqual([status, code]);
  });

  it("refuses the multipart subscriptions of Apollo's HttpLink, and names the links to use", async () => {
    const sent = await send(kit.gateway, 'POST /graphql', {
      body: { query: 'subscription { events { id } }' },
      headers: { accept: 'multipart/mixed;boundary=graphql;subscriptionSpec=1.0,application/json' },
    });
    expectQueryRefusal(sent, 'NOT_ACCEPTABLE', /graphql-sse's client and links/);
  });
});
