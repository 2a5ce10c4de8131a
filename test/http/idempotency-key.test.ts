import { describe, expect, it } from 'vitest';
import { Order } from '../../src/domains/order/order.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import {
  dataOf,
  expectAnswer,
  expectQueryRefusal,
  expectRefusal,
  fill,
  type Kit,
  makeWorld,
  onAnyEngine,
  query,
  type Sent,
  send,
  sqlite,
  useGateway,
} from '../kit/petstore.ts';

let keys = 0;
const newKey = () => `test-key-${++keys}`;
const CREATE_PET = 'mutation ($input: NewPet!) { createPet(input: $input) { id name categoryId status } }';
const CREATE_ORDER =
  'mutation ($input: NewOrder!) { createOrder(input: $input) { id petId quantity shipDate complete } }';
const CREATE_CATEGORY =
  'mutation ($input: NewCategory!) { createCategory(input: $input) { id name description } }';

const post = ({ gateway }: Kit, path: string, key: string, body: unknown, apiKey = gateway.key) =>
  send(gateway, `POST ${path}`, { body, key: apiKey, headers: { 'idempotency-key': key } });
const mutate = ({ gateway }: Kit, text: string, key: string, input: unknown) =>
  query(gateway, text, { input }, { headers: { 'idempotency-key': key } });

function expectReplay(sent: Sent, first: Sent): void {
  expect(sent.headers['idempotency-replayed'], sent.about).toBe('true');
  expect([sent.status, sent.text, sent.headers.location], sent.about).toEqual([
    first.status,
    first.text,
    first.headers.location,
  ]);
}
function expectFirst(sent: Sent): Sent {
  expect(sent.headers['idempotency-replayed'], sent.about).toBeUndefined();
  return sent;
}

