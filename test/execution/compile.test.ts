import fc from 'fast-check';
import { buildSchema, execute, type GraphQLError, parse, validate } from 'graphql';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Category } from '../../src/domains/category/category.ts';
import { Order } from '../../src/domains/order/order.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { Compiler } from '../../src/execution/compile.ts';
import { Documents, type ValidDocument } from '../../src/execution/documents.ts';
import { ExecutionPlans } from '../../src/execution/execution-plan.ts';
import { executionSchemas } from '../../src/execution/mutation.ts';
import { Operations } from '../../src/execution/operations.ts';
import { OperationRefused } from '../../src/execution/refusal.ts';
import { schema } from '../../src/execution/schema.ts';
import { AppError } from '../../src/foundation/errors.ts';
import type { MaybePromise } from '../../src/foundation/maybe-promise.ts';
import { Meter } from '../../src/foundation/meter.ts';
import type { AnyRecord } from '../../src/foundation/record.ts';
import type { Context } from '../../src/schema/context.ts';
import { Loaders } from '../../src/schema/loaders.ts';
import type { Store } from '../../src/store/store.ts';
import type { Tables } from '../../src/store/table.ts';
import { sqlite } from '../kit/petstore.ts';
import type { OpenedStore } from '../kit/stores.ts';

/**
 * Runs of a differential test: the first three results of an operation, interpreted and compiled, must equal
 * that of plain graphql-js, which caches nothing.
 */
const RUNS = Number(process.env.DIFFERENTIAL_RUNS ?? 30);

let opened: OpenedStore;
let operations: Operations;
const reported: unknown[] = [];

beforeAll(async () => {
  opened = await sqlite.open();
  const { store } = opened;
  for (let c = 1; c <= 3; c++)
    await store.table(Category).insert({ name: `C${c}`, ...(c === 1 && { description: 'x'.repeat(1_950) }) });
  for (let p = 1; p <= 6; p++)
    await store.table(Pet).insert({
      name: `P${p}`.padEnd(180, 'p'),
      categoryId: String((p % 2) + 1),
      status: 'sold',
    });
  for (let o = 1; o <= 6; o++)
    await store.table(Order).insert({ petId: String((o % 3) + 1), complete: o % 2 === 0 });
  await store.table(Order).insert({ complete: false });
  operations = new Operations(schema, (error) => reported.push(error));
});
afterAll(() => opened.close());

/** A page size that cannot be read, so that fields fail while an operation runs. */
const UNREADABLE = 13;

/** A store or a transaction, of whose reads those of pages of `UNREADABLE` items fail. */
const failing = <T extends Tables>(tables: T): T => ({
  ...tables,
  table: (record: AnyRecord) => {
    const table = tables.table(record);
    const pagesByParent: typeof table.pagesByParent = (field, parents, filter, page) => {
      if (page.limit === UNREADABLE) throw new AppError('CONFLICT', 'cannot be read');
      return table.pagesByParent(field, parents, filter, page);
    };
    return { ...table, pagesByParent };
  },
  ...('transaction' in tables && {
    transaction: (work: (own: Tables) => MaybePromise<unknown>) =>
      (tables as unknown as Store).transaction((own) => work(failing(own))),
  }),
});

function newContext(opened: Store): Context {
  const store = failing(opened);
  const window = { limit: 60, remaining: 59, resetAt: 1_800_000_000_000 };
  return {
    meter: new Meter(1),
    store,
    principal: {},
    loaders: new Loaders(store),
    rateLimit: () => ({ cost: 1, plan: 'free', minute: window, day: window }),
  } as unknown as Context;
}

interface OperationRequest {
  query: string;
  variables: Record<string, unknown>;
}

/** The result of graphql-js. */
async function expectedOf({ query, variables }: OperationRequest) {
  const document = parse(query);
  expect(validate(schema, document), query).toEqual([]);
  const { data, errors } = await execute({
    schema,
    document,
    rootValue: {},
    contextValue: newContext(opened.store),
    variableValues: variables,
  });
  return { data: plain(data), errors: errors?.map(comparable) };
}

/** Our result; null if the operation is too complex. */
async function actualOf(request: OperationRequest) {
  try {
    const prepared = operations.prepare(request);
    const result = await prepared.execute(newContext(opened.store));
    const { data, errors } = JSON.parse(prepared.stringify(result));
    return { cost: prepared.cost, data, errors: errors?.map(comparable) };
  } catch (error) {
    if (error instanceof OperationRefused && error.errors[0]?.extensions?.code === 'QUERY_TOO_COMPLEX')
      return null;
    throw error;
  }
}

