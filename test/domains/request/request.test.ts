import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { Principal } from '../../../src/access/api-keys.ts';
import { RequestLog } from '../../../src/access/request-log.ts';
import { HOUR } from '../../../src/foundation/instant.ts';
import { Meter } from '../../../src/foundation/meter.ts';
import { type AnsweredRequest, type LoggedRequest, REQUESTS } from '../../../src/store/request-chunks.ts';
import type { RequestQuery } from '../../../src/store/stored-request-log.ts';
import { cases } from '../../kit/cases.ts';
import { TestGateway } from '../../kit/gateway.ts';
import { rpc } from '../../kit/mcp.ts';
import {
  dataOf,
  expectQueryRefusal,
  expectRefusal,
  type Kit,
  makeWorld,
  onEachEngine,
  query,
  send,
  useGateway,
} from '../../kit/petstore.ts';
import { engines } from '../../kit/stores.ts';

/** All requests of a key, by following the links. */
async function listed(gateway: TestGateway, key: string, path = '/requests?limit=100') {
  const all: Record<string, unknown>[] = [];
  for (let next: string | undefined = path; next !== undefined;) {
    const sent = await send(gateway, next, { key });
    expect(sent.status, sent.about).toBe(200);
    all.push(...sent.json);
    next = /<([^>]*)>; rel="next"/.exec(String(sent.headers.link ?? ''))?.[1];
  }
  return all;
}

