import { randomUUID } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { api } from '../../src/api.ts';
import { Category } from '../../src/domains/category/category.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { Meter } from '../../src/foundation/meter.ts';
import { openMongoStore } from '../../src/store/mongo/mongo-store.ts';
import { within } from '../kit/deadline.ts';
import { Clock, TestGateway } from '../kit/gateway.ts';
import { type MongoServer, mongoUri, secantusBinary, startSecantus } from '../kit/mongo.ts';
import { expectRefusal, query, type Sent, send } from '../kit/petstore.ts';

/** The store's time limit in these tests. */
const TIMEOUT = 3_000;

const UNAUTHORIZED = 13;

const binary = await secantusBinary();

// A separate server, because a failpoint affects all its clients.
describe.runIf(binary)('MongoDB commands that fail for a while', () => {
  let server: MongoServer;
  let admin: MongoClient;
  let gateway: TestGateway;
  let pet: string;

  beforeAll(async () => {
    server = await startSecantus(binary!);
    admin = await MongoClient.connect(server.uri);
    const uri = mongoUri(`faults-${randomUUID().slice(0, 8)}`, server.uri);
    gateway = await TestGateway.start(
      await openMongoStore({ records: api.records, uri, timeoutMs: TIMEOUT }),
      {},
      new Clock(),
    );
    const { id: categoryId } = await gateway.store.table(Category).insert({ name: 'Dogs' });
    ({ id: pet } = await gateway.store.table(Pet).insert({ name: 'Rex', categoryId, status: 'available' }));
  });
  const mend = () => admin.db('admin').command({ configureFailPoint: 'failCommand', mode: 'off' });
  afterEach(mend);
  afterAll(async () => {
    await gateway?.close();
    await gateway?.store.close();
    await admin?.close();
    await server?.stop();
  });

  const fail = (failCommands: string[], errorCode: number, times?: number, skip = 0) =>
    admin.db('admin').command({
      configureFailPoint: 'failCommand',
      mode: times === undefined ? 'alwaysOn' : { skip, times },
      data: { failCommands, errorCode },
    });
  /** With a margin for slow machines. */
  const soon = (sending: Promise<Sent>): Promise<Sent> => within(3 * TIMEOUT, sending);
  const read = () => soon(send(gateway, `/pets/${pet}`));
  const nested = () => soon(query(gateway, '{ categories { nodes { pets { nodes { id } } } } }'));
  const recovers = async () => {
    await mend();
    await expect.poll(async () => (await read()).status, { timeout: 15_000 }).toBe(200);
  };

  it('stores all documents or none, and counts usage once, if the commit is refused', async () => {
    const { store } = gateway;
    const document = { list: 'app', hash: 'a'.repeat(64), text: '{ __typename }', addedAt: 1 };
    const documents = ['a', 'b'].map((id) => ({ ...document, id }));
    const row = { apiKeyId: 'k', date: '2026-06-01', operation: 'pets', transport: 'rest' } as const;
    const rows = [{ ...row, requests: 1, units: 2, refused: 0 }];
    for (const write of [() => store.addDocuments(documents), () => store.addUsage(rows, { k: 5 })]) {
      // Always, since the gateway commits too.
      await fail(['commitTransaction'], UNAUTHORIZED);
      await expect((async () => write())()).rejects.toThrow();
      await mend();
      expect(await store.documents('app')).toEqual([]);
      expect(await store.usageDays('k', row.date, row.date)).toEqual([]);
    }
    await store.addDocuments(documents);
    await store.addUsage(rows, { k: 5 });
    expect((await store.documents('app')).map(({ id }) => id)).toEqual(['a', 'b']);
    expect((await store.usageDays('k', row.date, row.date))[0]!.operations).toMatchObject([
      { requests: 1, units: 2 },
    ]);
  });

  it('reports QUERY_TOO_COMPLEX for a count that takes too long, and returns the other fields', async () => {
    // The first reads the page.
    await fail(['aggregate'], 50, 1, 1);
    const sent = await soon(query(gateway, '{ a: pets { totalCount } b: pet(id: 1) { name } }'));
    expect(sent, sent.about).toMatchObject({
      status: 200,
      json: {
        errors: [{ path: ['a', 'totalCount'], extensions: { code: 'QUERY_TOO_COMPLEX', status: 400 } }],
      },
    });
    // It is metered as all that it was allowed.
    const meter = new Meter(1);
    await fail(['aggregate'], 50, 1);
    expect([
      await gateway.store
        .table(Pet)
        .count({}, meter)
        .catch(({ code }) => code),
      meter.left('counted'),
      await gateway.store.table(Pet).count({}, meter),
      meter.left('counted'),
      (await query(gateway, '{ pets { totalCount } }')).json,
    ]).toEqual(['QUERY_TOO_COMPLEX', 700_000, 1, 699_999, { data: { pets: { totalCount: 1 } } }]);
  });

  it('responds INTERNAL without details if a command is refused, and logs them', async () => {
    await fail(['find', 'aggregate'], UNAUTHORIZED);
    expectRefusal(await read(), 'INTERNAL', 'Something went wrong on our side.');
    const sent = await nested();
    expect(sent.json.errors[0].extensions, sent.about).toEqual({ code: 'INTERNAL', status: 500 });
    expect(sent.text).not.toMatch(/failpoint|mongo/i);
    expect(gateway.logs.join('')).toContain('failpoint');
    await recovers();
  });
});
