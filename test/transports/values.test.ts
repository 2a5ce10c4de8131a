import { describe, expect, it } from 'vitest';
import { Category } from '../../src/domains/category/category.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { rpc } from '../kit/mcp.ts';
import {
  expectAnswer,
  expectQueryRefusal,
  expectRefusal,
  makeWorld,
  onAnyEngine,
  query,
  send,
  sqlite,
  useGateway,
} from '../kit/petstore.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const LARGE = '9007199254740993';

/** The same value is understood over every interface, however the tools of others write it. */
onAnyEngine('values as others write them', (kit) => {
  const post = (path: string, body: string, headers: Record<string, string> = {}) =>
    send(kit.gateway, `POST ${path}`, { body, headers: { ...JSON_TYPE, ...headers } });
  const graphql = (text: string, variables: string) =>
    post('/graphql', `{"query": ${JSON.stringify(text)}, "variables": ${variables}}`);
  /** The result of a tool: its value, or the text of its error. */
  const tool = async (name: string, args: string) => {
    const call = `{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "${name}", "arguments": ${args}}}`;
    const { json, about } = await post('/mcp', call);
    expect(json.result, about).toBeDefined();
    return json.result.structuredContent ?? json.result.content[0].text;
  };

  it('takes a number for its value, ids exactly, and the same payload for the same', async () => {
    const { P } = await makeWorld(kit);
    const key = { 'idempotency-key': `n-${P}` };
    const made = await post('/store/orders', `{"id": ${LARGE}.0, "petId": ${P}.0, "quantity": 0.2e1}`, key);
    expectAnswer(made, 201, `{"id": ${LARGE}, "petId": ${P}, "quantity": 2, "complete": false}`);
    const again = await post('/store/orders', `{"quantity": 2, "id": ${LARGE}, "petId": ${P}}`, key);
    expect([again.headers['idempotency-replayed'], again.text], again.about).toEqual(['true', made.text]);
    const CREATE = 'mutation ($i: NewOrder!) { createOrder(input: $i) { id petId quantity complete } }';
    const same = `{"query": "${CREATE}", "variables": {"i": {"id": ${LARGE}.00, "petId": ${P}e0, "quantity": 2.0}}}`;
    const replayed = await post('/graphql', same, key);
    expect(replayed.headers['idempotency-replayed'], replayed.about).toBe('true');
    const UPDATE =
      'mutation ($id: ID!, $n: Int) { updateOrder(id: $id, input: {quantity: $n}) { id quantity } }';
    const updated = await graphql(UPDATE, `{"id": 900719925474099.3e1, "n": 3.0}`);
    expect(updated.json.data.updateOrder, updated.about).toEqual({ id: LARGE, quantity: 3 });
    const batch = await post(
      '/graphql',
      `[{"query": "query ($n: Int) { orders(last: $n) { nodes { id } } }", "variables": {"n": 1.0}}]`,
    );
    expect(batch.json[0].data.orders.nodes, batch.about).toEqual([{ id: LARGE }]);
    expect((await tool('listOrders', `{"limit": 1.0, "petId": ${P}.0}`)).items).toHaveLength(1);
    expect(await tool('updateOrder', `{"orderId": ${LARGE}.0, "quantity": 4.0}`)).toMatchObject({
      id: LARGE,
      quantity: 4,
    });
    const variables = `{"id": ${LARGE}.0}`;
    const read = `{"query": "query ($id: ID!) { order(id: $id) { quantity } }", "variables": ${variables}}`;
    expect(await tool('graphql', read)).toEqual({ data: { order: { quantity: 4 } } });
    for (const path of [`/store/orders/${LARGE}.0`, '/pets?limit=2.0', '/pets?after=1e1'])
      expectRefusal(await send(kit.gateway, path), 'VALIDATION_FAILED');
  });

  it('repeats a number that is none in its messages as it was sent', async () => {
    const FIRST = 'query ($n: Int) { pets(first: $n) { totalCount } }';
    for (const number of ['2.5', '2.50', '1e400', `${LARGE}.5`]) {
      const sent = await graphql(FIRST, `{"n": ${number}}`);
      expectQueryRefusal(sent, 'VALIDATION_FAILED', `n: Int cannot represent non-integer value: ${number}.`);
      const order = await post(
        '/store/orders',
        `{"id": ${number}, "quantity": ${number}, "complete": ${number}}`,
      );
      expectRefusal(order, 'VALIDATION_FAILED', /^id: must be .*; quantity: must be .*; complete: must be/);
      expect(await tool('listPets', `{"limit": ${number}}`)).toMatch(
        /limit: must be an integer from 1 to 100/,
      );
      expectRefusal(await post('/pets', number), 'BAD_REQUEST', 'The body must be a JSON object.');
      for (const body of [`{"query": "{ __typename }", "variables": ${number}}`, number])
        expectQueryRefusal(await post('/graphql', body), 'BAD_REQUEST');
    }
  });

  it('ignores a byte order mark before JSON', async () => {
    const read = '\ufeff{"query": "{ __typename }"}';
    expectAnswer(await post('/store/orders', '\ufeff{}'), 201);
    expect((await post('/graphql', read)).json.data).toEqual({ __typename: 'Query' });
    const variables = encodeURIComponent('\ufeff{"n": 1}');
    const text = encodeURIComponent('query ($n: Int) { pets(first: $n) { nodes { id } } }');
    expect(
      (await send(kit.gateway, `/graphql?query=${text}&variables=${variables}`)).json.errors,
    ).toBeUndefined();
    const ping = await post('/mcp', '\ufeff{"jsonrpc": "2.0", "id": 1, "method": "ping"}');
    expect(ping.json.result, ping.about).toEqual({});
  });

  it('finds names that begin with a text, which is trimmed, and Greek ones by any of their letters', async () => {
    const { id } = await kit.gateway.store.table(Category).insert({ name: 'Names' });
    for (const name of ['ΟΔΥΣΣΕΑΣ', 'Shielded', 'Shield of Ares'])
      await kit.gateway.store.table(Pet).insert({ name, categoryId: id });
    for (const [prefix, names] of [
      ['ΟΔΥΣ', ['ΟΔΥΣΣΕΑΣ']],
      ['οδυς', ['ΟΔΥΣΣΕΑΣ']],
      ['Οδυσσέας', ['ΟΔΥΣΣΕΑΣ']],
      [' shield ', ['Shield of Ares', 'Shielded']],
    ] as const) {
      const rest = await send(kit.gateway, `/pets?name=${encodeURIComponent(prefix)}`);
      expect(
        rest.json.map(({ name }: { name: string }) => name),
        rest.about,
      ).toEqual(names);
      const nodes = names.map((name) => ({ name }));
      const PETS = 'query ($f: PetFilter) { pets(filter: $f) { nodes { name } } }';
      expect((await query(kit.gateway, PETS, { f: { name: prefix } })).json.data.pets.nodes).toEqual(nodes);
      expect((await tool('listPets', JSON.stringify({ name: prefix }))).items).toMatchObject(nodes);
    }
    expectRefusal(
      await send(kit.gateway, '/pets?name=%20'),
      'VALIDATION_FAILED',
      /^name: must have 1 to 200/,
    );
  });
});