const plain = (value: unknown) => JSON.parse(JSON.stringify(value ?? null));

const comparable = ({ message, path, locations, extensions }: GraphQLError) => ({
  message,
  path,
  locations,
  code: extensions.code,
});

/**
 * Groups errors by the path of the null they caused. If several fields below one null fail, timing decides
 * which error is reported.
 */
function errorsByNull(data: unknown, errors: ReturnType<typeof comparable>[] | undefined) {
  const groups = new Map<string, Set<string>>();
  for (const error of errors ?? []) {
    let value = data as Record<string | number, unknown> | null | undefined;
    const nullPath: (string | number)[] = [];
    for (const part of error.path ?? []) {
      if (value == null) break;
      nullPath.push(part);
      value = value[part] as typeof value;
    }
    const key = nullPath.join('.');
    groups.set(key, (groups.get(key) ?? new Set()).add(JSON.stringify(error)));
  }
  return groups;
}

async function expectSame(request: OperationRequest): Promise<boolean> {
  const expected = await expectedOf(request);
  const expectedErrors = errorsByNull(expected.data, expected.errors);
  const about = JSON.stringify(request);
  for (let time = 1; time <= 3; time++) {
    reported.length = 0;
    const actual = await actualOf(request);
    expect(reported, about).toEqual([]);
    if (actual === null) return false;
    expect(JSON.stringify(actual.data), `${about} time ${time}`).toBe(JSON.stringify(expected.data));
    const actualErrors = errorsByNull(actual.data, actual.errors);
    expect([...actualErrors.keys()].sort(), `${about} time ${time}`).toEqual(
      [...expectedErrors.keys()].sort(),
    );
    for (const [nullPath, errors] of actualErrors) {
      // If only one field failed below this null, the errors must be equal.
      const paths = [...errors, ...expectedErrors.get(nullPath)!].map((error) =>
        JSON.parse(error).path.join('.'),
      );
      if (new Set(paths).size === 1)
        expect(errors, `${about} time ${time}`).toEqual(expectedErrors.get(nullPath));
    }
    expectWithin(actual.cost, actual.data, `${about} time ${time}`);
  }
  return true;
}

const WRAPPERS = new Set(['nodes', 'edges', 'pageInfo']);

/** Expects the result of an operation to be within what its cost covers. */
function expectWithin(cost: number, data: Record<string, unknown> | null, about: string): void {
  let entries = 0;
  let weight = 0;
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) {
      entries += value.length;
      value.forEach(visit);
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, part] of Object.entries(value)) {
        if (!WRAPPERS.has(key))
          weight += typeof part === 'string' ? Math.max(1, Math.ceil(part.length / 100)) : 1;
        visit(part);
      }
    }
  };
  for (const root of Object.values(data ?? {})) visit(root);
  expect(entries, about).toBeLessThanOrEqual(100 * cost);
  expect(weight, about).toBeLessThanOrEqual(Math.max(100, 2_500 * cost));
}

/** The fields of each type, with the type of their selection. A response key always means the same field. */
const FIELDS: Record<string, readonly (readonly [text: string, below?: string])[]> = {
  Query: [
    ['pet(id: 1)', 'Pet'],
    ['b: pet(id: $id)', 'Pet'],
    ['none: pet(id: 99)', 'Pet'],
    ['category(id: 1)', 'Category'],
    ['order(id: 2)', 'Order'],
    ['pets(first: $n)', 'PetConnection'],
    ['sold: pets(filter: {status: [$status], categoryId: $id}, last: 2)', 'PetConnection'],
    ['node(nodeId: "UGV0OjE")', 'Node'],
    ['nodes(nodeIds: ["UGV0OjI", "Q2F0ZWdvcnk6MQ", "x"])', 'Node'],
    ['rateLimit', 'RateLimit'],
    ['__typename'],
  ],
  Pet: [
    ['id'],
    ['name'],
    ['n: name'],
    ['status'],
    ['__typename'],
    ['category', 'Category'],
    ['kind: category', 'Category'],
    ['inventory', 'InventoryItem'],
    ['orders(first: 2)', 'OrderConnection'],
    ['bad: orders(first: $size)', 'OrderConnection'],
  ],
  Category: [
    ['id'],
    ['name'],
    ['description'],
    ['pets(first: $n)', 'PetConnection'],
    ['one: pets(last: 1)', 'PetConnection'],
    ['__typename'],
  ],
  InventoryItem: [['petId'], ['quantity'], ['pet', 'Pet'], ['again: pet', 'Pet']],
  Order: [['id'], ['of: petId'], ['its: pet', 'Pet'], ['complete'], ['shipDate']],
  PetConnection: [['nodes', 'Pet'], ['edges', 'PetEdge'], ['totalCount'], ['pageInfo', 'PageInfo']],
  OrderConnection: [['nodes', 'Order'], ['totalCount'], ['pageInfo', 'PageInfo']],
  PetEdge: [['cursor'], ['node', 'Pet']],
  PageInfo: [['hasNextPage'], ['endCursor']],
  RateLimit: [['plan'], ['minute', 'RateLimitWindow']],
  RateLimitWindow: [['limit'], ['remaining']],
  Node: [['nodeId'], ['__typename']],
};
const FRAGMENTS: readonly (readonly [name: string, on: string])[] = [
  ['F0', 'Query'],
  ['F1', 'Pet'],
  ['F2', 'Category'],
  ['F3', 'Node'],
  ['F4', 'Pet'],
  ['F5', 'Order'],
  ['F6', 'InventoryItem'],
  ['F7', 'Pet'],
];
const NODES = ['Pet', 'Category', 'Order', 'InventoryItem'];

