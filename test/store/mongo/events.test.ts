import { randomUUID } from 'node:crypto';
import { Socket } from 'node:net';
import { MongoClient } from 'mongodb';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { api } from '../../../src/api.ts';
import { Category } from '../../../src/domains/category/category.ts';
import { EventFeed } from '../../../src/events/feed.ts';
import { type MongoStore, openMongoStore } from '../../../src/store/mongo/mongo-store.ts';
import { EventStreamClient } from '../../kit/event-stream.ts';
import { TestGateway } from '../../kit/gateway.ts';
import { type MongoServer, mongoUri, secantusBinary, startSecantus } from '../../kit/mongo.ts';
import { dataOf, expectQueryRefusal, expectRefusal, query, send } from '../../kit/petstore.ts';
import { newDatabase } from './database.ts';
import { openProxy } from './proxy.ts';
import { openWire } from './wire.ts';

const binary = await secantusBinary();
/** More writes than one response of a change stream covers, and than the oplog keeps once its limit is enforced. */
const MANY = 1_100;

/** Collects the names of what is written from now on. */
async function readNames(store: MongoStore) {
  const names: unknown[] = [];
  const ending = new AbortController();
  const { pages } = await new EventFeed(store, api.eventTypes, (error) => names.push(error)).open(
    {},
    ending.signal,
  );
  const read = async () => {
    for await (const { events } of pages) names.push(...events.map(({ event }) => event.record.name));
  };
  read().catch((error) => names.push(error));
  return { names, stop: () => ending.abort() };
}

// Not the shared server, because the oplog is short.
describe.runIf(binary)('the event log on MongoDB', () => {
  let server: MongoServer;
  let admin: MongoClient;
  let uri: string;
  let writer: MongoStore;
  let gateway: TestGateway;
  const open: EventStreamClient[] = [];

  beforeAll(async () => {
    server = await startSecantus(binary!, { oplogEntries: 50 });
    admin = await MongoClient.connect(server.uri);
    uri = mongoUri(`events-${randomUUID().slice(0, 8)}`, server.uri);
    writer = await openMongoStore({ records: api.records, uri });
    gateway = await TestGateway.start(await openMongoStore({ records: api.records, uri }));
  });
  afterEach(() => {
    for (const stream of open.splice(0)) stream.close();
  });
  afterAll(async () => {
    await gateway?.close();
    await gateway?.store.close();
    await writer?.close();
    await admin?.close();
    await server?.stop();
  });

  const follow = async (headers: Record<string, string> = {}) => {
    const stream = await EventStreamClient.open(gateway, '/events/stream', { headers });
    open.push(stream);
    return stream;
  };
  const create = (name: string) => writer.table(Category).insert({ name });
  /** Creates a category and returns the id of its event. */
  const newEvent = async (name: string) => {
    const stream = await follow();
    await create(name);
    const [message] = await stream.until(1);
    stream.close();
    return message!.id!;
  };
  /** Writes other documents until the oplog has no event any more: a busy server may drop what is too old later. */
  const fillLog = async () => {
    const documents = () => Array.from({ length: MANY }, (_, n) => ({ n }));
    do await writer.client.db().collection('others').insertMany(documents());
    while ((await send(gateway, '/events')).json.length > 0);
  };

  it('responds GONE over every interface for a position that the oplog no longer has', async () => {
    const after = await newEvent('Old');
    await fillLog();
    await create('New');
    expectRefusal(await send(gateway, `/events?after=${after}`), 'GONE', /no longer kept/);
    expectRefusal(await send(gateway, `/events/stream?after=${after}`), 'GONE');
    expectRefusal(await send(gateway, '/events/stream', { headers: { 'last-event-id': after } }), 'GONE');
    const listed = await query(gateway, `{ events(after: "${after}") { nodes { id } } }`);
    expect(listed.json.errors).toMatchObject([{ extensions: { code: 'GONE', status: 410 } }]);
    const subscription = `subscription { events(after: "${after}") { id } }`;
    const accept = { accept: 'text/event-stream' };
    expectQueryRefusal(await query(gateway, subscription, undefined, { headers: accept }), 'GONE');
  });

  it('starts at the oldest event in the oplog by default', async () => {
    await create('Forgotten');
    await fillLog();
    await create('Kept');
    expect((await send(gateway, '/events')).json).toMatchObject([{ data: { name: 'Kept' } }]);
    const { nodes } = dataOf(await query(gateway, '{ events { nodes { data } } }')).events;
    expect(nodes).toMatchObject([{ data: { name: 'Kept' } }]);
  });
});