onAnyEngine('idempotent requests', (kit) => {
  // A call, one that is equivalent, another one, what comes of the first, and what changes its record meanwhile.
  it.each([
    [
      'POST /pets {"name":"Tom","categoryId":$C}',
      '{"status":"available","categoryId":$C,"name":" Tom "}',
      '{"name":"Tim","categoryId":$C}',
      201,
    ],
    ['POST /categories {"name":"Birds"}', '{"name":" Birds"}', '{"name":"Fish"}', 201],
    [
      'POST /store/orders {"petId":$P,"shipDate":"2026-01-31T10:30:00+01:00"}',
      '{"complete":false,"shipDate":"2026-01-31T09:30:00Z","petId":$P}',
      '{}',
      201,
    ],
    ['PATCH /pets/$P {"name":"Max"}', '{"name":" Max"}', '{"name":"Tom"}', 200],
    ['PATCH /categories/$C {"description":null}', '{"description":null}', '{"description":"They purr"}', 200],
    ['PATCH /store/orders/$O {"quantity":5}', '{"quantity":5}', '{"quantity":6}', 200],
    ['PATCH /store/inventory/$P {"quantity":7}', '{"quantity":7}', '{"quantity":8}', 200],
    ['PATCH /pets/$P {}', '{}', '{"name":"Tom"}', 200],
    ['PATCH /store/inventory/$P {}', '{}', '{"quantity":8}', 200],
  ])('replays the first response to %s, whatever happens meanwhile', async (call, same, other, status) => {
    const world = await makeWorld(kit);
    const [, line, body] = /^(\S+ \S+) (.*)$/.exec(fill(call, world)) as unknown as [string, string, string];
    const headers: Record<string, string> = { 'idempotency-key': newKey() };
    const [method, path] = line.split(' ') as [string, string];
    const { etag } = status === 200 ? (await send(kit.gateway, path)).headers : {};
    // The replay does not depend on If-Match.
    if (etag) headers['if-match'] = etag;
    const sendOf = (content: string) => send(kit.gateway, line, { body: fill(content, world), headers });
    const first = expectFirst(await sendOf(body));
    expect(first.status, first.about).toBe(status);
    const record = first.headers.location ?? path;
    const { headers: before } = await send(kit.gateway, record);
    if (status === 200) await send(kit.gateway, line, { body: fill(other, world) });
    else if (method === 'POST' && status === 201) await send(kit.gateway, `DELETE ${record}`);
    const changed = await send(kit.gateway, record);
    expect(changed.headers.etag).not.toBe(before.etag);
    expectReplay(await sendOf(fill(body, world)), first);
    expectReplay(await sendOf(same), first);
    expect((await send(kit.gateway, record)).text).toBe(changed.text);
    const reused = await sendOf(other);
    expectRefusal(reused, 'IDEMPOTENCY_KEY_REUSED');
    expect(reused.headers['idempotency-replayed'], reused.about).toBeUndefined();
  });

  it('belongs to one operation and record', async () => {
    const { C, P, F } = await makeWorld(kit);
    const pet = { name: 'Tom', categoryId: Number(C) };
    const key = newKey();
    const first = await post(kit, '/pets', key, pet);
    expectRefusal(await post(kit, '/categories', key, { name: 'Tom' }), 'IDEMPOTENCY_KEY_REUSED');
    expectReplay(await post(kit, '/pets', key, pet), first);
    const headers = { 'idempotency-key': newKey() };
    const patch = (id: string) => send(kit.gateway, `PATCH /pets/${id}`, { body: '{"name":"Max"}', headers });
    expectAnswer(await patch(P), 200);
    expectRefusal(await patch(F), 'IDEMPOTENCY_KEY_REUSED');
    // Two that take the same.
    await kit.gateway.store.table(Order).insert({ id: '4711', complete: true });
    const shared = { headers: { 'idempotency-key': newKey() } };
    dataOf(await query(kit.gateway, 'mutation { deleteOrder(id: 4711) }', undefined, shared));
    const reused = await query(kit.gateway, 'mutation { deletePet(id: 4711) }', undefined, shared);
    expect(reused.json.errors[0].extensions.code, reused.about).toBe('IDEMPOTENCY_KEY_REUSED');
  });

  it('keeps the keys of different API keys apart', async () => {
    const key = newKey();
    const other = await kit.gateway.newKey('enterprise', { perMinute: 1000, perDay: 1000 });
    const first = await post(kit, '/categories', key, { name: 'Birds' });
    const second = expectFirst(await post(kit, '/categories', key, { name: 'Birds' }, other));
    expectAnswer(second, 201);
    expect(second.text).not.toBe(first.text);
  });

  it('forgets a key after 24 hours', async () => {
    const key = newKey();
    const first = await post(kit, '/categories', key, { name: 'Birds' });
    kit.clock.advance(24 * 3_600_000 - 1);
    expectReplay(await post(kit, '/categories', key, { name: 'Birds' }), first);
    kit.clock.advance(1);
    const later = expectFirst(await post(kit, '/categories', key, { name: 'Fish' }));
    expectAnswer(later, 201);
    expectReplay(await post(kit, '/categories', key, { name: 'Fish' }), later);
  });

  it('replays a REST response over GraphQL and vice versa', async () => {
    const { C, P } = await makeWorld(kit);
    for (const [path, text, body, input] of [
      ['/pets', CREATE_PET, `{"name":"Tom","categoryId":${C}}`, { name: ' Tom', categoryId: C }],
      ['/categories', CREATE_CATEGORY, '{"name":"Birds"}', { name: 'Birds', description: null }],
      [
        '/store/orders',
        CREATE_ORDER,
        `{"petId":${P},"shipDate":"2026-01-31T09:30:00Z"}`,
        { petId: P, shipDate: '2026-01-31T10:30:00+01:00', complete: false },
      ],
      ['/store/orders', CREATE_ORDER, '{}', {}],
    ] as const) {
      const rest = newKey();
      const created = await post(kit, path, rest, body);
      const replayed = await mutate(kit, text, rest, input);
      const [record] = Object.values(dataOf(replayed)) as { id: string }[];
      expect(replayed.headers['idempotency-replayed'], replayed.about).toBe('true');
      expect(created.headers.location, replayed.about).toBe(`${path}/${record!.id}`);

      const graphql = newKey();
      const mutated = expectFirst(await mutate(kit, text, graphql, input));
      const [made] = Object.values(dataOf(mutated)) as { id: string }[];
      const posted = await post(kit, path, graphql, body);
      expect(posted.headers['idempotency-replayed'], posted.about).toBe('true');
      expect([posted.status, posted.headers.location], posted.about).toEqual([201, `${path}/${made!.id}`]);
      expectReplay(await mutate(kit, text, graphql, input), mutated);
    }
  });

  it('decides a refused call again, over either interface and with another payload', async () => {
    const key = newKey();
    const missing = '9223372036854775806';
    expectRefusal(
      expectFirst(await post(kit, '/store/orders', key, `{"petId":${missing}}`)),
      'UNKNOWN_REFERENCE',
    );
    const again = expectFirst(await mutate(kit, CREATE_ORDER, key, { petId: missing }));
    expect(again.json.errors[0].extensions.code, again.about).toBe('UNKNOWN_REFERENCE');
    expectAnswer(expectFirst(await post(kit, '/store/orders', key, '{}')), 201);
  });

  it('does not keep a failed precondition, so that the corrected retry runs', async () => {
    const { P } = await makeWorld(kit);
    for (const body of ['{"name":"Max"}', '{}']) {
      const headers = { 'idempotency-key': newKey() };
      const patch = (etag: string) =>
        send(kit.gateway, `PATCH /pets/${P}`, { body, headers: { ...headers, 'if-match': etag } });
      for (let time = 0; time < 2; time++)
        expectRefusal(expectFirst(await patch('"stale"')), 'PRECONDITION_FAILED');
      const { etag } = (await send(kit.gateway, `/pets/${P}`)).headers;
      const corrected = expectFirst(await patch(etag!));
      expectAnswer(corrected, 200);
      expectReplay(await patch('"stale"'), corrected);
    }
  });

  it.each([{ name: 'Max' }, {}])(
    'replays a PATCH over GraphQL for the mutation with the same input',
    async (input) => {
      const { P } = await makeWorld(kit);
      const key = newKey();
      const headers = { 'idempotency-key': key };
      const first = await send(kit.gateway, `PATCH /pets/${P}`, { body: input, headers });
      await send(kit.gateway, `PATCH /pets/${P}`, { body: '{"name":"Tom"}' });
      const text = 'mutation ($id: ID!, $input: PetPatch!) { updatePet(id: $id, input: $input) { name } }';
      const same = input.name === undefined ? {} : { name: `${input.name} ` };
      const replayed = await query(kit.gateway, text, { id: P, input: same }, { headers });
      expect(replayed.headers['idempotency-replayed'], replayed.about).toBe('true');
      expect(dataOf(replayed)).toEqual({ updatePet: { name: first.json.name } });
    },
  );

  it('reads anew what is selected below the record of a replay', async () => {
    const { C } = await makeWorld(kit);
    const headers = { 'idempotency-key': newKey() };
    const text = `mutation { createPet(input: {name: "A", categoryId: ${C}}) {
      id name category { name } inventory { quantity pet { name } }
    } }`;
    const { id } = dataOf(await query(kit.gateway, text, undefined, { headers })).createPet;
    const again = () => query(kit.gateway, text, undefined, { headers });
    await send(kit.gateway, `PUT /store/inventory/${id}`, { body: '{"quantity":8}' });
    await send(kit.gateway, `PATCH /pets/${id}`, { body: '{"name":"B"}' });
    await send(kit.gateway, `PATCH /categories/${C}`, { body: '{"name":"Cats"}' });
    const replayed = await again();
    expect(replayed.headers['idempotency-replayed'], replayed.about).toBe('true');
    expect(dataOf(replayed).createPet, replayed.about).toEqual({
      id,
      name: 'A',
      category: { name: 'Cats' },
      inventory: { quantity: 8, pet: { name: 'B' } },
    });
    await send(kit.gateway, `DELETE /pets/${id}`);
    expect(dataOf(await again()).createPet.inventory).toEqual({ quantity: 0, pet: { name: 'A' } });
  });

  it.each([
    'mutation ($input: InventoryUpdate!) { updateInventory(petId: $P, input: $input) { quantity } }',
    'mutation { updateInventory(petId: $P, input: {quantity: 7}) { quantity } }',
    'mutation ($input: InventoryUpdate!) { updateInventory(input: $input, petId: $P) { quantity } }',
  ])('replays %s for the PATCH with the same input', async (text) => {
    const world = await makeWorld(kit);
    const line = fill('PATCH /store/inventory/$P', world);
    // A document is compiled when it comes again.
    for (const key of [newKey(), newKey(), newKey()]) {
      const headers = { 'idempotency-key': key };
      dataOf(await query(kit.gateway, fill(text, world), { input: { quantity: 7 } }, { headers }));
      const replayed = await send(kit.gateway, line, { body: '{"quantity":7}', headers });
      expectAnswer(replayed, 200);
      expect(replayed.headers['idempotency-replayed'], replayed.about).toBe('true');
    }
  });

  it('creates one record for concurrent duplicates', async () => {
    const key = newKey();
    const { C } = await makeWorld(kit);
    const body = `{"name":"Solo","categoryId":${C}}`;
    const sent = await Promise.all(Array.from({ length: 6 }, () => post(kit, '/pets', key, body)));
    const created = sent.filter(({ status }) => status === 201);
    expect(created.length).toBeGreaterThan(0);
    expect(new Set(created.map(({ text }) => text)).size).toBe(1);
    for (const other of sent.filter(({ status }) => status !== 201)) {
      expectRefusal(other, 'CONFLICT');
      expect(other.headers['retry-after'], other.about).toBe('1');
    }
    expect(created.filter(({ headers }) => headers['idempotency-replayed'] === undefined)).toHaveLength(1);
    const { items } = await kit.gateway.store.table(Pet).page({ categoryId: C }, { limit: 100 });
    expect(items.filter(({ name }) => name === 'Solo')).toHaveLength(1);
  });
});

