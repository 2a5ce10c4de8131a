import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Order } from '../../src/domains/order/order.ts';
import { TestGateway } from '../kit/gateway.ts';
import { rpc } from '../kit/mcp.ts';
import { dataOf, expectQueryRefusal, expectRefusal, query, send } from '../kit/petstore.ts';
import { verify } from '../kit/receiver.ts';
import { type Engine, engines, enginesAtLength } from '../kit/stores.ts';
import { webhooksOf } from '../../src/webhooks/stored-webhooks.ts';
import { useWebhooks } from '../kit/webhooks.ts';

describe.each(engines)('the database of webhooks ($name)', (engine: Engine) => {
  const kit = useWebhooks(engine);
  const { webhooks } = kit;

  it('deletes on condition that nothing has changed, also under concurrency', async () => {
    const receiver = await webhooks.receiver();
    for (let round = 0; round < 10; round++) {
      const { id } = (await webhooks.create(receiver.url)).json;
      const ifMatch = String((await webhooks.send(`/webhooks/${id}`)).headers.etag);
      const write = (line: string, body?: object) =>
        send(kit.gateway, line, { headers: { 'if-match': ifMatch }, ...(body && { body }) });
      const [changed, deleted] = await Promise.all([
        write(`PATCH /webhooks/${id}`, { enabled: false }),
        write(`DELETE /webhooks/${id}`),
      ]);
      expect([
        [200, 412],
        [404, 204],
      ]).toContainEqual([changed.status, deleted.status]);
      expect((await webhooks.send(`/webhooks/${id}`)).status).toBe(changed.status);
      if (changed.status === 200) await webhooks.send(`DELETE /webhooks/${id}`);
    }
  });

  it('allows as many webhooks as the plan, however many are created at once', async () => {
    const key = await kit.gateway.newKey('pro');
    const all = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        webhooks.send('POST /webhooks', { key, body: { url: `https://example.org/${n}` } }),
      ),
    );
    expect(all.map(({ status }) => status).sort()).toEqual([201, 201, 201, 201, 201, 409, 409, 409]);
    const { id } = all.find(({ status }) => status === 201)!.json;
    expect((await webhooks.send(`DELETE /webhooks/${id}`, { key })).status).toBe(204);
    const again = await webhooks.send('POST /webhooks', { key, body: { url: 'https://example.org/' } });
    expect(again.status, again.about).toBe(201);
  });
});