// On the shared server, whose oplog keeps all these writes.
describe.runIf(process.env.TEST_MONGODB_URI)('the event log of a busy database', () => {
  const database = newDatabase();

  it('reaches its end only after scanning all writes that are not events', async () => {
    const store = await database.open();
    await store.table(Category).insert({ name: 'First' });
    const { next } = await store.eventPage({ limit: 1 });
    const documents = Array.from({ length: MANY }, (_, n) => ({ n }));
    await store.client.db().collection('others').insertMany(documents);
    await store.table(Category).insert({ name: 'Second' });
    const names: unknown[] = [];
    for (let page = await store.eventPage({ after: next, limit: 10 }); ;) {
      names.push(...page.events.map(({ record }) => record.name));
      if (page.atEnd) break;
      page = await store.eventPage({ after: page.next, limit: 10 });
    }
    expect(names).toEqual(['Second']);
  });
});

describe.runIf(process.env.TEST_MONGODB_URI)(
  'the latest events of a log too long to be searched in time',
  () => {
    const database = newDatabase();

    it('are those in reach, page by page', async () => {
      const wire = await openWire();
      const store = await database.open({ uri: wire.uriOf(database.name) });
      try {
        const names = ['First', 'Second', 'Third'];
        for (const name of names) await store.table(Category).insert({ name });
        const latest = (limit: number, before?: string) => {
          // The search from the beginning of the log takes longer than a page may.
          wire.arm('aggregate', { is: 'held', time: 2_500 }, 7);
          return store.eventPage({ limit, backward: true, ...(before && { before }) });
        };
        const page = await latest(10);
        expect(page).toMatchObject({ events: names.map((name) => ({ record: { name } })), atEnd: false });
        expect(await latest(10, page.next)).toMatchObject({ events: [], atEnd: true });
      } finally {
        await store.close();
        await wire.close();
      }
    });
  },
);

describe.runIf(process.env.TEST_MONGODB_URI)('a disconnected change stream', () => {
  const database = newDatabase();

  it('resumes after its connection ends while it sends a command, whose response the driver awaits for good', async () => {
    const proxy = await openProxy(database.name);
    const writer = await database.open();
    const store = await database.open({ uri: proxy.uri, timeoutMs: 2_500 });
    const { port } = new URL(proxy.uri);
    // On a slow machine, its limit of time may be too short for the first calls.
    const { names, stop } = await vi.waitFor(() => readNames(store), { timeout: 20_000 });
    const { _getActiveHandles: handles } = process as unknown as { _getActiveHandles(): unknown[] };
    try {
      for (let cut = 0; cut < 2; cut++) {
        for (const socket of handles.call(process))
          if (socket instanceof Socket && String(socket.remotePort) === port)
            socket.once('data', () => socket.destroy());
        await writer.table(Category).insert({ name: `Cut ${cut}` });
        // Each connection that was cut may cost an attempt, as does one that a slow machine does not open in time.
        await expect.poll(() => names.length, { timeout: 60_000 }).toBe(cut + 1);
      }
      expect(names).toEqual(['Cut 0', 'Cut 1']);
    } finally {
      stop();
      await proxy.close();
    }
  }, 150_000);
});
