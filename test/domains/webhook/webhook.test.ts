import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { newApiKey } from '../../../src/access/api-keys.ts';
import { Category } from '../../../src/domains/category/category.ts';
import { Order } from '../../../src/domains/order/order.ts';
import { Clock, TestGateway } from '../../kit/gateway.ts';
import { dataOf, expectRefusal, type Kit, query, type Sent, send } from '../../kit/petstore.ts';
import { Receiver, verify } from '../../kit/receiver.ts';
import { type Engine, engines } from '../../kit/stores.ts';

const ALLOW = { WEBHOOK_ALLOW: '127.0.0.0/8' };

describe.each(engines)('webhooks ($name)', (engine: Engine) => {
  const closing: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  async function start(environment: Record<string, string> = ALLOW): Promise<Kit> {
    const clock = new Clock();
    // Verifiers compare the time of a request with their own.
    clock.time = Date.now();
    const opened = await engine.open(clock.now);
    const gateway = await TestGateway.start(opened.store, environment, clock);
    gateway.deliver();
    closing.push(
      () => opened.close(),
      () => gateway.close(),
    );
    return { gateway, clock, opened };
  }
  async function receive(): Promise<Receiver> {
    const receiver = await Receiver.start();
    closing.push(() => receiver.close());
    return receiver;
  }
  const create = async ({ gateway }: Kit, url: string, more: object = {}): Promise<Sent> => {
    const sent = await send(gateway, 'POST /webhooks', { body: { url, ...more } });
    expect(sent.status, sent.about).toBe(201);
    return sent;
  };
  const get = async ({ gateway }: Kit, id: string) => (await send(gateway, `/webhooks/${id}`)).json;
  const write = async ({ gateway }: Kit, ...names: string[]) => {
    for (const name of names) await gateway.store.table(Category).insert({ name });
  };
  /** Waits until a webhook satisfies this. */
  async function until(kit: Kit, id: string, condition: (webhook: Record<string, unknown>) => boolean) {
    for (;;) {
      const webhook = await get(kit, id);
      if (condition(webhook)) return webhook;
      await sleep(20);
    }
  }

  it('delivers each event as GET /events gives it, signed, in order', async () => {
    const kit = await start();
    const receiver = await receive();
    await write(kit, 'Before');
    const { json: webhook, headers } = await create(kit, receiver.url);
    expect(headers.location).toBe(`/webhooks/${webhook.id}`);
    expect(webhook).toEqual({
      id: expect.stringMatching(/^whk_/),
      url: receiver.url,
      enabled: true,
      after: expect.any(String),
      createdAt: expect.any(String),
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    });
    await write(kit, 'A', 'B', 'C');
    const received = await receiver.until(3);
    const { text } = await send(kit.gateway, `/events?after=${webhook.after}`);
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
    const shown = await until(kit, webhook.id, ({ after }) => after === received[2]!.event.id);
    expect(shown).not.toHaveProperty('secret');
    const { json: attempts } = await send(kit.gateway, `/webhooks/${webhook.id}/attempts`);
    expect(attempts).toHaveLength(3);
    expect(attempts[0]).toEqual({
      eventId: received[2]!.event.id,
      time: expect.any(String),
      ms: expect.any(Number),
      status: 204,
    });
  });

  it('serves the same webhooks over GraphQL, only to their key', async () => {
    const kit = await start();
    const receiver = await receive();
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
    const rest = await get(kit, created.id);
    expect(rest.types).toEqual(['pet.updated', 'category.created']);
    expect((await send(kit.gateway, '/webhooks')).json).toEqual([rest]);
    const key = await kit.gateway.newKey('pro');
    for (const line of [
      `/webhooks/${created.id}`,
      `/webhooks/${created.id}/attempts`,
      `DELETE /webhooks/${created.id}`,
      `POST /webhooks/${created.id}/test`,
      `POST /webhooks/${created.id}/rotate`,
    ])
      expectRefusal(
        await send(kit.gateway, line, { key, headers: { 'content-type': 'application/json' } }),
        'NOT_FOUND',
        `There is no webhook ${created.id}.`,
      );
    const patch = await send(kit.gateway, `PATCH /webhooks/${created.id}`, { key, body: { enabled: false } });
    expectRefusal(patch, 'NOT_FOUND');
    expect((await send(kit.gateway, '/webhooks', { key })).json).toEqual([]);
    const remove = 'mutation ($id: ID!) { deleteWebhook(id: $id) }';
    expect(dataOf(await query(kit.gateway, remove, { id: created.id }))).toEqual({
      deleteWebhook: created.id,
    });
    expectRefusal(await send(kit.gateway, `/webhooks/${created.id}`), 'NOT_FOUND');
  });

  it('refuses bad input, naming every fault, and stores nothing', async () => {
    const kit = await start();
    const faults: [object, RegExp][] = [
      [{}, /^url: is required\.$/],
      [
        { url: 1, types: [], after: '', more: 1 },
        /^url: must be a string; types: must have.*; after: .*; more: /,
      ],
      [{ url: 'ftp://example.org' }, /^url: must be an https/],
      [{ url: 'https://user:secret@example.org/' }, /^url: must not contain credentials/],
      [{ url: 'https://example.org/#x' }, /^url: must not contain a fragment/],
      [{ url: `https://example.org/${'x'.repeat(2_048)}` }, /^url: must have at most 2048/],
      [{ url: 'https://10.0.0.1/' }, /^url: must not lead to an address/],
      [{ url: 'http://1.1.1.1/' }, /^url: must be an https/],
      [{ url: 'https://example.org', types: ['pet.sold'] }, /^types.*: must be one of pet\.created/],
      [
        { url: 'https://example.org', types: ['pet.created', 'pet.created'] },
        /^types: must not have a value twice/,
      ],
      [{ url: 'https://example.org', after: 'nonsense' }, /^after: must be the id of an event/],
    ];
    for (const [body, message] of faults) {
      expectRefusal(await send(kit.gateway, 'POST /webhooks', { body }), 'VALIDATION_FAILED', message);
    }
    expect((await send(kit.gateway, '/webhooks')).json).toEqual([]);
    const { id } = (await create(kit, 'https://example.org/')).json;
    for (const [body, message] of [
      [{ url: 'http://192.168.1.1' }, /^url: /],
      [{ url: null, types: [], enabled: 1, after: null }, /^url: .*; types: .*; enabled: .*; after: /],
      [{ secret: 'x' }, /^secret: is not a known field/],
    ] as const)
      expectRefusal(await send(kit.gateway, `PATCH /webhooks/${id}`, { body }), 'VALIDATION_FAILED', message);
    for (const grace of [-1, 604_801, 1.5, '1'])
      expectRefusal(
        await send(kit.gateway, `POST /webhooks/${id}/rotate`, { body: { grace } }),
        'VALIDATION_FAILED',
        /^grace: must be an integer from 0 to 604800/,
      );
    const alone = await query(
      kit.gateway,
      `mutation { testWebhook(id: "${id}") { ms } createCategory(input: { name: "X" }) { id } }`,
    );
    expect([alone.status, alone.json.errors[0].extensions.code]).toEqual([400, 'BAD_REQUEST']);
    // Without WEBHOOK_ALLOW not even names may be reached over http.
    const strict = await start({});
    const plain = await send(strict.gateway, 'POST /webhooks', { body: { url: 'http://example.org/' } });
    expectRefusal(plain, 'VALIDATION_FAILED', 'url: must be an https:// address.');
  });

  it('allows as many webhooks as the plan, however many are created at once', async () => {
    const kit = await start();
    const key = await kit.gateway.newKey('pro');
    const all = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        send(kit.gateway, 'POST /webhooks', { key, body: { url: `https://example.org/${n}` } }),
      ),
    );
    expect(all.map(({ status }) => status).sort()).toEqual([201, 201, 201, 201, 201, 409, 409, 409]);
    const { id } = all.find(({ status }) => status === 201)!.json;
    expect((await send(kit.gateway, `DELETE /webhooks/${id}`, { key })).status).toBe(204);
    const again = await send(kit.gateway, 'POST /webhooks', { key, body: { url: 'https://example.org/' } });
    expect(again.status, again.about).toBe(201);
  });

  it('repeats the secret in replays of creating and rotating, and signs with both during the grace', async () => {
    const kit = await start();
    const receiver = await receive();
    const call = { headers: { 'idempotency-key': 'once' }, body: { url: receiver.url } };
    const [first, replay] = [
      await send(kit.gateway, 'POST /webhooks', call),
      await send(kit.gateway, 'POST /webhooks', call),
    ];
    expect(replay.headers['idempotency-replayed']).toBe('true');
    expect(replay.json).toEqual(first.json);
    const { id, secret } = first.json;
    const rotate = () =>
      send(kit.gateway, `POST /webhooks/${id}/rotate`, {
        headers: { 'idempotency-key': 'rotate' },
        body: {},
      });
    const rotated = (await rotate()).json;
    expect((await rotate()).json.secret).toBe(rotated.secret);
    expect(rotated.secret).not.toBe(secret);
    await write(kit, 'A');
    const [a] = await receiver.until(1);
    verify(a!, secret);
    verify(a!, rotated.secret);
    const last = (await send(kit.gateway, `POST /webhooks/${id}/rotate`, { body: { grace: 0 } })).json;
    const test = await send(kit.gateway, `POST /webhooks/${id}/test`);
    expect(test.json).toMatchObject({ eventId: expect.stringMatching(/^test_/), status: 204 });
    const received = receiver.received.at(-1)!;
    expect(received.event).toEqual({
      id: test.json.eventId,
      type: 'webhook.test',
      time: expect.any(String),
      data: {},
    });
    verify(received, last.secret);
    for (const old of [secret, rotated.secret]) expect(() => verify(received, old)).toThrow();
  });

  it('pauses, replays and filters from its place', async () => {
    const kit = await start();
    const receiver = await receive();
    const { id, after } = (await create(kit, receiver.url)).json;
    await write(kit, 'A', 'B');
    await receiver.until(2);
    const patch = (body: object) => send(kit.gateway, `PATCH /webhooks/${id}`, { body });
    await until(kit, id, (webhook) => webhook.after === receiver.ids[1]);
    expect((await patch({ enabled: false })).json).toMatchObject({ enabled: false, after: receiver.ids[1] });
    await write(kit, 'C');
    // A test works while it is disabled, and is no event.
    await send(kit.gateway, `POST /webhooks/${id}/test`);
    expect(receiver.received[2]!.event.type).toBe('webhook.test');
    expect((await patch({ enabled: true })).json).not.toHaveProperty('disabledReason');
    expect((await receiver.until(4))[3]!.event.data.name).toBe('C');
    await patch({ after, types: ['category.created'] });
    const names = (await receiver.until(7)).slice(4).map(({ event }) => event.data.name);
    expect(names).toEqual(['A', 'B', 'C']);
    expect((await patch({ types: null })).json).not.toHaveProperty('types');
    const other = await receive();
    await patch({ url: other.url });
    await write(kit, 'D');
    expect((await other.until(1))[0]!.event.data.name).toBe('D');
  });

  it('waits after a failure, delivers nothing later meanwhile, and a patch ends the wait', async () => {
    const kit = await start();
    const [failing, healthy] = [await receive(), await receive()];
    failing.answer = (_request, response) => response.writeHead(503, { 'retry-after': '7200' }).end();
    const { id } = (await create(kit, failing.url)).json;
    await create(kit, healthy.url);
    await write(kit, 'A', 'B');
    // A receiver that fails delays no other.
    await healthy.until(2);
    const webhook = await until(kit, id, ({ failing }) => failing !== undefined);
    const { eventId, since, attempts, nextAttemptAt } = webhook.failing as Record<string, string>;
    expect([eventId, attempts]).toEqual([failing.ids[0], 1]);
    // An hour at most, however long the receiver asks for.
    expect(Date.parse(nextAttemptAt!) - Date.parse(since!)).toBeGreaterThan(3_599_000);
    expect(Date.parse(nextAttemptAt!) - Date.parse(since!)).toBeLessThan(3_700_000);
    expect(failing.received).toHaveLength(1);
    failing.answer = (_request, response) => response.writeHead(200).end('ok');
    const patched = await send(kit.gateway, `PATCH /webhooks/${id}`, { body: { enabled: true } });
    expect(patched.json).not.toHaveProperty('failing');
    expect((await failing.until(3)).map(({ event }) => event.data.name)).toEqual(['A', 'A', 'B']);
    expect(failing.received[1]!.headers['webhook-id']).toBe(failing.received[0]!.headers['webhook-id']);
  });

  it('is disabled at once by 410, and after 72 hours of failures', async () => {
    const kit = await start();
    kit.faultsExpected = true;
    const [gone, failing] = [await receive(), await receive()];
    gone.answer = (_request, response) => response.writeHead(410).end();
    failing.answer = (_request, response) => response.writeHead(500).end();
    const ids = [(await create(kit, gone.url)).json.id, (await create(kit, failing.url)).json.id];
    await write(kit, 'A');
    expect(await until(kit, ids[0]!, ({ enabled }) => !enabled)).toMatchObject({ disabledReason: 'gone' });
    await until(kit, ids[1]!, ({ failing }) => failing !== undefined);
    kit.clock.advance(72 * 3_600_000);
    expect(await until(kit, ids[1]!, ({ enabled }) => !enabled)).toMatchObject({ disabledReason: 'failing' });
    const metrics = (await kit.gateway.call('/metrics')).text;
    expect(metrics).toContain('petstore_webhooks_disabled_total{reason="gone"} 1');
    expect(metrics).toMatch(/petstore_webhook_attempts_total{outcome="5xx"} 2/);
    expect(metrics).toContain('petstore_webhook_lag_seconds');
    const logged = kit.gateway.logs
      .map((line) => JSON.parse(line))
      .filter(({ msg }) => msg === 'webhook disabled');
    expect(logged).toMatchObject([
      { webhook: ids[0], reason: 'gone' },
      { webhook: ids[1], reason: 'failing' },
    ]);
    gone.answer = (_request, response) => response.writeHead(204).end();
    await send(kit.gateway, `PATCH /webhooks/${ids[0]}`, { body: { enabled: true } });
    await gone.until(2);
    expect(gone.ids[1]).toBe(gone.ids[0]);
  });

  it('pays 1 unit before the 1st, 11th … attempt, and waits for budget without losing anything', async () => {
    const kit = await start();
    const receiver = await receive();
    const limits = { perMinute: 3, perDay: 1_000 };
    const { key, apiKey } = newApiKey({ name: 'a', plan: 'enterprise', limits, now: kit.clock.now() });
    await kit.gateway.store.createApiKey(apiKey);
    await send(kit.gateway, 'POST /webhooks', { key, body: { url: receiver.url } });
    await write(kit, ...Array.from({ length: 25 }, (_, i) => `N${i}`));
    await receiver.until(20);
    await sleep(300);
    expect(receiver.received).toHaveLength(20);
    await kit.gateway.flushUsage();
    const { store } = kit.gateway;
    const date = new Date(kit.clock.now()).toISOString().slice(0, 10);
    const [day] = await store.usageDays(apiKey.id, date, date);
    expect(day!.operations.toSorted((a, b) => b.units - a.units)).toEqual([
      { operation: 'events', transport: 'webhook', requests: 20, units: 2, refused: 0 },
      { operation: 'createWebhook', transport: 'rest', requests: 1, units: 1, refused: 0 },
    ]);
    expect((await store.usage([apiKey.id]))[0]!.dayUsed).toBe(3);
    kit.clock.advance(60_000);
    // It looks again within a minute; a patch makes it look now.
    const [{ id }] = (await send(kit.gateway, '/webhooks', { key })).json;
    await send(kit.gateway, `PATCH /webhooks/${id}`, { key, body: { enabled: true } });
    const names = (await receiver.until(25)).map(({ event }) => event.data.name);
    expect([...new Set(names)]).toEqual(Array.from({ length: 25 }, (_, i) => `N${i}`));
  });

  it('leaves out what the key may not read, and ends with the key', async () => {
    const kit = await start();
    kit.faultsExpected = true;
    const receiver = await receive();
    const key = await kit.gateway.newKey('pro');
    const { store } = kit.gateway;
    const { id } = (await send(kit.gateway, 'POST /webhooks', { key, body: { url: receiver.url } })).json;
    await write(kit, 'A');
    await receiver.until(1);
    const apiKey = (await store.apiKeys()).find(({ plan }) => plan === 'pro')!;
    await store.updateApiKey(apiKey.id, { scopes: ['orders:read', 'webhooks:write'] });
    kit.clock.advance(5_000);
    await write(kit, 'Unseen');
    await store.table(Order).insert({ complete: true });
    expect((await receiver.until(2))[1]!.event.type).toBe('order.created');
    await store.revokeApiKey(apiKey.id, kit.clock.now());
    kit.clock.advance(5_000);
    await store.table(Order).insert({ complete: true });
    for (;;) {
      const { settings } = (await store.webhookById(id))!;
      if (settings.enabled) await sleep(20);
      else {
        expect(settings.disabledReason).toBe('key');
        break;
      }
    }
    expect(receiver.received).toHaveLength(2);
  });
});