onEachEngine('requests', (kit) => {
  const opened: RequestLog[] = [];
  const newLog = (store = kit.opened.store) => {
    const log = new RequestLog({ store, now: kit.clock.now, report: console.error, isKept: true });
    opened.push(log);
    return log;
  };
  afterEach(async () => {
    for (const log of opened.splice(0)) await log.close();
  });
  /** The log of another instance; the embedded engine has only one. */
  const newInstance = (log: RequestLog) => (kit.opened.store.requestJournal ? log : newLog());
  const ofKey = (id: string, account = id) => ({ id, account }) as unknown as Principal;
  const request: AnsweredRequest = {
    id: 'x',
    transport: 'rest',
    operation: 'pet',
    method: 'GET',
    path: '/pets/1',
    status: 200,
    units: 1,
    ms: 1,
  };
  const read = async (log: RequestLog, ask: Partial<RequestQuery>) => {
    const all: LoggedRequest[] = [];
    let pages = 0;
    for (let after: RequestQuery['after']; ; pages++) {
      const page = await log.page({
        keyId: '',
        limit: 100,
        now: kit.clock.now(),
        matches: () => true,
        meter: new Meter(1),
        after,
        ...ask,
      });
      all.push(...page.requests.map((entry) => entry.request));
      if (!page.next) return { all, pages };
      after = page.next;
    }
  };

  it('are listed as they were answered, newest first, over every transport', async () => {
    const { gateway, clock } = kit;
    const world = await makeWorld(kit);
    const { key, apiKey } = await gateway.keyRecord({});
    const sent: [transport: string, operation: string, status: number, code?: string][] = [];
    const ids: unknown[] = [];
    const note = async (
      reply: Promise<{ headers: Record<string, unknown> }>,
      ...what: (typeof sent)[number]
    ) => {
      ids.unshift((await reply).headers['x-request-id']);
      sent.unshift(what);
      clock.advance(10);
    };
    await note(query(gateway, '{ rateLimit { cost } }', {}, { key }), 'graphql', 'rateLimit', 200);
    await note(
      query(gateway, '{ rateLimit { cost } pets { totalCount } }', {}, { key }),
      'graphql',
      'pets',
      200,
    );
    await note(send(gateway, `/pets/${world.P}`, { key }), 'rest', 'pet', 200);
    await note(send(gateway, '/pets/987654321?', { key }), 'rest', 'pet', 404, 'NOT_FOUND');
    await note(send(gateway, 'POST /pets', { key, body: {} }), 'rest', 'createPet', 400, 'VALIDATION_FAILED');
    await note(send(gateway, '/nothing', { key }), 'rest', 'other', 404, 'NOT_FOUND');
    await note(
      query(gateway, '{ pets { totalCount } nope }', {}, { key }),
      'graphql',
      'other',
      400,
      'GRAPHQL_VALIDATION_FAILED',
    );
    await note(
      query(gateway, '{ orders { totalCount } pets { totalCount } }', {}, { key }),
      'graphql',
      'orders',
      200,
    );
    await note(
      query(gateway, 'mutation { deletePet(id: 987654321) }', {}, { key }),
      'graphql',
      'deletePet',
      200,
      'NOT_FOUND',
    );
    const call = { name: 'getPet', arguments: { petId: '987654321' } };
    await note(rpc(gateway, 'tools/call', call, { key }), 'mcp', 'pet', 200, 'NOT_FOUND');

    const all = await listed(gateway, key);
    expect(all.map(({ id }) => id)).toEqual(ids);
    expect(
      all.map(({ transport, operation, status, code }) => [
        transport,
        operation,
        status,
        ...(code ? [code] : []),
      ]),
    ).toEqual(sent);
    expect(all[6]).toStrictEqual({
      id: ids[6],
      time: new Date(clock.now() - 70).toISOString(),
      transport: 'rest',
      operation: 'pet',
      method: 'GET',
      path: '/pets/987654321',
      status: 404,
      code: 'NOT_FOUND',
      message: 'There is no pet 987654321.',
      units: 1,
      ms: expect.any(Number),
      keyId: apiKey.id,
    });
    // The same over GraphQL and page by page; filters hold together.
    const text = `query ($filter: RequestFilter, $after: String) { requests(filter: $filter, first: 2, after: $after) {
      edges { cursor node { id } } nodes { id code } pageInfo { hasNextPage hasPreviousPage endCursor } } }`;
    const filter = { status: ['4xx'], transport: 'rest' };
    const first = dataOf(await query(gateway, text, { filter }, { key })).requests;
    expect(first.nodes.map(({ id }: { id: string }) => id)).toEqual([ids[4], ids[5]]);
    expect(first.pageInfo).toEqual({
      hasNextPage: true,
      hasPreviousPage: false,
      endCursor: first.edges[1].cursor,
    });
    const after = first.pageInfo.endCursor;
    const second = dataOf(await query(gateway, text, { filter, after }, { key })).requests;
    expect(second.nodes).toEqual([{ id: ids[6], code: 'NOT_FOUND' }]);
    expect(second.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true });
    for (const [path, expected] of [
      ['/requests?limit=3', ids],
      ['/requests?status=404&status=400&limit=1', [ids[3], ids[4], ids[5], ids[6]]],
      ['/requests?operation=pet&status=200', [ids[0], ids[7]]],
      ['/requests?transport=mcp&transport=graphql&status=2xx', [ids[0], ids[1], ids[2], ids[8], ids[9]]],
      ['/requests?operation=petz', []],
    ] as const)
      expect(
        (await listed(gateway, key, path)).map(({ id }) => id),
        path,
      ).toEqual(expected);
    const { text: lines } = await send(gateway, '/requests?status=404', {
      key,
      headers: { accept: 'application/x-ndjson' },
    });
    expect(
      lines
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).id),
    ).toEqual([ids[4], ids[6]]);
  });

  it('hold no secrets, wherever a request has them, and neither does the log of the process', async () => {
    const { gateway } = kit;
    const { key } = await gateway.keyRecord({});
    const secret = 'hunter2hunter2';
    const spaced = 'Tr0ub4dor & 3';
    const webhookSecret = `whsec_${'Ab+/'.repeat(10)}=`;
    const number = 98_765_432_101_234;
    const wrong = encodeURIComponent(spaced);
    const graphql = (text: string, variables?: object) => query(gateway, text, { ...variables }, { key });
    const tool = (name: string, args: object) =>
      rpc(gateway, 'tools/call', { name, arguments: args }, { key });
    const get = (path: string, headers?: Record<string, string>) => send(gateway, path, { key, headers });
    const post = (path: string, body: unknown, headers?: Record<string, string>) =>
      send(gateway, `POST ${path}`, { key, body, headers });
    const document = (text: string) => `/graphql?query=${encodeURIComponent(text)}`;
    const replies = await Promise.all([
      get(`/pets?name=${secret}&limit=${secret}&${key}=1`),
      get(`/pets?${secret}=${secret}`),
      get(`/pets?status=${wrong}`),
      get(document(`{ pets(filter: {status: "${spaced}"}) { totalCount } }`)),
      get(`/pets/${key}`, { 'x-request-id': key }),
      get(`/keys/${key}/${key}`),
      get(`/pets/${key.replace('_', '%5F')}`),
      get(`/pets/${key.replace('pet', '%70e%2574')}`),
      get(`/${webhookSecret}`),
      get('/pets', { cookie: secret, accept: `x/${secret}`, 'user-agent': secret }),
      get('/pets', { 'if-none-match': secret, 'x-forwarded-for': secret, traceparent: secret }),
      post('/pets', '{}', { 'content-type': `text/${secret}` }),
      post('/pets', '{}', { 'content-encoding': secret }),
      post('/pets', '{}', { 'idempotency-key': `${secret}é`, 'content-type': 'application/json' }),
      post('/pets', { name: secret, status: spaced }),
      post('/pets', { [secret]: 1, [spaced]: number }),
      post('/pets', { name: 'x', categoryId: number, status: 'available' }),
      post('/pets', `{"name": "${secret}`, { 'content-type': 'application/json' }),
      graphql(`{ ${secret} }`),
      graphql(`${secret}: { pets }`),
      graphql(`{ pets(${secret}: 1) { totalCount } }`),
      graphql(`{ pets(filter: {name: ${number}}) { totalCount } }`),
      graphql(`{ pets(filter: {status: "${spaced}"}) { totalCount } }`),
      graphql(`{ pets(filter: {status: {a: "\\u0068unter2hunter2"}}) { totalCount } }`),
      graphql(`{ pet(id: "${number}${secret}") { id } }`),
      graphql(`{ pets { ...${secret} } }`),
      graphql(`{ pets @${secret} { totalCount } }`),
      graphql(`query ($a: ${secret}) { pets { totalCount } }`),
      graphql('query ($f: PetFilter) { pets(filter: $f) { totalCount } }', { f: { [secret]: 1 } }),
      graphql('query ($f: PetFilter) { pets(filter: $f) { totalCount } }', { f: { status: spaced } }),
      graphql('query ($id: ID!) { pet(id: $id) { id } }', { id: secret }),
      graphql('mutation ($id: ID!) { deletePet(id: $id) }', { id: `${number}` }),
      tool('getPet', { petId: `${number}` }),
      tool(secret, {}),
      tool('createPet', { [secret]: spaced, name: secret }),
      tool('graphql', { query: `{ ${secret} }` }),
      rpc(gateway, secret, {}, { key }),
    ]);
    const secrets = [secret, spaced, String(number), webhookSecret.slice(10), key.slice(12)];
    const leaks = (text: string) => secrets.filter((each) => text.includes(each));
    // Messages for the caller repeat what was wrong.
    expect(replies.filter(({ text }) => leaks(text).length > 0).length).toBeGreaterThan(20);
    await send(gateway, `/${'x'.repeat(5_000)}`, { key });
    const all = await listed(gateway, key);
    expect(all.length).toBeGreaterThan(replies.length - 3);
    for (const request of all) expect(leaks(JSON.stringify(request)), JSON.stringify(request)).toEqual([]);
    expect(JSON.stringify(all)).not.toContain('127.0.0.1');
    for (const { path } of all) expect(String(path).length).toBeLessThanOrEqual(200);
    expect(all.filter(({ path }) => path === '/pets/petstore_…')).toHaveLength(1);
    // The rest of a message says what was wrong.
    const messages = all.map(({ message }) => message);
    for (const message of [
      'Cannot query field "…" on type "Query".',
      expect.stringMatching(/…: is not a known query parameter/),
      expect.stringMatching(/^status: must be one of available, pending, sold/),
    ])
      expect(messages).toContainEqual(message);
    for (const line of gateway.logs) expect(leaks(line), line).toEqual([]);
  });

  it('repeat no control characters, and neither do the errors of the caller', async () => {
    const { gateway } = kit;
    const { key } = await gateway.keyRecord({});
    const id = '\u001b[2J\u009b1m\r\n';
    const replies = [
      await send(gateway, `/webhooks/${encodeURIComponent(id)}`, { key }),
      await query(gateway, 'mutation ($id: ID!) { deleteWebhook(id: $id) }', { id }, { key }),
      await rpc(gateway, 'tools/call', { name: 'getWebhook', arguments: { webhookId: id } }, { key }),
    ];
    const requests = await listed(gateway, key);
    expect(requests).toHaveLength(replies.length);
    for (const text of [...replies.map((reply) => reply.text), JSON.stringify(requests)]) {
      expect(text).toContain('There is no webhook \ufffd[2J\ufffd1m\ufffd\ufffd.');
      expect(text).not.toMatch(/\p{Cc}|\\u00[019]/u);
    }
  });

  it('are those of the key alone, need a scope, and refuse what is no argument', async () => {
    const { gateway } = kit;
    const [mine, narrow, reader, other] = await Promise.all([
      gateway.restrictedKey({}),
      gateway.restrictedKey({ scopes: ['pets:write', 'requests:read'] }),
      gateway.restrictedKey({ scopes: ['*:read'] }),
      gateway.restrictedKey({ scopes: ['pets:write', 'events:read'] }),
    ]);
    await send(gateway, '/pets', { key: mine });
    for (const key of [narrow, reader]) expect(await listed(gateway, key)).toEqual([]);
    expectRefusal(await send(gateway, '/requests', { key: other }), 'FORBIDDEN', /requests:read/);
    expectQueryRefusal(
      await query(gateway, '{ requests { nodes { id } } }', {}, { key: other }),
      'FORBIDDEN',
      /requests:read/,
    );
    // Another's cursor reaches nothing of the other's.
    const page = await send(gateway, '/requests?limit=1', { key: mine });
    expect(page.json).toHaveLength(1);
    const cursor = dataOf(await query(gateway, '{ requests { edges { cursor } } }', {}, { key: mine }))
      .requests.edges[0].cursor;
    expect((await send(gateway, `/requests?after=${cursor}`, { key: narrow })).json).toEqual([]);
    for (const [wrong, message] of [
      ['status=9xx', 'status: must be a status such as 404 or a class such as 4xx.'],
      ['status=40', 'status: must be a status such as 404 or a class such as 4xx.'],
      ['after=1', 'after: must be a cursor of this list.'],
      [
        `after=${Buffer.from('["a",1,["b",-1]]').toString('base64url')}`,
        'after: must be a cursor of this list.',
      ],
      ['transport=fax', /^transport: must be one of rest/],
      ['limit=101', /^limit/],
      ['operation=a&operation=b', 'operation: must not be repeated.'],
    ] as const)
      expectRefusal(await send(gateway, `/requests?${wrong}`, { key: mine }), 'VALIDATION_FAILED', message);
    const refused = await query(
      gateway,
      '{ requests(filter: {status: ["x"]}, after: "y", first: 0) { nodes { id } } }',
      {},
      { key: mine },
    );
    expectQueryRefusal(refused, 'VALIDATION_FAILED', /status.*after|after.*status/);
  });

  it('of a child are seen by itself and its owner, neither by a sibling nor by others', async () => {
    const { gateway } = kit;
    const owner = await gateway.keyRecord({});
    const make = async (name: string) =>
      (await send(gateway, 'POST /keys', { key: owner.key, body: { name } })).json;
    const child = await make('child');
    const sibling = await make('sibling');
    await send(gateway, '/pets', { key: owner.key });
    await send(gateway, '/categories', { key: child.key });
    const seenBy = async (key: string) =>
      (await listed(gateway, key)).map(({ operation, keyId }) => [operation, keyId]);
    expect(await seenBy(owner.key)).toEqual([
      ['categories', child.id],
      ['pets', owner.apiKey.id],
      ['createKey', owner.apiKey.id],
      ['createKey', owner.apiKey.id],
    ]);
    expect(await seenBy(child.key)).toEqual([['categories', child.id]]);
    expect(await seenBy(sibling.key)).toEqual([]);
    expect(await seenBy(await gateway.restrictedKey({}))).toEqual([]);
    // The owner's secret answers are no part of it, and a cursor of the owner's leads a child nowhere else.
    const { text } = await send(gateway, '/requests', { key: owner.key });
    for (const { key } of [child, sibling, owner]) expect(text).not.toContain(key);
    const { headers } = await send(gateway, '/requests?limit=1', { key: owner.key });
    const next = /<([^>]*)>/.exec(String(headers.link))![1]!;
    expect((await send(gateway, next, { key: sibling.key })).json).toEqual([]);
  });

  it('of an owner include those of its keys, each with its last 1,000 of 24 hours', async () => {
    const log = newLog();
    const other = newInstance(log);
    const owner = ofKey(`key_owner${kit.clock.now()}`);
    const children = ['a', 'b'].map((name) => ofKey(`${owner.id}${name}`, owner.id));
    log.add(owner, { ...request, id: 'first' });
    for (let n = 0; n < 1_300; n++) {
      log.add(children[0]!, { ...request, id: `a${n}`, operation: n % 100 === 0 ? 'pets' : 'pet' });
      if (n % 500 === 0) {
        (n === 500 ? other : log).add(children[1]!, { ...request, id: `b${n}` });
        await Promise.all([log.flush(), other.flush()]);
        kit.clock.advance(1_000);
      }
    }
    const all = await read(log, { keyId: owner.id, account: owner.id });
    const count = (keyId: string) => all.all.filter((entry) => entry.keyId === keyId).length;
    expect([owner.id, ...children.map(({ id }) => id)].map(count)).toEqual([1, 1_000, 3]);
    expect(all.all.at(-1)!.id).toBe('first');
    const own = await read(other, { keyId: children[0]!.id });
    expect(own.all.map(({ id }) => id)).toEqual(Array.from({ length: 1_000 }, (_, n) => `a${1_299 - n}`));
    expect((await read(log, { keyId: children[1]!.id })).all.map(({ id }) => id)).toEqual([
      'b1000',
      'b500',
      'b0',
    ]);
    // Whatever is looked for, a page examines no more than it has paid for.
    const rare = await read(log, { keyId: owner.id, account: owner.id, matches: ({ id }) => id === 'first' });
    expect(rare.all).toHaveLength(1);
    expect(rare.pages).toBe(1);
    kit.clock.advance(24 * HOUR);
    expect((await read(log, { keyId: owner.id, account: owner.id })).all).toEqual([]);
  });

  it('of an owner and its keys are one list by time, whatever was stored together and however it is paged', async () => {
    const log = newLog();
    const logs = [log, newInstance(log)];
    const owner = ofKey(`key_turns${kit.clock.now()}`);
    const keys = [owner, ofKey(`${owner.id}a`, owner.id), ofKey(`${owner.id}b`, owner.id)];
    const count = cases(100, 250);
    const all = Array.from({ length: count }, (_, n) => `${count - 1 - n}`);
    for (let n = 0; n < count; n++) {
      logs[n % 7 === 0 ? 1 : 0]!.add(keys[n % 5 === 0 ? 2 : n % 2]!, { ...request, id: `${n}` });
      kit.clock.advance(110);
      if (n % 9 === 0) await Promise.all(logs.map((log) => log.flush()));
    }
    for (const log of logs) await log.flush();
    for (const limit of [1, 3, 40]) {
      const listed = await read(logs[0]!, { keyId: owner.id, account: owner.id, limit });
      expect(listed.all.map(({ id }) => id)).toEqual(all);
    }
  });

  it('are removed when 1,000 later ones are stored, and when they are too old', async () => {
    const log = newLog();
    const key = ofKey(`key_busy${kit.clock.now()}`);
    const stored = async () => {
      const chunks = await kit.opened.store.objects(REQUESTS).find(key.id);
      return chunks.reduce((sum, { requests }) => sum + requests.length, 0);
    };
    for (let n = 1; n <= 7_500; n++) {
      log.add(key, { ...request, id: `${n}` });
      if (n % 250 > 0) continue;
      await log.flush();
      expect(await stored()).toBeLessThanOrEqual(2_000);
    }
    const { all } = await read(log, { keyId: key.id });
    expect([all.length, all[0]!.id, all.at(-1)!.id]).toEqual([1_000, '7500', '6501']);
    // A burst within a second is no more than what is shown.
    for (let n = 0; n < 1_900; n++) log.add(key, { ...request, id: `burst-${n}` });
    await log.flush();
    expect((await read(log, { keyId: key.id })).all.at(-1)!.id).toBe('burst-900');
    if (kit.opened.store.engine !== 'sqlite') return;
    kit.clock.advance(25 * HOUR);
    await expect.poll(stored, { timeout: 10_000 }).toBe(0);
  });

  it('are stored every second, so that other instances show them, and also when the store was away', async () => {
    const { gateway } = kit;
    const { store } = kit.opened;
    const { key } = await gateway.keyRecord({});
    await send(gateway, '/pets', { key });
    if (!store.requestJournal) {
      const other = await TestGateway.start(store, {}, kit.clock);
      await expect.poll(() => listed(other, key), { timeout: 5_000 }).toHaveLength(1);
      await other.close();
    }
    let isAway = false;
    const addRequests: typeof store.addRequests = async (...all) => {
      if (isAway) throw new Error('away');
      await store.addRequests(...all);
    };
    const requestJournal: typeof store.requestJournal =
      store.requestJournal &&
      Object.assign(Object.create(store.requestJournal), {
        add(lines: Uint8Array) {
          if (isAway) throw new Error('away');
          store.requestJournal!.add(lines);
        },
      });
    const log = newLog({ ...store, addRequests, requestJournal });
    const late = ofKey(`key_late${kit.clock.now()}`);
    const add = (from: number, to: number, added = log) => {
      for (let n = from; n < to; n++) added.add(late, { ...request, id: `${n}` });
    };
    const earlier = newLog();
    add(0, 500, earlier);
    await earlier.close();
    kit.clock.advance(1);
    isAway = true;
    add(500, 800);
    // What is tried again counts once: else it would push out what is there.
    for (let time = 0; time < 3; time++) await expect(log.flush()).rejects.toThrow('away');
    isAway = false;
    await log.flush();
    expect((await read(log, { keyId: late.id })).all.map(({ id }) => id)).toEqual(
      Array.from({ length: 800 }, (_, n) => `${799 - n}`),
    );
    isAway = true;
    add(800, 30_800);
    await expect(log.flush()).rejects.toThrow('away');
    await delay(1);
    isAway = false;
    await log.close();
    const { all } = await read(log, { keyId: late.id });
    expect([all.length, all[0]!.id]).toEqual([1_000, '20799']);
  });
});

describe.each(engines.slice(0, 1))('REQUEST_LOG=off', (engine) => {
  const kit: Kit = useGateway(engine, { REQUEST_LOG: 'off' });
  it('keeps no requests', async () => {
    await send(kit.gateway, '/pets');
    expect((await send(kit.gateway, '/requests')).json).toEqual([]);
    expect(await kit.opened.store.objects(REQUESTS).all()).toEqual([]);
  });
});
