import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { api } from '../../../src/api.ts';
import { newApiKey } from '../../../src/access/api-keys.ts';
import { readExport, readManifest, writeExport } from '../../../src/cli/dump-files.ts';
import { load } from '../../../src/cli/load.ts';
import { Category } from '../../../src/domains/category/category.ts';
import { Order } from '../../../src/domains/order/order.ts';
import { Pet } from '../../../src/domains/pet/pet.ts';
import { openMongoTarget } from '../../../src/store/mongo/dump.ts';
import { type MongoStore, openMongoStore } from '../../../src/store/mongo/mongo-store.ts';
import { deferred } from '../../../src/foundation/turns.ts';
import { expectWithin, within } from '../../kit/deadline.ts';
import { WEBHOOKS, webhooksOf, webhookWritesOf } from '../../../src/webhooks/stored-webhooks.ts';
import { codeOf } from '../../kit/errors.ts';
import { EventStreamClient } from '../../kit/event-stream.ts';
import { temporaryFolder } from '../../kit/folder.ts';
import { Clock, type Reply, TestGateway } from '../../kit/gateway.ts';
import { type MongoServer, mongoUri, secantusBinary, serverUri, startSecantus } from '../../kit/mongo.ts';
import { Receiver } from '../../kit/receiver.ts';
import { endOfLog } from '../../kit/stores.ts';
import { ALLOW_LOCAL } from '../../kit/webhooks.ts';
import { type Fault, openWire } from './wire.ts';

/** `AT_LENGTH=1` runs the whole matrix with the real limit of time; else a random part runs with a shorter one. */
const AT_LENGTH = process.env.AT_LENGTH === '1';
/** The time limit of a call, in milliseconds. */
const LIMIT = AT_LENGTH ? 10_000 : 1_500;
/** The most that a request takes: one command is disturbed, and a slow machine adds to the limit. */
const SOON = LIMIT + (AT_LENGTH ? 5_000 : 2_500);
/** The time after which something counts as hanging, in milliseconds. */
const PATIENCE = 60_000;
/** Disturbed side by side, each in its own database. */
const LANES = Number(process.env.LANES ?? (AT_LENGTH ? 4 : 1));

/** RetriableError and ExceededTimeLimitError of src/mongo/base/error_codes.yml (6.0 to 8.0): another one becomes the primary. */
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
/**
 * Codes of the same file with which a command has certainly not been carried out: of conflicts, cursors, change streams and
 * routers. 63 is OBSOLETE_StaleShardVersion there; 20 is the answer to a transaction number that the deployment does not
 * support (source/retryable-writes of mongodb/specifications).
 */
const OF_A_COMMAND: readonly [number, string][] = [
  [112, 'WriteConflict'],
  [251, 'NoSuchTransaction'],
  [133, 'FailedToSatisfyReadPreference'],
  [246, 'SnapshotUnavailable'],
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
    [64, 'WriteConcernTimeout'],
    [100, 'UnsatisfiableWriteConcern'],
    [91, 'ShutdownInProgress'],
  ].map(([code, name]) => [`${code} of a write concern`, { is: 'write concern', code, name }]),
  ...['before', 'after', 'within', 'all'].map((when) => [`cut ${when}`, { is: 'cut', when }]),
  // With the real limit 3, 9 and 15 s.
  ...[0.3, 0.9, 1.5].map((part) => [`held for ${part} of the limit`, { is: 'held', time: part * LIMIT }]),
  ['invalidated', { is: 'invalidated' }],
]);

/** What is also told of a position in the log when its change stream is refused. */
const OF_A_POSITION = ['GONE', 'VALIDATION_FAILED'];

/** All that the product sends, by an activity in which it is disturbed. */
const COMMANDS: Readonly<Record<string, string>> = {
  'a write':
    'find apiKeys, find usage, update usage, findAndModify usage, findAndModify counters, insert categories',
  'a charge at the limit': 'find usage, update usage, findAndModify usage',
  'an idempotent write':
    'find idempotency, findAndModify counters, update locks, insert pets, update idempotency, commitTransaction',
  'a mutation': 'find idempotency, find categories, insert categories, update idempotency, commitTransaction',
  'a deletion': 'find categories, find pets, delete locks, delete categories, commitTransaction',
  'a difference': 'findAndModify usage, findAndModify pets',
  'a read': 'aggregate pets, aggregate categories, find categories, find usage',
  events: 'aggregate, ping, find oplog.rs, getMore $cmd.aggregate, killCursors $cmd.aggregate',
  'a stream': 'find apiKeys, findAndModify usage, aggregate, ping, getMore $cmd.aggregate',
  'a subscription': 'findAndModify usage, aggregate, ping, getMore $cmd.aggregate',
  'a webhook':
    'find counts, update counts, find webhooks, update webhooks, delete webhooks, commitTransaction',
  'a delivery':
    'hello, find webhooks, update webhooks, commitTransaction, find apiKeys, aggregate, ping, getMore $cmd.aggregate',
  'a load':
    'hello, aggregate categories, find loads, update loads, findAndModify counters, insert categories, update locks, update categories, insert locks, insert pets, commitTransaction',
  'an import':
    'find layout, update layout, find apiKeys, find documents, aggregate categories, aggregate orders, aggregate pets, update counters, insert categories, insert pets, insert usage, update apiKeys, update webhooks, commitTransaction, update sessions, ping',
  'a start':
    'hello, listCollections, find layout, update layout, create childCounts, create counters, create counts, create usage, createIndexes apiKeys, createIndexes categories, createIndexes documents, createIndexes idempotency, createIndexes loads, createIndexes locks, createIndexes orders, createIndexes pets, createIndexes requestChunks, createIndexes sessions, createIndexes usageHistory, createIndexes webhooks, update counters',
  housekeeping:
    'find apiKeys, update apiKeys, find documents, find webhooks, find usageHistory, update usageHistory, commitTransaction',
};
const CELLS = Object.entries(COMMANDS).flatMap(([activity, commands]) =>
  commands.split(', ').flatMap((command) =>
    Object.keys(FAULTS)
      .filter((fault) => fault !== 'invalidated' || /^(?:aggregate|getMore \$cmd\.aggregate)$/.test(command))
      .map((fault) => ({ activity, command, fault })),
  ),
);
/** Sent at other times too. */
const AT_ANY_TIME =
  /^(?:hello|ping|endSessions|killSessions|abortTransaction|(?:find|update) sessions|update requestChunks)$/;