describe.each(enginesAtLength)('webhooks ($name)', (engine: Engine) => {
  const kit = useWebhooks(engine);
  const { webhooks } = kit;

  it('delivers each event as GET /events gives it, signed, in order', async () => {
    const receiver = await webhooks.receiver();
    await webhooks.write('Before');
    const { json: webhook, headers } = await webhooks.create(receiver.url);
    expect(headers.location).toBe(`/webhooks/${webhook.id}`);
    expect(webhook).toEqual({
      id: expect.stringMatching(/^whk_/),
      url: receiver.url,
      enabled: true,
      after: expect.any(String),
      createdAt: expect.any(String),
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    });
    await webhooks.write('A', 'B', 'C');
    const received = await receiver.until(3);
    const { text } = await webhooks.send(`/events?after=${webhook.after}`);
    expect(`[${received.map(({ body }) => body)}]`).toBe(text);
    for (const each of received) {
      verify(each, webhook.secret);
      expect(() => verify(each, `whsec_${'A'.repeat(43)}=`)).toThrow();
      expect(each.headers).toMatchObject({
        'content-type': 'application/json',
        'user-agent': expect.stringContaining('petstore'),
      });
      if (each.event.id.length <= 255) expect(each.headers['webhook-id']).toBe(each.event.id);
      else expect(each.headers['webhook-id']).toMatch(/^[0-9a-f]{64}$/);
    }
    const shown = await webhooks.until(webhook.id, ({ after }) => after === received[2]!.event.id);
    expect(shown).not.toHaveProperty('secret');
    const { json: attempts } = await webhooks.send(`/webhooks/${webhook.id}/attempts`);
    expect(attempts).toHaveLength(3);
    expect(attempts[0]).toEqual({
      eventId: received[2]!.event.id,
      time: expect.any(String),
      ms: expect.any(Number),
      status: 204,
    });
  });

  it('serves the same webhooks over GraphQL, only to their key', async () => {
    const receiver = await webhooks.receiver();
    const fields = 'id url types enabled after createdAt failing { eventId } disabledReason';
    const make =
      'mutation ($input: NewWebhook!) { createWebhook(input: $input) { secret attempts { ms } %s } }';
    const input = { url: receiver.url, types: ['pet_updated', 'category_created'] };
    const { createWebhook } = dataOf(await query(kit.gateway, make.replace('%s', fields), { input }));
    const { secret, attempts, ...created } = createWebhook;
    expect([secret, attempts]).toEqual([expect.stringMatching(/^whsec_/), []]);
    const read = `query ($id: ID!) { webhook(id: $id) { ${fields} secret } webhooks { ${fields} secret } }`;
    const data = dataOf(await query(kit.gateway, read, { id: created.id }));
    expect(data).toEqual({
      webhook: { ...created, secret: null },
      webhooks: [{ ...created, secret: null }],
    });
    const rest = (await webhooks.send(`/webhooks/${created.id}`)).json;
    expect(rest.types).toEqual(['pet.updated', 'category.created']);
    expect((await webhooks.send('/webhooks')).json).toEqual([rest]);
    const key = await kit.gateway.newKey('pro');
    expect((await webhooks.send('/webhooks', { key })).json).toEqual([]);
    const remove = 'mutation ($id: ID!) { deleteWebhook(id: $id) }';
    expect(dataOf(await query(kit.gateway, remove, { id: created.id }))).toEqual({
      deleteWebhook: created.id,
    });
    expectRefusal(
      await webhooks.send(`/webhooks/${created.id}`),
      'NOT_FOUND',
      `There is no webhook ${created.id}.`,
    );
  });

  it('refuses bad input, naming every fault, and stores nothing', async () => {
    const faults: [object, RegExp][] = [
      [{}, /^url: is required\.$/],
      [
        { url: 1, types: [], after: '', more: 1 },
        /^url: must be a string; types: must have.*; after: .*; more: /,
      ],
      ...['ftp://example.org', 'example.org', '//example.org', '', 'https://', 'https://exa mple.org/'].map(
        (url): [object, RegExp] => [{ url }, /^url: must be an https:\/\/ address\.$/],
      ),
      ...['javascript:alert(1)', 'file:///etc/passwd', 'unix:/tmp/socket'].map((url): [object, RegExp] => [
        { url },
        /^url: must be an https/,
      ]),
      [
        { url: 'https://:b@example.org/#', types: ['pet_created'] },
        /^url: must not contain credentials; url: must not contain a fragment; types.*: must be one of/,
      ],
      [{ url: 'https://user:secret@example.org/' }, /^url: must not contain credentials/],
      [{ url: 'https://example.org/#x' }, /^url: must not contain a fragment/],
      [{ url: 'https://example.org/a\tb' }, /^url: must not contain control characters/],
      [{ url: 'https://example.org/\u0001' }, /^url: must not contain control characters/],
      [{ url: 'https://example.org/\n' }, /^url: must not contain control characters/],
      [{ url: `https://example.org/${'x'.repeat(2_048)}` }, /^url: must have at most 2048/],
      [{ url: 'https://10.0.0.1/' }, /^url: must lead to a public address; .* WEBHOOK_ALLOW/],
      [{ url: 'http://1.1.1.1/' }, /^url: must be an https/],
      [{ url: 'https://example.org', types: ['pet.sold'] }, /^types.*: must be one of pet\.created/],
      [
        { url: 'https://example.org', types: ['pet.created', 'pet.created'] },
        /^types: must not have a value twice/,
      ],
      [{ url: 'https://example.org', after: 'nonsense' }, /^after: must be the id of an event/],
    ];
    for (const [body, message] of faults) {
      expectRefusal(await webhooks.send('POST /webhooks', { body }), 'VALIDATION_FAILED', message);
    }
    expect((await webhooks.send('/webhooks')).json).toEqual([]);
    const { id } = (await webhooks.create('https://example.org/')).json;
    for (const [body, message] of [
      [{ url: 'http://192.168.1.1' }, /^url: /],
      [{ url: null, types: [], enabled: 1, after: null }, /^url: .*; types: .*; enabled: .*; after: /],
      [{ secret: 'x' }, /^secret: is not a known field/],
    ] as const)
      expectRefusal(await webhooks.send(`PATCH /webhooks/${id}`, { body }), 'VALIDATION_FAILED', message);
    for (const grace of [-1, 604_801, 1.5, '1'])
      expectRefusal(
        await webhooks.send(`POST /webhooks/${id}/rotate`, { body: { grace } }),
        'VALIDATION_FAILED',
        /^grace: must be an integer from 0 to 604800/,
      );
    const inGraphql = await query(
      kit.gateway,
      'mutation { createWebhook(input: { url: "http://a@b.c/", types: [], after: "" }) { id } }',
    );
    expectQueryRefusal(inGraphql, 'VALIDATION_FAILED', /^url: .*; types: .*; after: /);
    const alone = await query(
      kit.gateway,
      `mutation { testWebhook(id: "${id}") { ms } createCategory(input: { name: "X" }) { id } }`,
    );
    expect([alone.status, alone.json.errors[0].extensions.code]).toEqual([400, 'BAD_REQUEST']);
    // Without WEBHOOK_ALLOW not even names may be reached over http.
    const strict = await TestGateway.start(kit.opened.store, {}, kit.clock);
    const plain = await send(strict, 'POST /webhooks', { body: { url: 'http://example.org/' } });
    await strict.close();
    expectRefusal(plain, 'VALIDATION_FAILED', 'url: must be an https:// address.');
  });

  it('repeats the secret in replays of creating and rotating, and signs with both during the grace', async () => {
    const receiver = await webhooks.receiver();
    const call = { headers: { 'idempotency-key': 'once' }, body: { url: receiver.url } };
    const first = await webhooks.send('POST /webhooks', call);
    const replay = await webhooks.send('POST /webhooks', call);
    expect(replay.headers['idempotency-replayed']).toBe('true');
    expect(replay.json).toEqual(first.json);
    const { id, secret } = first.json;
    const rotate = () =>
      webhooks.send(`POST /webhooks/${id}/rotate`, {
        headers: { 'idempotency-key': 'rotate' },
        body: {},
      });
    const rotated = (await rotate()).json;
    expect((await rotate()).json.secret).toBe(rotated.secret);
    expect(rotated.secret).not.toBe(secret);
    await webhooks.write('A');
    const [a] = await receiver.until(1);
    verify(a!, secret);
    verify(a!, rotated.secret);
    const last = (await webhooks.send(`POST /webhooks/${id}/rotate`, { body: { grace: 0 } })).json;
    const sendTest = () =>
      webhooks.send(`POST /webhooks/${id}/test`, { headers: { 'idempotency-key': 'test' } });
    const test = await sendTest();
    expect(test.json).toMatchObject({ eventId: expect.stringMatching(/^test_/), status: 204 });
    const received = receiver.received.at(-1)!;
    const { eventId, time } = test.json;
    expect(received.event).toEqual({ id: eventId, type: 'webhook.test', time, data: {} });
    kit.clock.advance(1_000);
    const already = receiver.received.length;
    const byGraphQL = await query(
      kit.gateway,
      `mutation { testWebhook(id: "${id}") { eventId time status ms } }`,
      undefined,
      { headers: { 'idempotency-key': 'test' } },
    );
    expect(dataOf(byGraphQL).testWebhook).toEqual({ ms: test.json.ms, status: 204, eventId, time });
    expect((await sendTest()).json).toEqual(test.json);
    expect(receiver.received).toHaveLength(already);
    const toolCall = { name: 'testWebhook', arguments: { webhookId: id } };
    const byAgent = await rpc(kit.gateway, 'tools/call', toolCall);
    expect(byAgent.json.result.structuredContent).toMatchObject({
      eventId: receiver.received.at(-1)!.event.id,
      status: 204,
    });
    expect(receiver.received).toHaveLength(already + 1);
    verify(received, last.secret);
    for (const old of [secret, rotated.secret]) expect(() => verify(received, old)).toThrow();

    let finish = () => {};
    receiver.answer = (_request, response) => {
      finish = () => response.writeHead(204).end();
    };
    const twice = { headers: { 'idempotency-key': 'twice' } };
    const running = webhooks.send(`POST /webhooks/${id}/test`, twice);
    await receiver.until(already + 2);
    const meanwhile = await webhooks.send(`POST /webhooks/${id}/test`, twice);
    expectRefusal(meanwhile, 'CONFLICT', 'The test is still being sent.');
    expect(meanwhile.headers['retry-after']).toBe('1');
    finish();
    const { json: sent } = await running;
    expect((await webhooks.send(`POST /webhooks/${id}/test`, twice)).json).toEqual(sent);
  });

  it('pauses, replays and filters from its place', async () => {
    const receiver = await webhooks.receiver();
    const { id, after } = (await webhooks.create(receiver.url)).json;
    await webhooks.write('A', 'B');
    await receiver.until(2);
    const patch = (body: Record<string, unknown>) => webhooks.patch(id, body);
    await webhooks.until(id, (webhook) => webhook.after === receiver.ids[1]);
    expect((await patch({ enabled: false })).json).toMatchObject({ enabled: false, after: receiver.ids[1] });
    await webhooks.write('C');
    // A test works while it is disabled, and is no event.
    await webhooks.send(`POST /webhooks/${id}/test`);
    expect(receiver.received[2]!.event.type).toBe('webhook.test');
    expect((await patch({ enabled: true })).json).not.toHaveProperty('disabledReason');
    expect((await receiver.until(4))[3]!.event.data.name).toBe('C');
    await patch({ after, types: ['category.created'] });
    const names = (await receiver.until(7)).slice(4).map(({ event }) => event.data.name);
    expect(names).toEqual(['A', 'B', 'C']);
    expect((await patch({ types: null })).json).not.toHaveProperty('types');
    const other = await webhooks.receiver();
    await patch({ url: other.url });
    await webhooks.write('D');
    expect((await other.until(1))[0]!.event.data.name).toBe('D');
  });

  it('retries later after a failure, holds back later events, and retries at once after a patch', async () => {
    const failing = await webhooks.receiver();
    const healthy = await webhooks.receiver();
    failing.answer = (_request, response) => response.writeHead(503, { 'retry-after': '7200' }).end();
    const { id } = (await webhooks.create(failing.url)).json;
    await webhooks.create(healthy.url);
    await webhooks.write('A', 'B');
    // A receiver that fails delays no other.
    await healthy.until(2);
    const webhook = await webhooks.until(id, ({ failing }) => failing !== undefined);
    const { eventId, since, attempts, nextAttemptAt } = webhook.failing as Record<string, string>;
    expect([eventId, attempts]).toEqual([failing.ids[0], 1]);
    // An hour at most, however long the receiver asks for.
    expect(Date.parse(nextAttemptAt!) - Date.parse(since!)).toBeGreaterThan(3_599_000);
    expect(Date.parse(nextAttemptAt!) - Date.parse(since!)).toBeLessThan(3_700_000);
    expect(failing.received).toHaveLength(1);
    failing.answer = (_request, response) => response.writeHead(200).end('ok');
    const patched = await webhooks.patch(id, {});
    expect(patched.json).not.toHaveProperty('failing');
    expect((await failing.until(3)).map(({ event }) => event.data.name)).toEqual(['A', 'A', 'B']);
    expect(failing.received[1]!.headers['webhook-id']).toBe(failing.received[0]!.headers['webhook-id']);
  });

  it('waits after a failure that follows a test, too', async () => {
    const receiver = await webhooks.receiver();
    const { id } = (await webhooks.create(receiver.url)).json;
    await webhooks.write('A');
    await receiver.until(1);
    await webhooks.send(`POST /webhooks/${id}/test`);
    receiver.answer = (_request, response) => response.writeHead(503, { 'retry-after': '60' }).end();
    await webhooks.write('B');
    await webhooks.until(id, ({ failing }) => failing !== undefined);
    const types = receiver.received.map(({ event }) => event.type);
    expect(types).toEqual(['category.created', 'webhook.test', 'category.created']);
  });

  it('is disabled at once by 410, and after 72 hours of failures', async () => {
    const gone = await webhooks.receiver();
    const failing = await webhooks.receiver();
    gone.answer = (_request, response) => response.writeHead(410).end();
    failing.answer = (_request, response) => response.writeHead(500).end();
    const ids = [(await webhooks.create(gone.url)).json.id, (await webhooks.create(failing.url)).json.id];
    await webhooks.write('A');
    expect(await webhooks.until(ids[0]!, ({ enabled }) => !enabled)).toMatchObject({
      disabledReason: 'gone',
    });
    await webhooks.until(ids[1]!, ({ failing }) => failing !== undefined);
    kit.clock.advance(72 * 3_600_000);
    expect(await webhooks.until(ids[1]!, ({ enabled }) => !enabled)).toMatchObject({
      disabledReason: 'failing',
    });
    const metrics = (await kit.gateway.call('/metrics')).text;
    expect(metrics).toContain('petstore_webhooks_disabled_total{reason="gone"}');
    expect(metrics).toMatch(/petstore_webhook_attempts_total{outcome="5xx"} [1-9]/);
    expect(metrics).toContain('petstore_webhook_lag_seconds');
    const logged = kit.gateway.logs
      .map((line) => JSON.parse(line))
      .filter(({ msg }) => msg === 'webhook disabled');
    expect(logged).toMatchObject([
      { webhook: ids[0], reason: 'gone' },
      { webhook: ids[1], reason: 'failing' },
    ]);
    gone.answer = (_request, response) => response.writeHead(204).end();
    await webhooks.send(`PATCH /webhooks/${ids[0]}`, { body: { enabled: true } });
    await gone.until(2);
    expect(gone.ids[1]).toBe(gone.ids[0]);
  });

  it('pays 1 unit before the 1st, 11th … attempt, and waits for budget without losing anything', async () => {
    const receiver = await webhooks.receiver();
    const key = await kit.gateway.newKey('enterprise', { perMinute: 3, perDay: 1_000 });
    const { id } = (await webhooks.create(receiver.url, { key })).json;
    const names = Array.from({ length: 25 }, (_, i) => `N${i}`);
    await webhooks.write(...names);
    await receiver.until(20);
    // Read by the store, because reading it by the key would cost.
    const { store } = kit.gateway;
    const stored = async () => (await webhooksOf(store).byId(id))!;
    await expect.poll(async () => (await stored()).progress.after).toBe(receiver.ids[19]);
    expect(receiver.received).toHaveLength(20);
    await kit.gateway.flushUsage();
    const { apiKeyId } = await stored();
    const date = new Date(kit.clock.now()).toISOString().slice(0, 10);
    const [day] = await store.usageDays(apiKeyId, date, date);
    expect(day!.operations.toSorted((a, b) => b.units - a.units)).toEqual([
      { operation: 'events', transport: 'webhook', requests: 20, units: 2, refused: 0 },
      { operation: 'createWebhook', transport: 'rest', requests: 1, units: 1, refused: 0 },
    ]);
    expect((await store.usage([apiKeyId]))[0]!.dayUsed).toBe(3);
    kit.clock.advance(60_000);
    // It looks again within a minute; a patch makes it look now.
    await webhooks.send(`PATCH /webhooks/${id}`, { key, body: { enabled: true } });
    await receiver.until(25);
    expect(receiver.received.map(({ event }) => event.data.name)).toEqual(names);
  });

  it.each([
    ['the key', []],
    ['the owner of its key', ['keys:write']],
  ])('leaves out what %s may not read any more, and ends with it at once', async (_, scopes) => {
    const { store } = kit.gateway;
    const made = [];
    for (let i = 0; i < 3; i++) {
      const receiver = await webhooks.receiver();
      const own = ['*:read', 'webhooks:write'];
      const { key: maker, apiKey } = await kit.gateway.keyRecord({ scopes: [...own, ...scopes] });
      const body = { name: 'Child', scopes: own };
      const isMaker = scopes.length > 0;
      const key = isMaker ? (await webhooks.send('POST /keys', { key: maker, body })).json.key : maker;
      const { id } = (await webhooks.create(receiver.url, { key })).json;
      made.push({ receiver, id, apiKey });
    }
    const [narrowed, revoked, expired] = made as [(typeof made)[0], (typeof made)[0], (typeof made)[0]];
    await webhooks.write('A');
    for (const { receiver } of made) await receiver.until(1);
    await store.updateApiKey(narrowed.apiKey.id, {
      scopes: ['orders:read', 'events:read', 'webhooks:write'],
    });
    await store.revokeApiKey(revoked.apiKey.id, kit.clock.now());
    await store.updateApiKey(expired.apiKey.id, { expiresAt: kit.clock.now() + 1_000 });
    kit.clock.advance(5_000);
    for (const { id } of [revoked, expired])
      await expect
        .poll(async () => (await webhooksOf(store).byId(id))!.settings)
        .toMatchObject({ enabled: false, disabledReason: 'key' });
    await webhooks.write('Unseen');
    await store.table(Order).insert({ complete: true });
    await narrowed.receiver.until(2);
    expect(made.map(({ receiver }) => receiver.received.map(({ event }) => event.type))).toEqual([
      ['category.created', 'order.created'],
      ['category.created'],
      ['category.created'],
    ]);
  });

  it.each([
    ['after a failure', 100],
    ['for budget', 1],
  ])('is disabled with its key while it waits %s', async (_for, perMinute) => {
    const { store } = kit.gateway;
    const receiver = await webhooks.receiver();
    receiver.answer = (_request, response) => response.writeHead(503, { 'retry-after': '60' }).end();
    const key = await kit.gateway.newKey('enterprise', { perMinute, perDay: 1_000 });
    const { id } = (await webhooks.create(receiver.url, { key })).json;
    const stored = async () => (await webhooksOf(store).byId(id))!;
    await webhooks.write('A');
    if (perMinute > 1) await expect.poll(async () => (await stored()).progress.failing).toBeDefined();
    // It begins within a second.
    else await sleep(1_500);
    await store.revokeApiKey((await stored()).apiKeyId, kit.clock.now());
    await expect
      .poll(async () => (await stored()).settings, { timeout: 5_000 })
      .toMatchObject({ enabled: false, disabledReason: 'key' });
    expect(receiver.received).toHaveLength(perMinute > 1 ? 1 : 0);
  });

  it.each([
    ['webhooks:write', ['*:read']],
    ['events:read', ['pets:read', 'webhooks:write']],
  ])('is disabled when its key no longer has %s', async (_scope, scopes) => {
    const { store } = kit.gateway;
    const receiver = await webhooks.receiver();
    const { key, apiKey } = await kit.gateway.keyRecord({ scopes: ['*:read', 'webhooks:write'] });
    const { id } = (await webhooks.create(receiver.url, { key })).json;
    await store.updateApiKey(apiKey.id, { scopes });
    kit.clock.advance(5_000);
    await expect
      .poll(async () => (await webhooksOf(store).byId(id))!.settings)
      .toMatchObject({ enabled: false, disabledReason: 'key' });
    await webhooks.write('Unseen');
    expect(receiver.received).toEqual([]);
  });
});
