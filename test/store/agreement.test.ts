import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { Category } from '../../src/domains/category/category.ts';
import { RECORDS } from '../../src/domains/index.ts';
import { Order } from '../../src/domains/order/order.ts';
import { Pet, PetStatus } from '../../src/domains/pet/pet.ts';
import { AppError } from '../../src/foundation/errors.ts';
import type { MaybePromise } from '../../src/foundation/maybe-promise.ts';
import type { AnyRecord } from '../../src/foundation/record.ts';
import { openMongoStore } from '../../src/store/mongo/mongo-store.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Charge, Store } from '../../src/store/store.ts';
import type { PageRequest, Table, Tables } from '../../src/store/table.ts';
import { cases } from '../kit/cases.ts';
import { dropDatabase, mongoUri } from '../kit/mongo.ts';
import { asStandalone, openProxy } from './mongo/proxy.ts';

/**
 * An operation to run on both engines. Each is the model of the other: for any sequence of operations they must return
 * the same results and errors, and have the same data in the end.
 */
interface Step {
  name: string;
  run(store: Store): MaybePromise<unknown>;
  /** Printed by fast-check for a failing sequence. */
  toString(): string;
}

const step = (name: string, run: Step['run']): Step => ({ name, run, toString: () => name });

/** Few ids, so that operations collide: the first assigned ones, some chosen by orders, and the largest. */
const id = fc.constantFrom('1', '2', '3', '4', '5');
const orderId = fc.constantFrom(
  '1',
  '2',
  '3',
  '4',
  '5',
  '6',
  '7',
  '40',
  '9223372036854775806',
  '9223372036854775807',
);
const name = fc.constantFrom('Rex', 'Tom', '$name', 'Zoë 🐕');
const status = fc.constantFrom(...PetStatus.values);
const quantity = fc.constantFrom(1, 2, 2147483647);
const shipDate = fc.constantFrom('2026-01-31T09:30:00Z', '2026-01-31T09:30:00.250Z', '0001-01-01T00:00:00Z');
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const patchOf = <T>(value: fc.Arbitrary<T>) => fc.option(fc.option(value, { nil: null }), { nil: undefined });

const petFilter = fc.record({
  status: optional(fc.subarray([...PetStatus.values])),
  categoryId: optional(id),
});
const orderFilter = fc.record({ petId: optional(id), complete: optional(fc.boolean()) });
const page: fc.Arbitrary<PageRequest> = fc.record({
  limit: fc.constantFrom(0, 1, 2, 100),
  after: optional(fc.oneof(fc.constant('0'), orderId)),
  before: optional(orderId),
  backward: fc.boolean(),
});
const ids = fc.array(orderId, { maxLength: 4 });

const newPet = fc.record({ name, categoryId: id, status });
const newCategory = fc.record({ name, description: optional(name) });
const newOrder = fc.record({
  id: optional(orderId),
  petId: optional(id),
  quantity: optional(quantity),
  shipDate: optional(shipDate),
  complete: fc.boolean(),
});
const petPatch = fc.record({
  name: optional(name),
  categoryId: optional(id),
  status: optional(status),
  quantity: optional(fc.constantFrom(0, 7)),
});
const categoryPatch = fc.record({ name: optional(name), description: patchOf(name) });
const orderPatch = fc.record({
  petId: patchOf(id),
  quantity: patchOf(quantity),
  shipDate: patchOf(shipDate),
  complete: optional(fc.boolean()),
});

/** A precondition that holds for some records and not for others. */
const check = fc.constantFrom(undefined, undefined, (record: unknown) => {
  if (JSON.stringify(record).length % 3 === 0)
    throw new AppError('PRECONDITION_FAILED', JSON.stringify(record));
});

type Write = (writes: Tables) => MaybePromise<unknown>;
type Method = (...args: unknown[]) => MaybePromise<unknown>;

const call = (
  record: AnyRecord,
  input: fc.Arbitrary<unknown[]>,
  method: keyof Table<AnyRecord>,
): fc.Arbitrary<[string, Write]> =>
  input.map((args) => [
    `${record.plural} ${method}(${JSON.stringify(args)})`,
    (tables) => {
      const table = tables.table(record);
      return (table[method] as Method).apply(table, args);
    },
  ]);

