import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { PLANS } from '../../../src/access/plans.ts';
import { hashOf } from '../../../src/graphql/named-documents.ts';
import type { ApiKeyChanges } from '../../../src/store/stored-api-keys.ts';
import { cases } from '../../kit/cases.ts';
import { EventStreamClient } from '../../kit/event-stream.ts';
import { TestGateway } from '../../kit/gateway.ts';
import {
  dataOf,
  expectAnswer,
  expectQueryRefusal,
  expectRefusal,
  type Kit,
  makeWorld,
  onAnyEngine,
  onEachEngine,
  query,
  type Sent,
  send,
} from '../../kit/petstore.ts';
import { rpc } from '../../kit/mcp.ts';

/** Longer than keys are served from the cache, in milliseconds. */
const CACHED = 4_100;

/** Calls of the API with a key, and the making of keys by another. */
const callsOf = (kit: Kit) => {
  const call = (key: string, line: string, body?: unknown, headers: Record<string, string> = {}) =>
    send(kit.gateway, line, { key, headers, ...(body !== undefined && { body }) });
  return {
    call,
    async create(owner: string, body: object = {}) {
      const created = await call(owner, 'POST /keys', { name: 'Till 7', ...body });
      expectAnswer(created, 201);
      return created.json as { id: string; key: string; scopes?: string[] };
    },
  };
};

