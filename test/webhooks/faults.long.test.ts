import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { api } from '../../src/api.ts';
import { Category } from '../../src/domains/category/category.ts';
import { type MongoStore, openMongoStore } from '../../src/store/mongo/mongo-store.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { CLAIM_TIME, webhooksOf } from '../../src/webhooks/stored-webhooks.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { Clock, TestGateway } from '../kit/gateway.ts';
import { dropDatabase, mongoUri } from '../kit/mongo.ts';
import { expectRefusal, send } from '../kit/petstore.ts';
import { Receiver } from '../kit/receiver.ts';
import { type Engine, engines, enginesAtLength } from '../kit/stores.ts';
import { ALLOW_LOCAL, endClaims, useWebhooks } from '../kit/webhooks.ts';
import { openProxy } from '../store/mongo/proxy.ts';

const home = temporaryFolder();

const namesAt = ({ received }: Receiver) => received.map(({ event }) => event.data.name);
const numbered = (count: number) => Array.from({ length: count }, (_, i) => `N${i}`);

describe.each(enginesAtLength)('webhooks with failing receivers ($name)', (engine: Engine) => {
  const kit = useWebhooks(engine);
  const { webhooks } = kit;

  it('reaches receivers that fail one time in ten, answer slowly or without end, in order', async () => {
    const failing = await webhooks.receiver();
    const endless = await webhooks.receiver();
    const slow = await webhooks.receiver();
    failing.answer = (_request, response) =>
      response.writeHead(failing.received.length % 10 === 5 ? 500 : 200).end();
    endless.answer = (_request, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write('x'.repeat(5_000)), 5);
      response.once('close', () => clearInterval(timer));
    };
    slow.answer = ({ socket }) => {
      const head = 'HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n';
      let at = 0;
      const timer = setInterval(() => {
        if (at < head.length) socket.write(head[at++]!);
        else socket.end();
      }, 1);
      socket.once('close', () => clearInterval(timer));
    };
    const receivers = [failing, endless, slow];
    for (const { url } of receivers) await webhooks.create(url);
    const names = numbered(12);
    await webhooks.write(...names);
    await Promise.all(receivers.map((receiver, i) => receiver.until(i === 0 ? 13 : 12)));
    expect(namesAt(failing)).toEqual([...names.slice(0, 5), 'N4', ...names.slice(5)]);
    expect(namesAt(endless)).toEqual(names);
    expect(namesAt(slow)).toEqual(names);
  });

  it('continues when the clock is set back, even while waiting to retry', async () => {
    const healthy = await webhooks.receiver();
    const failing = await webhooks.receiver();
    for (const { url } of [healthy, failing]) await webhooks.create(url);
    failing.answer = (_request, response) =>
      response.writeHead(failing.received.length === 1 ? 500 : 200).end();
    await webhooks.write('A');
    await failing.until(1);
    kit.clock.setBack(30 * 86_400_000);
    await webhooks.write('B');
    await Promise.all([healthy.until(2), failing.until(3)]);
    expect([namesAt(healthy), namesAt(failing)]).toEqual([
      ['A', 'B'],
      ['A', 'A', 'B'],
    ]);
    kit.clock.time = Date.now();
  });

  /** A webhook with two events, whose first attempt waits for `finish`. */
  const withAttemptUnderWay = async () => {
    const receiver = await webhooks.receiver();
    const open: ServerResponse[] = [];
    receiver.answer = (_request, response) => void open.push(response);
    const { id } = (await webhooks.create(receiver.url)).json;
    await webhooks.write('A', 'B');
    await receiver.until(1);
    return { receiver, id, finish: () => open[0]!.writeHead(204).end() };
  };

  it('stops after the current attempt, and continues after it', async () => {
    const { receiver, id, finish } = await withAttemptUnderWay();
    const ended = kit.gateway.endDeliveries();
    finish();
    await ended;
    const { progress } = (await webhooksOf(kit.gateway.store).byId(id))!;
    expect([progress.after, namesAt(receiver)]).toEqual([receiver.ids[0], ['A']]);
    kit.gateway.deliver();
    await receiver.until(2);
    expect(namesAt(receiver)).toEqual(['A', 'B']);
  });

  it('makes no attempt as it was before its owner has changed it', async () => {
    const { receiver, id, finish } = await withAttemptUnderWay();
    const other = await webhooks.receiver();
    await webhooks.patch(id, { url: other.url });
    finish();
    await other.until(1);
    expect([namesAt(receiver), namesAt(other)]).toEqual([['A'], ['B']]);
  });

  it('cuts an attempt off that is not over in time, and makes it again', async () => {
    const { receiver, id } = await withAttemptUnderWay();
    await kit.gateway.endDeliveries(100);
    const { progress } = (await webhooksOf(kit.gateway.store).byId(id))!;
    expect(progress).toMatchObject({ attempted: 0, attempts: [] });
    expect(progress.failing).toBeUndefined();
    receiver.answer = (_request, response) => response.writeHead(204).end();
    kit.gateway.deliver();
    await receiver.until(3);
    expect(namesAt(receiver)).toEqual(['A', 'A', 'B']);
  });

  it('makes one attempt at a time, even if the webhook is paused and resumed during it', async () => {
    const { receiver, id, finish } = await withAttemptUnderWay();
    await webhooks.patch(id, { enabled: false });
    await webhooks.patch(id, { enabled: true });
    // A renewal takes place in between.
    await webhooks.until(id, ({ enabled }) => enabled === true);
    expect(namesAt(receiver)).toEqual(['A']);
    receiver.answer = (_request, response) => response.writeHead(204).end();
    finish();
    await receiver.until(2);
    expect(namesAt(receiver)).toEqual(['A', 'B']);
  });

  it('holds no other webhook while an attempt takes long, even once its claims have ended', async () => {
    const { receiver, finish } = await withAttemptUnderWay();
    const other = await webhooks.receiver();
    const { id } = (await webhooks.create(other.url)).json;
    const claims = () =>
      kit.gateway.logs.filter((line) => line.includes('webhook claimed') && line.includes(id)).length;
    await expect.poll(claims).toBe(1);
    // As after an outage of the database.
    kit.clock.advance(CLAIM_TIME + 1);
    await expect.poll(claims).toBe(2);
    await webhooks.write('C');
    await other.until(1);
    expect([namesAt(receiver), namesAt(other)]).toEqual([['A'], ['C']]);
    receiver.answer = (_request, response) => response.writeHead(204).end();
    finish();
    await expect.poll(() => [...new Set(namesAt(receiver))]).toEqual(['A', 'B', 'C']);
  });
});

