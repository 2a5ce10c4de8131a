import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { Category } from '../../src/domains/category/category.ts';
import { Order } from '../../src/domains/order/order.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { AppError, unavailable } from '../../src/foundation/errors.ts';
import { withCalls } from '../../src/observability/instrumented-store.ts';
import type { Store, Transaction } from '../../src/store/store.ts';
import { TestGateway } from '../kit/gateway.ts';
import {
  dataOf,
  fill,
  makeWorld,
  onAnyEngine,
  onEachEngine,
  query,
  type Sent,
  send,
  sqlite,
  useGateway,
} from '../kit/petstore.ts';

onEachEngine('mutations with several fields', (kit, engine) => {
  const run = (
    text: string,
    variables?: Record<string, unknown>,
    headers: Record<string, string> = {},
    key?: string,
  ) => query(kit.gateway, text, variables, { headers, ...(key !== undefined && { key }) });

  /** All stored records that these tests may change. */
  const stored = async () =>
    dataOf(
      await run(
        '{ pets(last: 100) { totalCount nodes { id name status inventory { quantity } } } categories(last: 100) { totalCount nodes { id name } } orders(last: 100) { totalCount nodes { id complete } } }',
      ),
    );

  async function expectNothingStored(sent: Sent, before: object, error: object): Promise<void> {
    expect([sent.status, sent.json.data, sent.json.errors.length], sent.about).toEqual([200, null, 1]);
    expect(sent.json.errors[0], sent.about).toMatchObject(error);
    expect(await stored(), sent.about).toEqual(before);
  }

  const updates = (n: number, id: string) =>
    Array.from({ length: n }, (_, i) => `f${i}: updatePet(id: ${id}, input: {name: "N${i}"}) { name }`);

  it('writes all fields in order and returns each record as its field left it', async () => {
    const { P, F, C, E } = await makeWorld(kit);
    const text = (round: number) => `mutation ($no: Boolean!) {
      a: updatePet(id: ${P}, input: {name: "A${round}"}) { name category { name } inventory { quantity } }
      ... on Mutation { b: updatePet(id: ${P}, input: {name: "B${round}", status: pending}) { name status } ...F }
      never: deletePet(id: ${P}) @include(if: $no)
      a: updatePet(id: ${P}, input: {name: "A${round}"}) { id }
      __typename
      e: updateInventory(petId: ${P}, input: {quantity: ${round}}) { quantity pet { name category { id } } }
    }
    fragment F on Mutation {
      c: updateCategory(id: ${C}, input: {name: "C${round}"}) { name pets { nodes { name } } }
      d: createPet(input: {name: "D${round}", categoryId: ${E}}) { name orders { totalCount } }
    }`;
    // Operations are compiled from their second use on.
    for (const [use, category, quantity] of [
      [1, 'Dogs', 5],
      [1, 'C1', 1],
      [1, 'C1', 1],
      [2, 'C1', 1],
    ] as const) {
      const data = dataOf(await run(text(use), { no: false }));
      expect(data).toEqual({
        a: { id: P, name: `A${use}`, category: { name: category }, inventory: { quantity } },
        b: { name: `B${use}`, status: 'pending' },
        c: { name: `C${use}`, pets: { nodes: [{ name: `B${use}` }, { name: 'Fifi' }] } },
        d: { name: `D${use}`, orders: { totalCount: 0 } },
        __typename: 'Mutation',
        e: { quantity: use, pet: { name: `B${use}`, category: { id: C } } },
      });
      expect(Object.keys(data)).toEqual(['a', 'b', 'c', 'd', '__typename', 'e']);
    }
    const last = dataOf(
      await run(`{ pet(id: ${P}) { name status inventory { quantity } } other: pet(id: ${F}) { name } }`),
    );
    expect(last).toEqual({
      pet: { name: 'B2', status: 'pending', inventory: { quantity: 2 } },
      other: { name: 'Fifi' },
    });
  });

  it('stores nothing if the first or the last of many fields fails', async () => {
    const { P, C } = await makeWorld(kit);
    const before = await stored();
    const refused = [
      [`deleteCategory(id: ${C})`, { code: 'CONFLICT', status: 409 }],
      [`deletePet(id: ${P})`, { code: 'CONFLICT', status: 409 }],
      ['updateOrder(id: 999999, input: {complete: true}) { id }', { code: 'NOT_FOUND', status: 404 }],
      [
        'createPet(input: {name: "x", categoryId: 999999}) { id }',
        { code: 'UNKNOWN_REFERENCE', status: 422 },
      ],
    ] as const;
    for (const [last, error] of engine.name === 'sqlite' ? refused : refused.slice(2)) {
      const others = [
        ...updates(17, P),
        `n: createPet(input: {name: "New", categoryId: ${C}}) { id category { pets { totalCount } } }`,
        `o: createOrder(input: {petId: ${P}}) { id pet { name } }`,
      ];
      const text = `mutation { ${others.join('\n')}\nlast: ${last} }`;
      // It is compiled from its second use on.
      for (let use = 1; use <= 2; use++) {
        const sent = await run(text);
        await expectNothingStored(sent, before, {
          extensions: error,
          path: ['last'],
          locations: [{ line: 20, column: 1 }],
        });
      }
    }
    const first = await run(`mutation { a: deletePet(id: ${P}) ${updates(3, P)} z: deletePet(id: 999999) }`);
    await expectNothingStored(first, before, { path: ['a'], extensions: { code: 'CONFLICT' } });
  });

  it('replays the whole response for its Idempotency-Key, but no refusal', async () => {
    const { P, E } = await makeWorld(kit);
    const headers = { 'idempotency-key': randomUUID() };
    const text = `mutation ($n: String!) { a: createPet(input: {name: $n, categoryId: ${E}}) { id name } b: updatePet(id: ${P}, input: {name: $n}) { name category { name } } }`;
    const first = await run(text, { n: 'Once' }, headers);
    dataOf(first);
    const before = await stored();
    const again = await run(text, { n: 'Once' }, headers);
    expect(again.json, again.about).toEqual(first.json);
    expect([first.headers['idempotency-replayed'], again.headers['idempotency-replayed']]).toEqual([
      undefined,
      'true',
    ]);
    expect(await stored()).toEqual(before);
    for (const other of [
      await run(text, { n: 'Twice' }, headers),
      await run(
        `mutation { a: createPet(input: {name: "Once", categoryId: ${E}}) { id name } }`,
        undefined,
        headers,
      ),
    ]) {
      await expectNothingStored(other, before, { extensions: { code: 'IDEMPOTENCY_KEY_REUSED' } });
    }

    const failing = { 'idempotency-key': randomUUID() };
    const fails = `mutation { a: updatePet(id: ${P}, input: {name: "Never"}) { name } b: deletePet(id: 999999) }`;
    for (let time = 0; time < 2; time++) {
      const refused = await run(fails, undefined, failing);
      await expectNothingStored(refused, before, { path: ['b'], extensions: { code: 'NOT_FOUND' } });
      expect(refused.headers['idempotency-replayed'], refused.about).toBeUndefined();
    }
  });

  it('names the faults of a field that refuses its input when it writes', async () => {
    const text =
      'mutation { a: createCategory(input: {name: "A"}) { id } b: createWebhook(input: {url: "https://10.0.0.1/"}) { id } }';
    const { json } = await query(kit.gateway, text);
    expect(json).toMatchObject({
      data: null,
      errors: [{ path: ['b'], extensions: { code: 'VALIDATION_FAILED', fields: [{ path: 'url' }] } }],
    });
  });

  it('runs once if sent ten times concurrently with one Idempotency-Key', async () => {
    const { E } = await makeWorld(kit);
    const headers = { 'idempotency-key': randomUUID() };
    const name = randomUUID();
    const text = `mutation { a: createPet(input: {name: "${name}", categoryId: ${E}}) { id } b: createPet(input: {name: "${name}", categoryId: ${E}}) { id } }`;
    const sent = await Promise.all(Array.from({ length: 10 }, () => run(text, undefined, headers)));
    const ids = new Set(
      sent.filter(({ json }) => json.data).map(({ json }) => `${json.data.a.id} ${json.data.b.id}`),
    );
    expect(ids.size, sent.map(({ about }) => about).join('')).toBe(1);
    const { pets } = dataOf(
      await run('query ($c: ID!) { pets(filter: {categoryId: $c}) { totalCount } }', { c: E }),
    );
    expect(pets.totalCount).toBe(2);
  });

  it('reads the payload of a field before a later field deletes what it shows', async () => {
    const { C } = dataOf(await run('mutation { C: createCategory(input: {name: "Brief"}) { id } }'));
    const { P } = dataOf(
      await run(`mutation { P: createPet(input: {name: "Brief", categoryId: ${C.id}}) { id } }`),
    );
    const sent = await run(`mutation {
      a: updatePet(id: ${P.id}, input: {name: "Last"}) { name category { name } }
      b: deletePet(id: ${P.id})
      c: deleteCategory(id: ${C.id})
    }`);
    expect(dataOf(sent)).toEqual({
      a: { name: 'Last', category: { name: 'Brief' } },
      b: P.id,
      c: C.id,
    });
  });

  // Transactions of MongoDB are another process's: the store's tests show what others see of them.
  describe.runIf(engine.name === 'sqlite')('that take long', () => {
    let C: string;
    let pet: string;
    beforeAll(async () => {
      const { store } = kit.gateway;
      ({ id: C } = await store.table(Category).insert({ name: 'Before' }));
      for (let n = 0; n < 40; n++)
        ({ id: pet } = await store.table(Pet).insert({ name: `${n}`, categoryId: C, status: 'sold' }));
    });

    /** A mutation that others are let in during, with a field after all others. */
    const long = (name: string, last: string) => {
      const lists = (n: number) => `l${n}: orders(first: 1, after: "${n}") { nodes { id } }`;
      return `mutation {
        a: updateCategory(id: ${C}, input: {name: "${name}"}) { ...F }
        b: updateCategory(id: ${C}, input: {description: "${name}"}) { ...F }
        last: ${last}
      } fragment F on Category { pets(first: 40) { nodes { ${Array.from({ length: 25 }, (_, n) => lists(n))} } } }`;
    };

    /** The category as others see it, again and again, and at least once after the mutation has begun. */
    async function watch(mutation: Promise<Sent>): Promise<{ sent: Sent; seen: string[] }> {
      let isDone = false;
      const done = mutation.finally(() => {
        isDone = true;
      });
      const seen: string[] = [];
      while (!isDone) {
        const { text } = await send(kit.gateway, `/categories/${C}`);
        if (!isDone) seen.push(text);
      }
      return { sent: await done, seen };
    }

    it('show other requests the state before them or all of their writes', async () => {
      const { text: before } = await send(kit.gateway, `/categories/${C}`);
      const { sent, seen } = await watch(
        run(long('Long', `updatePet(id: ${pet}, input: {name: "Last"}) { name }`)),
      );
      expect(dataOf(sent).last).toEqual({ name: 'Last' });
      const { json, text: after } = await send(kit.gateway, `/categories/${C}`);
      expect(json).toMatchObject({ name: 'Long', description: 'Long' });
      // On the embedded engine, who asks meanwhile is answered when it has ended.
      expect(seen.length).toBeGreaterThan(0);
      expect(seen.filter((text) => text !== before && text !== after)).toEqual([]);
    });
  });
});

