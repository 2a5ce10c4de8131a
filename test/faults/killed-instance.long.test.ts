import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Category } from '../../src/domains/category/category.ts';
import { Order } from '../../src/domains/order/order.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import type { Store } from '../../src/store/store.ts';
import { codeOf } from '../kit/errors.ts';
import { expectWithin, within } from '../kit/deadline.ts';
import { type Call, type Reply, TestGateway } from '../kit/gateway.ts';
import { mongoUri } from '../kit/mongo.ts';
import { endServer, type ServerProcess, startServer } from '../kit/process.ts';
import { newDatabase } from '../store/mongo/database.ts';
import { openProxy } from '../store/mongo/proxy.ts';

const ROUNDS = Number(process.env.KILL_ROUNDS ?? 1);
const NO_LIMITS = { perMinute: 1_000_000, perDay: 1_000_000 };

/** How long the other instances may take, in milliseconds. */
const SOON = 5_000;

describe.runIf(process.env.TEST_MONGODB_URI)('instances on MongoDB', () => {
  const database = newDatabase();
  let survivor: TestGateway;
  let store: Store;
  let key: string;
  const cleanups: (() => unknown)[] = [];

  beforeAll(async () => {
    store = await database.open();
    survivor = await TestGateway.start(store);
    key = await survivor.newKey('enterprise', NO_LIMITS);
  });
  afterEach(async () => {
    for (const cleanUp of cleanups.splice(0).reverse()) await cleanUp();
  });
  afterAll(() => survivor.close());

  async function start(uri = mongoUri(database.name)): Promise<ServerProcess> {
    const server = await startServer({ MONGODB_URI: uri, LOG_LEVEL: 'error' });
    cleanups.push(async () => {
      await endServer(server);
    });
    return server;
  }

  /** @returns the status; 0 if the instance is gone */
  const send = async (url: string, method: string, path: string, body?: object, headers = {}) => {
    const response = await fetch(url + path, {
      method,
      headers: { 'x-api-key': key, 'content-type': 'application/json', ...headers },
      ...(body && { body: JSON.stringify(body) }),
    }).catch(() => undefined);
    await response?.arrayBuffer().catch(() => {});
    return response?.status ?? 0;
  };

  /** Repeats a call of the survivor until it succeeds. @returns how long that took, in milliseconds */
  async function timeUntil(path: string, call: Call, wanted: number): Promise<number> {
    const began = performance.now();
    for (;;) {
      const { status }: Reply = await survivor.call(path, { key, ...call });
      const took = performance.now() - began;
      if (status === wanted) return took;
      if (took > 2 * SOON) throw new Error(`${call.method} ${path}: still ${status}`);
    }
  }

  interface Records {
    category: string;
    empty: string;
    pet: string;
    free: string;
  }

  type Write = [what: string, of: (records: Records) => [method: string, path: string, body?: object]];
  const writes: Write[] = [
    ['a creation', ({ category }) => ['POST', '/pets', { name: 'P', categoryId: Number(category) }]],
    ['a deletion', ({ empty }) => ['DELETE', `/categories/${empty}`]],
  ];
  const others: Write[] = [
    ['a move', ({ pet, empty }) => ['PATCH', `/pets/${pet}`, { categoryId: Number(empty) }]],
    ['a first creation', ({ empty }) => ['POST', '/pets', { name: 'P', categoryId: Number(empty) }]],
    ['an order', ({ free }) => ['POST', '/store/orders', { petId: Number(free) }]],
    ['the deletion of a pet', ({ free }) => ['DELETE', `/pets/${free}`]],
  ];

  it.each([...writes, ...(process.env.AT_LENGTH === '1' ? others : [])])(
    'goes on within 5 s after one was killed just before it would have committed %s',
    async (_what, of) => {
      const { id: category } = await store.table(Category).insert({ name: 'C' });
      const { id: empty } = await store.table(Category).insert({ name: 'Empty' });
      const { id: pet } = await store.table(Pet).insert({ name: 'Held', categoryId: category });
      const { id: free } = await store.table(Pet).insert({ name: 'Free', categoryId: category });
      const proxy = await openProxy(database.name, 'commitTransaction');
      cleanups.push(() => proxy.close());
      const victim = await start(proxy.uri);
      const headers = { 'idempotency-key': randomUUID() };
      const [method, path, body] = of({ category, empty, pet, free });
      const lost = send(victim.url, method, path, body, headers);
      await expect.poll(proxy.isFrozen).toBe(true);
      victim.child.kill('SIGKILL');
      expect(await lost).toBe(0);

      const times = await Promise.all([
        ...[category, empty].map((id) =>
          timeUntil('/pets', { method: 'POST', body: { name: 'Next', categoryId: Number(id) } }, 201),
        ),
        ...[pet, free].map((id) =>
          timeUntil('/store/orders', { method: 'POST', body: { petId: Number(id) } }, 201),
        ),
        ...[pet, free].map((id) => timeUntil(`/pets/${id}`, { method: 'PATCH', body: { name: 'New' } }, 200)),
        timeUntil(`/categories/${empty}`, { method: 'PUT', body: { name: 'Renamed' } }, 200),
        // The same call is made again elsewhere.
        ...(method === 'DELETE'
          ? []
          : [timeUntil(path, { method, headers, body }, method === 'POST' ? 201 : 200)]),
      ]);
      expectWithin(SOON, Math.max(...times));
      expect((await survivor.call(`/pets/${pet}`, { method: 'DELETE', key })).status).toBe(409);
      await expectReferencesIntact();
    },
  );

  it('leave no record without its parent while they create, move and delete, and one of them is killed', async () => {
    const newCategory = async () => Number((await store.table(Category).insert({ name: 'Contested' })).id);
    for (let round = 0; round < ROUNDS; round++) {
      const servers = await Promise.all([start(), start(), start()]);
      const categories = [await newCategory(), await newCategory()];
      const contested = () => categories[Math.floor(Math.random() * categories.length)]!;
      const pets: number[] = [];
      const someOf = (list: readonly number[]) => list[Math.floor(Math.random() * list.length)] ?? 1;
      const statuses = new Map<string, number>();
      const [times, end]: [number[], { now: boolean }] = [[], { now: false }];
      const note = async (what: string, status: Promise<number>) => {
        const name = `${what} ${await status}`;
        statuses.set(name, (statuses.get(name) ?? 0) + 1);
      };
      const repeat = async (work: (url: string) => Promise<unknown>, url: string) => {
        while (!end.now) await work(url);
      };
      const create = async (url: string) => {
        const began = performance.now();
        const categoryId = contested();
        const headers = Math.random() < 0.3 ? { 'idempotency-key': randomUUID() } : {};
        const response = await fetch(`${url}/pets`, {
          method: 'POST',
          headers: { 'x-api-key': key, 'content-type': 'application/json', ...headers },
          body: JSON.stringify({ name: 'P', categoryId }),
        }).catch(() => undefined);
        const json = await response?.json().catch(() => undefined);
        if (response?.status === 201) pets.push(json.id);
        await note('create', Promise.resolve(response?.status ?? 0));
        if (response) times.push(performance.now() - began);
        else await sleep(50);
      };
      const order = (url: string) =>
        note('order', send(url, 'POST', '/store/orders', { petId: someOf(pets) }));
      const move = (url: string) =>
        note('move', send(url, 'PATCH', `/pets/${someOf(pets)}`, { categoryId: contested() }));
      const removePet = (url: string) => note('remove', send(url, 'DELETE', `/pets/${someOf(pets)}`));
      const removeCategory = async (url: string) => {
        const at = Math.floor(Math.random() * categories.length);
        const status = await send(url, 'DELETE', `/categories/${categories[at]}`);
        await note('remove category', Promise.resolve(status));
        if (status === 204) categories[at] = await newCategory();
      };
      const work = servers.flatMap(({ url }) =>
        [create, create, order, move, removePet, removePet, removeCategory].map((each) => repeat(each, url)),
      );
      const succeeded = ['create 201', 'order 201', 'move 200', 'remove 204'];
      await expect
        .poll(() => [...statuses.keys()], { timeout: 30_000 })
        .toEqual(expect.arrayContaining(succeeded));
      await sleep(Math.random() * 500);
      servers[0]!.child.kill('SIGKILL');
      await sleep(1_500);
      end.now = true;
      await Promise.all(work);
      const allowed =
        /^(create (0|201|422)|order (0|201|422)|move (0|200|404|422)|remove(?: category)? (0|204|404|409))$/;
      expect([...statuses.keys()].filter((name) => !allowed.test(name))).toEqual([]);
      expectWithin(SOON, Math.max(...times));
      await expectReferencesIntact();
      await Promise.all(servers.map((server) => endServer(server)));
    }
    await expectDeletable();
  }, 600_000);

  const idsOf = async (record: typeof Category | typeof Pet): Promise<Set<string>> =>
    new Set((await allOf(record)).map(({ id }) => id));

  async function allOf<R extends typeof Category | typeof Pet | typeof Order>(record: R) {
    const all = [];
    for (let after = '0'; ; after = all.at(-1)!.id) {
      const { items, hasMore } = await store.table(record).page({} as never, { limit: 100, after });
      all.push(...items);
      if (!hasMore) return all;
    }
  }

  async function expectReferencesIntact(): Promise<void> {
    const categories = await idsOf(Category);
    const pets = await idsOf(Pet);
    for (const { categoryId } of (await allOf(Pet)) as Pet[]) expect(categories).toContain(categoryId);
    for (const { petId, complete } of (await allOf(Order)) as Order[])
      if (petId !== undefined && !complete) expect(pets).toContain(petId);
  }

  /** What killed instances have left does not stay in the way. */
  async function expectDeletable(): Promise<void> {
    for (const record of [Order, Pet, Category]) {
      for (const { id } of await allOf(record))
        await within(
          SOON,
          expect.poll(() => codeOf(store.table(record).remove(id)), { timeout: 60_000 }).toBeUndefined(),
        );
    }
  }
});
