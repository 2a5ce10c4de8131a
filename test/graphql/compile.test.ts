import { buildSchema, parse } from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AppError } from '../../src/foundation/errors.ts';
import { Documents } from '../../src/graphql/documents.ts';
import { Plans } from '../../src/graphql/plan.ts';
import { coerceVariables } from '../../src/graphql/variables.ts';
import { schema } from '../../src/schema.ts';
import { failing } from '../kit/failing.ts';
import { TestGateway } from '../kit/gateway.ts';
import { makeWorld, query, sqlite, type World } from '../kit/petstore.ts';
import type { OpenedStore } from '../kit/stores.ts';

let opened: OpenedStore;
let gateway: TestGateway;
let world: World;
const reported: unknown[] = [];

beforeAll(async () => {
  opened = await sqlite.open();
  const unreadable = failing(opened.store, /\.pagesByParent$/, () => {
    throw new AppError('CONFLICT', 'cannot be read');
  });
  gateway = await TestGateway.start(unreadable);
  world = await makeWorld({ gateway: { store: opened.store } } as never);
});
afterAll(async () => {
  await gateway.close();
  await opened.close();
});

describe('compilation', () => {
  type Use = readonly [query: string, variables?: Record<string, unknown>];

  /** Uses operations in turn and returns for each use whether there was compiled code. */
  function uses(...requests: readonly Use[]): boolean[] {
    const documents = new Documents(schema, { introspection: true });
    const plans = new Plans(schema, (error) => reported.push(error));
    return requests.map(([query, given = {}]) => {
      const [operation] = documents.get(query).operations.values();
      const variables = coerceVariables(schema, operation!.node, given, { suggest: true });
      return plans.codeFor(plans.planOf(operation!, variables), variables) !== null;
    });
  }
  const fields = (count: number, prefix = 'a') =>
    Array.from({ length: count }, (_, i) => `${prefix}${i}: id`).join(' ');

  it('compiles each combination of conditions from its second use on', () => {
    const text = 'query ($s: Boolean!) { pet(id: 1) { id name @skip(if: $s) } }';
    const [yes, no] = [[text, { s: true }] as const, [text, { s: false }] as const];
    expect(uses(yes, yes, no, no, yes, no)).toEqual([false, true, false, true, true, true]);
  });

  it('forgets what was not used for the longest time beyond 10,000 fields', () => {
    const text = (n: number) => [`{ pet(id: ${n}) { ${fields(98)} } }`] as const;
    const others = (count: number) => Array.from({ length: count }, (_, n) => text(n + 2));
    expect(uses(text(1), ...others(99), text(1)).at(-1)).toBe(true);
    expect(uses(text(1), ...others(100), text(1)).at(-1)).toBe(false);
  });

  it('compiles operations of up to 300 fields and no larger ones', () => {
    const text = (more: string) =>
      [
        `{ a: pet(id: 1) { ...F } b: pet(id: 1) { ...F } c: pet(id: 1) { ...F } ${more} } fragment F on Pet { ${fields(99)} }`,
      ] as const;
    expect(uses(text(''), text(''))).toEqual([false, true]);
    expect(uses(text('__typename'), text('__typename'), text('__typename'))).toEqual([false, false, false]);
  });

  it('compiles operations with variables inside input objects', () => {
    const filter = 'query ($c: ID) { pets(filter: {status: [sold], categoryId: $c}) { totalCount } }';
    const patch = 'mutation ($d: String) { updateCategory(id: 1, input: {description: $d}) { description } }';
    for (const text of [filter, patch]) {
      // graphql-jit takes a variable without a value for null.
      const given = { c: '1', d: 'x' };
      expect(uses([text, given], [text, given], [text], [text, given]), text).toEqual([
        false,
        true,
        false,
        true,
      ]);
    }
  });

  it('does not compile operations with names from Object.prototype', () => {
    for (const text of [
      '{ constructor: __typename pet(id: 1) { id } }',
      '{ pet(id: 1) { toString: id } }',
      'query ($valueOf: ID!) { pet(id: $valueOf) { id } }',
      '{ ...hasOwnProperty } fragment hasOwnProperty on Query { pet(id: 1) { id } }',
    ])
      expect(uses(...Array(3).fill([text, { valueOf: 1 }])), text).toEqual([false, false, false]);
  });

  it('returns null and reports the cause if compilation fails', () => {
    const other = buildSchema('type Mutation { x: Int }', { assumeValid: true });
    const reported: Error[] = [];
    const plans = new Plans(other, (error) => reported.push(error as Error));
    expect(plans.compile(other, parse('{ pet(id: 1) { id } }'))).toBeNull();
    expect(reported[0]!.message).toBe('An operation could not be compiled');
    expect(reported[0]!.cause).toHaveLength(1);
  });

  it('locates the errors of compiled mutations', async () => {
    const text = `mutation ($a: Boolean!, $b: Boolean!) {
      a: updatePet(id: ${world.P}, input: {}) { category { pets @include(if: $a) { totalCount } } }
      b: updatePet(id: ${world.P}, input: {}) { category { pets @include(if: $b) { totalCount } } }
    }`;
    for (let time = 1; time <= 3; time++) {
      for (const [key, line] of [
        ['a', 2],
        ['b', 3],
      ] as const) {
        const { json } = await query(gateway, text, { a: key === 'a', b: key === 'b' });
        expect(json.errors).toMatchObject([
          { path: [key, 'category', 'pets'], locations: [{ line, column: 51 }] },
        ]);
      }
    }
  });

  it('locates errors correctly when response keys joined by underscores are ambiguous', async () => {
    const text = `mutation {
      a: updatePet(id: ${world.P}, input: {}) { category { id } }
      a_category: deletePet(id: 99)
    }`;
    for (let time = 1; time <= 3; time++) {
      const { json } = await query(gateway, text);
      expect(json.errors).toMatchObject([{ path: ['a_category'], locations: [{ line: 3, column: 7 }] }]);
    }
  });
});