onAnyEngine('payloads that cannot be read', (kit, engine) => {
  const cannotRead = () => {
    throw new AppError('CONFLICT', 'cannot be read');
  };
  /** The store, in whose transactions some reads fail. */
  const failing = (failed: string): Store => {
    const { store } = kit.gateway;
    const within = <T>(work: (transaction: Transaction) => T) => {
      return (transaction: Transaction) => {
        const failing = withCalls(transaction, (name, call) => (name === failed ? cannotRead : call));
        const table: Transaction['table'] = (record) => ({
          ...failing.table(record),
          cached: () => undefined,
          load: undefined,
        });
        return work({ ...failing, table });
      };
    };
    return {
      ...store,
      transaction: (work) => store.transaction(within(work)),
      once: (call, work) => store.once(call, within(work)),
    };
  };
  const list = '{ pets { totalCount } categories { totalCount } orders { totalCount } }';
  const stored = async () => ({
    ...dataOf(await query(kit.gateway, list)),
    ...(engine.name === 'sqlite' &&
      dataOf(await query(kit.gateway, '{ events(first: 100) { nodes { id } } }'))),
  });

  it.each([
    'a: deleteOrder(id: $B) b: updatePet(id: $P, input: {name: "Never"}) { orders { nodes { id } } } c: createOrder(input: {}) { id }',
    'a: deleteOrder(id: $B) b: createOrder(input: {petId: $P}) { pet { orders { nodes { id } } } } c: createOrder(input: {}) { id }',
    // A nullable field, whose error would leave the rest of the payload.
    'a: deleteOrder(id: $B) b: createOrder(input: {petId: $P}) { id pet { name } } c: createOrder(input: {}) { id }',
  ])('take everything back: %s', async (fields) => {
    const world = await makeWorld(kit);
    const before = await stored();
    const noPets = fields.includes('pet { name }');
    const gateway = await TestGateway.start(failing(noPets ? 'pets.byIds' : 'orders.pagesByParent'));
    const text = `mutation { ${fill(fields, world)} }`;
    const key = { 'idempotency-key': randomUUID() };
    // Compiled code, which runs from the second use on, is above the store.
    for (const headers of engine.name === 'sqlite' ? [{}, {}, {}, key, key] : [{}, key]) {
      const sent = await query(gateway, text, undefined, { headers });
      expect(sent.json, sent.about).toEqual({
        data: null,
        errors: [
          {
            message: 'cannot be read',
            locations: expect.any(Array),
            path: expect.arrayContaining(['b']),
            extensions: { code: 'CONFLICT', status: 409 },
          },
        ],
      });
      expect(sent.headers['idempotency-replayed'], sent.about).toBeUndefined();
      expect(await stored()).toEqual(before);
    }
    const again = await query(kit.gateway, text, undefined, { headers: key });
    dataOf(again);
    expect(again.headers['idempotency-replayed'], again.about).toBeUndefined();
    await gateway.close();
  });

  it('say that a single write is committed, now and when it is replayed', async () => {
    const { P, C, F } = await makeWorld(kit);
    const { store } = kit.gateway;
    const gateway = await TestGateway.start({
      ...store,
      table(record) {
        const table = store.table(record);
        return {
          ...table,
          async update(...call) {
            const updated = await table.update(...call);
            await deleteAll();
            return updated;
          },
        };
      },
      async once(call, work) {
        const outcome = await store.once(call, work);
        await deleteAll();
        return outcome;
      },
    });
    /** The work of another client meanwhile. */
    const deleteAll = async () => {
      const { items } = await store.table(Pet).page({ categoryId: C }, { limit: 10 });
      const { items: orders } = await store.table(Order).page({ petId: P }, { limit: 10 });
      for (const { id } of orders) await store.table(Order).remove(id);
      for (const { id } of items) await store.table(Pet).remove(id);
      if (items.length > 0) await store.table(Category).remove(C);
    };
    const committed = {
      data: null,
      errors: [
        {
          message: `There is no category ${C}.`,
          locations: [{ line: 1, column: 59 }],
          path: ['updatePet', 'category'],
          extensions: { code: 'NOT_FOUND', status: 404, committed: true },
        },
      ],
    };
    const text = (name: string) =>
      `mutation { updatePet(id: ${F}, input: {name: "${name}"}) { name category { name } } }`;
    const headers = { 'idempotency-key': randomUUID() };
    for (let use = 1; use <= 3; use++) {
      const sent = await query(gateway, text('Last'), undefined, { headers });
      committed.errors[0]!.locations[0]!.column = text('Last').indexOf('category') + 1;
      expect(sent.json, sent.about).toEqual(committed);
      expect(sent.headers['idempotency-replayed'], sent.about).toBe(use === 1 ? undefined : 'true');
    }
    const refused = await query(gateway, text('Never'));
    expect(refused.json.errors[0].extensions, refused.about).toEqual({ code: 'NOT_FOUND', status: 404 });
    await gateway.close();
  });
});