const condition = fc.constantFrom('true', 'false', '$s', '$t', '$u');
const directive = fc.oneof(
  { weight: 5, arbitrary: fc.constant('') },
  { weight: 2, arbitrary: condition.map((value) => ` @skip(if: ${value})`) },
  { weight: 2, arbitrary: condition.map((value) => ` @include(if: ${value})`) },
  {
    weight: 1,
    arbitrary: fc.tuple(condition, condition).map(([a, b]) => ` @skip(if: ${a}) @include(if: ${b})`),
  },
);

/** @param from index of the first fragment that may be spread, so that none spreads itself */
function selectionOf(type: string, depth: number, from: number): fc.Arbitrary<string> {
  const fields = FIELDS[type]!.filter(([, below]) => depth > 0 || below === undefined);
  const spreads = FRAGMENTS.slice(from).filter(
    ([, on]) =>
      on === type || (type === 'Node' && NODES.includes(on)) || (on === 'Node' && NODES.includes(type)),
  );
  const choices: fc.WeightedArbitrary<string>[] = [];
  if (fields.length > 0) {
    const field = fc.constantFrom(...fields).chain(([text, below]) => {
      const selection = below === undefined ? fc.constant('') : selectionOf(below, depth - 1, from);
      return fc.tuple(directive, selection).map((parts) => text + parts.join(' '));
    });
    choices.push({ weight: 6, arbitrary: field });
  } else {
    choices.push({ weight: 6, arbitrary: fc.constant('__typename') });
  }
  if (spreads.length > 0) {
    const spread = fc
      .tuple(fc.constantFrom(...spreads), directive)
      .map(([[name], when]) => `...${name}${when}`);
    choices.push({ weight: 3, arbitrary: spread });
  }
  if (depth > 0) {
    const inline = fc
      .tuple(directive, selectionOf(type, depth - 1, from))
      .map(([when, selection]) => `...${when} ${selection}`);
    choices.push({ weight: 1, arbitrary: inline });
    if (type === 'Node') {
      const typed = fc
        .constantFrom(...NODES)
        .chain((on) =>
          fc
            .tuple(directive, selectionOf(on, depth - 1, from))
            .map(([when, selection]) => `... on ${on}${when} ${selection}`),
        );
      choices.push({ weight: 3, arbitrary: typed });
    }
  }
  return fc
    .array(fc.oneof(...choices), { minLength: 1, maxLength: 4 })
    .map((parts) => `{ ${parts.join(' ')} }`);
}

const VARIABLES: Record<string, readonly [definition: string, values: fc.Arbitrary<unknown>]> = {
  s: ['Boolean!', fc.boolean()],
  t: ['Boolean = true', fc.constantFrom(undefined, true, false)],
  u: ['Boolean! = false', fc.constantFrom(undefined, true, false)],
  n: ['Int = 2', fc.constantFrom<unknown>(undefined, 1, 3, null)],
  id: ['ID! = 2', fc.constantFrom<unknown>(undefined, '1', 3)],
  status: ['PetStatus! = sold', fc.constantFrom(undefined, 'available', 'sold')],
  size: ['Int', fc.constantFrom<unknown>(undefined, UNREADABLE, 1)],
};

