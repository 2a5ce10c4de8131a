import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { api } from '../../src/api.ts';
import { Category } from '../../src/domains/category/category.ts';
import { Order } from '../../src/domains/order/order.ts';
import { Pet, PetStatus } from '../../src/domains/pet/pet.ts';
import { AppError } from '../../src/foundation/errors.ts';
import { folded } from '../../src/foundation/folded.ts';
import {
  type AnyDeclaration,
  groupedFields,
  referencesOf,
  referrersOf,
} from '../../src/foundation/record.ts';
import type { IdempotentCall } from '../../src/store/store.ts';
import type { PageRequest, Table, Tables } from '../../src/foundation/table.ts';
import { cases } from '../kit/cases.ts';
import { LISTS } from '../kit/lists.ts';
import { engines, type OpenedStore } from '../kit/stores.ts';
import { Model, outcomeOf, type Stored } from './model.ts';

type Tested = Tables & { once(call: IdempotentCall, work: (tables: Tables) => never): unknown };

/** An operation on a store and on its model, which must have the same outcome. */
interface Step {
  /** For messages. */
  name: string;
  /** A restart if absent. */
  run?: (store: Tested, now: number) => unknown;
}

type Method = Exclude<keyof Table<AnyDeclaration>, 'cached' | 'load'>;

const call = (
  record: AnyDeclaration,
  method: Method,
  ...args: unknown[]
): Step & Required<Pick<Step, 'run'>> => ({
  name: `${record.plural} ${method}(${JSON.stringify(args)})`,
  run: (tables: Tables) => (tables.table(record)[method] as (...args: unknown[]) => unknown)(...args),
});
/** A call with an idempotency key, which is kept for the next three. */
const onceWith = (
  options: Pick<IdempotentCall, 'apiKeyId' | 'idempotencyKey' | 'fingerprint'>,
  step: Step,
): Step => ({
  name: `once ${JSON.stringify(options)} ${step.name}`,
  run: (store, now) => store.once({ ...options, now, keepFor: 4_000 }, step.run as never),
});
const restart: Step = { name: 'restart' };

const MAX = '9223372036854775807';
const lastIds = ['9007199254740992', '9007199254740993', '9223372036854775806', MAX];
const texts = ['Rex', 'Tom', '$name', '$loyal.', 'Zoë 🐕', 'Cats 🐈 "quoted" \\ \n'];
const dates = [
  '0001-01-01T00:00:00Z',
  '1969-12-31T23:59:59.999Z',
  '2026-01-31T09:30:00.5Z',
  '9999-12-31T23:59:59Z',
];

const refuse = (current: unknown) => {
  throw new AppError('PRECONDITION_FAILED', JSON.stringify(current));
};