describe('the Idempotency-Key header', () => {
  const kit = useGateway(sqlite);

  it.each(['', 'a b', 'é', 'x'.repeat(256), '"abc', '"a\\b"', '"x";v=1', `"${'x'.repeat(256)}"`])(
    'is rejected as %j',
    async (key) => {
      const message =
        'Idempotency-Key: must have 1 to 255 visible ASCII characters, all of them or none in quotes.';
      const headers = { 'idempotency-key': key };
      expectRefusal(
        await send(kit.gateway, 'POST /store/orders', { body: '{}', headers }),
        'VALIDATION_FAILED',
        message,
      );
      expectQueryRefusal(
        await query(kit.gateway, 'mutation { createOrder(input: {}) { id } }', undefined, { headers }),
        'VALIDATION_FAILED',
        message,
      );
      const both = await send(kit.gateway, 'POST /store/orders', { body: '{"quantity":0}', headers });
      expectRefusal(
        both,
        'VALIDATION_FAILED',
        `Idempotency-Key: must have 1 to 255 visible ASCII characters, all of them or none in quotes; quantity: must be an integer from 1 to 2147483647.`,
      );
    },
  );

  it('is rejected if it is sent twice', async () => {
    const sent = await send(kit.gateway, 'POST /store/orders', {
      body: '{}',
      headers: { 'idempotency-key': ['a', 'b'] },
    });
    expectRefusal(sent, 'VALIDATION_FAILED');
  });

  it('is ignored for PUT and DELETE, which are idempotent anyway', async () => {
    const { E } = await makeWorld(kit);
    const headers = { 'idempotency-key': newKey() };
    for (const name of ['Cats', 'Birds']) {
      const sent = await send(kit.gateway, `PUT /categories/${E}`, { body: { name }, headers });
      expectAnswer(sent, 200, { id: BigInt(E), name });
      expect(sent.headers['idempotency-replayed'], sent.about).toBeUndefined();
    }
    expectAnswer(await send(kit.gateway, `DELETE /categories/${E}`, { headers }), 204);
    expectRefusal(await send(kit.gateway, `DELETE /categories/${E}`, { headers }), 'NOT_FOUND');
  });

  it.each([
    ['abc', '"abc"'],
    ['a"b\\c', '"a\\"b\\\\c"'],
    ['~'.repeat(255), `"${'~'.repeat(255)}"`],
  ])('is the same key whether %s is sent bare or quoted', async (bare, quoted) => {
    const first = await post(kit, '/store/orders', bare, {});
    expectReplay(await post(kit, '/store/orders', quoted, {}), first);
    const text = 'mutation { createOrder(input: {}) { id } }';
    const replayed = await query(kit.gateway, text, undefined, { headers: { 'idempotency-key': quoted } });
    expect(replayed.headers['idempotency-replayed'], replayed.about).toBe('true');
    expectRefusal(await post(kit, '/categories', quoted, { name: 'Birds' }), 'IDEMPOTENCY_KEY_REUSED');
  });
});