const fragmentTexts = fc.tuple(
  ...FRAGMENTS.map(([name, on], i) =>
    selectionOf(on, on === 'Query' ? 3 : 2, i + 1).map(
      (selection) => `fragment ${name} on ${on} ${selection}`,
    ),
  ),
);

/** Documents with the fragments and variables that they use, and values for those variables. */
const requests: fc.Arbitrary<OperationRequest> = fc
  .tuple(
    selectionOf('Query', 4, 0),
    fragmentTexts,
    fc.record(Object.fromEntries(Object.entries(VARIABLES).map(([name, [, values]]) => [name, values]))),
  )
  .map(([selection, fragments, values]) => {
    let text = selection;
    for (const [i, [name]] of FRAGMENTS.entries())
      if (new RegExp(`\\.\\.\\.${name}\\b`).test(text)) text += ` ${fragments[i]}`;
    const used = Object.entries(VARIABLES).filter(([name]) => new RegExp(`\\$${name}\\b`).test(text));
    const definitions = used.map(([name, [definition]]) => `$${name}: ${definition}`);
    const query = `query ${definitions.length > 0 ? `(${definitions.join(', ')}) ` : ''}${text}`;
    const given = used.filter(([name]) => values[name] !== undefined).map(([name]) => [name, values[name]]);
    return { query, variables: Object.fromEntries(given) };
  });

describe('repeated operations', () => {
  it.each<[query: string, variables?: Record<string, unknown>]>([
    [
      '{ pets(first: 100) @skip(if: true) { nodes { ...F } } pets(first: 100) { nodes { id } } } fragment F on Pet { category { pets(first: 100) { nodes { id } } } }',
    ],
    [
      'query ($s: Boolean!) { pet(id: 1) { ...F @skip(if: $s) ...F } } fragment F on Pet { name }',
      { s: true },
    ],
    [
      'query ($s: Boolean!) { pet(id: 1) { ...F @skip(if: $s) ...F } } fragment F on Pet { name }',
      { s: false },
    ],
    [
      'query ($s: Boolean!) { a: pet(id: 1) { ...F } b: pet(id: 2) { ...F @include(if: $s) } } fragment F on Pet { name }',
      { s: false },
    ],
    [
      'query ($s: Boolean!) { pet(id: 1) { category { id } ... @include(if: $s) { category { name } } } }',
      { s: false },
    ],
    [
      `{ pet(id: 1) { bad: orders(first: ${UNREADABLE}) { nodes { id } } } pet(id: 1) { bad: orders(first: ${UNREADABLE}) { totalCount } } }`,
    ],
  ])('matches graphql-js on every use of %s', async (query, variables = {}) => {
    expect(await expectSame({ query, variables })).toBe(true);
    // Other values of the condition must not affect later uses.
    if ('s' in variables) await expectSame({ query, variables: { s: !variables.s } });
    await expectSame({ query, variables });
  });

  it('matches graphql-js for arbitrary directives, fragments and response keys', {
    timeout: 900_000,
  }, async () => {
    let ran = 0;
    await fc.assert(
      fc.asyncProperty(requests, async (request) => {
        if (await expectSame(request)) ran++;
      }),
      { numRuns: RUNS },
    );
    expect(ran).toBeGreaterThan(0.9 * RUNS);
  });
});