/** Each field alone, changed and removed; the ends of all ranges; and what each rule refuses. */
const EVERY_CALL: Step[] = [
  ...texts.map((name) => call(Category, 'insert', { name, description: name })),
  call(Category, 'insert', { name: 'Plain' }),
  ...[
    { name: 'Cats' },
    { description: '' },
    { description: null },
    { name: 'Hounds', description: 'Old' },
    {},
  ].map((patch) => call(Category, 'update', '1', patch)),
  call(Pet, 'insert', { name: 'Rex', categoryId: '1', status: 'pending' }),
  call(Pet, 'insert', { name: 'Tom', categoryId: '2' }),
  call(Pet, 'insert', { name: 'Orphan', categoryId: MAX, status: 'sold' }),
  ...[
    { quantity: 2147483647 },
    { name: 'Max' },
    { categoryId: '3' },
    { status: 'sold' },
    { quantity: 5 },
  ].map((patch) => call(Pet, 'update', '1', patch)),
  ...[{ quantity: -0 }, { name: 'Max', quantity: 1 }, { name: 'Max', status: 'sold', quantity: 1 }, {}].map(
    (patch) => call(Pet, 'update', '1', patch),
  ),
  call(Pet, 'update', '1', { categoryId: MAX, quantity: 7 }),
  ...lastIds.map((id) => call(Order, 'insert', { id, complete: false })),
  ...dates.map((shipDate) => call(Order, 'insert', { shipDate, complete: false })),
  call(Order, 'insert', {}),
  call(Order, 'insert', { petId: '1', quantity: 2147483647, complete: false }),
  ...[
    { shipDate: dates[2] },
    { petId: '2' },
    { quantity: 2 },
    { complete: true },
    { quantity: null },
    {},
  ].map((patch) => call(Order, 'update', '6', patch)),
  call(Order, 'update', '6', { shipDate: null, petId: null }),
  call(Order, 'byIds', [MAX, '6', '404', MAX, ...lastIds]),
  call(Order, 'page', {}, { limit: 100, after: lastIds[0] }),
  call(Order, 'page', {}, { limit: 1, before: MAX, backward: true }),
  call(Order, 'page', {}, { limit: 100, after: MAX }),
  call(Order, 'count', { petId: MAX }),
  call(Order, 'update', MAX, { quantity: 5 }),
  // Taken, whether assigned or chosen, and a missing reference before that.
  ...['6', MAX].map((id) => call(Order, 'insert', { id })),
  call(Order, 'insert', { id: MAX, petId: MAX }),
  // An order that is complete outlives its pet, and cannot be reopened.
  call(Order, 'insert', { id: '40', petId: '2', complete: false }),
  call(Pet, 'remove', '2'),
  call(Order, 'update', '40', { complete: true }),
  call(Pet, 'remove', '2'),
  ...[{ petId: '2', quantity: 2 }, { complete: false }, { complete: false, petId: null }, { petId: '2' }].map(
    (patch) => call(Order, 'update', '40', patch),
  ),
  ...['3', '2', '2'].map((id) => call(Category, 'remove', id)),
  // None of these is assigned again.
  ...['3', '9', '10', '12', MAX].map((id) => call(Order, 'insert', { id, complete: true })),
  ...['9', '40', MAX].map((id) => call(Order, 'remove', id)),
  ...[Pet, Category, Order].flatMap((record) => [
    call(record, 'update', '404', { categoryId: MAX, petId: MAX }, () => expect.unreachable()),
    call(record, 'remove', '404', () => expect.unreachable()),
  ]),
  ...[
    [Pet, '1', { categoryId: MAX }],
    [Pet, '1', {}],
    [Category, '1', {}],
    [Order, '40', { petId: MAX }],
  ].flatMap(([record, id, patch]) => [
    call(record as AnyDeclaration, 'update', id, patch, refuse),
    call(record as AnyDeclaration, 'remove', id, refuse),
  ]),
  call(Category, 'remove', '7'),
  call(Category, 'insert', { name: 'Twice' }),
  call(Category, 'remove', '8'),
  ...[
    ...['af', 'af', 'ag', 'bf', 'af', 'af', 'af'].map((who) => ({ who, step: call(Order, 'insert', {}) })),
    ...['cf', 'cf'].map((who) => ({ who, step: call(Order, 'remove', '404') })),
    ...['df', 'df'].map((who) => ({ who, step: call(Pet, 'update', '1', {}, refuse) })),
  ].map(({ who, step }) => onceWith({ apiKeyId: who[0]!, idempotencyKey: 'i', fingerprint: who[1]! }, step)),
  restart,
  ...[1, 2, 3, 4].map(() => call(Order, 'insert', { complete: true })),
  call(Order, 'insert', { id: '9' }),
  call(Pet, 'insert', { name: 'New', categoryId: '1' }),
  call(Category, 'insert', { name: 'New' }),
];

/** Few ids, so that operations collide. */
const id = fc.constantFrom('1', '2', '3', '4', '5');
const orderId = fc.constantFrom('1', '2', '3', '4', '5', '6', '7', '40', '9223372036854775806', MAX);
const text = fc.constantFrom(...texts);
const status = fc.constantFrom(...PetStatus.values);
const quantity = fc.constantFrom(1, 2, 2147483647);
const shipDate = fc.constantFrom(...dates);
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const patched = <T>(value: fc.Arbitrary<T>) => fc.option(fc.option(value, { nil: null }), { nil: undefined });

