import { type Document, MongoClient } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { api } from '../../../src/api.ts';
import { Category } from '../../../src/domains/category/category.ts';
import { Pet } from '../../../src/domains/pet/pet.ts';
import { connectTo, type Database, type Role } from '../../../src/store/mongo/database.ts';
import { type Migration, prepareLayout } from '../../../src/store/mongo/layout.ts';
import { openMongoStore } from '../../../src/store/mongo/mongo-store.ts';
import { codeOf } from '../../kit/errors.ts';
import { mongoUri, secantusBinary, startSecantus } from '../../kit/mongo.ts';
import { endOfLog } from '../../kit/stores.ts';
import { newDatabase } from './database.ts';

/** A document as it is stored. */
interface Stored {
  _id: bigint | string;
  [field: string]: unknown;
}

const onMongo = describe.runIf(process.env.TEST_MONGODB_URI);

onMongo('a database', () => {
  const database = newDatabase();

  it('is prepared by several instances at once, with an index for each query', async () => {
    const [store] = await Promise.all([database.open(), database.open(), database.open()]);
    const db = store!.client.db();
    const keysOf = async (name: string) =>
      (await db.collection(name).indexes()).map((index) => Object.keys(index.key).join());
    expect(await keysOf('pets')).toEqual(expect.arrayContaining(['_id', 'categoryId,_id']));
    expect(await keysOf('apiKeys')).toEqual(['_id', 'terms,_id']);
    const expiring = await Promise.all(['idempotency', 'usageHistory'].map((name) => keysOf(name)));
    expect(expiring.map((keys) => keys.at(-1))).toEqual(['expiresAt', 'expiresAt']);
    expect(await db.collection<Stored>('layout').findOne({ _id: 'layout' })).toMatchObject({ version: 1 });
  });

  it('gets values that its documents lack, once, before it is served, and without events', async () => {
    const store = await database.open();
    const { id } = await store.table(Category).insert({ name: 'Dögs' });
    const pet = await store.table(Pet).insert({ name: 'Ärger', categoryId: id });
    const after = await endOfLog(store);
    const db = store.client.db();
    // As if the declaration had neither been sorted by name nor had a quantity.
    await db.collection('pets').updateMany({}, { $unset: { name_folded: true, quantity: true } });
    await db.collection<Stored>('layout').updateOne({ _id: 'layout' }, { $unset: { 'filled.pets': true } });
    const [other] = await Promise.all([database.open(), database.open()]);
    expect((await other!.table(Pet).page({ name: { prefix: 'arg' } }, { limit: 5 })).items).toEqual([pet]);
    expect((await other!.eventPage({ after, limit: 5 })).events).toEqual([]);
  });
});

onMongo('the layout of a database', () => {
  const database = newDatabase();
  const connect = () => MongoClient.connect(mongoUri(database.name), { useBigInt64: true });
  const everything = async (client: MongoClient) => {
    const names = (await client.db().listCollections().toArray()).map(({ name }) => name).sort();
    return Promise.all(
      names.map(async (name) => [
        name,
        await client.db().collection(name).indexes(),
        await client.db().collection(name).find().toArray(),
      ]),
    );
  };

  it.each<[string, Document | undefined]>([
    ['none', undefined],
    ['3', { _id: 'layout', version: 3 }],
  ])(
    'has to be one that is known: with %s the database is refused and left as it is',
    async (name, layout) => {
      const client = await connect();
      await client.db().dropDatabase();
      await client.db().collection<Stored>('pets').insertOne({ _id: 9n, name: 'Rex' });
      if (layout) await client.db().collection('layout').insertOne(layout);
      const before = await everything(client);
      await expect(database.open()).rejects.toThrow(
        `The database ${database.name} has layout ${name}, which this version of the gateway does not know (it has 1).`,
      );
      expect(await everything(client)).toEqual(before);
      await client.close();
    },
  );

  it('is brought to the latest by the migrations that it lacks, by a server alone', async () => {
    const client = await connect();
    await client.db().dropDatabase();
    await client.db().collection<Stored>('layout').insertOne({ _id: 'layout', version: 2 });
    const ran: number[] = [];
    const migrations = [2, 3, 4].map(
      (version): Migration =>
        async () =>
          void ran.push(version),
    );
    const open = async (role: Role) => {
      const opened: Database = connectTo({ uri: mongoUri(database.name), records: api.records }, (hello) =>
        prepareLayout(opened, { records: api.records }, hello, role, migrations),
      );
      await opened.execute(async () => {}).finally(() => opened.client.close());
    };
    const before = await everything(client);
    for (const role of ['tool', 'import'] as const)
      await expect(open(role)).rejects.toThrow(
        `The database ${database.name} has layout 2, which a server of this version migrates: start it first (it has 4).`,
      );
    expect([ran, await everything(client)]).toEqual([[], before]);
    await open('server');
    await open('server');
    await open('tool');
    expect(ran).toEqual([3, 4]);
    expect(await client.db().collection<Stored>('layout').findOne({ _id: 'layout' })).toMatchObject({
      version: 4,
    });
    await client.close();
  });
});

const binary = await secantusBinary();

describe.runIf(binary)('a server', () => {
  it('that is standalone is refused in one line, which says what to do', async () => {
    const server = await startSecantus(binary!, { standalone: true });
    const opening = openMongoStore({ records: api.records, uri: mongoUri('alone', server.uri) });
    await expect(opening).rejects.toThrow(
      /^The MongoDB in MONGODB_URI is a standalone .* rs\.initiate\(\) once\.$/,
    );
    await server.stop();
  });

  // `mongod` has failpoints only if it was started for tests.
  it.runIf(process.env.TEST_MONGODB_URI)('may take longer to build an index than any call', async () => {
    const database = `slow_${process.pid}`;
    const admin = await MongoClient.connect(mongoUri('admin'));
    const data = { failCommands: ['createIndexes'], blockConnection: true, blockTimeMS: 700 };
    const fail = (mode: string) =>
      admin.db().command({ configureFailPoint: 'failCommand', mode, ...(mode !== 'off' && { data }) });
    await fail('alwaysOn');
    try {
      const store = await openMongoStore({ records: api.records, uri: mongoUri(database), timeoutMs: 500 });
      expect(await codeOf(store.ping())).toBe('UNAVAILABLE');
      await expect.poll(() => codeOf(store.ping()), { timeout: 60_000 }).toBeUndefined();
      await store.close();
    } finally {
      await fail('off');
    }
    await admin.db(database).dropDatabase();
    await admin.close();
  });
});

describe('the version of MongoDB', () => {
  const read = new Error('The layout is read.');
  const database = {
    get db(): never {
      throw read;
    },
  } as unknown as Database;

  it.each([{ setName: 'rs' }, { msg: 'isdbgrid' }])('has to be recent enough for %j', async (hello) => {
    const prepare = (maxWireVersion: number) =>
      prepareLayout(database, { records: [] }, { ...hello, maxWireVersion });
    await expect(prepare(16)).rejects.toThrow('MongoDB 6.0 or later is required.');
    await expect(prepare(17)).rejects.toBe(read);
  });
});