onEachEngine('keys that an owner makes', (kit) => {
  const { call, create } = callsOf(kit);

  it('are made, listed, changed, rotated and revoked by their owner alone, over both interfaces', async () => {
    const owner = await kit.gateway.newKey('pro');
    const other = await kit.gateway.newKey('pro');
    const created = await call(owner, 'POST /keys', { name: ' Till 7 ', scopes: ['pets:read'] });
    expectAnswer(created, 201);
    const { key, ...shown } = created.json;
    expect(key).toMatch(/^petstore_[0-9A-Za-z]{49}$/);
    expect(created.headers.location).toBe(`/keys/${shown.id}`);
    expect(shown).toMatchObject({ name: 'Till 7', plan: 'pro', scopes: ['pets:read'] });
    expect((await call(owner, `/keys/${shown.id}`)).json).toMatchObject(shown);
    expect((await call(owner, '/keys')).json).toEqual([
      expect.not.objectContaining({ key: expect.anything() }),
    ]);
    expect((await call(key, '/key')).json).toMatchObject(shown);
    for (const line of [`GET /keys/${shown.id}`, `DELETE /keys/${shown.id}`])
      expectRefusal(await call(other, line), 'NOT_FOUND');
    for (const line of [`PATCH /keys/${shown.id}`, `POST /keys/${shown.id}/rotate`])
      expectRefusal(await call(other, line, {}), 'NOT_FOUND');
    const patched = await call(owner, `PATCH /keys/${shown.id}`, {
      name: 'Till 8',
      scopes: ['orders:write'],
    });
    expectAnswer(patched, 200);
    expect(patched.json).toMatchObject({ id: shown.id, name: 'Till 8', scopes: ['orders:write'] });
    expect(patched.json).not.toHaveProperty('key');
    kit.clock.advance(CACHED);
    expectRefusal(await call(key, '/pets'), 'FORBIDDEN', 'The API key lacks the scope pets:read.');

    const rotated = await call(owner, `POST /keys/${shown.id}/rotate`, { grace: 60 });
    expectAnswer(rotated, 200);
    for (const each of [key, rotated.json.key]) expectAnswer(await call(each, '/store/orders'), 200);
    kit.clock.advance(60_000);
    expectRefusal(await call(key, '/store/orders'), 'UNAUTHENTICATED');
    expectAnswer(await call(rotated.json.key, '/store/orders'), 200);

    const ask = async (text: string, by = owner) => query(kit.gateway, text, undefined, { key: by });
    const made = dataOf(
      await ask('mutation { createKey(input: {name: "Agent"}) { id key scopes } }'),
    ).createKey;
    expect(made).toEqual({ id: expect.any(String), key: expect.stringMatching(/^petstore_/), scopes: null });
    expect(dataOf(await ask(`{ keys { name key } key(id: "${made.id}") { name } }`))).toEqual({
      keys: [
        { name: 'Till 8', key: null },
        { name: 'Agent', key: null },
      ],
      key: { name: 'Agent' },
    });
    expect(dataOf(await ask(`{ key(id: "${made.id}") { name } }`, other))).toEqual({ key: null });
    const again = dataOf(await ask('mutation { rotateKey(grace: 0) { key } }', made.key)).rotateKey.key;
    kit.clock.advance(CACHED);
    expectRefusal(await call(made.key, '/pets'), 'UNAUTHENTICATED');
    expect(dataOf(await ask(`mutation { deleteKey(id: "${made.id}") }`))).toEqual({ deleteKey: made.id });
    kit.clock.advance(CACHED);
    expectRefusal(await call(again, '/pets'), 'UNAUTHENTICATED', /revoked/);
    expectRefusal(await call(owner, `/keys/${made.id}`), 'NOT_FOUND');
    expectRefusal(await call(owner, `DELETE /keys/${made.id}`), 'NOT_FOUND');
  });

  it('are rotated by calls without a body, whatever type of it they name', async () => {
    const key = await kit.gateway.newKey('pro');
    const headers = { 'content-type': 'application/octet-stream' };
    expectAnswer(await call(key, 'POST /key/rotate', undefined, headers), 200);
    expectRefusal(await call(key, 'POST /key/rotate', {}, headers), 'UNSUPPORTED_MEDIA_TYPE');
  });

  it('repeat their secret to a retry, and to no other call', async () => {
    const owner = await kit.gateway.newKey('pro');
    const retry = { 'idempotency-key': 'make-1' };
    const first = await call(owner, 'POST /keys', { name: 'a' }, retry);
    const replay = await call(owner, 'POST /keys', { name: 'a' }, retry);
    expectAnswer(replay, 201, first.text);
    expect(replay.headers['idempotency-replayed']).toBe('true');
    expect((await call(owner, '/keys')).json).toHaveLength(1);
    const brief = { name: 'b', expiresAt: new Date(kit.clock.now() + 1_000).toISOString() };
    const made = await call(owner, 'POST /keys', brief, { 'idempotency-key': 'make-2' });
    kit.clock.advance(1_000);
    expectAnswer(await call(owner, 'POST /keys', brief, { 'idempotency-key': 'make-2' }), 201, made.text);
    const [one, two] = await Promise.all(
      [1, 2].map(() => call(owner, 'POST /key/rotate', {}, { 'idempotency-key': 'turn' })),
    );
    expect([one!.json.key, two!.json.key].filter((key) => key !== undefined).length).toBeGreaterThan(0);
    expectAnswer(await call(owner, 'POST /key/rotate', {}, { 'idempotency-key': 'turn' }), 200);
  });

  it('are made and changed together with what else an operation writes, or not at all', async () => {
    const owner = await kit.gateway.newKey('pro');
    const ask = async (text: string) => query(kit.gateway, text, undefined, { key: owner });
    const { b } = dataOf(
      await ask(
        'mutation { a: createKey(input: {name: "a"}) { id } b: createKey(input: {name: "b"}) { id } }',
      ),
    );
    const { json } = await ask(
      `mutation { createKey(input: {name: "c"}) { id } d: updateKey(id: "${b.id}", input: {name: "d"}) { id } e: updateKey(id: "${b.id}", input: {scopes: ["x"]}) { id } }`,
    );
    expect(json).toMatchObject({ data: null, errors: [{ path: ['e'], extensions: { status: 400 } }] });
    expect((await call(owner, '/keys')).json).toHaveLength(2);
  });

  it('share the windows of their owner exactly, over every transport and instance', async () => {
    const { gateway } = kit;
    await makeWorld(kit);
    const owner = await gateway.newKey('free');
    const keys = [owner];
    for (let n = 0; n < 10; n++) keys.push((await create(owner)).key);
    const second = await TestGateway.start(gateway.store, {}, kit.clock);
    kit.clock.advance(61_000);
    const doors = [
      (key: string) => gateway.call('/pets', { key }).then(({ status }) => status),
      (key: string) => second.call('/pets', { key }).then(({ status }) => status),
      (key: string) => gateway.graphql('{ pets { nodes { id } } }', {}, { key }).then(({ status }) => status),
      (key: string) =>
        rpc(gateway, 'tools/call', { name: 'listPets', arguments: {} }, { key }).then(({ json, status }) =>
          json.result?.isError ? 429 : status,
        ),
    ];
    const statuses = await Promise.all(
      Array.from({ length: 100 }, (_, n) => doors[n % doors.length]!(keys[n % keys.length]!)),
    );
    await second.close();
    expect(statuses.sort()).toEqual(Array.from({ length: 100 }, (_, n) => (n < 60 ? 200 : 429)));
    const refused = await call(keys[5]!, '/pets');
    expect([
      refused.status,
      refused.headers['x-ratelimit-limit'],
      refused.headers['x-ratelimit-remaining'],
    ]).toEqual([429, '60', '0']);
  });

  it('never outlive an owner that is revoked while they are made, or themselves while they are rotated', async () => {
    const { gateway, clock } = kit;
    const second = await TestGateway.start(gateway.store, {}, clock);
    const works = async (keys: string[]) => {
      const replies = await Promise.all(
        keys.flatMap((key) => [call(key, '/pets'), second.call('/pets', { key })]),
      );
      return replies.filter(({ status }) => status !== 401).length;
    };
    const secretsOf = (replies: { json: { key?: string } }[]) =>
      replies.flatMap(({ json }) => (json.key === undefined ? [] : [json.key]));
    let made = 0;
    for (let n = 0; n < 5; n++) {
      const { key: owner, apiKey } = await gateway.keyRecord({});
      expectAnswer(await call(owner, '/key'), 200);
      const revoked = delay(3 * n).then(() => gateway.store.revokeApiKey(apiKey.id, clock.now()));
      const body = { name: 'late' };
      const creations = Array.from({ length: 6 }, (_, i) =>
        delay(3 * i).then(() =>
          i % 2 === 0
            ? call(owner, 'POST /keys', body)
            : second.call('/keys', { method: 'POST', key: owner, body }),
        ),
      );
      const created = secretsOf(await Promise.all(creations));
      await revoked;
      clock.advance(CACHED);
      made += created.length;
      expect(await works([owner, ...created])).toBe(0);
    }
    expect(made).toBeGreaterThan(0);
    for (let n = 0; n < 5; n++) {
      const owner = await gateway.restrictedKey({});
      const child = await create(owner);
      expectAnswer(await call(child.key, '/key'), 200);
      const rotations = [0, 1, 2, 3].map((i) =>
        delay(3 * i).then(() =>
          i % 2 === 0
            ? call(owner, `POST /keys/${child.id}/rotate`, {})
            : call(child.key, 'POST /key/rotate', {}),
        ),
      );
      const ended = delay(2 * n).then(() => call(owner, `DELETE /keys/${child.id}`));
      const rotated = await Promise.all(rotations);
      expectAnswer(await ended, 204);
      clock.advance(CACHED);
      expect(await works([child.key, ...secretsOf(rotated)])).toBe(0);
      expect((await call(owner, '/keys')).json).toEqual([]);
    }
    await second.close();
  });

  it('are taken back by their owner although a thief has rotated them', async () => {
    const { gateway, clock } = kit;
    const owner = await gateway.restrictedKey({});
    const child = await create(owner, { scopes: ['pets:read'] });
    let stolen = child.key;
    for (let n = 0; n < 12; n++) {
      const rotated = await call(stolen, 'POST /key/rotate', { grace: n === 11 ? 0 : 604_800 });
      expectAnswer(rotated, 200);
      stolen = rotated.json.key;
    }
    const stored = await gateway.store.apiKeyById(child.id);
    expect(stored!.secrets).toHaveLength(10);
    clock.advance(CACHED);
    expectRefusal(await call(child.key, '/pets'), 'UNAUTHENTICATED');
    expectAnswer(await call(stolen, '/pets'), 200);
    // It gains nothing, and the owner sees what it did.
    for (const line of ['GET /keys', `DELETE /keys/${child.id}`, `POST /keys/${child.id}/rotate`])
      expectRefusal(
        await call(stolen, line, line.startsWith('POST') ? {} : undefined),
        'FORBIDDEN',
        /keys:write/,
      );
    const seen = (await call(owner, '/requests?operation=rotateKey&status=200')).json;
    expect(seen.filter(({ keyId }: { keyId: string }) => keyId === child.id)).toHaveLength(12);
    const { json } = await call(owner, `POST /keys/${child.id}/rotate`, { grace: 0 });
    clock.advance(CACHED);
    expectRefusal(await call(stolen, '/pets'), 'UNAUTHENTICATED');
    expectAnswer(await call(json.key, '/pets'), 200);
  });

  it('take no place among the webhooks of their plan any more once they are deleted', async () => {
    const owner = await kit.gateway.newKey('free');
    const { id, key } = await create(owner);
    const add = (by: string) => call(by, 'POST /webhooks', { url: 'https://example.org/hook' });
    const sent = [
      await add(key),
      await add(owner),
      await call(owner, `DELETE /keys/${id}`),
      await add(owner),
    ];
    expect(sent.map(({ status }) => status)).toEqual([201, 409, 204, 201]);
  });

  it('are at most 20, however many are made at once', async () => {
    const { gateway, clock } = kit;
    // SecantusDB takes seconds for as many transactions that write the same document.
    const [rounds, atOnce] = kit.opened.store.isExclusive ? [cases(2, 5), 200] : [6, 5];
    for (const plan of ['enterprise', 'free'] as const) {
      const owner = await gateway.newKey(plan, { perMinute: 100_000, perDay: 100_000 });
      const sent: Sent[] = [];
      for (let n = 0; n < rounds; n++) {
        const creations = Array.from({ length: atOnce }, () => call(owner, 'POST /keys', { name: `k${n}` }));
        sent.push(...(await Promise.all(creations)));
      }
      const statuses = sent.map(({ status }) => status);
      expect(statuses.filter((status) => status === 201)).toHaveLength(20);
      // The guard of mutations, the budget of a minute and the ban for going on refuse others before.
      const refusals = plan === 'free' ? [409, 429, 403] : [409];
      expect(statuses.filter((status) => status !== 201 && !refusals.includes(status))).toEqual([]);
      for (const refused of sent.filter(({ status }) => status === 409))
        expectRefusal(refused, 'CONFLICT', /at most 20/);
      clock.advance(61_000);
      const made = (await call(owner, '/keys')).json;
      expect(made).toHaveLength(20);
      if (plan === 'free') continue;
      expectAnswer(await call(owner, `DELETE /keys/${made[0].id}`), 204);
      expectAnswer(await call(owner, 'POST /keys', { name: 'one more' }), 201);
    }
  });
});