const write: fc.Arbitrary<[string, Write]> = fc.oneof(
  call(Category, fc.tuple(newCategory), 'insert'),
  call(Category, fc.tuple(id, categoryPatch, check), 'update'),
  call(Category, fc.tuple(id, check), 'remove'),
  { weight: 2, arbitrary: call(Pet, fc.tuple(newPet), 'insert') },
  { weight: 2, arbitrary: call(Pet, fc.tuple(id, petPatch, check), 'update') },
  call(Pet, fc.tuple(id, check), 'remove'),
  { weight: 3, arbitrary: call(Order, fc.tuple(newOrder), 'insert') },
  { weight: 3, arbitrary: call(Order, fc.tuple(orderId, orderPatch, check), 'update') },
  { weight: 2, arbitrary: call(Order, fc.tuple(orderId, check), 'remove') },
);

const read = (...what: Parameters<typeof call>): fc.Arbitrary<Step> =>
  call(...what).map(([text, run]) => step(text, run));

const START = Date.UTC(2026, 0, 1);

const charge: fc.Arbitrary<Omit<Charge, 'now'> & { later: number }> = fc.record({
  apiKeyId: fc.constantFrom('a', 'b'),
  limits: fc.constant({ perMinute: 3, perDay: 9 }),
  cost: fc.constantFrom(0, 1, 2, 3),
  later: fc.constantFrom(0, 400, 30_000, 70_000),
});

const anyStep = fc.oneof(
  { weight: 12, arbitrary: write.map(([text, run]) => step(text, run)) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(write, fc.constantFrom('k', 'l'), fc.constantFrom('f', 'f', 'g'), fc.constantFrom(0, 0, 5_000))
      .map(([[text, run], idempotencyKey, fingerprint, later]) =>
        step(`once ${idempotencyKey} ${fingerprint} +${later} ${text}`, (store) =>
          store.once(
            { apiKeyId: 'a', idempotencyKey, fingerprint, now: Date.now() + later, keepFor: 3_600_000 },
            run,
          ),
        ),
      ),
  },
  read(Pet, fc.tuple(petFilter, page), 'page'),
  read(Order, fc.tuple(orderFilter, page), 'page'),
  read(Category, fc.tuple(fc.constant({}), page), 'page'),
  read(Pet, fc.tuple(fc.constant('categoryId'), ids, petFilter, page), 'pagesByParent'),
  read(Order, fc.tuple(fc.constant('petId'), ids, orderFilter, page), 'pagesByParent'),
  read(Pet, fc.tuple(fc.constant('categoryId'), ids, petFilter), 'countsByParent'),
  read(Order, fc.tuple(fc.constant('petId'), ids, orderFilter), 'countsByParent'),
  read(Pet, fc.tuple(petFilter), 'count'),
  read(Order, fc.tuple(orderFilter), 'count'),
  read(Order, fc.tuple(ids), 'byIds'),
);

async function outcomeOf(run: () => MaybePromise<unknown>): Promise<unknown> {
  try {
    return { value: (await run()) ?? null };
  } catch (error) {
    if (error instanceof AppError) return { ...error.toPublic(), retryAfter: error.retryAfter };
    throw error;
  }
}

const everything = async (store: Store) => ({
  pets: await store.table(Pet).page({}, { limit: 100 }),
  categories: await store.table(Category).page({}, { limit: 100 }),
  orders: await store.table(Order).page({}, { limit: 100 }),
  counts: [
    await store.table(Pet).count({}),
    await store.table(Category).count({}),
    await store.table(Order).count({}),
  ],
  usage: await store.usage(['a', 'b']),
  keys: await store.apiKeys(),
});

const SERVERS = ['a replica set', 'standalone'] as const;

