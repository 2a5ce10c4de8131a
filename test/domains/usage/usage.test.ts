import { afterAll, beforeAll, expect, it } from 'vitest';
import { Category } from '../../../src/domains/category/category.ts';
import { DAY } from '../../../src/foundation/instant.ts';
import type { UsageOperation } from '../../../src/store/stored-usage-history.ts';
import { EventStreamClient } from '../../kit/event-stream.ts';
import { TestGateway } from '../../kit/gateway.ts';
import { rpc } from '../../kit/mcp.ts';
import {
  expectAnswer,
  expectQueryRefusal,
  expectRefusal,
  makeWorld,
  onAnyEngine,
  query,
  send,
} from '../../kit/petstore.ts';

onAnyEngine('usage', (kit) => {
  let other: TestGateway;

  // Two instances on one store.
  beforeAll(async () => {
    other = await TestGateway.start(kit.opened.store, {}, kit.clock);
  });
  afterAll(() => other?.close());

  const totals = (operations: readonly UsageOperation[]) =>
    operations.reduce((sum, { units }) => sum + units, 0);

  it('is what the limiter charged, over both interfaces, streams and two instances', async () => {
    const { gateway, clock } = kit;
    const world = await makeWorld(kit);
    const { key, apiKey } = await gateway.keyRecord({});
    const date = new Date(clock.now()).toISOString().slice(0, 10);
    for (const each of [gateway, other]) {
      await send(each, '/pets', { key });
      await send(each, `PATCH /pets/${world.P}`, { key, body: {} });
      await send(each, `PUT /pets/${world.P}`, { key, body: { name: 'Max', categoryId: Number(world.C) } });
      await send(each, `GET /categories/${world.C}/pets`, { key });
      await send(each, '/key', { key });
      // Fails before it has an operation, and with one.
      await send(each, '/nothing', { key });
      await send(each, 'POST /pets', { key, body: {} });
      await query(
        each,
        '{ pets(first: 100) { nodes { orders(first: 1) { totalCount } } } orders { totalCount } }',
        undefined,
        { key },
      );
      await query(each, 'mutation { deleteOrder(id: 987654321) }', undefined, { key });
      await query(each, '{ nope }', undefined, { key });
      await query(each, '{ rateLimit { cost } }', undefined, { key });
      await send(each, 'POST /graphql', {
        key,
        body: [{ query: '{ pets { totalCount } }' }, { query: '{ nope }' }],
      });
      const tool = (name: string, args: object) =>
        rpc(each, 'tools/call', { name, arguments: args }, { key });
      await tool('getPet', { petId: String(world.P) });
      await tool('graphql', { query: '{ pets(first: 100) { nodes { orders(first: 1) { totalCount } } } }' });
      await tool('graphql', { query: '{ nope }' });
      const subscription = JSON.stringify({ query: 'subscription { events { id } }' });
      const json = { 'content-type': 'application/json' };
      const streams = [
        await EventStreamClient.open(each, '/events/stream', { key }),
        await EventStreamClient.open(each, '/graphql', {
          method: 'POST',
          key,
          headers: json,
          body: subscription,
        }),
      ];
      expect(streams.map(({ response }) => response.statusCode)).toEqual([200, 200]);
      await kit.gateway.store.table(Category).insert({ name: 'Seen' });
      for (const stream of streams) {
        await stream.untilText('data:');
        stream.close();
      }
    }
    // As an orderly stop does.
    for (const each of [gateway, other]) await each.flushUsage();
    const { dayUsed } = (await gateway.store.usage([apiKey.id]))[0]!;
    const [day] = await gateway.store.usageDays(apiKey.id, date, date);
    expect(totals(day!.operations)).toBe(dayUsed);
    const counted = day!.operations.map(({ operation, transport, requests, units, refused }) => [
      `${transport} ${operation}`,
      [requests, units, refused],
    ]);
    expect(Object.fromEntries(counted)).toEqual({
      'rest pets': [2, 2, 0],
      'rest updatePet': [4, 4, 0],
      'rest category': [2, 2, 0],
      'rest apiKey': [2, 2, 0],
      'rest other': [2, 2, 0],
      'rest createPet': [2, 2, 0],
      // 100 pets and 100 orders are 2 units; the request counts once, for its first field.
      'graphql pets': [4, 6, 0],
      'graphql orders': [0, 2, 0],
      'graphql deleteOrder': [2, 2, 0],
      // An unknown field, and one in a batch. What is free is not counted.
      'graphql other': [2, 4, 0],
      // Opening and the first 100 events, twice.
      'stream events': [4, 8, 0],
      'mcp pet': [2, 2, 0],
      'mcp pets': [2, 4, 0],
      'mcp other': [2, 2, 0],
    });
  });

  it('counts the refusals of the plan, but not those of bursts', async () => {
    const { gateway, clock } = kit;
    const key = await gateway.newKey('enterprise', { perMinute: 3, perDay: 100 });
    for (let i = 0; i < 5; i++) await send(gateway, '/pets', { key });
    await query(gateway, '{ orders { totalCount } pets { totalCount } }', undefined, { key });
    clock.advance(60_000);
    const days = await send(gateway, '/usage', { key });
    const date = new Date(clock.now()).toISOString().slice(0, 10);
    expectAnswer(days, 200, [{ date, requests: 4, units: 4, refused: 3 }]);
    expectAnswer(await send(gateway, `/usage/${date}`, { key }), 200, [
      { operation: 'pets', transport: 'rest', requests: 3, units: 3, refused: 2 },
      { operation: 'usage', transport: 'rest', requests: 2, units: 2, refused: 0 },
      { operation: 'orders', transport: 'graphql', requests: 0, units: 0, refused: 1 },
    ]);
  });

  it('says when a key was last used, whichever instance stores it last', async () => {
    const { gateway, clock } = kit;
    const { key, apiKey } = await gateway.keyRecord({});
    const lastUsedAt = async () => (await gateway.store.apiKeyById(apiKey.id))!.lastUsedAt;
    await send(gateway, '/pets', { key });
    clock.advance(60_000);
    const used = clock.now();
    await send(other, '/pets', { key });
    clock.advance(60_000);
    for (const each of [other, gateway]) {
      await each.flushUsage();
      expect(await lastUsedAt()).toBe(used);
    }
    // What is free is a use too, and so is what the plan refuses.
    await query(gateway, '{ rateLimit { plan } }', undefined, { key });
    await gateway.flushUsage();
    expect(await lastUsedAt()).toBe(clock.now());
    clock.advance(60_000);
    const text = '{ pets(first: 100) { nodes { orders(first: 100) { totalCount } } } }';
    await gateway.store.updateApiKey(apiKey.id, { limits: { perMinute: 1, perDay: 1 } });
    expect((await query(gateway, text, undefined, { key })).status).toBe(429);
    await gateway.flushUsage();
    expect(await lastUsedAt()).toBe(clock.now());
  });

  it('is shown by days, over both interfaces, for 92 days', async () => {
    const { gateway, clock } = kit;
    const { key, apiKey } = await gateway.keyRecord({});
    const start = clock.now();
    const dateOf = (days: number) => new Date(start + days * DAY).toISOString().slice(0, 10);
    const day = (days: number, units: number) => ({
      apiKeyId: apiKey.id,
      date: dateOf(days),
      operation: 'pets',
      transport: 'rest' as const,
      requests: units,
      units,
      refused: 0,
    });
    await gateway.store.addUsage([day(-91, 1), day(-92, 2), day(-6, 3), day(-7, 4)], {
      [apiKey.id]: start - 5 * DAY,
    });
    const units = async (range: string) =>
      (await send(gateway, `/usage${range}`, { key })).json.map((each: { units: number }) => each.units);
    expect(await units('')).toEqual([3, 1]);
    expect(await units(`?to=${dateOf(-6)}`)).toEqual([4, 3]);
    expect(await units(`?from=${dateOf(-200)}`)).toEqual([1, 4, 3, 3]);
    expect(await units(`?from=${dateOf(1)}&to=9999-12-31`)).toEqual([]);
    expectAnswer(await send(gateway, `/usage/${dateOf(-50)}`, { key }), 200, []);
    for (const [line, message] of [
      [`/usage?from=${dateOf(0)}&to=${dateOf(-1)}`, 'from: must not be after to.'],
      [`/usage?from=${dateOf(1)}`, `from: must not be after today (${dateOf(0)} in UTC).`],
      ['/usage?from=2026-02-30', 'from: must be a date such as 2026-11-22.'],
      ['/usage?to=x&limit=1', /to: must be a date.*limit: is not a known/],
      ['/usage/2026-13-01', 'date: must be a date such as 2026-11-22.'],
    ] as const)
      expectRefusal(await send(gateway, line, { key }), 'VALIDATION_FAILED', message);
    const sent = await query(
      gateway,
      `query ($from: Date) { usage(from: $from, to: "${dateOf(-7)}") { date units operations { operation transport units } } }`,
      { from: dateOf(-10) },
      { key },
    );
    expect(sent.json.data, sent.about).toEqual({
      usage: [
        { date: dateOf(-7), units: 4, operations: [{ operation: 'pets', transport: 'rest', units: 4 }] },
      ],
    });
    for (const args of ['from: "2026-02-30"', 'from: "2026-02-02", to: "2026-02-01"'])
      expectQueryRefusal(
        await query(gateway, `{ usage(${args}) { date } }`, undefined, { key }),
        'VALIDATION_FAILED',
      );
    // Of another key, nothing.
    expect((await send(gateway, '/usage', { key: await gateway.restrictedKey({}) })).json).toHaveLength(1);
  });

  it('is priced as a list of days, each with 100 operations', async () => {
    const { gateway } = kit;
    const price = async (text: string, variables = {}) =>
      (await send(gateway, 'POST /graphql/cost', { body: { query: text, variables } })).json.cost;
    expect(await price('{ usage { units } }')).toBe(1);
    expect(await price('{ usage { operations { units } } }')).toBe(8);
    const range = '(from: "2026-11-01", to: "2026-11-20")';
    expect(await price(`{ usage${range} { operations { units } } }`)).toBe(21);
    const sent = await query(
      gateway,
      '{ usage(from: "2026-01-01", to: "2026-11-20") { operations { units } } }',
    );
    expect(sent.json.errors[0].extensions.code).toBe('QUERY_TOO_COMPLEX');
    expect(await price('{ apiKey { scopes allow } }')).toBe(1);
  });

  it('shows a key itself, over both interfaces', async () => {
    const { gateway, clock } = kit;
    const restrictions = {
      scopes: ['orders:read'],
      allow: ['127.0.0.0/8'],
      expiresAt: clock.now() + DAY,
      documents: 'report:web',
    };
    const { key, apiKey } = await gateway.keyRecord(restrictions);
    const shown = {
      id: apiKey.id,
      name: 'test',
      plan: 'enterprise',
      scopes: ['orders:read'],
      createdAt: new Date(clock.now()).toISOString().replace('.000', ''),
      expiresAt: new Date(clock.now() + DAY).toISOString().replace('.000', ''),
      allow: ['127.0.0.0/8'],
      documents: 'report:web',
    };
    expectAnswer(await send(gateway, '/key', { key }), 200, shown);
    await gateway.flushUsage();
    const text = '{ apiKey { id name plan scopes createdAt lastUsedAt expiresAt allow documents } }';
    const sent = await query(gateway, text, undefined, { key });
    expect(sent.json.data.apiKey, sent.about).toEqual({ ...shown, lastUsedAt: shown.createdAt });
    const bare = (await send(gateway, '/key')).json;
    expect(Object.keys(bare).sort()).toEqual(expect.arrayContaining(['createdAt', 'id', 'name', 'plan']));
    for (const absent of ['scopes', 'expiresAt', 'allow', 'documents'])
      expect(bare).not.toHaveProperty(absent);
    const none = await query(gateway, '{ apiKey { scopes expiresAt } }');
    expect(none.json.data).toEqual({ apiKey: { scopes: null, expiresAt: null } });
  });
});
