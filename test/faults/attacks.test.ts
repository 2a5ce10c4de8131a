import { performance } from 'node:perf_hooks';
import { describe, expect, it } from 'vitest';
import { Pet } from '../../src/domains/pet/pet.ts';
import { MAX_TURN } from '../../src/foundation/turns.ts';
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
const OPERATOR_TEXTS = ['$name', '$$ROOT', '__proto__', "'; drop table pets; --", '{"$gt": ""}'];
const OPERATORS = [{ $gt: '' }, { $ne: null }, { $where: 'true' }, ['$ne', 1], { $literal: 1 }];

onEachEngine('database operators', (kit) => {
  it.each(OPERATOR_TEXTS)('stores them as plain text: %s', async (name) => {
    const { gateway } = kit;
    const created = await send(gateway, 'POST /categories', { body: { name, description: name } });
    expect(created.json, created.about).toMatchObject({ name, description: name });
    const { id } = created.json;
    const body = { name: `${name} too`, description: `${name} too` };
    expectAnswer(await send(gateway, `PATCH /categories/${id}`, { body }), 200, { id, ...body });
    const retried = { body: { name }, headers: { 'idempotency-key': name } };
    const first = await send(gateway, 'POST /categories', retried);
    expect((await send(gateway, 'POST /categories', retried)).text, first.about).toBe(first.text);
  });

  it('refuses them in place of a value', async () => {
    const { gateway } = kit;
    const { P, C } = await makeWorld(kit);
    const before = await gateway.store.table(Pet).count({});
    for (const operator of OPERATORS) {
      for (const [line, body] of [
        ['POST /pets', { name: operator, categoryId: C }],
        [`PUT /pets/${P}`, { name: 'Rex', categoryId: operator, status: operator }],
        [`PATCH /categories/${C}`, { description: operator }],
        ['POST /store/orders', { id: operator, petId: operator, shipDate: operator, complete: operator }],
        [`PUT /store/inventory/${P}`, { quantity: operator }],
      ] as const)
        expectRefusal(await send(gateway, line, { body }), 'VALIDATION_FAILED');
      for (const [type, value] of [
        ['ID!', '{ pet(id: $v) { id } }'],
        ['PetFilter', '{ pets(filter: $v) { totalCount } }'],
        ['String', '{ pets(after: $v) { totalCount } }'],
      ] as const)
        expectQueryRefusal(
          await query(gateway, `query ($v: ${type}) ${value}`, {
            v: type === 'PetFilter' ? { categoryId: operator, status: operator } : operator,
          }),
          'VALIDATION_FAILED',
        );
    }
    for (const path of [
      '/pets?status[$ne]=sold',
      '/pets?categoryId[$gt]=0',
      '/pets?status=%24ne',
      '/pets/%7B%22%24gt%22%3A0%7D',
      "/pets?categoryId=1'%20or%20'1'='1",
      '/pets/1;drop',
    ])
      expectRefusal(await send(gateway, path), 'VALIDATION_FAILED');
    for (const key of ['{"$ne":""}', "' or 1=1 --"])
      expectRefusal(await send(gateway, '/pets', { key }), 'UNAUTHENTICATED');
    expect(await gateway.store.table(Pet).count({})).toBe(before);
  });
});

describe('attacks', () => {
  const kit = useGateway(sqlite);

  it('does not pollute prototypes with names of a body or a query, of which the log keeps nothing', async () => {
    const { gateway } = kit;
    const headers = { 'content-type': 'application/json' };
    const query = 'mutation ($input: NewCategory!) { createCategory(input: $input) { id } }';
    for (const body of ['{"__proto__":{"polluted":1}}', '{"constructor":{"prototype":{"polluted":1}}}']) {
      expectRefusal(
        await send(gateway, 'POST /categories', { body }),
        'VALIDATION_FAILED',
        /not a known field/,
      );
      const asVariable = `{"query":"${query}","variables":{"input":${body}},"__proto__":{"polluted":1}}`;
      const sent = await send(gateway, 'POST /graphql', { body: asVariable, headers });
      expectQueryRefusal(sent, 'VALIDATION_FAILED');
    }
    await send(gateway, '/pets?__proto__[polluted]=1');
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    const log = gateway.logs.join('');
    expect(log).not.toContain(gateway.key.slice(9));
    expect(log).not.toContain('polluted');
  });

  it('responds 400 to deeply nested variables', async () => {
    const deep = `${'['.repeat(49_000)}${']'.repeat(49_000)}`;
    const body = `{"query":"query ($ids: [ID!]) { __typename }","variables":{"ids":${deep}}}`;
    const headers = { 'content-type': 'application/json' };
    expect((await send(kit.gateway, 'POST /graphql', { body, headers })).status).toBe(400);
  });
});

it('reads slow lists that a document asks for by aliases in turns of their own', async () => {
  const opened = await sqlite.open();
  const turns: number[] = [];
  const store = failing(opened.store, /^(usageDays|webhooks\.\w+|eventPage)$/, (_args, read) => {
    turns.push(performance.nodeTiming.uvMetricsInfo.loopCount);
    for (const began = performance.now(); performance.now() - began < MAX_TURN;);
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