describe('parameters and variables as others send them', () => {
  const kit = useGateway(sqlite);

  it.each([
    ['/pets?status[]=sold', 'status[]: must be written status=a&status=b.'],
    [
      '/pets?status%5B0%5D=sold&status%5B1%5D=pending',
      /^status\[0\]: must be written status=a&status=b; status\[1\]: /,
    ],
    [
      '/pets?status=sold,pending',
      'status: must be one of available, pending, sold; send several as status=a&status=b.',
    ],
    ['/events?type=pet.created,pet.updated', /; send several as type=a&type=b\.$/],
    ['/pets?limit[]=2', 'limit[]: must be written limit=a.'],
    ['/pets?colour[]=red', /^colour\[\]: is not a known query parameter \(known: status, /],
  ])('refuses %s and shows the form to send', async (path, message) => {
    expectRefusal(await send(kit.gateway, path), 'VALIDATION_FAILED', message);
  });

  it.each([
    ['query ($b: Boolean = true) { pets @include(if: $b) { totalCount } }', 'include'],
    [
      'query ($b: Boolean = false) { pets { totalCount ... on PetConnection @skip(if: $b) { nodes { id } } } }',
      'skip',
    ],
    [
      'query ($b: Boolean = true) { pets { ...F @skip(if: false) @include(if: $b) } } fragment F on PetConnection { totalCount }',
      'include',
    ],
  ])('refuses null where a directive needs a Boolean: %s', async (text, directive) => {
    const message = `b: must not be null: @${directive} needs a Boolean.`;
    for (let use = 0; use < 3; use++) {
      expect((await query(kit.gateway, text)).json.errors).toBeUndefined();
      expectQueryRefusal(await query(kit.gateway, text, { b: null }), 'VALIDATION_FAILED', message);
      const batch = await send(kit.gateway, 'POST /graphql', {
        body: [{ query: text, variables: { b: null } }],
      });
      expect(batch.json[0].errors[0].message, batch.about).toBe(message);
      const params = { name: 'graphql', arguments: { query: text, variables: { b: null } } };
      const { json } = await rpc(kit.gateway, 'tools/call', params);
      expect(json.result.content[0].text).toContain(message);
    }
    const cost = await send(kit.gateway, 'POST /graphql/cost', {
      body: { query: text, variables: { b: null } },
    });
    expectQueryRefusal(cost, 'VALIDATION_FAILED', message);
  });

  it('looks at no directive that graphql-js does not look at', async () => {
    const text = `query ($b: Boolean = true) {
      a: pets @skip(if: true) @include(if: $b) { totalCount @include(if: $b) }
      b: pets { ...F ...F @include(if: $b) }
    } fragment F on PetConnection { totalCount }`;
    expect((await query(kit.gateway, text, { b: null })).json.data).toEqual({ b: { totalCount: 0 } });
  });
});
