import { randomUUID } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type MongoStore, openMongoStore } from '../../../src/store/mongo/mongo-store.ts';
import { EventStreamClient } from '../../kit/event-stream.ts';
import { TestGateway } from '../../kit/gateway.ts';
import { dropDatabase, type MongoServer, mongoUri, secantusBinary, startSecantus } from '../../kit/mongo.ts';
import { dataOf, expectQueryRefusal, expectRefusal, query, send } from '../../kit/petstore.ts';
import { openProxy } from './proxy.ts';

const binary = await secantusBinary();
/** More writes than an answer to a change stream looks at, and than the oplog keeps after it was looked at. */
const MANY = 2_100;
const namesOf = (stream: EventStreamClient) => stream.events.map(({ data }) => data.name);

// A server of its own: its oplog is short, and a failpoint concerns everybody on it.
describe.runIf(binary)('the log of changes on MongoDB', () => {
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
    writer = await openMongoStore({ uri });
    // The server doesn't tell those who wait for news of it that it can be used again.
    const patient = `${uri}&serverMonitoringMode=poll`;
    gateway = await TestGateway.start(await openMongoStore({ uri: patient }));
  }, 60_000);
  afterEach(async () => {
    for (const stream of open.splice(0)) stream.close();
    await admin.db('admin').command({ configureFailPoint: 'failCommand', mode: 'off' });
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
  const create = (name: string) => writer.createCategory({ name });
  /** The id of the event of a new category. */
  const newEvent = async (name: string) => {
    const stream = await follow();
    await create(name);
    const [message] = await stream.until(1);
    stream.close();
    return message!.id!;
  };
  const writeWhatIsNoEvent = async () => {
    const documents = Array.from({ length: MANY }, (_, n) => ({ n }));
    await writer.client.db().collection('others').insertMany(documents);
  };
  const fail = (failCommands: string[], how: object, times: number) =>
    admin.db('admin').command({
      configureFailPoint: 'failCommand',
      mode: { times },
      data: { failCommands, ...how },
    });

  it('is GONE behind a position that the oplog no longer has, through each door', async () => {
    const after = await newEvent('Old');
    await writeWhatIsNoEvent();
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

  it('goes on from the oldest event that the oplog has where nobody says from where', async () => {
    await create('Forgotten');
    await writeWhatIsNoEvent();
    await create('Kept');
    expect((await send(gateway, '/events')).json).toMatchObject([{ data: { name: 'Kept' } }]);
    const { nodes } = dataOf(await query(gateway, '{ events { nodes { data } } }')).events;
    expect(nodes).toMatchObject([{ data: { name: 'Kept' } }]);
  });

  it('is at its end only when all that is no event was looked at too', async () => {
    const other = await openMongoStore({ uri: mongoUri(`events-${randomUUID().slice(0, 8)}`) });
    try {
      await other.createCategory({ name: 'First' });
      const { next } = await other.eventPage({ limit: 1 });
      const documents = Array.from({ length: MANY }, (_, n) => ({ n }));
      await other.client.db().collection('others').insertMany(documents);
      await other.createCategory({ name: 'Second' });
      const names: unknown[] = [];
      for (let page = await other.eventPage({ after: next, limit: 10 }); ; ) {
        names.push(...page.events.map(({ record }) => (record as { name: string }).name));
        if (page.atEnd) break;
        page = await other.eventPage({ after: page.next, limit: 10 });
      }
      expect(names).toEqual(['Second']);
    } finally {
      await other.client.db().dropDatabase();
      await other.close();
    }
  });

  const RESUMABLE = { errorLabels: ['ResumableChangeStreamError'] };
  it.each<[string, object]>([
    ['is shut down', { errorCode: 11600, ...RESUMABLE }],
    ['is about to shut down', { errorCode: 91, ...RESUMABLE }],
    ['steps down', { errorCode: 189, ...RESUMABLE }],
    ['steps down and is old', { errorCode: 189 }],
    ['has lost the cursor', { errorCode: 43 }],
    ['drops the connection', { closeConnection: true }],
  ])('is read without a gap when the server %s', async (_what, how) => {
    const stream = await follow();
    await create('Before');
    await stream.until(1);
    // Not only the stream fails, but also the tries to go on with it.
    await fail(['getMore', 'aggregate'], how, 5);
    for (const name of ['A', 'B', 'C']) await create(name);
    await stream.until(4);
    await create('After');
    await stream.until(5);
    expect(namesOf(stream)).toEqual(['Before', 'A', 'B', 'C', 'After']);
  });

  it('ends its streams with GONE when they could not be gone on with, and others begin', async () => {
    const stream = await follow();
    await fail(['getMore'], { errorCode: 286 }, 1);
    await stream.ended;
    expect(stream.messages).toMatchObject([{ event: 'error' }]);
    expect(stream.events).toMatchObject([{ code: 'GONE', status: 410 }]);
    const next = await follow();
    await create('Heard');
    await next.until(1);
    expect(namesOf(next)).toEqual(['Heard']);
  });

  it('is read on when the database was dropped and made anew', async () => {
    const other = `events-${randomUUID().slice(0, 8)}`;
    const reading = await openMongoStore({ uri: mongoUri(other, server.uri) });
    const names: string[] = [];
    const { stop } = await reading.followEvents({
      onEvents: (events) => names.push(...events.map(({ record }) => (record as { name: string }).name)),
      onEnd: (error) => names.push(String(error)),
    });
    const create = async (name: string) => {
      const store = await openMongoStore({ uri: mongoUri(other, server.uri) });
      await store.createCategory({ name });
      await store.close();
    };
    await create('Before');
    await expect.poll(() => names).toEqual(['Before']);
    await admin.db(other).dropDatabase();
    await create('After');
    await expect.poll(() => names, { timeout: 10_000 }).toEqual(['Before', 'After']);
    stop();
    await reading.close();
  });

  it('has all events of a mutation, or none', async () => {
    const stream = await follow();
    const both =
      'mutation { a: createCategory(input: { name: "A" }) { id } b: createCategory(input: { name: "B" }) { id } }';
    const refused =
      'mutation { a: createCategory(input: { name: "Taken back" }) { id } b: deletePet(id: 404404) }';
    expect((await query(gateway, refused)).json.data).toBeNull();
    dataOf(await query(gateway, both));
    expect((await query(gateway, refused)).json.data).toBeNull();
    dataOf(await query(gateway, both));
    await create('Last');
    await stream.until(5);
    expect(namesOf(stream)).toEqual(['A', 'B', 'A', 'B', 'Last']);
  });
});

describe.runIf(process.env.TEST_MONGODB_URI)('a change stream whose connection is cut', () => {
  it('is gone on with, and nothing that was written meanwhile is missing', async () => {
    const name = `events-${randomUUID().slice(0, 8)}`;
    const proxy = await openProxy(name);
    const writer = await openMongoStore({ uri: mongoUri(name) });
    const gateway = await TestGateway.start(await openMongoStore({ uri: proxy.uri, timeoutMs: 1_500 }));
    try {
      const stream = await EventStreamClient.open(gateway, '/events/stream');
      for (let cut = 0; cut < 3; cut++) {
        await writer.createCategory({ name: `Before ${cut}` });
        await stream.until(1 + 3 * cut);
        await proxy.close();
        await writer.createCategory({ name: `Meanwhile ${cut}` });
        await proxy.open();
        await writer.createCategory({ name: `After ${cut}` });
        await stream.until(3 + 3 * cut);
      }
      proxy.freeze();
      const lag = async () =>
        Number(/^petstore_event_lag_seconds (.*)$/m.exec((await gateway.call('/metrics')).text)?.[1]);
      // Longer than a change stream waits for something to tell.
      await expect.poll(lag, { timeout: 10_000 }).toBeGreaterThan(1);
      proxy.thaw();
      expect(namesOf(stream)).toEqual(
        [0, 1, 2].flatMap((cut) => [`Before ${cut}`, `Meanwhile ${cut}`, `After ${cut}`]),
      );
      stream.close();
    } finally {
      await gateway.close();
      await gateway.store.close();
      await writer.close();
      await proxy.close();
      await dropDatabase(name);
    }
  });
});
