import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Category } from '../../../src/domains/category/category.ts';
import { RECORDS } from '../../../src/domains/index.ts';
import { Pet } from '../../../src/domains/pet/pet.ts';
import { type MongoStore, openMongoStore } from '../../../src/store/mongo/mongo-store.ts';
import { webhooksOf } from '../../../src/webhooks/stored-webhooks.ts';
import { expectWithin } from '../../kit/deadline.ts';
import { Clock, type Reply, TestGateway } from '../../kit/gateway.ts';
import { dropDatabase, mongoUri } from '../../kit/mongo.ts';
import { endOfLog } from '../../kit/stores.ts';
import { type Fault, openWire } from './wire.ts';

/** The time limit of a call, in milliseconds, and of a request: a charge, what it asks for, and what a slow machine adds. */
const LIMIT = 1_500;
const SOON = 2 * LIMIT + 2_500;

/** Codes of src/mongo/base/error_codes.yml (6.0 to 8.0) that servers give when another one becomes the primary. */
const OF_A_PRIMARY: readonly [number, string][] = [
  [10107, 'NotWritablePrimary'],
  [13435, 'NotPrimaryNoSecondaryOk'],
  [189, 'PrimarySteppedDown'],
  [11600, 'InterruptedAtShutdown'],
  [11602, 'InterruptedDueToReplStateChange'],
  [91, 'ShutdownInProgress'],
  [7, 'HostNotFound'],
  [6, 'HostUnreachable'],
  [89, 'NetworkTimeout'],
  [9001, 'SocketException'],
  [262, 'ExceededTimeLimit'],
  [50, 'MaxTimeMSExpired'],
];
/** Those with which a command has certainly not been carried out: of conflicts, cursors, change streams and routers. */
const OF_A_COMMAND: readonly [number, string][] = [
  [112, 'WriteConflict'],
  [251, 'NoSuchTransaction'],
  [133, 'FailedToSatisfyReadPreference'],
  [43, 'CursorNotFound'],
  [136, 'CappedPositionLost'],
  [280, 'ChangeStreamFatalError'],
  [286, 'ChangeStreamHistoryLost'],
  [63, 'StaleShardVersion'],
  [13388, 'StaleConfig'],
  [150, 'StaleEpoch'],
  [20, 'IllegalOperation'],
  [211, 'KeyNotFound'],
];
const FAULTS: Readonly<Record<string, Fault>> = Object.fromEntries([
  ...[...OF_A_PRIMARY, ...OF_A_COMMAND].map(([code, name]) => [
    `${code} before`,
    { is: 'error', code, name, when: 'before' },
  ]),
  ...OF_A_PRIMARY.map(([code, name]) => [`${code} after`, { is: 'error', code, name, when: 'after' }]),
  ...[
    [64, 'WriteConcernFailed'],
    [100, 'UnsatisfiableWriteConcern'],
  ].map(([code, name]) => [`${code} of a write concern`, { is: 'write concern', code, name }]),
  ...['before', 'after', 'within', 'all'].map((when) => [`cut ${when}`, { is: 'cut', when }]),
  ...[0.3, 0.9, 1.5].map((part) => [`held for ${part} of the limit`, { is: 'held', time: part * LIMIT }]),
]);

/** All that the product sends, by the activity in which it is disturbed. */
const COMMANDS: Readonly<Record<string, string>> = {
  'a write':
    'find apiKeys, find usage, update usage, findAndModify usage, findAndModify counters, insert categories',
  'an idempotent write':
    'find idempotency, findAndModify counters, update locks, insert pets, update idempotency, commitTransaction, update sessions',
  'a mutation': 'find idempotency, find categories, insert categories, update idempotency, commitTransaction',
  'a deletion': 'find categories, find pets, delete locks, delete categories, commitTransaction',
  'a difference': 'findAndModify usage, findAndModify pets',
  'a read': 'aggregate pets, aggregate categories, find categories, find usage',
  events: 'aggregate, ping, getMore $cmd.aggregate, killCursors $cmd.aggregate',
  'a start':
    'hello, listCollections, find layout, update layout, create childCounts, create counters, create counts, create usage, createIndexes apiKeys, createIndexes categories, createIndexes documents, createIndexes idempotency, createIndexes loads, createIndexes locks, createIndexes orders, createIndexes pets, createIndexes requests, createIndexes sessions, createIndexes usageHistory, createIndexes webhooks, update counters',
  housekeeping: 'find apiKeys, update apiKeys, find documents, find webhooks, commitTransaction',
};
const CELLS = Object.entries(COMMANDS).flatMap(([activity, commands]) =>
  commands
    .split(', ')
    .flatMap((command) => Object.keys(FAULTS).map((fault) => ({ activity, command, fault }))),
);
/** Sent at other times too. */
const AT_ANY_TIME = new Set(['hello', 'endSessions', 'update sessions', 'update requests', 'ping']);