/** Of each record: its input, patches, filters, and what a list can be ordered by. */
const records = [
  {
    record: Category,
    input: fc.record({ name: text, description: optional(text) }),
    patch: fc.record({ name: optional(text), description: patched(text) }),
    filter: fc.constant({}),
    sorts: { name: text },
    weight: 1,
    key: id,
  },
  {
    record: Pet,
    input: fc.record({ name: text, categoryId: id, status: optional(status) }),
    patch: fc.record({
      name: optional(text),
      categoryId: optional(id),
      status: optional(status),
      quantity: optional(fc.constantFrom(0, -0, 7)),
    }),
    filter: fc.record({ status: optional(fc.subarray([...PetStatus.values])), categoryId: optional(id) }),
    sorts: { name: text, quantity: fc.nat(7) },
    weight: 2,
    key: id,
  },
  {
    record: Order,
    input: fc.record({
      id: optional(orderId),
      petId: optional(id),
      quantity: optional(quantity),
      shipDate: optional(shipDate),
      complete: fc.boolean(),
    }),
    patch: fc.record({
      petId: patched(id),
      quantity: patched(quantity),
      shipDate: patched(shipDate),
      complete: optional(fc.boolean()),
    }),
    filter: fc.record({ petId: optional(id), complete: optional(fc.boolean()) }),
    sorts: { shipDate: fc.option(shipDate) },
    weight: 3,
    key: orderId,
  },
] as const;

/** The fields that records are counted by, in all orders. */
const groupsOf = (record: AnyDeclaration): readonly (readonly string[])[] => {
  const fields = groupedFields(record);
  return fields.length === 0 ? [] : [...fields.map((field) => [field]), fields, fields.toReversed()];
};

/** A precondition that holds for some records and not for others. */
const check = fc.constantFrom(undefined, undefined, (record: unknown) => {
  if (JSON.stringify(record).length % 3 === 0)
    throw new AppError('PRECONDITION_FAILED', JSON.stringify(record));
});

const bounds = fc.record({
  limit: fc.constantFrom(0, 1, 2, 100),
  after: optional(fc.oneof(fc.constant('0'), orderId)),
  before: optional(orderId),
  backward: fc.boolean(),
  inclusive: fc.boolean(),
  descending: fc.boolean(),
});

/** A page in any order, between any places. */
const requestIn = (sorts: Readonly<Record<string, fc.Arbitrary<unknown>>>) =>
  fc.oneof(
    bounds.map(({ descending, ...rest }) => ({ ...rest, order: { descending } })),
    ...Object.entries(sorts).map(([field, value]) =>
      fc.tuple(bounds, value, value).map(([{ descending, ...rest }, afterValue, beforeValue]) => ({
        ...rest,
        order: { field, descending, afterValue, beforeValue },
      })),
    ),
  );

const callWith = (record: AnyDeclaration, method: Method, ...args: fc.Arbitrary<unknown>[]) =>
  fc.tuple(...args).map((drawn) => call(record, method, ...drawn));

const write = fc.oneof(
  ...records.flatMap(({ record, input, patch, key, weight }) => [
    { weight, arbitrary: callWith(record, 'insert', input) },
    { weight, arbitrary: callWith(record, 'update', key, patch, check) },
    { weight: 1, arbitrary: callWith(record, 'remove', key, check) },
  ]),
);

const onceOnly = fc
  .record({
    step: write,
    idempotencyKey: fc.constantFrom('k', 'l'),
    fingerprint: fc.constantFrom('f', 'f', 'g'),
    apiKeyId: fc.constantFrom('a', 'a', 'b'),
  })
  .map(({ step, ...options }) => onceWith(options, step));

