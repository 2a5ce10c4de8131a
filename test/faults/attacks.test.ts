import { connect } from 'node:net';
import { performance } from 'node:perf_hooks';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { Category } from '../../src/domains/category/category.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { failing } from '../kit/failing.ts';
import { TestGateway } from '../kit/gateway.ts';
import {
  dataOf,
  expectAnswer,
  expectQueryRefusal,
  expectRefusal,
  makeWorld,
  onEachEngine,
  query,
  send,
  sqlite,
  useGateway,
} from '../kit/petstore.ts';

/** Texts that a database would interpret if they reached a command unescaped. */
const OPERATOR_TEXTS = [
  '$name',
  '$$ROOT',
  '$$NOW',
  '$where',
  '$set',
  'a.b.c',
  '__proto__',
  "'; drop table pets; --",
  '%_\\',
  '{"$gt": ""}',
  'function () { return true }',
];
const OPERATORS = [{ $gt: '' }, { $ne: null }, { $where: 'true' }, ['$ne', 1], { $literal: 1 }];

onEachEngine('database operators', (kit) => {
  it.each(OPERATOR_TEXTS)('stores them as plain text: %s', async (name) => {
    const { gateway } = kit;
    const created = await send(gateway, 'POST /categories', { body: { name, description: name } });
    expect(created.json, created.about).toMatchObject({ name, description: name });
    const path = `/categories/${created.json.id}`;
    const body = { name: `${name} too`, description: `${name} too` };
    expectAnswer(await send(gateway, `PATCH ${path}`, { body }), 200, { id: created.json.id, ...body });
    expectAnswer(await send(gateway, `PUT ${path}`, { body: { name } }), 200, { id: created.json.id, name });
    const pet = await send(gateway, 'POST /pets', { body: { name, categoryId: created.json.id } });
    expect(pet.json, pet.about).toMatchObject({ name, status: 'available' });
    const retried = { body: { name }, headers: { 'idempotency-key': name } };
    const first = await send(gateway, 'POST /categories', retried);
    expect((await send(gateway, 'POST /categories', retried)).text, first.about).toBe(first.text);
  });

  it.each(OPERATORS)('rejects them in place of a value: %j', async (operator) => {
    const { gateway } = kit;
    const { P, C } = await makeWorld(kit);
    const before = await gateway.store.table(Pet).count({});
    for (const [line, body] of [
      ['POST /pets', { name: operator, categoryId: C }],
      ['POST /pets', { name: 'Rex', categoryId: operator }],
      [`PUT /pets/${P}`, { name: 'Rex', categoryId: C, status: operator }],
      [`PATCH /pets/${P}`, { name: operator }],
      [`PATCH /categories/${C}`, { description: operator }],
      ['POST /store/orders', { petId: operator }],
      ['POST /store/orders', { id: operator }],
      ['POST /store/orders', { shipDate: operator }],
      ['POST /store/orders', { complete: operator }],
      [`PUT /store/inventory/${P}`, { quantity: operator }],
    ] as const) {
      expectRefusal(await send(gateway, line, { body }), 'VALIDATION_FAILED');
    }
    for (const [variables, operation] of [
      [{ id: operator }, 'query ($id: ID!) { pet(id: $id) { id } }'],
      [
        { filter: { categoryId: operator } },
        'query ($filter: PetFilter) { pets(filter: $filter) { totalCount } }',
      ],
      [
        { filter: { status: operator } },
        'query ($filter: PetFilter) { pets(filter: $filter) { totalCount } }',
      ],
      [{ filter: operator }, 'query ($filter: PetFilter) { pets(filter: $filter) { totalCount } }'],
      [{ after: operator }, 'query ($after: String) { pets(after: $after) { totalCount } }'],
      [
        { input: { name: operator, categoryId: C } },
        'mutation ($input: NewPet!) { createPet(input: $input) { id } }',
      ],
    ] as const) {
      expectQueryRefusal(await query(gateway, operation, variables), 'VALIDATION_FAILED');
    }
    expect(await gateway.store.table(Pet).count({})).toBe(before);
  });

  it.each([
    '/pets?status[$ne]=sold',
    '/pets?categoryId[$gt]=0',
    '/pets?status=%24ne',
    '/pets?after[]=1',
    '/pets/%7B%22%24gt%22%3A0%7D',
    '/store/orders?complete[$exists]=true',
    "/pets?categoryId=1'%20or%20'1'='1",
    '/pets/1;drop',
  ])('rejects them in a URL: %s', async (path) => {
    expectRefusal(await send(kit.gateway, path), 'VALIDATION_FAILED');
  });

  it.each(['{"$ne":""}', '$where', "' or 1=1 --", '../../etc/passwd'])(
    'rejects them as an API key: %s',
    async (key) => {
      expectRefusal(await send(kit.gateway, '/pets', { key }), 'UNAUTHENTICATED');
    },
  );
});