describe.runIf(process.env.TEST_MONGODB_URI)('while another server becomes the primary', () => {
  const database = `test_${randomUUID()}`;
  let wire: Awaited<ReturnType<typeof openWire>>;
  /** The product's, through the wire, and ours beside it. */
  let store: MongoStore;
  let direct: MongoStore;
  let gateway: TestGateway;
  let key: string;
  let keyId: string;
  let parent: string;
  let number = 0;
  let sent = 0;
  let succeeded = 0;
  /** Whether a server says so of a place in the log that it does not find. */
  let isOfPlace = false;
  const clock = new Clock();

  beforeAll(async () => {
    wire = await openWire();
    direct = await openMongoStore({ records: RECORDS, uri: mongoUri(database) });
    store = await openMongoStore({ records: RECORDS, uri: wire.uriOf(database), timeoutMs: LIMIT });
    gateway = await TestGateway.start(store, {}, clock);
    ({
      key,
      apiKey: { id: keyId },
    } = await gateway.keyRecord({}));
    parent = (await direct.table(Category).insert({ name: 'Parent' })).id;
    await direct.table(Pet).insert({ name: 'Rex', categoryId: parent, status: 'sold' });
  }, 60_000);
  afterAll(async () => {
    await gateway?.close();
    await store?.close();
    await direct?.close();
    await wire?.close();
    await dropDatabase(database);
  });

  interface Outcome {
    seen: string;
    stored: string;
  }

  /** A reply is a success, or says when to come again. */
  function told(reply: Reply, took: number, others: readonly string[] = []): string {
    const error = reply.json?.code ?? reply.json?.errors?.[0]?.extensions.code;
    const about = `${reply.status} ${reply.text.slice(0, 300)} after ${Math.round(took)} ms`;
    expectWithin(SOON, took, about);
    if (error === undefined) expect(reply.status, about).toBeLessThan(300);
    else expect(['UNAVAILABLE', ...others], about).toContain(error);
    if (reply.status === 503) expect(Number(reply.headers['retry-after']), about).toBeGreaterThan(0);
    return error ?? 'success';
  }

  async function call(
    line: string,
    body?: object,
    headers: Record<string, string> = {},
  ): Promise<[Reply, number]> {
    const [method, path] = line.split(' ') as [string, string];
    const began = performance.now();
    const price = JSON.stringify(body ?? '').includes('b: updateCategory') ? 2 : 1;
    sent += price;
    const reply = await gateway.call(path, {
      method,
      key,
      body,
      headers: { 'content-type': 'application/json', ...headers },
    });
    if (reply.status < 300) succeeded += price;
    return [reply, performance.now() - began];
  }

  /** Writes something that names `name`, and again with the same key if it was refused: it is stored once. */
  async function writeOnce(line: string, body: object, stored: () => Promise<number>): Promise<Outcome> {
    const headers = { 'idempotency-key': randomUUID() };
    const seen = told(...(await call(line, body, headers)));
    const first = await stored();
    if (seen === 'success') expect(first).toBe(1);
    let again = seen;
    for (let attempt = 0; again !== 'success' && attempt < 5; attempt++) {
      again = told(...(await call(line, body, headers)), ['CONFLICT']);
      if (again !== 'success') await sleep(100);
    }
    expect(again).toBe('success');
    expect(await stored()).toBe(1);
    return { seen, stored: seen === 'success' ? 'once' : first === 0 ? 'no, then once' : 'once' };
  }

  const named = async (name: string): Promise<number> =>
    (await direct.client.db(database).collection('categories').countDocuments({ name })) +
    (await direct.client.db(database).collection('pets').countDocuments({ name }));

  const ACTIVITIES: Readonly<Record<string, (name: string) => Promise<Outcome>>> = {
    async 'a write'(name) {
      const seen = told(...(await call('POST /categories', { name })));
      const count = await named(name);
      if (seen === 'success') expect(count).toBe(1);
      expect(count).toBeLessThanOrEqual(1);
      return { seen, stored: count === 0 ? 'no' : 'once' };
    },
    'an idempotent write': (name) =>
      writeOnce('POST /pets', { name, categoryId: Number(parent), status: 'sold' }, () => named(name)),
    'a mutation': (name) =>
      writeOnce(
        'POST /graphql',
        {
          query: `mutation { a: createCategory(input: {name: "${name}"}) { id } b: updateCategory(id: ${parent}, input: {}) { id } }`,
        },
        () => named(name),
      ),
    async 'a deletion'(name) {
      const { id } = await direct.table(Category).insert({ name });
      const seen = told(...(await call(`DELETE /categories/${id}`)));
      const left = await named(name);
      if (seen === 'success') expect(left).toBe(0);
      return { seen, stored: left === 0 ? 'once' : 'no' };
    },
    async 'a difference'(name) {
      const pet = await direct.table(Pet).insert({ name, categoryId: parent, status: 'sold' });
      const quantity = async () => Number((await direct.table(Pet).byIds([pet.id])).at(0)!.quantity);
      const seen = told(...(await call(`POST /store/inventory/${pet.id}/adjust`, { by: 3 })));
      const by = await quantity();
      expect(seen === 'success' ? [3] : [0, 3]).toContain(by);
      return { seen, stored: by === 0 ? 'no' : 'once' };
    },
    async 'a read'() {
      const query = `{ pets(first: 1) { totalCount nodes { category { pets(first: 1) { totalCount nodes { id } } } } } }`;
      const seen = told(...(await call('POST /graphql', { query })), ['QUERY_TOO_COMPLEX']);
      return { seen, stored: '' };
    },
    async events(name) {
      const after = await endOfLog(direct);
      for (const n of [1, 2, 3]) await direct.table(Category).insert({ name: `${name} ${n}` });
      const [reply, took] = await call(`GET /events?after=${after}`);
      const seen = told(reply, took, ['GONE', ...(isOfPlace ? ['VALIDATION_FAILED'] : [])]);
      if (seen === 'success')
        expect(reply.json.map(({ data }: { data: { name: string } }) => data.name)).toEqual(
          [1, 2, 3].map((n) => `${name} ${n}`).slice(0, reply.json.length),
        );
      return { seen, stored: '' };
    },
    async 'a start'(name) {
      const own = `test_${randomUUID()}`;
      const opened = await openMongoStore({ records: RECORDS, uri: wire.uriOf(own), timeoutMs: LIMIT });
      const insert = () =>
        opened
          .table(Category)
          .insert({ name })
          .then(
            () => 'success',
            ({ code }) => code as string,
          );
      const seen = await insert();
      expect(['success', 'UNAVAILABLE']).toContain(seen);
      await expect.poll(insert, { timeout: 10_000 }).toBe('success');
      await opened.close();
      await dropDatabase(own);
      return { seen, stored: '' };
    },
    async housekeeping() {
      const outcomes = await Promise.all([
        codeOf(webhooksOf(store).claim('instance')),
        codeOf(store.touchDocuments([{ list: 'a', id: 'b', lastUsedAt: 1 }])),
        codeOf(store.addUsage([], { [keyId]: Date.now() })),
      ]);
      for (const outcome of outcomes) expect(['success', 'UNAVAILABLE']).toContain(outcome);
      return { seen: outcomes.find((outcome) => outcome !== 'success') ?? 'success', stored: '' };
    },
  };

  const codeOf = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'success',
      (error) => {
        if (typeof error.code !== 'string') throw error;
        return error.code;
      },
    );

  /** Units of the minute that began with the activity. */
  const used = async (): Promise<number> => {
    const [usage] = await direct.usage([keyId]);
    return usage && usage.minuteStart >= clock.now() ? usage.minuteUsed : 0;
  };

  /** Disturbs a command of an activity, and expects all to be as before within 5 seconds. */
  async function disturb(activity: string, command: string, fault: string): Promise<Outcome | undefined> {
    wire.takeSeen();
    clock.advance(60_000);
    [sent, succeeded] = [0, 0];
    isOfPlace = fault.startsWith('280');
    wire.arm(command, FAULTS[fault]!);
    const outcome = await ACTIVITIES[activity]!(`N${number++}`);
    const wasNotSent = wire.disarm();
    const units = await used();
    expect(units).toBeGreaterThanOrEqual(succeeded);
    expect(units).toBeLessThanOrEqual(sent + 2);
    const ready = async () => (await gateway.call('/health/ready')).status;
    await expect.poll(ready, { timeout: 5_000 }).toBe(200);
    return wasNotSent ? undefined : outcome;
  }

  it('every command that is sent is in the table', async () => {
    for (const [activity, run] of Object.entries(ACTIVITIES)) {
      wire.takeSeen();
      expect((await run(`N${number++}`)).seen).toBe('success');
      const sent = new Set(wire.takeSeen().map(({ name }) => name));
      const listed = new Set(Object.values(COMMANDS).flatMap((commands) => commands.split(', ')));
      const unlisted = [...sent].filter((name) => !listed.has(name) && !AT_ANY_TIME.has(name));
      expect(unlisted, activity).toEqual([]);
    }
  }, 60_000);

  it('is not ready meanwhile, and is within 5 seconds', async () => {
    const ready = async () => (await gateway.call('/health/ready')).status;
    wire.stepDown(true);
    await expect.poll(ready, { timeout: 5_000 }).toBe(503);
    expect(told(...(await call('GET /pets')))).toBe('UNAVAILABLE');
    wire.stepDown(false);
    await expect.poll(ready, { timeout: 5_000 }).toBe(200);
    expect(told(...(await call('GET /pets')))).toBe('success');
  }, 20_000);

  it('options of the URI change nothing of what is acknowledged or read', async () => {
    const uri = `${wire.uriOf(database)}&w=0&journal=false&readPreference=secondary&readPreferenceTags=a:b&maxStalenessSeconds=100&readConcernLevel=linearizable&retryWrites=false&retryReads=false&promoteValues=false`;
    const opened = await openMongoStore({ records: RECORDS, uri, timeoutMs: LIMIT });
    const after = await endOfLog(opened);
    const { id } = await opened.table(Category).insert({ name: 'Options' });
    expect((await opened.table(Category).byIds([id]))[0]).toMatchObject({ name: 'Options' });
    expect((await opened.eventPage({ after, limit: 1 })).events).toHaveLength(1);
    const { retryReads, retryWrites, readPreference, writeConcern } = opened.client.options;
    expect({
      retryReads,
      retryWrites,
      mode: readPreference.mode,
      tags: readPreference.tags,
      j: writeConcern.j,
    }).toEqual({
      retryReads: true,
      retryWrites: true,
      mode: 'primary',
    });
    expect(writeConcern.w).toBe('majority');
    await opened.close();
  });

  it('a router whose collections are sharded by anything but their ids is refused in a line', async () => {
    const router = await openWire();
    router.route();
    const own = `test_${randomUUID()}`;
    const open = () => openMongoStore({ records: RECORDS, uri: router.uriOf(own), timeoutMs: LIMIT });
    const sharded = direct.client.db('config').collection<{ _id: string; key: object }>('collections');
    const keep = async (name: string, key: object) => sharded.insertOne({ _id: `${own}.${name}`, key });
    try {
      await keep('orders', { _id: 'hashed' });
      const opened = await open();
      expect((await opened.table(Category).insert({ name: 'Routed' })).id).toBe('1');
      await opened.close();
      await keep('pets', { categoryId: 1 });
      await expect(open()).rejects.toThrow(
        `The collection ${own}.pets is sharded by {"categoryId":1}: shard it by { _id: 'hashed' } (docs/growing.md#shards).`,
      );
    } finally {
      await sharded.deleteMany({});
      await router.close();
      await dropDatabase(own);
    }
  }, 20_000);

  it('a call succeeds or is 503 in time, what was acknowledged is stored once, and charges are exact to a unit', async () => {
    const atLength = process.env.AT_LENGTH === '1';
    const of = CELLS.filter(({ activity }) => activity.match(process.env.MATRIX_OF ?? ''));
    const drawn = fc.sample(fc.shuffledSubarray(of, { minLength: of.length }), 1)[0]!;
    const deadline = performance.now() + (atLength ? Number(process.env.MATRIX_TIME ?? 900_000) : 8_000);
    const wrong: string[] = [];
    const matrix: string[] = [];
    for (const { activity, command, fault } of drawn) {
      if (performance.now() > deadline) break;
      try {
        const outcome = await disturb(activity, command, fault);
        if (outcome) matrix.push([activity, command, fault, outcome.seen, outcome.stored].join(' | '));
      } catch (error) {
        wire.disarm();
        wrong.push(`${activity} | ${command} | ${fault}: ${(error as Error).message}`);
      }
    }
    if (process.env.MATRIX_FILE) writeFileSync(process.env.MATRIX_FILE, [...matrix, ...wrong].join('\n'));
    expect(wrong).toEqual([]);
    expect(matrix.length).toBeGreaterThan(1);
  }, 3_600_000);
});
