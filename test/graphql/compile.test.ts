import fc from 'fast-check';
import {
  buildSchema,
  type ExecutionResult,
  execute,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLScalarType,
  parse,
} from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { api } from '../../src/api.ts';
import { AppError } from '../../src/foundation/errors.ts';
import { Documents } from '../../src/graphql/documents.ts';
import { ExecutionPlans } from '../../src/graphql/execution-plan.ts';
import { coerceVariables } from '../../src/graphql/variables.ts';
import { serializeIn } from '../../src/schema/builder.ts';
import { cases } from '../kit/cases.ts';
import { failing } from '../kit/failing.ts';
import { TestGateway } from '../kit/gateway.ts';
import { makeWorld, query, sqlite, type World } from '../kit/petstore.ts';
import type { OpenedStore } from '../kit/stores.ts';

const { schema } = api;

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
    const plans = new ExecutionPlans(schema, (error) => reported.push(error));
    return requests.map(([query, inputs = {}]) => {
      const [operation] = documents.get(query).operations.values();
      const variables = coerceVariables(schema, operation!.node, inputs, { suggest: true });
      return plans.compiledFor(plans.planOf(operation!, variables), variables) !== null;
    });
  }
  const fields = (count: number, prefix = 'a') =>
    Array.from({ length: count }, (_, i) => `${prefix}${i}: id`).join(' ');

  it('compiles each combination of conditions from its second use on', () => {
    const text = 'query ($s: Boolean!) { pet(id: 1) { id name @skip(if: $s) } }';
    const yes = [text, { s: true }] as const;
    const no = [text, { s: false }] as const;
    expect(uses(yes, yes, no, no, yes, no)).toEqual([false, true, false, true, true, true]);
  });

  it('forgets what was not used for the longest time, whether it is large by its fields, its text or its fragments', () => {
    const large = (n: number): string[] => [
      `{ pet(id: ${n}) { ${fields(98)} } }`,
      `{ pet(id: ${n}) { id } } # ${'x'.repeat(90_000)}`,
      `{ pet(id: ${n}) { ${'...F '.repeat(600)} } } fragment F on Pet { id }`,
    ];
    for (const kind of large(0).keys()) {
      const text = (n: number) => [large(n)[kind]!] as const;
      const others = (count: number) => Array.from({ length: count }, (_, n) => text(n + 2));
      expect(uses(text(1), ...others(20), text(1)).at(-1)).toBe(true);
      expect(uses(text(1), ...others(250), text(1)).at(-1)).toBe(false);
    }
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
      const inputs = { c: '1', d: 'x' };
      expect(uses([text, inputs], [text, inputs], [text], [text, inputs]), text).toEqual([
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
    const plans = new ExecutionPlans(other, (error) => reported.push(error as Error));
    expect(plans.compile(other, parse('{ pet(id: 1) { id } }'))).toBeNull();
    expect(reported[0]!.message).toBe('An operation could not be compiled');
    expect(reported[0]!.cause).toHaveLength(1);
  });

  const custom = ['JSON', 'DateTime', 'Date'];
  it.each([
    {
      kind: 'scalars of the specification and enums',
      types: ['Int', 'Float', 'String', 'Boolean', 'ID', 'Plan'],
    },
    // Compiled code takes NaN for null, which no resolver of theirs returns.
    { kind: 'custom scalars', types: custom, isDrawn: (drawn: unknown) => !Number.isNaN(drawn) },
  ])(
    'serialises what resolvers return as graphql-js does: $kind',
    async ({ types, isDrawn = () => true }) => {
      const fields = types.flatMap((type) => [type, `${type}!`, `[${type}!]!`]);
      const text = `enum Plan { free pro }
      ${custom.map((name) => `scalar ${name}`).join(' ')}
      type Query { ${fields.map((_, n) => `f${n}: Box${n}`).join(' ')} }
      ${fields.map((type, n) => `type Box${n} { value: ${type} }`).join(' ')}`;
      const schemaOf = (adapt: (field: GraphQLField<unknown, never>) => void) => {
        const built = buildSchema(text);
        for (const name of custom) {
          const { serialize } = schema.getType(name) as GraphQLScalarType;
          Object.assign(built.getType(name) as GraphQLScalarType, { serialize });
        }
        for (const n of fields.keys()) {
          built.getQueryType()!.getFields()[`f${n}`]!.resolve = () => ({});
          const field = (built.getType(`Box${n}`) as GraphQLObjectType).getFields().value!;
          field.resolve = (_root, _args, value: () => unknown) => value();
          adapt(field as never);
        }
        return built;
      };
      const document = parse(`{ ${fields.map((_, n) => `f${n} { value }`).join(' ')} }`);
      const interpreted = schemaOf(() => {});
      const adapted = schemaOf(serializeIn as never);
      const compiled = new ExecutionPlans(adapted, (error) => reported.push(error)).compile(
        adapted,
        document,
      )!;
      const outcomeOf = ({ data, errors = [] }: ExecutionResult) => ({
        data: JSON.stringify(data, (_, part) => (typeof part === 'bigint' ? `${part}n` : part)),
        // Clients see none of their messages. Compiled code tells each null of a list that must have none.
        errors: [...new Set(errors.map(({ path }) => path?.slice(0, 2).join('.')))].toSorted(),
      });
      const leaf = fc.oneof(
        fc.anything({ maxDepth: 1, withBigInt: true, withDate: true }),
        fc.constantFrom(
          'free',
          'pro',
          2 ** 31 - 1,
          2 ** 31,
          -(2 ** 31),
          2 ** 53,
          '5',
          5.5,
          '2026-11-27',
          '2026-11-27T12:00:00+01:00',
          NaN,
          Infinity,
          new Error('own'),
        ),
        fc.double(),
        fc.string(),
        fc.boolean(),
      );
      const entry = leaf.filter(isDrawn);
      const value = fc.oneof(entry, fc.array(entry, { maxLength: 2 }));
      const check = fc.asyncProperty(value, fc.boolean(), async (drawn, isLate) => {
        const contextValue = () => (isLate ? Promise.resolve(drawn) : drawn);
        const expected = await execute({ schema: interpreted, document, contextValue });
        const actual = await compiled.query({}, contextValue as never, {});
        expect(outcomeOf(actual as ExecutionResult)).toEqual(outcomeOf(expected));
      });
      await fc.assert(check, { numRuns: cases(100, 2_000) });
    },
  );

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