const reads = records.flatMap(({ record, filter, sorts, key }) => {
  const request = requestIn(sorts);
  return [
    callWith(record, 'page', filter, request),
    callWith(record, 'count', filter),
    ...groupsOf(record).map((by) => callWith(record, 'countsBy', fc.constant(by), filter)),
    callWith(record, 'byIds', fc.array(key, { maxLength: 4 })),
    ...referrersOf(api.records, record as AnyDeclaration).flatMap(({ child, field }) => {
      const { filter, sorts } = records.find((one) => (one.record as AnyDeclaration) === child)!;
      const parents = [fc.constant(field), fc.array(orderId, { maxLength: 4 })] as const;
      return [
        callWith(
          child,
          'pagesByParent',
          ...parents,
          filter.map((all) => ({ ...all, [field]: undefined })),
          requestIn(sorts),
        ),
        callWith(child, 'countsByParent', ...parents, filter),
      ];
    }),
  ];
});

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: write },
  { weight: 3, arbitrary: onceOnly },
  { weight: 10, arbitrary: fc.oneof(...reads) },
  { weight: 1, arbitrary: fc.constant(restart) },
);

/** All that a store has. */
const everything = async (tables: Tables) => {
  const results = [];
  for (const { record } of records) {
    const table = tables.table<AnyDeclaration>(record);
    results.push(await table.page({}, { limit: 100 }));
    for (const filter of LISTS.find((list) => list.record === record)!.filters)
      results.push(await table.count(filter));
  }
  return results;
};

/** Runs steps on a new store and on a new model. */
async function agree(steps: readonly Step[], open: () => Promise<OpenedStore>): Promise<void> {
  const opened = await open();
  const model = new Model();
  try {
    let { store } = opened;
    let now = Date.now();
    for (const { name, run } of steps) {
      now += 1_000;
      if (!run) store = await opened.reopen();
      else
        expect(await outcomeOf(() => run(store, now)), name).toStrictEqual(
          await outcomeOf(() => run(model, now)),
        );
    }
    expect(await everything(store)).toStrictEqual(await everything(model));
    const { events, atEnd } = await store.eventPage({ limit: 1_000 });
    expect(events.map(({ type, record }) => ({ type, record }))).toStrictEqual(model.events);
    expect(atEnd).toBe(true);
  } finally {
    await opened.close();
  }
}

/** The engines, the embedded one also with caches that hold little. */
const variants = engines.flatMap(({ name, open }): [string, Parameters<typeof agree>[1], number][] =>
  name === 'mongodb'
    ? [[name, () => open(), cases(2, 10)]]
    : [
        [name, () => open(), cases(6, 400)],
        [`${name} with small caches`, () => open(undefined, { cacheBytes: 500 }), cases(6, 400)],
      ],
);

describe.each(variants)('%s', (_name, open, numRuns) => {
  it('does what its model does for every kind of call', () => agree(EVERY_CALL, open));

  it('does what its model does for any sequence of calls', async () => {
    const sequence = fc.array(anyStep, { minLength: 20, maxLength: 60, size: 'max' });
    await fc.assert(
      fc.asyncProperty(sequence, (steps) => agree([...EVERY_CALL.slice(0, 12), ...steps], open)),
      { numRuns, interruptAfterTimeLimit: 90_000 },
    );
  });
});

const NAMES = [
  'b',
  'B',
  'ä',
  'A',
  'a\u0301',
  'Zoë',
  'zoe',
  'ﬁsh',
  'fi',
  'f',
  '\uffff',
  '\u{10000}',
  'Ａ',
  'ſ',
  'ß',
  'b',
];
const RANGES: Readonly<Record<string, object[]>> = {
  quantity: [{ min: 1, max: 3 }, { min: 2 }, { max: 2 }, { min: 3, max: 1 }, { min: 5 }, { max: 0 }],
  shipDate: [
    { min: '2026-01-02T09:30:00Z', max: '2026-01-03T09:30:00Z' },
    { max: '2026-01-01T09:30:00Z' },
    { min: '2026-01-01T09:30:00.001Z' },
  ],
};
const PREFIXES = ['ä', '\u{10000}', 'ß', 'Zoë', 'b', 'F', 'fi', 'zo', '\uffff', 'none', '\u0301'].map(folded);