/** What the product's store holds. */
const HELD = { records: api.records, objects: api.objects };
/** By activity, units of a call and how many of each command are sent when nothing is disturbed. */
const prices = new Map<string, number>();
const counts = new Map<string, Map<string, number>>();

interface Outcome {
  /** Of the client: `success`, or the code or message of an error. */
  seen: string;
  stored: string;
}

/** The product on a database that is reached through the wire, and what is done with it. */
class Lane {
  readonly database = `test_${randomUUID()}`;
  readonly clock = new Clock();
  wire!: Awaited<ReturnType<typeof openWire>>;
  /** The product's, through the wire, and ours beside it. */
  store!: MongoStore;
  direct!: MongoStore;
  gateway!: TestGateway;
  /** Delivers only during a delivery. */
  delivering!: TestGateway;
  receiver!: Receiver;
  #server: string;
  #key!: string;
  #keyId!: string;
  /** A category with pets. */
  #parent!: string;
  #exported!: string;
  /** The place in the log before the next activity. */
  #position!: string;
  #number = 0;
  #calls = { sent: 0, succeeded: 0 };

  constructor(server: string) {
    this.#server = server;
  }

  async open(exported: string, isRouted = false): Promise<this> {
    this.#exported = exported;
    this.wire = await openWire(this.#server);
    if (isRouted) this.wire.route();
    // What it does is not under test, however slow the machine is.
    const uri = mongoUri(this.database, this.#server);
    this.direct = await openMongoStore({ ...HELD, uri, timeoutMs: PATIENCE });
    this.store = await this.openStore(this.database);
    this.gateway = await TestGateway.start(this.store, ALLOW_LOCAL, this.clock);
    this.delivering = await TestGateway.start(this.store, ALLOW_LOCAL, this.clock);
    this.receiver = await Receiver.start();
    const { key, apiKey } = await this.gateway.keyRecord({});
    this.#key = key;
    this.#keyId = apiKey.id;
    this.#parent = (await this.direct.table(Category).insert({ name: 'Parent' })).id;
    await this.direct.table(Pet).insert({ name: 'Rex', categoryId: this.#parent, status: 'sold' });
    const webhook = { url: this.receiver.url, types: ['order.created'] };
    const headers = { 'content-type': 'application/json', 'idempotency-key': randomUUID() };
    const create = async () =>
      (await this.gateway.call('/webhooks', { method: 'POST', body: webhook, headers })).status;
    // On a slow machine its limit of time may be too short for the first calls.
    await vi.waitFor(async () => expect(await create()).toBe(201), { timeout: PATIENCE });
    return this;
  }

  async close(): Promise<void> {
    await this.gateway?.close();
    await this.delivering?.close();
    await this.receiver?.close();
    await this.store?.close();
    await this.direct?.client.db(this.database).dropDatabase();
    await this.direct?.close();
    await this.wire?.close();
  }

  openStore(database: string): Promise<MongoStore> {
    return openMongoStore({ ...HELD, uri: this.wire.uriOf(database), timeoutMs: LIMIT });
  }

  /** A reply is a success, or says when to come again. */
  told(reply: Reply, took: number, others: readonly string[] = []): string {
    const error = reply.json?.code ?? reply.json?.errors?.[0]?.extensions.code;
    const about = `${reply.status} ${reply.text.slice(0, 300)} after ${Math.round(took)} ms`;
    expectWithin(SOON, took, about);
    if (error === undefined) expect(reply.status, about).toBeLessThan(300);
    else expect(['UNAVAILABLE', ...others], about).toContain(error);
    if (reply.status === 503) expect(Number(reply.headers['retry-after']), about).toBeGreaterThan(0);
    return error ?? 'success';
  }

  async untilReady(status: 200 | 503): Promise<void> {
    const ready = async () => (await this.gateway.call('/health/ready')).status;
    await expect.poll(ready, { timeout: PATIENCE }).toBe(status);
  }

  async call(line: string, body?: object, headers: Record<string, string> = {}): Promise<[Reply, number]> {
    const [method, path] = line.split(' ') as [string, string];
    const began = performance.now();
    this.#calls.sent++;
    const content = { 'content-type': 'application/json', ...headers };
    const reply = await this.gateway.call(path, { method, key: this.#key, body, headers: content });
    if (reply.status < 300) this.#calls.succeeded++;
    return [reply, performance.now() - began];
  }

  /** Writes something that names `name`, and again with the same key if it was refused: it is stored once. */
  async #writeOnce(line: string, body: object, name: string): Promise<Outcome> {
    const headers = { 'idempotency-key': randomUUID() };
    const seen = this.told(...(await this.call(line, body, headers)));
    const first = await this.#named(name);
    if (seen === 'success') expect(first).toBe(1);
    let again = seen;
    for (const deadline = performance.now() + PATIENCE; again !== 'success'; await sleep(100)) {
      if (performance.now() > deadline) break;
      again = this.told(...(await this.call(line, body, headers)), ['CONFLICT']);
    }
    expect(again).toBe('success');
    expect(await this.#named(name)).toBe(1);
    return { seen, stored: seen === 'success' ? 'once' : first === 0 ? 'no, then once' : 'once' };
  }

  /** The number of records of this name. */
  async #named(name: string, database = this.database): Promise<number> {
    const db = this.direct.client.db(database);
    const counts = ['categories', 'pets'].map((kind) => db.collection(kind).countDocuments({ name }));
    return (await Promise.all(counts)).reduce((sum, count) => sum + count);
  }

  /** Reads three events that are committed meanwhile, resuming where a stream ends. */
  async #readLive(name: string, open: (after: string) => Promise<EventStreamClient>): Promise<Outcome> {
    const names: string[] = [];
    const wanted = [1, 2, 3].map((n) => `${name} ${n}`);
    let seen = 'success';
    // A stream that ends before its first event is resumed too.
    let after = await endOfLog(this.direct);
    let written = 0;
    const deadline = performance.now() + PATIENCE;
    while (names.length < wanted.length) {
      expect(performance.now(), `${names} of ${wanted}`).toBeLessThan(deadline);
      this.#calls.sent++;
      const began = performance.now();
      const client = await open(after);
      try {
        if (client.response.statusCode !== 200) {
          await client.ended;
          const reply = {
            status: client.response.statusCode!,
            headers: client.response.headers,
            text: client.text,
          };
          const took = performance.now() - began;
          seen = this.told({ ...reply, json: JSON.parse(client.text) }, took, OF_A_POSITION);
          continue;
        }
        for (; written < wanted.length; written++)
          await this.direct.table(Category).insert({ name: wanted[written]! });
        const inputs = names.length;
        const isOver = sleep(deadline - performance.now());
        for (let n = 0; names.length < wanted.length && client.isOpen; n++) {
          await Promise.race([client.until(n + 1), isOver]);
          expect(performance.now(), `${names} of ${wanted}`).toBeLessThan(deadline);
          const data = JSON.parse(client.messages[n]?.data || '{}');
          const event = data.data?.events ?? data;
          if (!event.id) break;
          names.push(event.data.name);
          after = event.id;
        }
        // Its events are paid for with the first.
        if (names.length > inputs) this.#calls.succeeded++;
        if (names.length < wanted.length) seen = `ended after ${names.length - inputs}`;
      } finally {
        client.close();
      }
    }
    expect(names).toEqual(wanted);
    return { seen, stored: '' };
  }

  readonly activities: Readonly<Record<string, (name: string) => Promise<Outcome>>> = {
    'a write': async (name) => {
      const seen = this.told(...(await this.call('POST /categories', { name })));
      const count = await this.#named(name);
      if (seen === 'success') expect(count).toBe(1);
      expect(count).toBeLessThanOrEqual(1);
      return { seen, stored: count === 0 ? 'no' : 'once' };
    },
    'a charge at the limit': async () => {
      const limits = { perMinute: 3, perDay: 100 };
      const { key, apiKey } = newApiKey({ plan: 'enterprise', limits, name: 'small', now: this.clock.now() });
      await this.direct.createApiKey(apiKey);
      const get = async (): Promise<string> => {
        const began = performance.now();
        const reply = await this.gateway.call('/pets', { key });
        return this.told(reply, performance.now() - began, ['RATE_LIMITED']);
      };
      const all = [await get(), ...(await Promise.all([get(), get(), get()])), await get()];
      const passed = all.filter((seen) => seen === 'success').length;
      const [usage] = await this.direct.usage([apiKey.id]);
      const used = usage?.minuteUsed ?? 0;
      expect(used).toBeLessThanOrEqual(limits.perMinute);
      // Those that wait behind a failed charge fail with it, uncharged or charged.
      expect(passed).toBeLessThanOrEqual(used);
      return { seen: all.join(' '), stored: `${used} units` };
    },
    'an idempotent write': (name) => {
      const pet = { name, categoryId: Number(this.#parent), status: 'sold' };
      return this.#writeOnce('POST /pets', pet, name);
    },
    'a mutation': (name) => {
      const query = `mutation { a: createCategory(input: {name: "${name}"}) { id } b: updateCategory(id: ${this.#parent}, input: {}) { id } }`;
      return this.#writeOnce('POST /graphql', { query }, name);
    },
    'a deletion': async (name) => {
      const { id } = await this.direct.table(Category).insert({ name });
      const seen = this.told(...(await this.call(`DELETE /categories/${id}`)));
      const left = await this.#named(name);
      if (seen === 'success') expect(left).toBe(0);
      return { seen, stored: left === 0 ? 'once' : 'no' };
    },
    'a difference': async (name) => {
      const pet = await this.direct.table(Pet).insert({ name, categoryId: this.#parent, status: 'sold' });
      const quantity = async () => Number((await this.direct.table(Pet).byIds([pet.id])).at(0)!.quantity);
      const seen = this.told(...(await this.call(`POST /store/inventory/${pet.id}/adjust`, { by: 3 })));
      const by = await quantity();
      expect(seen === 'success' ? [3] : [0, 3]).toContain(by);
      return { seen, stored: by === 0 ? 'no' : 'once' };
    },
    'a read': async () => {
      const query = `{ pets(first: 1) { totalCount nodes { category { pets(first: 1) { totalCount nodes { id } } } } } }`;
      const seen = this.told(...(await this.call('POST /graphql', { query })), ['QUERY_TOO_COMPLEX']);
      return { seen, stored: '' };
    },
    events: async (name) => {
      const after = await endOfLog(this.direct);
      const names = [1, 2, 3].map((n) => `${name} ${n}`);
      for (const name of names) await this.direct.table(Category).insert({ name });
      const namesOf = ({ json }: Reply) => json.map(({ data }: { data: { name: string } }) => data.name);
      const [reply, took] = await this.call(`GET /events?after=${after}`);
      const seen = this.told(reply, took, OF_A_POSITION);
      if (seen === 'success') expect(namesOf(reply)).toEqual(names.slice(0, reply.json.length));
      const query = '{ events(last: 1) { nodes { data } } }';
      const [latest, time] = await this.call('POST /graphql', { query });
      const alsoSeen = this.told(latest, time, ['GONE']);
      if (alsoSeen === 'success')
        expect(latest.json.data.events.nodes).toMatchObject([{ data: { name: names.at(-1) } }]);
      return { seen: seen === 'success' ? alsoSeen : seen, stored: '' };
    },
    'a stream': (name) =>
      this.#readLive(name, (after) =>
        EventStreamClient.open(this.gateway, '/events/stream?type=category.created', {
          key: this.#key,
          headers: { 'last-event-id': after },
        }),
      ),
    'a subscription': (name) =>
      this.#readLive(name, (after) =>
        EventStreamClient.open(this.gateway, '/graphql', {
          method: 'POST',
          key: this.#key,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({
            query:
              'subscription($after: ID) { events(after: $after, types: [category_created]) { id data } }',
            variables: { after },
          }),
        }),
      ),
    'a webhook': async (name) => {
      const url = `${this.receiver.url}?${name}`;
      const stored = async (): Promise<string[]> => {
        const match = await this.direct.objects(WEBHOOKS).all();
        return match.filter(({ settings }) => settings.url === url).map(({ id }) => id);
      };
      const seen = this.told(...(await this.call('POST /webhooks', { url })));
      const [id, ...more] = await stored();
      expect(more).toEqual([]);
      if (seen === 'success') expect(id).toBeDefined();
      if (id === undefined) return { seen, stored: 'no' };
      const then = this.told(...(await this.call(`DELETE /webhooks/${id}`)));
      const left = await stored();
      if (then === 'success') expect(left).toEqual([]);
      for (const each of left)
        await this.direct.transaction((own) => webhookWritesOf(own).delete(this.#keyId, each));
      return { seen: seen === 'success' ? then : seen, stored: 'once' };
    },
    'a delivery': async () => {
      // While nothing was delivered, the log may have lost its position.
      const after = await endOfLog(this.direct);
      const webhook = async () => (await this.direct.objects(WEBHOOKS).all())[0]!;
      const { settings, progress, ...rest } = await webhook();
      const moved = {
        ...rest,
        settings: { ...settings, enabled: true, disabledReason: undefined },
        progress: { ...progress, after },
      };
      await this.direct.transaction(({ objects }) => objects(WEBHOOKS).put([moved]));
      const made: string[] = [];
      // Orders of a delivery that was disturbed before may arrive again.
      const got = (): string[] =>
        this.receiver.received.map(({ event }) => String(event.data.id)).filter((id) => made.includes(id));
      const disabledReason = async () => (await webhook()).settings.disabledReason;
      this.receiver.received.length = 0;
      this.delivering.deliver();
      try {
        for (let n = 0; n < 2; n++) {
          made.push((await this.direct.table(Order).insert({ complete: true })).id);
          const outcome = async () => (await disabledReason()) ?? String([...new Set(got())]);
          await expect.poll(outcome, { timeout: PATIENCE }).toBeOneOf([String(made), 'events_expired']);
        }
      } catch (error) {
        const stored = JSON.stringify(await webhook());
        throw new Error(`${(error as Error).message}: ${stored}`, { cause: error });
      } finally {
        await this.delivering.endDeliveries();
      }
      const reason = await disabledReason();
      if (reason) return { seen: reason, stored: '' };
      const ids = got();
      return {
        seen: ids.length === made.length ? 'once each' : ids.map((id) => made.indexOf(id)).join(' '),
        stored: '',
      };
    },
    'a load': async (name) => {
      const file = join(this.#exported, `../${randomUUID()}.ndjson`);
      writeFileSync(file, [1, 2].map(() => JSON.stringify({ name, 'category.name': name })).join('\n'));
      let from: number | undefined;
      let seen: string | undefined;
      let first: number | undefined;
      for (const deadline = performance.now() + PATIENCE; performance.now() < deadline;) {
        const outcome = await load(this.store, {
          record: Pet,
          file,
          createParents: true,
          from,
          onProgress: () => {},
        }).then(
          () => 'success',
          ({ message }) => message as string,
        );
        seen ??= outcome.split('\n')[0]!;
        first ??= await this.#named(name);
        if (outcome === 'success') break;
        expect(outcome).not.toContain('fault');
        from = Number(/Continue with --from (\d+)/.exec(outcome)?.[1] ?? 0) || from;
      }
      rmSync(file);
      // Two pets, and their category.
      expect(await this.#named(name), seen).toBe(3);
      return { seen: seen!, stored: first === 3 ? 'once' : `${first} of 3, then once` };
    },
    'an import': async () => {
      const own = `test_${randomUUID()}`;
      const manifest = await readManifest(this.#exported, api);
      const attempt = async (): Promise<void> => {
        const uri = this.wire.uriOf(own);
        const target = await openMongoTarget({ ...HELD, uri, timeoutMs: LIMIT });
        try {
          await readExport(this.#exported, manifest, target, api, () => {});
        } finally {
          await target.close();
        }
      };
      const outcomes: string[] = [];
      const deadline = performance.now() + PATIENCE;
      while (outcomes.at(-1) !== 'success' && performance.now() < deadline)
        outcomes.push(
          await attempt().then(
            () => 'success',
            ({ message }) => message as string,
          ),
        );
      const db = this.direct.client.db(own);
      const counts = ['pets', 'categories', 'apiKeys', 'webhooks'].map((name) =>
        db.collection(name).countDocuments(),
      );
      expect(await Promise.all(counts), outcomes.join('\n')).toEqual([2, 1, 1, 1]);
      expect(await db.collection<object>('layout').findOne()).toMatchObject({ isImporting: false });
      await db.dropDatabase();
      return { seen: outcomes[0]!, stored: 'once' };
    },
    'a start': async (name) => {
      const own = `test_${randomUUID()}`;
      const opened = await this.openStore(own);
      const insert = () => codeOf(opened.table(Category).insert({ name }));
      const code = await insert();
      expect([undefined, 'UNAVAILABLE']).toContain(code);
      await expect.poll(insert, { timeout: PATIENCE }).toBeUndefined();
      await this.direct.client.db(own).dropDatabase();
      await opened.close();
      return { seen: code ?? 'success', stored: '' };
    },
    housekeeping: async () => {
      const used = {
        apiKeyId: this.#keyId,
        date: '2126-11-21',
        operation: 'getPet',
        transport: 'rest',
      } as const;
      const codes = await Promise.all([
        codeOf(webhooksOf(this.store).claim('instance')),
        codeOf(this.store.touchDocuments([{ list: 'a', id: 'b', lastUsedAt: 1 }])),
        codeOf(
          this.store.addUsage([{ ...used, requests: 1, units: 1, refused: 0 }], {
            [this.#keyId]: Date.now(),
          }),
        ),
      ]);
      await webhooksOf(this.direct).release('instance');
      for (const code of codes) expect([undefined, 'UNAVAILABLE']).toContain(code);
      return { seen: codes.find((code) => code !== undefined) ?? 'success', stored: '' };
    },
  };

  /** Units of the minute that began with the activity. */
  async #used(): Promise<number> {
    const [usage] = await this.direct.usage([this.#keyId]);
    return usage && usage.minuteStart >= this.clock.now() ? usage.minuteUsed : 0;
  }

  /** Expects each committed write of the activity to be in the log once, in order. */
  async #expectLog(name: string): Promise<void> {
    const db = this.direct.client.db(this.database);
    const filter = { name: { $regex: `^${name}( |$)` } };
    const differs = async (): Promise<string[]> => {
      const match = ['categories', 'pets'].map((kind) => db.collection(kind).find(filter).toArray());
      const stored = (await Promise.all(match)).flat().map((document) => `created ${document.name}`);
      const { events } = await this.direct.eventPage({ after: this.#position, limit: 100 });
      const changes = events
        .filter(
          ({ type, record }) => String(record.name ?? name).startsWith(name) && !type.startsWith('order'),
        )
        .map(({ type, record }) => `${type.split('.')[1]} ${record.name ?? record.id}`);
      const deletions = changes.filter((change) => change.startsWith('deleted'));
      const created = changes.filter((change) => change.startsWith('created'));
      expect(created).toEqual(created.toSorted());
      return created.length === stored.length + deletions.length ? [] : [...stored, '≠', ...changes];
    };
    await expect.poll(differs, { timeout: 5_000 }).toEqual([]);
  }

  /** Does something undisturbed, and remembers what it costs and sends. */
  async learn(activity: string): Promise<Set<string>> {
    const attempt = async () => {
      this.clock.advance(60_000);
      this.#calls = { sent: 0, succeeded: 0 };
      this.wire.takeSeen();
      return (await this.activities[activity]!(this.#nextName())).seen;
    };
    // On a slow machine a call may take longer than the short limit of time.
    const limited = 'success success success RATE_LIMITED RATE_LIMITED';
    await expect.poll(attempt, { timeout: PATIENCE }).toBeOneOf(['success', 'once each', limited]);
    const sent = new Map<string, number>();
    for (const { name } of this.wire.takeSeen()) sent.set(name, (sent.get(name) ?? 0) + 1);
    counts.set(activity, sent);
    prices.set(activity, this.#calls.sent === 0 ? 0 : (await this.#used()) / this.#calls.sent);
    return new Set(sent.keys());
  }

  #nextName(): string {
    return `N${this.#number++}x`;
  }

  /** Disturbs a command of an activity, and expects all to be as before within 5 seconds. */
  async disturb(
    activity: string,
    command: string,
    fault: string,
  ): Promise<(Outcome & { nth: number }) | undefined> {
    if (!prices.has(activity)) await this.learn(activity);
    // A short log, which other lanes fill too, may not keep an earlier position.
    this.#position = await endOfLog(this.direct);
    this.clock.advance(60_000);
    this.#calls = { sent: 0, succeeded: 0 };
    const name = this.#nextName();
    const nth = 1 + Math.floor(Math.random() * (counts.get(activity)?.get(command) ?? 1));
    this.wire.takeSeen();
    this.wire.arm(command, FAULTS[fault]!, nth);
    const outcome = await this.activities[activity]!(name);
    // Servers use these codes for a position that is lost.
    if (outcome.seen === 'events_expired')
      expect(`${command} | ${fault}`).toMatch(/^aggregate \| 28[06] before$/);
    const wasNotSent = this.wire.disarm();
    const units = await this.#used();
    const price = prices.get(activity)!;
    expect(units, 'units').toBeGreaterThanOrEqual(this.#calls.succeeded * price);
    expect(units, 'units').toBeLessThanOrEqual(this.#calls.sent * price);
    await within(5_000, this.untilReady(200));
    if (!['a start', 'an import'].includes(activity)) await this.#expectLog(name);
    return wasNotSent ? undefined : { ...outcome, nth };
  }
}

describe.runIf(process.env.TEST_MONGODB_URI)('while another server becomes the primary', () => {
  /** A stand-in does one thing at a time, so that each of a few has some of the lanes. */
  const started: MongoServer[] = [];
  const home = temporaryFolder();
  const exported = join(home, 'export');
  const lanes: Lane[] = [];
  let lane: Lane;
  let wire: Lane['wire'];
  let direct: MongoStore;

  beforeAll(async () => {
    const own = `test_${randomUUID()}`;
    const small = await openMongoStore({ ...HELD, uri: mongoUri(own) });
    const { id } = await small.table(Category).insert({ name: 'Dogs' });
    for (const name of ['Rex', 'Tom'])
      await small.table(Pet).insert({ name, categoryId: id, status: 'sold' });
    const gateway = await TestGateway.start(small, ALLOW_LOCAL);
    await gateway.call('/pets');
    const webhook = { url: 'http://127.0.0.1/' };
    expect((await gateway.call('/webhooks', { method: 'POST', body: webhook })).status).toBe(201);
    await writeExport(exported, small, api, () => {});
    await gateway.close();
    await small.client.db(own).dropDatabase();
    await small.close();
    const binary = process.env.MONGODB_TEST_URI ? null : await secantusBinary();
    for (let n = 0; binary && n < LANES - 1; n += 2) started.push(await startSecantus(binary));
    const servers = [serverUri(), ...started.map(({ uri }) => uri)];
    for (let n = 0; n < LANES; n++) lanes.push(await new Lane(servers[n % servers.length]!).open(exported));
    lane = lanes[0]!;
    ({ wire, direct } = lane);
  });
  afterAll(async () => {
    for (const each of lanes) await each.close();
    for (const server of started) await server.stop();
  });

  it('every command that is sent is in the table', async () => {
    const listed = new Set(Object.values(COMMANDS).flatMap((commands) => commands.split(', ')));
    const wrong: string[] = [];
    for (const [activity, commands] of Object.entries(COMMANDS)) {
      const sent = await lane.learn(activity);
      const unlisted = [...sent].filter((name) => !listed.has(name) && !AT_ANY_TIME.test(name));
      const unsent = commands.split(', ').filter((name) => !sent.has(name) && !AT_ANY_TIME.test(name));
      wrong.push(...unlisted.map((name) => `${activity} sends ${name}`));
      wrong.push(...unsent.map((name) => `${activity} does not send ${name}`));
    }
    expect(wrong).toEqual([]);
  }, 180_000);

  it('is not ready while there is no primary, and is within 5 seconds after', async () => {
    const get = async () => lane.told(...(await lane.call('GET /pets')));
    wire.stepDown();
    await within(5_000, lane.untilReady(503));
    expect(await get()).toBe('UNAVAILABLE');
    await sleep(AT_LENGTH ? 5_000 : 500);
    wire.elect(1);
    await within(5_000, lane.untilReady(200));
    expect(await get()).toBe('success');
  });

  it('a write whose commit was not carried out keeps nothing locked: repeated, it succeeds', async () => {
    const { id } = await direct.table(Category).insert({ name: 'Open' });
    // Nobody else commits over it.
    const own = await openWire();
    const store = await openMongoStore({ ...HELD, uri: own.uriOf(lane.database), timeoutMs: LIMIT });
    const write = () =>
      codeOf(store.transaction(({ table }) => table(Category).update(id, { name: randomUUID() })));
    const { promise, resolve } = deferred();
    // The next writes get the sessions of these, not of the one that fails.
    const others = [1, 2, 3].map(() => codeOf(store.transaction(() => promise)));
    // The server goes on with the transaction, for a minute.
    own.arm('commitTransaction', FAULTS['50 before']!);
    expect(await write()).toBe('UNAVAILABLE');
    resolve();
    await Promise.all(others);
    await within(5_000, expect.poll(write, { timeout: 20_000 }).toBeUndefined());
    await store.close();
    await own.close();
  });

  it('a document can be written after calls ran out of time that waited for their turn to write it', async () => {
    const { id } = await direct.table(Category).insert({ name: 'Contended' });
    const store = await openMongoStore({ ...HELD, uri: wire.uriOf(lane.database), timeoutMs: LIMIT });
    const update = (before: () => Promise<unknown> = async () => {}) =>
      codeOf(
        store.transaction(async ({ table }) => {
          await before();
          await table(Category).update(id, { name: randomUUID() });
        }),
      );
    const { promise: held, resolve: free } = deferred();
    const isHeld = deferred();
    const holding = direct.transaction(async ({ table }) => {
      await table(Category).update(id, { name: 'Held' });
      isHeld.resolve();
      await held;
    });
    await isHeld.promise;
    // Its time is up first, but it comes last.
    const late = update(() => sleep(LIMIT * 0.8));
    await sleep(LIMIT * 0.5);
    const early = update();
    expect(await Promise.all([late, early])).toEqual(['UNAVAILABLE', 'UNAVAILABLE']);
    free();
    await holding;
    await expect.poll(() => update(), { timeout: 2 * SOON }).toBeUndefined();
    await store.close();
  });

  it(
    'is prepared by a call after one whose preparation got no answer',
    async () => {
      const own = `test_${randomUUID()}`;
      const opening = await openWire();
      const uri = opening.uriOf(own);
      opening.arm('createIndexes pets', { is: 'held', time: PATIENCE });
      const opened = await openMongoStore({ ...HELD, uri, timeoutMs: LIMIT });
      const insert = () => codeOf(opened.table(Category).insert({ name: 'Prepared' }));
      await within(SOON, expect.poll(insert, { timeout: PATIENCE / 2 }).toBeUndefined());
      await opened.close();
      await opening.close();
      await direct.client.db(own).dropDatabase();
    },
    PATIENCE,
  );

  it('is reached again after all connections were cut at once, however the URI has servers monitored', async () => {
    // With the heartbeat of a server, between two of which connections are idle.
    const uri = `${wire.uriOf(lane.database)}&serverMonitoringMode=poll`;
    const opened = await openMongoStore({ ...HELD, uri });
    for (let time = 0; time < 8; time++) {
      wire.arm('findAndModify counters', { is: 'cut', when: 'all' });
      const charge = { apiKeyId: 'cut', limits: { perMinute: 9, perDay: 9 }, cost: 1, now: Date.now() };
      const insert = () => codeOf(opened.table(Category).insert({ name: 'Cut' }));
      const others = [opened.table(Category).byIds(['1']), opened.charge(charge)].map((call) =>
        codeOf(async () => call),
      );
      await Promise.all([insert(), ...others]);
      await within(5_000, expect.poll(insert, { timeout: PATIENCE }).toBeUndefined());
    }
    await opened.close();
  });

  it('calls in progress during elections are stored once, and their events are complete and in order', async () => {
    const after = await endOfLog(direct);
    const names = Array.from({ length: 30 }, (_, n) => `Elected ${n}`);
    const until = async (name: string): Promise<void> => {
      const headers = { 'idempotency-key': randomUUID() };
      const body = { name, categoryId: 1, status: 'sold' };
      for (const deadline = performance.now() + SOON * 3; performance.now() < deadline; await sleep(100)) {
        const [reply, took] = await lane.call('POST /pets', body, headers);
        if (lane.told(reply, took, ['CONFLICT']) === 'success') return;
      }
      expect.unreachable(`${name} is not stored`);
    };
    const elections = (async () => {
      for (const member of [0, 1, 0]) {
        await sleep(300);
        wire.stepDown();
        await sleep(200);
        wire.elect(member);
      }
    })();
    for (let n = 0; n < names.length; n += 5) await Promise.all(names.slice(n, n + 5).map(until));
    await elections;
    const { events } = await direct.eventPage({ after, limit: 100 });
    expect(events.map(({ type, record }) => `${type} ${record.name}`).toSorted()).toEqual(
      names.map((name) => `pet.created ${name}`).toSorted(),
    );
  });

  it('a stream goes on after its collections were dropped or renamed, and after it was invalidated', async () => {
    const client = await EventStreamClient.open(lane.gateway, '/events/stream?type=category.created');
    const db = direct.client.db(lane.database);
    const create = (name: string) => direct.table(Category).insert({ name });
    try {
      await create('Before');
      await client.until(1);
      await db.collection('others').insertOne({});
      await db.collection('others').rename('renamed');
      await create('Renamed');
      await db.collection('renamed').drop();
      await create('Dropped');
      wire.arm('getMore $cmd.aggregate', { is: 'invalidated' });
      await expect.poll(() => wire.takeSeen().some(({ name }) => name === 'aggregate')).toBe(true);
      await create('Invalidated');
      await client.until(4);
      expect(client.events.map(({ data }) => data.name)).toEqual([
        'Before',
        'Renamed',
        'Dropped',
        'Invalidated',
      ]);
    } finally {
      client.close();
    }
  });

  it('options of the URI change nothing of what is acknowledged or read', async () => {
    const uri = `${wire.uriOf(lane.database)}&w=0&wtimeoutMS=1&journal=false&readPreference=secondary&readPreferenceTags=a:b&maxStalenessSeconds=100&readConcernLevel=linearizable&retryWrites=false&retryReads=false&timeoutMS=1&promoteValues=false`;
    const opened = await openMongoStore({ ...HELD, uri, timeoutMs: LIMIT });
    const after = await endOfLog(opened);
    const { id } = await opened.table(Category).insert({ name: 'Options' });
    expect((await opened.table(Category).byIds([id]))[0]).toMatchObject({ name: 'Options' });
    expect((await opened.eventPage({ after, limit: 1 })).events).toHaveLength(1);
    const { retryReads, retryWrites, readPreference, writeConcern, readConcern, timeoutMS } =
      opened.client.options;
    expect({ retryReads, retryWrites, timeoutMS }).toEqual({ retryReads: true, retryWrites: true });
    expect(readPreference).toMatchObject({ mode: 'primary', tags: undefined });
    expect(readPreference.maxStalenessSeconds).toBeUndefined();
    expect(writeConcern).toMatchObject({ w: 'majority', wtimeoutMS: LIMIT });
    expect(writeConcern.j).toBeUndefined();
    expect(readConcern?.level).toBe('local');
    await opened.close();
  });

  it('the collections that docs/growing.md shards are those of a store, and have no unique index but by id', async () => {
    const guide = readFileSync(new URL('../../../docs/growing.md', import.meta.url), 'utf8');
    const listed = /for \(const name of \[(.*)\]\) \{\n[^}]*sh\.shardCollection/.exec(guide)![1]!;
    const names = [...listed.matchAll(/'(\w+)'/g)].map(([, name]) => name!);
    expect(names).toContain('pets');
    const db = direct.client.db(lane.database);
    const there = (await db.listCollections().toArray()).map(({ name }) => name);
    expect(there).toEqual(expect.arrayContaining(names));
    for (const name of names) {
      const indexes = await db.collection(name).indexes();
      expect(indexes.filter(({ unique }) => unique)).toEqual([]);
    }
  });

  it('a unique combination in a sharded collection, which no router can index, ends a start', async () => {
    const router = await openWire();
    router.route();
    const own = `test_${randomUUID()}`;
    router.arm('createIndexes pets', { is: 'error', code: 67, name: 'CannotCreateIndex', when: 'before' });
    try {
      const open = openMongoStore({ ...HELD, uri: router.uriOf(own), timeoutMs: PATIENCE });
      await expect(open).rejects.toThrow('CannotCreateIndex');
    } finally {
      await router.close();
      await direct.client.db(own).dropDatabase();
    }
  });

  it('a router whose collections are sharded by anything but their ids is refused in a line', async () => {
    const router = await openWire();
    router.route();
    const own = `test_${randomUUID()}`;
    const open = () => openMongoStore({ ...HELD, uri: router.uriOf(own), timeoutMs: LIMIT });
    const client = direct.client;
    const sharded = client.db('config').collection<{ _id: string; key: object }>('collections');
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
      await client.db(own).dropDatabase();
    }
  });

  it('through a router too, a call succeeds or is 503 in time, and is stored once', async () => {
    const routed = await new Lane(serverUri()).open(exported, true);
    // Of those with old versions of shards, and of any server.
    const of = CELLS.filter(({ fault }) => /^(?:63|13388|150|133|251|91|11600) before$|^cut/.test(fault));
    const drawn = fc.sample(fc.shuffledSubarray(of, { minLength: of.length }), 1)[0]!;
    const deadline = performance.now() + (AT_LENGTH ? 300_000 : 5_000);
    try {
      for (const { activity, command, fault } of drawn) {
        if (performance.now() > deadline) break;
        await routed.disturb(activity, command, fault).catch((error: Error) => {
          error.message = `${activity} | ${command} | ${fault}: ${error.message}`;
          throw error;
        });
      }
    } finally {
      await routed.close();
    }
  }, 400_000);

  it('a call succeeds or is 503 in time, what was acknowledged is stored once, and charges are those of the calls', async () => {
    const of = CELLS.filter(({ activity, command, fault }) =>
      `${activity} | ${command} | ${fault}`.match(process.env.MATRIX_OF ?? ''),
    );
    const drawn = fc.sample(fc.shuffledSubarray(of, { minLength: of.length }), 1)[0]!.values();
    const file = process.env.MATRIX_FILE ?? join(home, 'matrix');
    const done = existsSync(file) ? readFileSync(file, 'utf8') : '';
    const deadline = performance.now() + Number(process.env.MATRIX_TIME ?? (AT_LENGTH ? 3_000_000 : 8_000));
    const wrong: string[] = [];
    let cells = 0;
    const run = async (lane: Lane): Promise<void> => {
      for (const { activity, command, fault } of drawn) {
        if (performance.now() > deadline) break;
        const began = performance.now();
        const about = `${activity} | ${command} | ${fault}`;
        if (done.includes(`${about} |`)) continue;
        try {
          const outcome = await lane.disturb(activity, command, fault);
          const took = `${Math.round(performance.now() - began)} ms`;
          const { nth = '-', seen = 'not sent', stored = '' } = outcome ?? {};
          cells++;
          appendFileSync(file, `${about} | ${nth} | ${seen} | ${stored} | ${took}\n`);
        } catch (error) {
          lane.wire.disarm();
          const { message, cause = '' } = error as Error;
          wrong.push(`${about}: ${message} ${cause}`.trim());
        }
      }
    };
    await Promise.all(lanes.map(run));
    expect(wrong).toEqual([]);
    expect(cells).toBeGreaterThan(1);
  }, 3_600_000);
});