it.each(engines)(
  'saves places in order, and repeats nothing after an orderly stop ($name)',
  async ({ open }) => {
    const clock = new Clock();
    const opened = await open(clock.now);
    const { store } = opened;
    const saves: Promise<unknown>[] = [];
    const slowly: typeof store.transaction = async (...args) => {
      await sleep(1_500);
      return store.transaction(...args);
    };
    /** Its first save takes long: progress is saved by single writes. */
    const transaction: typeof store.transaction = (...args) => {
      if (args[1] !== 'single') return store.transaction(...args);
      const saved = saves.length === 0 ? slowly(...args) : store.transaction(...args);
      saves.push(saved);
      return saved;
    };
    const gateway = await TestGateway.start({ ...store, transaction }, ALLOW_LOCAL, clock);
    const receiver = await Receiver.start();
    try {
      gateway.deliver();
      const { id } = (await send(gateway, 'POST /webhooks', { body: { url: receiver.url } })).json;
      await store.table(Category).insert({ name: 'A' });
      await expect.poll(() => saves.length).toBe(1);
      await store.table(Category).insert({ name: 'B' });
      await receiver.until(2);
      await gateway.endDeliveries();
      await Promise.all(saves);
      expect((await webhooksOf(store).byId(id))!.progress.after).toBe(receiver.ids[1]);
    } finally {
      await receiver.close();
      await gateway.close();
      await opened.close();
    }
  },
);

it('disables a webhook whose place is no longer kept, as often as it is enabled there', async () => {
  const clock = new Clock();
  const start = async () => {
    const options = { file: join(home, 'petstore.db'), role: 'server', keepEvents: 3_600_000 } as const;
    const store = openSqliteStore({ ...options, records: api.records, now: clock.now });
    return TestGateway.start(store, ALLOW_LOCAL, clock);
  };
  let gateway = await start();
  const receiver = await Receiver.start();
  const { key } = gateway;
  const { id, after } = (await send(gateway, 'POST /webhooks', { body: { url: receiver.url } })).json;
  const insert = (name: string) => gateway.store.table(Category).insert({ name });
  await insert('Lost');
  await insert('Lost too');
  clock.advance(3_600_001);
  await insert('Kept');
  await gateway.close();
  await gateway.store.close();
  gateway = await start();
  await expect.poll(async () => (await send(gateway, `/events?after=${after}`)).status).toBe(410);
  gateway.deliver();
  try {
    const patch = (body: object) => send(gateway, `PATCH /webhooks/${id}`, { key, body });
    const state = async () => (await send(gateway, `/webhooks/${id}`, { key })).json;
    const expired = { enabled: false, disabledReason: 'events_expired', after };
    await expect.poll(state).toMatchObject(expired);
    expect((await patch({ enabled: true })).json).not.toHaveProperty('disabledReason');
    await expect.poll(state).toMatchObject(expired);
    expectRefusal(await patch({ after }), 'GONE');
    const [kept] = (await send(gateway, '/events')).json;
    expect((await patch({ after: kept.id, enabled: true })).json.enabled).toBe(true);
    await insert('New');
    await receiver.until(1);
    expect(namesAt(receiver)).toEqual(['New']);
  } finally {
    await receiver.close();
    await gateway.close();
    await gateway.store.close();
  }
});