describe('compilation', () => {
  /** Uses operations in turn and returns for each use whether there was compiled code. */
  function uses(
    ...requests: readonly (readonly [query: string, variables?: Record<string, unknown>])[]
  ): boolean[] {
    const documents = new Documents(schema, { introspection: true });
    const plans = new ExecutionPlans(schema, documents, { suggest: true });
    const compiler = new Compiler(executionSchemas(schema), documents, (error) => reported.push(error));
    return requests.map(([query, variables = {}]) => {
      const { only } = documents.get(query) as ValidDocument;
      const coerced = plans.coerce(only!, variables);
      return compiler.codeFor(plans.planOf(only!, coerced)) !== null;
    });
  }
  const fields = (count: number, prefix = 'a') =>
    Array.from({ length: count }, (_, i) => `${prefix}${i}: id`).join(' ');

  it('compiles an operation from its second use on', () => {
    expect(uses(...new Array(4).fill(['{ pet(id: 1) { id } }']))).toEqual([false, true, true, true]);
  });

  it('compiles each combination of conditions from its second use on', () => {
    const text = 'query ($s: Boolean!) { pet(id: 1) { id name @skip(if: $s) } }';
    const [yes, no] = [[text, { s: true }] as const, [text, { s: false }] as const];
    expect(uses(yes, yes, no, no, yes, no)).toEqual([false, true, false, true, true, true]);
  });

  it('compiles operations of up to 300 fields and no larger ones', () => {
    const text = (more: string) =>
      [
        `{ a: pet(id: 1) { ...F } b: pet(id: 1) { ...F } c: pet(id: 1) { ...F } ${more} } fragment F on Pet { ${fields(99)} }`,
      ] as const;
    expect(uses(text(''), text(''))).toEqual([false, true]);
    expect(uses(text('__typename'), text('__typename'), text('__typename'))).toEqual([false, false, false]);
  });

  it('stops compiling when the cache space of the document is used up', () => {
    const text = `query ($s: Boolean!) { pet(id: 1) { ${fields(200)} name @skip(if: $s) } }`;
    const [yes, no] = [[text, { s: true }] as const, [text, { s: false }] as const];
    expect(uses(yes, yes, no, no, no, yes)).toEqual([false, true, false, false, false, true]);
  });

  it('takes a missing variable inside an input object for absent, not for null', async () => {
    const filter = 'query ($c: ID) { pets(filter: {status: [sold], categoryId: $c}) { totalCount } }';
    const patch = 'mutation ($d: String) { updateCategory(id: 1, input: {description: $d}) { description } }';
    for (const text of [filter, patch]) {
      expect(uses([text], [text], [text]), text).toEqual([false, true, true]);
    }
    for (const variables of [{}, { c: '1' }, {}, { c: null }]) await expectSame({ query: filter, variables });
  });

  it('does not compile operations with names from Object.prototype', () => {
    for (const text of [
      '{ constructor: __typename pet(id: 1) { id } }',
      '{ pet(id: 1) { toString: id } }',
      'query ($valueOf: ID!) { pet(id: $valueOf) { id } }',
      '{ ...hasOwnProperty } fragment hasOwnProperty on Query { pet(id: 1) { id } }',
    ])
      expect(uses(...new Array(3).fill([text, { valueOf: 1 }])), text).toEqual([false, false, false]);
  });

  it('returns null and reports the cause if compilation fails', () => {
    const documents = new Documents(schema, { introspection: true });
    const plans = new ExecutionPlans(schema, documents, { suggest: true });
    const other = buildSchema('type Mutation { x: Int }', { assumeValid: true });
    const reported: Error[] = [];
    const compiler = new Compiler(
      { query: other, mutation: other, subscription: other },
      documents,
      (error) => reported.push(error as Error),
    );
    const { only } = documents.read('{ pet(id: 1) { id } }') as ValidDocument;
    expect(compiler.compile(only!.node, plans.planOf(only!, {}).selected.selection)).toBeNull();
    expect(reported[0]!.message).toBe('An operation could not be compiled');
    expect(reported[0]!.cause).toHaveLength(1);
  });

  it('interprets an operation on every use if compilation fails', async () => {
    const request = { query: '{ pet(id: 1) { n: name category { name } } }', variables: {} };
    const compile = vi.spyOn(Compiler.prototype, 'compile').mockReturnValue(null);
    try {
      await expectSame(request);
      // Neither the second use nor the third compiles again.
      expect(compile).toHaveBeenCalledTimes(1);
    } finally {
      compile.mockRestore();
    }
  });

  it('locates the errors of compiled mutations', async () => {
    const text = `mutation ($a: Int, $b: Int) {
      a: updatePet(id: 1, input: {}) { category { pets(first: $a) { totalCount } } }
      b: updatePet(id: 1, input: {}) { category { pets(first: $b) { totalCount } } }
    }`;
    expect(uses([text], [text])).toEqual([false, true]);
    for (let time = 1; time <= 3; time++) {
      for (const [key, line] of [
        ['a', 2],
        ['b', 3],
      ] as const) {
        const prepared = operations.prepare({ query: text, variables: { [key]: UNREADABLE } });
        const { errors } = await prepared.execute(newContext(opened.store));
        expect(errors).toMatchObject([
          { path: [key, 'category', 'pets'], locations: [{ line, column: 51 }] },
        ]);
      }
    }
  });

  it('locates errors correctly when response keys joined by underscores are ambiguous', async () => {
    const text = `mutation {
      a: updatePet(id: 1, input: {}) { category { id } }
      a_category: deletePet(id: 99)
    }`;
    for (let time = 1; time <= 3; time++) {
      const prepared = operations.prepare({ query: text });
      const { errors } = await prepared.execute(newContext(opened.store));
      expect(errors).toMatchObject([{ path: ['a_category'], locations: [{ line: 3, column: 7 }] }]);
    }
  });
});