describe.runIf(process.env.TEST_MONGODB_URI)('both engines', () => {
  const folder = mkdtempSync(join(tmpdir(), 'agreement-'));

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /**
   * Runs the steps on new databases. An existing one could not be emptied, because an instance remembers its holds for
   * a second.
   *
   * @param server a standalone one has no transactions
   */
  async function agree(steps: readonly Step[], server: (typeof SERVERS)[number] = 'a replica set') {
    const database = `agreement_${randomUUID()}`;
    const proxy = server === 'standalone' ? await openProxy(database, asStandalone) : undefined;
    const uri = proxy?.uri ?? mongoUri(database);
    const mongo = await openMongoStore({ records: RECORDS, uri });
    const sqlite = openSqliteStore({
      records: RECORDS,
      file: join(folder, `${randomUUID()}.db`),
      role: 'server',
    });
    try {
      for (const { name, run } of steps) {
        const [actual, expected] = [await outcomeOf(() => run(mongo)), await outcomeOf(() => run(sqlite))];
        expect(actual, name).toEqual(expected);
      }
      expect(await everything(mongo)).toEqual(await everything(sqlite));
    } finally {
      sqlite.close();
      await mongo.close();
      await proxy?.close();
      await dropDatabase(database);
    }
  }

  /** Creates the records that the sequences start with. */
  const initialSteps: Step[] = [
    step('category 1', (store) => store.table(Category).insert({ name: 'Dogs' })),
    step('category 2', (store) => store.table(Category).insert({ name: 'Cats', description: 'Small' })),
    step('pet 1', (store) => store.table(Pet).insert({ name: 'Rex', categoryId: '1', status: 'available' })),
    step('pet 2', (store) => store.table(Pet).insert({ name: 'Tom', categoryId: '2', status: 'sold' })),
    step('order 1', (store) => store.table(Order).insert({ petId: '1', complete: false })),
    step('order 3', (store) => store.table(Order).insert({ id: '3', petId: '2', complete: true })),
  ];

  it.each(SERVERS)(
    'agree on any sequence of operations (MongoDB: %s)',
    {
      timeout: 120_000,
    },
    async (server) => {
      const sequence = fc.array(anyStep, { minLength: 5, maxLength: 40, size: 'max' });
      await fc.assert(
        fc.asyncProperty(sequence, (steps) => agree([...initialSteps, ...steps], server)),
        { numRuns: cases(3, 10), interruptAfterTimeLimit: 90_000 },
      );
    },
  );

  it('agree on any sequence of charges', { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(charge, { minLength: 30, maxLength: 80, size: 'max' }), (charges) => {
        let now = START;
        return agree(
          charges.map(({ later, ...rest }) => {
            now += later;
            const request = { ...rest, now };
            return step(`charge ${JSON.stringify(request)}`, (store) => store.charge(request));
          }),
        );
      }),
      { numRuns: cases(2, 5), interruptAfterTimeLimit: 40_000 },
    );
  });

  it('agree on creating, rotating and revoking API keys', async () => {
    const limits = { perMinute: 60, perDay: 1e10 };
    const key = { id: 'k1', name: '$x', plan: 'enterprise' as const, limits, createdAt: START };
    await agree([
      step('create', (store) => store.createApiKey({ ...key, secrets: [{ hash: 'h1', prefix: '$p' }] })),
      step('create 2', (store) =>
        store.createApiKey({
          ...{ ...key, id: 'k0', createdAt: START + 1 },
          secrets: [{ hash: 'h2', prefix: 'p', expiresAt: START + 5 }],
        }),
      ),
      step('find', (store) => store.apiKeyBySecretHash('h1')),
      step('find none', (store) => store.apiKeyBySecretHash('none')),
      step('rotate', (store) => store.rotateApiKey('k1', { hash: 'h3', prefix: '$q' }, START + 9)),
      step('rotate 2', (store) => store.rotateApiKey('k1', { hash: 'h4', prefix: 'q' }, START + 20)),
      step('rotate 3', (store) =>
        store.rotateApiKey('k0', { hash: 'h5', prefix: 'q', expiresAt: 1 }, START + 3),
      ),
      step('rotate none', (store) => store.rotateApiKey('none', { hash: 'h6', prefix: 'q' }, START)),
      step('find old', (store) => store.apiKeyBySecretHash('h1')),
      step('list', (store) => store.apiKeys()),
      step('revoke', (store) => store.revokeApiKey('k1', START + 50)),
      step('revoke again', (store) => store.revokeApiKey('k1', START + 60)),
      step('revoke none', (store) => store.revokeApiKey('none', START)),
      step('rotate revoked', (store) => store.rotateApiKey('k1', { hash: 'h7', prefix: 'q' }, START)),
    ]);
  });
});