describe.runIf(process.env.TEST_MONGODB_URI)('webhooks of two instances', () => {
  const database = `webhooks-${randomUUID().slice(0, 8)}`;
  const here = new Clock();
  const there = new Clock();
  let proxy: Awaited<ReturnType<typeof openProxy>>;
  /** It reaches the database through the proxy. */
  let first: TestGateway;
  let second: TestGateway;
  let receiver: Receiver;
  let id: string;
  /** The most requests that the receiver had at the same time. */
  let concurrent: number;

  beforeAll(async () => {
    proxy = await openProxy(database);
    const gateway = async (uri: string, clock: Clock) =>
      TestGateway.start(await openMongoStore({ records: api.records, uri }), ALLOW_LOCAL, clock);
    first = await gateway(proxy.uri, here);
    second = await gateway(mongoUri(database), there);
  });
  afterAll(async () => {
    for (const gateway of [first, second]) {
      await gateway.close();
      await gateway.store.close();
    }
    await proxy.close();
    await dropDatabase(database);
  });

  const call = (gateway: TestGateway, line: string, body?: object) =>
    send(gateway, line, { key: second.key, ...(body && { body }) });
  const write = async (...names: string[]) => {
    for (const name of names) await second.store.table(Category).insert({ name });
  };
  const listed = async () => (await call(second, `/webhooks/${id}/attempts`)).json;
  /** Waits until what was received last is acknowledged and saved. */
  const saved = () =>
    expect
      .poll(async () => (await webhooksOf(second.store).byId(id))!.progress.after, { timeout: 20_000 })
      .toBe(receiver.ids.at(-1));
  const takenOver = () => second.logs.some((line) => line.includes('webhook claimed'));

  beforeAll(async () => {
    receiver = await Receiver.start();
    concurrent = 0;
    let now = 0;
    receiver.answer = (_request, response, { event }) => {
      const one = event.type === 'webhook.test' ? 0 : 1;
      now += one;
      concurrent = Math.max(concurrent, now);
      setTimeout(() => {
        now -= one;
        response.writeHead(204).end();
      }, 20);
    };
    first.deliver();
    ({ id } = (await call(first, 'POST /webhooks', { url: receiver.url })).json);
  });
  afterEach(() => expect(concurrent).toBe(1));
  afterAll(() => receiver.close());

  it('lists a test that the other one has sent', async () => {
    await write('A');
    await receiver.until(1);
    await saved();
    const { json } = await call(second, `POST /webhooks/${id}/test`);
    await write('B');
    await receiver.until(3);
    await saved();
    expect(await listed()).toHaveLength(3);
    const ids = (await listed()).map(({ eventId }: { eventId: string }) => eventId);
    expect(ids).toContain(json.eventId);
    receiver.received.length = 0;
  });

  it('loses nothing while the database is unreachable', async () => {
    await write('A');
    await receiver.until(1);
    await proxy.close();
    await write('B', 'C');
    await proxy.open();
    await receiver.until(3);
    expect([...new Set(namesAt(receiver))]).toEqual(['A', 'B', 'C']);
    await saved();
    receiver.received.length = 0;
  });

  it('takes over from an instance whose claim has ended, which comes back as another', async () => {
    await write('A');
    await receiver.until(1);
    await expect
      .poll(async () => (await webhooksOf(second.store).byId(id))!.progress.after)
      .toBe(receiver.ids[0]);
    expect(await webhooksOf(second.store).claim('another')).toEqual([]);
    await proxy.close();
    await endClaims(second.store as MongoStore);
    second.deliver();
    await expect.poll(takenOver).toBe(true);
    here.advance(CLAIM_TIME + 1);
    await proxy.open();
    await write(...numbered(10));
    await receiver.until(11);
    expect(namesAt(receiver)).toEqual(['A', ...numbered(10)]);
    // The first one is there again, and goes on as soon as the second one leaves.
    await second.endDeliveries();
    await write('B');
    await receiver.until(12);
    expect(namesAt(receiver).at(-1)).toBe('B');
  });
});