onAnyEngine('the permissions and bans of keys that an owner makes', (kit) => {
  const { call, create } = callsOf(kit);

  it('take back what a GET gave, and no other id or value of a field that does not change', async () => {
    const { gateway } = kit;
    const patch = (path: string, body: object) => send(gateway, `PATCH ${path}`, { body });
    const url = 'https://example.com/hook';
    for (const [path, body] of [
      ['/keys', { name: 'Till', scopes: ['pets:read'] }],
      ['/webhooks', { url, types: ['pet.created'] }],
    ] as const) {
      const { id } = (await send(gateway, `POST ${path}`, { body })).json;
      const { json } = await send(gateway, `${path}/${id}`);
      const unchanged = await patch(`${path}/${id}`, json);
      expect([unchanged.status, unchanged.json], unchanged.about).toEqual([200, json]);
      const others = { id: `${id}x`, createdAt: '2026-01-31T09:30:00Z' };
      expect((await patch(`${path}/${id}`, { id: others.id })).json.message).toBe(
        'id: must equal the id in the path.',
      );
      expect((await patch(`${path}/${id}`, { createdAt: others.createdAt })).json.message).toBe(
        'createdAt: cannot be changed here.',
      );
    }
  });

  it('can do no more than their owner, whatever they ask for', async () => {
    const { gateway, clock } = kit;
    const restricted = { scopes: ['keys:write', 'pets:write'], allow: ['127.0.0.0/8'] };
    const owner = await gateway.restrictedKey({ ...restricted, expiresAt: clock.now() + 86_400_000 });
    const refused = (body: object) => call(owner, 'POST /keys', { name: 'x', ...body });
    expectRefusal(
      await refused({ scopes: ['pets:read', 'orders:read', '*:read'] }),
      'FORBIDDEN',
      'The API key lacks the scopes orders:read, *:read.',
    );
    expectRefusal(
      await refused({ allow: ['127.0.0.1', '10.0.0.0/8', '0.0.0.0/0'] }),
      'FORBIDDEN',
      /10\.0\.0\.0\/8, 0/,
    );
    for (const [body, message] of [
      [{ scopes: ['horses:ride'] }, /^scopes: must be some of .*pets:read/],
      [{ scopes: [] }, /^scopes:/],
      [{ allow: ['here'] }, /^allow/],
      [
        { allow: Array.from({ length: 21 }, (_, n) => `127.0.0.${n}`) },
        'allow: must have at most 20 values.',
      ],
      [{ documents: 'nowhere' }, /^documents:/],
      [{ expiresAt: '2020-01-01T00:00:00Z' }, /^expiresAt: must be in the future/],
      [{ expiresAt: '2200-01-01T00:00:00Z' }, /^expiresAt: must not be after/],
      [{ name: '' }, /^name:/],
      [{ plan: 'enterprise' }, /plan/],
    ] as const)
      expectRefusal(await refused(body), 'VALIDATION_FAILED', message);
    const child = await create(owner);
    expect(child).toMatchObject({ scopes: restricted.scopes, allow: restricted.allow });
    expectAnswer(await call(child.key, '/pets'), 200);
    expectRefusal(await call(child.key, '/store/orders'), 'FORBIDDEN');
    expectRefusal(
      await call(child.key, 'POST /keys', { name: 'grandchild' }),
      'FORBIDDEN',
      /makes none itself/,
    );
    expect((await call(child.key, '/keys')).json).toEqual([]);
    for (const grace of [-1, 604_801, 1.5])
      expectRefusal(await call(owner, 'POST /key/rotate', { grace }), 'VALIDATION_FAILED', /grace/);
    const plain = await gateway.restrictedKey({ scopes: ['*:read', 'pets:write'] });
    expectRefusal(await call(plain, '/keys'), 'FORBIDDEN', 'The API key lacks the scope keys:write.');
    expectRefusal(await call(plain, 'POST /keys', { name: 'x' }), 'FORBIDDEN');
    expectQueryRefusal(
      await query(gateway, 'mutation { rotateKey(id: "key_x") { key } }', undefined, { key: plain }),
      'FORBIDDEN',
    );
    expectAnswer(await call(plain, 'POST /key/rotate'), 200);
  });

  it('are narrowed and ended with their owner within 5 seconds, whatever they have of their own', async () => {
    const { gateway, clock } = kit;
    const PETS = '{ pets { totalCount } }';
    const ORDERS = '{ orders { totalCount } }';
    await gateway.store.addDocuments([
      { list: 'a', id: 'pets', text: PETS, hash: hashOf(PETS), addedAt: 0 },
      { list: 'a', id: 'orders', text: ORDERS, hash: hashOf(ORDERS), addedAt: 0 },
      { list: 'b', id: 'orders', text: ORDERS, hash: hashOf(ORDERS), addedAt: 0 },
    ]);
    const later = (days: number) => new Date(clock.now() + days * 86_400_000).toISOString();
    const everything = {
      scopes: ['pets:read', 'orders:write'],
      allow: ['127.0.0.1'],
      documents: 'report:a',
      expiresAt: later(2),
    };
    for (const own of [{}, everything]) {
      const { key: owner, apiKey: record } = await gateway.keyRecord({ documents: 'report:a' });
      const { key } = await create(owner, own);
      const change = async (changes: ApiKeyChanges) => {
        await gateway.store.updateApiKey(record.id, changes);
        clock.advance(CACHED);
      };
      expectAnswer(await call(key, '/store/orders'), 200);
      await change({ scopes: ['pets:read', 'keys:write'] });
      expectRefusal(await call(key, '/store/orders'), 'FORBIDDEN');
      await change({ scopes: null });
      expectAnswer(await call(key, '/store/orders'), 200);
      await change({ allow: ['10.0.0.0/8'] });
      expectRefusal(await call(key, '/pets'), 'FORBIDDEN', /address/);
      await change({ allow: null });
      // Its own list, and by now the owner's: only what is in both.
      const run = (body: object) => call(key, 'POST /graphql', body);
      for (const body of [{ query: PETS }, { documentId: 'pets' }, { documentId: hashOf(PETS) }])
        dataOf(await run(body));
      await change({ documents: 'b' });
      for (const body of [{ query: PETS }, { documentId: 'pets' }, { documentId: hashOf(PETS) }])
        expectQueryRefusal(await run(body), 'FORBIDDEN', /documents of its list/);
      for (const body of [{ query: ORDERS }, { documentId: 'orders' }]) dataOf(await run(body));
      const tool = { name: 'graphql', arguments: { query: PETS } };
      expect((await rpc(gateway, 'tools/call', tool, { key })).json.result.content[0].text).toMatch(
        /FORBIDDEN/,
      );
      await change({ documents: null });
      await change({ plan: 'free', limits: PLANS.free.limits! });
      expect((await call(key, '/pets')).headers['x-ratelimit-limit']).toBe('60');
      expect((await call(key, '/key')).json.plan).toBe('free');
      await change({ expiresAt: clock.now() + CACHED + 1_000 });
      expectAnswer(await call(key, '/pets'), 200);
      clock.advance(1_000);
      expectRefusal(await call(key, '/pets'), 'UNAUTHENTICATED', /API key of its owner expired/);
      await change({ expiresAt: null });
      expectAnswer(await call(key, '/pets'), 200);
      await gateway.store.revokeApiKey(record.id, clock.now());
      clock.advance(CACHED);
      expectRefusal(await call(key, '/pets'), 'UNAUTHENTICATED', /API key of its owner was revoked/);
    }
  });

  it.each<[string, ApiKeyChanges | 'revoked', string]>([
    ['may read nothing any more', { scopes: ['keys:write'] }, 'FORBIDDEN'],
    ['may be used elsewhere', { allow: ['10.0.0.0/8'] }, 'FORBIDDEN'],
    ['is bound to other documents', { documents: 'none of them' }, 'FORBIDDEN'],
    ['has expired', { expiresAt: Date.parse('2126-01-01T00:00:00Z') }, 'UNAUTHENTICATED'],
    ['is revoked', 'revoked', 'UNAUTHENTICATED'],
  ])('have streams that end within 5 seconds when their owner %s', async (_, changes, code) => {
    const { gateway, clock } = kit;
    const { key: owner, apiKey: record } = await gateway.keyRecord({});
    const { key } = await create(owner, { scopes: ['*:read'], allow: ['127.0.0.1'] });
    const body = JSON.stringify({ query: 'subscription { events { id } }' });
    const headers = { 'content-type': 'application/json' };
    const subscription = EventStreamClient.open(gateway, '/graphql', { method: 'POST', key, headers, body });
    const streams = [await subscription];
    // REST has no documents of others.
    if (changes === 'revoked' || !changes.documents)
      streams.push(await EventStreamClient.open(gateway, '/events/stream', { key }));
    for (const { response } of streams) expect(response.statusCode).toBe(200);
    if (changes === 'revoked') await gateway.store.revokeApiKey(record.id, clock.now());
    else await gateway.store.updateApiKey(record.id, changes);
    clock.advance(CACHED);
    for (const stream of streams) {
      await stream.ended;
      expect(stream.text).toContain(code);
    }
  });

  it('are banned for their own strikes, and with their owner', async () => {
    const { gateway, clock } = kit;
    const owner = await gateway.newKey('enterprise', { perMinute: 3, perDay: 1_000 });
    const a = (await create(owner)).key;
    const b = (await create(owner)).key;
    await call(a, '/pets');
    for (let n = 0; n < 25; n++) await call(a, '/pets');
    expectRefusal(await call(a, '/pets'), 'API_KEY_BANNED');
    expectRefusal(await call(b, '/pets'), 'RATE_LIMITED');
    expectRefusal(await call(owner, '/pets'), 'RATE_LIMITED');
    clock.advance(60_000);
    expectAnswer(await call(a, '/pets'), 200);
    expectAnswer(await call(b, '/pets'), 200);
    expectAnswer(await call(owner, '/pets'), 200);
    for (let n = 0; n < 25; n++) await call(owner, '/pets');
    for (const key of [owner, a, b]) expectRefusal(await call(key, '/pets'), 'API_KEY_BANNED');
  });
});