describe('attacks', () => {
  const kit = useGateway(sqlite);

  it('does not pollute prototypes with __proto__ or constructor in a body', async () => {
    const { gateway } = kit;
    for (const body of [
      '{"__proto__":{"polluted":1},"name":"x"}',
      '{"constructor":{"prototype":{"polluted":1}},"name":"x"}',
    ]) {
      expectRefusal(
        await send(gateway, 'POST /categories', { body }),
        'VALIDATION_FAILED',
        /is not a known field/,
      );
      const asVariable = `{"query":"mutation ($input: NewCategory!) { createCategory(input: $input) { id } }","variables":{"input":${body}}}`;
      const json = { 'content-type': 'application/json' };
      expectQueryRefusal(
        await send(gateway, 'POST /graphql', { body: asVariable, headers: json }),
        'VALIDATION_FAILED',
      );
      const asParameter = `{"query":"{ __typename }","__proto__":{"polluted":1}}`;
      // Unknown properties of a GraphQL request are ignored (GraphQL over HTTP, section 5.4).
      const sent = await send(gateway, 'POST /graphql', { body: asParameter, headers: json });
      expect(sent.json, sent.about).toEqual({ data: { __typename: 'Query' } });
    }
    await send(gateway, '/pets?__proto__[polluted]=1');
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it('responds 400 to deeply nested JSON', async () => {
    const deep = `${'['.repeat(49_000)}${']'.repeat(49_000)}`;
    for (const body of [deep, `{"name":${deep}}`, `{"a":`.repeat(15_000)]) {
      const sent = await send(kit.gateway, 'POST /categories', { body });
      expect(sent.status, sent.about.slice(0, 200)).toBe(400);
    }
    const body = `{"query":"query ($ids: [ID!]) { __typename }","variables":{"ids":${deep}}}`;
    const headers = { 'content-type': 'application/json' };
    expect((await send(kit.gateway, 'POST /graphql', { body, headers })).status).toBe(400);
  });

  it('responds 400 within 2 seconds to deep, wide and circular documents', async () => {
    const bombs: Record<string, string> = {
      depth: `{ pets { nodes ${'{ category { pets { nodes '.repeat(60)}{ id }${' } } }'.repeat(60)} } }`,
      brackets: `{ pets(filter: {status: ${'['.repeat(300)}sold${']'.repeat(300)}}) { totalCount } }`,
      fragments: `{ pets { nodes { ...F0 } } } ${Array.from({ length: 30 }, (_, i) => `fragment F${i} on Pet { ${`a${i}: category { pets { nodes { ...F${i + 1} } } } b${i}: category { pets { nodes { ...F${i + 1} } } }`} }`).join(' ')} fragment F30 on Pet { id }`,
      cycle: '{ pets { nodes { ...A } } } fragment A on Pet { category { pets { nodes { ...A } } } }',
      aliases: `{ ${Array.from({ length: 400 }, (_, i) => `a${i}: pets { totalCount }`).join(' ')} }`,
      directives: `{ __typename ${'@skip(if: false) '.repeat(1_000)} }`,
      tokens: `{ ${'__typename '.repeat(5_000)} }`,
      text: `{ pet(id: "${'1'.repeat(50_000)}") { id } }`,
    };
    for (const [name, operation] of Object.entries(bombs)) {
      const began = performance.now();
      const sent = await query(kit.gateway, operation);
      expect(sent.status, name).toBe(400);
      expect(sent.json, name).not.toHaveProperty('data');
      expect(performance.now() - began, name).toBeLessThan(2_000);
    }
  });

  it('refuses batches of more than 10 operations and nested batches', async () => {
    const headers = { 'content-type': 'application/json' };
    const batch = (length: number) => new Array(length).fill({ query: '{ __typename }' });
    expectQueryRefusal(
      await send(kit.gateway, 'POST /graphql', { body: batch(11), headers }),
      'PAYLOAD_TOO_LARGE',
    );
    expect((await send(kit.gateway, 'POST /graphql', { body: batch(10), headers })).json).toHaveLength(10);
    const nested = [batch(2), batch(2)];
    expect((await send(kit.gateway, 'POST /graphql', { body: nested, headers })).text).not.toContain(
      '"data":{',
    );
  });

  it('refuses oversized bodies, declared or chunked, and oversized URLs and headers', async () => {
    const large = `{"name":"${'x'.repeat(100_001)}"}`;
    expectRefusal(await send(kit.gateway, 'POST /categories', { body: large }), 'PAYLOAD_TOO_LARGE');
    const chunks = `POST /categories HTTP/1.1\r\nhost: x\r\nx-api-key: ${kit.gateway.key}\r\ntransfer-encoding: chunked\r\n\r\n${`4000\r\n${'x'.repeat(0x4000)}\r\n`.repeat(8)}0\r\n\r\n`;
    expect(await raw(kit.gateway.url, chunks)).toMatch(/^HTTP\/1\.1 413 /);
    expectRefusal(await send(kit.gateway, `/pets?after=${'1'.repeat(8_000)}`), 'VALIDATION_FAILED');
    expect(await raw(kit.gateway.url, `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nhost: x\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 400 /,
    );
    const many = Array.from({ length: 3_000 }, (_, i) => `a${i}:1\r\n`).join('');
    expect(await raw(kit.gateway.url, `GET /pets HTTP/1.1\r\nhost: x\r\n${many}\r\n`)).toMatch(
      /^HTTP\/1\.1 4/,
    );
  });

  it.each([
    [
      'a Content-Length and chunks',
      'content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n\r\n',
    ],
    ['two different Content-Lengths', 'content-length: 2\r\ncontent-length: 3\r\n\r\n{}'],
    ['an unknown Transfer-Encoding', 'transfer-encoding: xchunked\r\n\r\n0\r\n\r\n'],
    ['a folded header', 'x: a\r\n b\r\ncontent-length: x\r\n\r\n'],
    ['a broken chunk', 'transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n'],
  ])('responds to a request with %s once, with an error', async (_name, rest) => {
    const response = await raw(
      kit.gateway.url,
      `POST /categories HTTP/1.1\r\nhost: x\r\nx-api-key: ${kit.gateway.key}\r\n${rest}`,
    );
    expect(response.match(/^HTTP\/1\.1 /gm)).toHaveLength(1);
    expect(response).toMatch(/^HTTP\/1\.1 4\d\d /);
  });

  it('runs no mutation for what other sites can send without a preflight', async () => {
    const { gateway } = kit;
    const mutation = 'mutation { createCategory(input: {name: "x"}) { id } }';
    const before = await gateway.store.table(Category).count({});
    const asGet = await send(gateway, `/graphql?${new URLSearchParams({ query: mutation })}`);
    expect(asGet.status, asGet.about).toBeGreaterThanOrEqual(400);
    // Keys travel in headers, so what a form can send without a preflight has none.
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
    ]) {
      const body = type.startsWith('text') ? JSON.stringify({ query: mutation }) : `query=${mutation}`;
      const sent = await send(gateway, 'POST /graphql', {
        key: null,
        body,
        headers: { 'content-type': type },
      });
      expect(sent.status, sent.about).toBe(401);
    }
    expect(await gateway.store.table(Category).count({})).toBe(before);
  });

  it('still serves requests after these attacks, and logged neither the key nor a payload', async () => {
    expect(dataOf(await query(kit.gateway, '{ __typename }'))).toEqual({ __typename: 'Query' });
    const log = kit.gateway.logs.join('');
    expect(log).not.toContain(kit.gateway.key.slice(9));
    expect(log).not.toContain('polluted');
  });
});

it('reads the lists that a document asks for by aliases in turns of their own', async () => {
  const opened = await sqlite.open();
  const turns: number[] = [];
  const store = failing(opened.store, /^(usageTotals|webhooksOfKey|eventPage)$/, (_args, read) => {
    turns.push(performance.nodeTiming.uvMetricsInfo.loopCount);
    return read();
  });
  const gateway = await TestGateway.start(store);
  for (const [lists, field] of [
    [8, 'usage { date }'],
    [8, 'webhooks { id }'],
    [8, 'events { nodes { id } }'],
  ] as const) {
    turns.length = 0;
    dataOf(
      await query(gateway, `{ ${Array.from({ length: lists }, (_, n) => `a${n}: ${field}`).join(' ')} }`),
    );
    expect(turns).toHaveLength(lists);
    // The first may share the turn of the second, in which it arrived.
    expect(new Set(turns).size, field).toBeGreaterThanOrEqual(lists - 1);
  }
  await gateway.close();
  await opened.close();
});

async function raw(url: string, bytes: string): Promise<string> {
  const { port } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.on('error', () => {});
  socket.setTimeout(1_000, () => socket.end());
  socket.write(bytes);
  return await text(socket).catch(() => '');
}