describe('mutations with several fields whose transaction fails', () => {
  const kit = useGateway(sqlite);
  kit.faultsExpected = true;

  it('returns null and one error without a path, and changes nothing', async () => {
    const { P } = await makeWorld(kit);
    /** The store, with `work` in place of its transactions. */
    const failing = (work: () => unknown) =>
      new Proxy(kit.gateway.store, {
        get(target, name) {
          const member = Reflect.get(target, name);
          if (name === 'transaction' || name === 'once') return work;
          return typeof member === 'function' ? member.bind(target) : member;
        },
      });
    const text = `mutation { a: updatePet(id: ${P}, input: {name: "A"}) { name } b: deletePet(id: ${P}) }`;
    for (const headers of [{}, { 'idempotency-key': 'failing' }]) {
      for (const [error, code, message] of [
        [
          unavailable(new Error('secret')),
          'UNAVAILABLE',
          'The database cannot be reached. Please try again.',
        ],
        [new TypeError('secret'), 'INTERNAL', 'Something went wrong on our side.'],
      ] as const) {
        const gateway = await TestGateway.start(
          failing(() => {
            throw error;
          }),
        );
        const sent = await query(gateway, text, undefined, { headers });
        await gateway.close();
        expect(sent.json, sent.about).toEqual({
          data: null,
          errors: [{ message, extensions: { code, status: code === 'INTERNAL' ? 500 : 503 } }],
        });
      }
    }
    expect(dataOf(await query(kit.gateway, `{ pet(id: ${P}) { name } }`))).toEqual({ pet: { name: 'Rex' } });
  });
});