describe.each(engines)('lists ($name)', ({ name, open }) => {
  const [limits, prefixes] =
    name === 'sqlite' ? [[cases(2, 1), cases(7, 3), 100], 11] : [[cases(20, 3)], cases(4, 11)];
  const model = new Model();
  let opened: OpenedStore;
  beforeAll(async () => {
    opened = await open();
    for (const { run } of [
      ...['Dogs', 'cats', 'Fish'].map((name) => call(Category, 'insert', { name })),
      ...Array.from({ length: 48 }, (_, n) => {
        const status = PetStatus.values[n % 3];
        return call(Pet, 'insert', { name: NAMES[n % NAMES.length], status, categoryId: `${1 + (n % 2)}` });
      }),
      ...Array.from({ length: 48 }, (_, n) => call(Pet, 'update', `${n + 1}`, { quantity: n % 5 })),
      ...Array.from({ length: 24 }, (_, n) => {
        const shipDate = n % 3 === 0 ? undefined : `2026-01-0${1 + (n % 4)}T09:30:00Z`;
        const petId = n % 4 === 0 ? undefined : `${1 + (n % 2)}`;
        return call(Order, 'insert', { shipDate, complete: n % 2 === 0, petId });
      }),
    ])
      expect(await run(opened.store, 0)).toEqual(run(model, 0));
  });
  afterAll(() => opened.close());

  const rows = LISTS.flatMap(({ record, sorts, filters }) =>
    sorts.flatMap((sort) => [false, true].map((descending) => ({ record, sort, descending, filters }))),
  );
  it.each(rows)('are those of the model: $record.plural by $sort, descending: $descending', async (row) => {
    const { record, sort: field, descending, filters } = row;
    const table = opened.store.table(record);
    const expected = model.table(record);
    const prefixed = field === 'name' ? PREFIXES.slice(0, prefixes) : [];
    const searches = prefixed.map((prefix, n) => ({ ...filters[n % filters.length], name: { prefix } }));
    const ranges = (RANGES[field ?? ''] ?? []).flatMap((range) =>
      (name === 'sqlite' ? filters : filters.slice(-1)).map((filter) => ({ ...filter, [field!]: range })),
    );
    for (const filter of [...filters, ...searches, ...ranges]) {
      for (const backward of [false, true]) {
        for (const limit of limits) {
          const order = { field, descending };
          for (let request: PageRequest = { limit, backward, order }; ;) {
            const page = await table.page(filter, request);
            expect(page, JSON.stringify([filter, request])).toEqual(expected.page(filter, request));
            if (!page.hasMore) break;
            const { id, ...values } = page.items.at(backward ? 0 : -1) as Stored;
            const value = (values[field ?? ''] ?? null) as string;
            request = backward
              ? { limit, backward, before: id, order: { ...order, beforeValue: value } }
              : { limit, backward, after: id, order: { ...order, afterValue: value } };
          }
        }
      }
      expect(await table.count(filter)).toBe(expected.count(filter));
      for (const by of groupsOf(record))
        expect(await table.countsBy(by, filter), `${by}`).toEqual(expected.countsBy(by, filter));
      // A place may be that of a record that is not in the list.
      for (const { id, ...values } of expected.page({}, { limit: 4 }).items as Stored[]) {
        const afterValue = (values[field ?? ''] ?? null) as string;
        const request = { limit: 100, after: id, order: { field, descending, afterValue } };
        expect(await table.page(filter, request)).toEqual(expected.page(filter, request));
      }
      for (const { field: parent } of referencesOf(record)) {
        const list = [parent, ['3', '2', '404', '1'], { ...filter, [parent]: undefined }] as const;
        const request = { limit: 5, order: { field, descending } };
        expect(await table.pagesByParent(...list, request)).toEqual(expected.pagesByParent(...list, request));
        expect(await table.countsByParent(...list)).toEqual(expected.countsByParent(...list));
      }
    }
  });
});
