import fc from 'fast-check';
import { getIntrospectionQuery } from 'graphql';
import { describe, expect, it } from 'vitest';
import { Category } from '../../src/domains/category/category.ts';
import { Order } from '../../src/domains/order/order.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { Operations } from '../../src/operations/operations.ts';
import { OperationRefused } from '../../src/operations/result.ts';
import { schema } from '../../src/schema.ts';
import { anyCharacter, cases } from '../kit/cases.ts';
import { dataOf, expectQueryRefusal, query, send, sqlite, useGateway } from '../kit/petstore.ts';

const TYPOS: [what: string, text: string, variables?: Record<string, unknown>][] = [
  ['field', '{ petz { nodes { id } } }'],
  ['argument', '{ pets(frist: 1) { nodes { id } } }'],
  ['type', 'query ($input: NewPett!) { pets { nodes { id } } }'],
  ['fragment type', '{ pets { nodes { ... on Pett { id } } } }'],
  ['input field', 'mutation { createCategory(input: {nam: "x"}) { id } }'],
  ['enum value', '{ pets(filter: {status: [solt]}) { nodes { id } } }'],
  ['directive', '{ pets @skipp(if: true) { nodes { id } } }'],
  [
    'variable',
    'query ($filter: PetFilter) { pets(filter: $filter) { nodes { id } } }',
    { filter: { status: ['solt'] } },
  ],
];
const INTROSPECTION: [what: string, text: string][] = [
  ['the whole schema', getIntrospectionQuery()],
  ['a type', '{ __type(name: "Pet") { name } }'],
  ['a type within a fragment', '{ ...F } fragment F on Query { t: __type(name: "Pet") { name } }'],
];

describe('INTROSPECTION=on', () => {
  const kit = useGateway(sqlite);

  it.each(INTROSPECTION)('returns %s', async (_what, text) => {
    dataOf(await query(kit.gateway, text));
  });

  it('suggests the right name for a typo', async () => {
    const sent = await query(kit.gateway, '{ petz { nodes { id } } }');
    expectQueryRefusal(sent, 'GRAPHQL_VALIDATION_FAILED', /Did you mean/);
  });
});

describe('INTROSPECTION=off', () => {
  const kit = useGateway(sqlite, { INTROSPECTION: 'off' });

  it.each(INTROSPECTION)('refuses queries for %s over POST and GET', async (_what, text) => {
    expectQueryRefusal(await query(kit.gateway, text), 'GRAPHQL_VALIDATION_FAILED', /introspection/);
    const url = `GET /graphql?${new URLSearchParams({ query: text })}`;
    expectQueryRefusal(await send(kit.gateway, url), 'GRAPHQL_VALIDATION_FAILED', /introspection/);
  });

  it.each(TYPOS)('suggests nothing for a wrong %s', async (_what, text, variables) => {
    const sent = await query(kit.gateway, text, variables);
    expect(sent.status, sent.about).toBe(400);
    expect(sent.text, sent.about).not.toMatch(/did you mean/i);
  });

  it('still allows __typename', async () => {
    expect(dataOf(await query(kit.gateway, '{ __typename pets { nodes { __typename } } }'))).toEqual({
      __typename: 'Query',
      pets: { nodes: [] },
    });
  });
});

describe('responses of compiled operations', () => {
  const kit = useGateway(sqlite);
  const OPERATION = `query ($id: ID!, $order: ID!, $yes: Boolean = false) {
    category(id: $id) { id name description pets { totalCount nodes { status inventory { quantity } } } }
    none: category(id: 9223372036854775807) { id }
    order(id: $order) { complete petId quantity }
    dated: order(id: $order) @include(if: $yes) { shipDate }
    rateLimit { plan }
    __typename
  }`;
  const PLAIN = OPERATION.replace(/dated.*/, '').replace(', $yes: Boolean = false', '');

  it('equals the response of the interpreted operation exactly, whatever the data', async () => {
    const { store } = kit.gateway;
    for (let use = 0; use < 2; use++) {
      for (const yes of [false, true]) await query(kit.gateway, OPERATION, { id: 1, order: 1, yes });
      await query(kit.gateway, PLAIN, { id: 1, order: 1 });
    }
    const text = fc
      .string({ unit: anyCharacter, minLength: 1, maxLength: 80 })
      .map((value) => value.replace(/[\p{Cc}\p{Cs}]/gu, '"\\').trim() || '\u2028');
    await fc.assert(
      fc.asyncProperty(text, text, fc.nat(1), async (name, description, n) => {
        const { id } = await store.table(Category).insert({ name, ...(n && { description }) });
        await store.table(Pet).insert({ name, categoryId: id, status: 'sold' });
        const order = await store.table(Order).insert({
          complete: n === 1,
          ...(n && { shipDate: '2026-01-31T09:30:00Z' }),
        });
        const given = { id, order: order.id };
        for (const [variant, variables] of [
          [OPERATION, given],
          [OPERATION, { ...given, yes: true }],
          [PLAIN, given],
        ] as const) {
          const compiled = await query(kit.gateway, variant, variables);
          // The unique text makes it a new operation, which is interpreted the first time.
          const interpreted = await query(kit.gateway, `${variant} # ${id}`, variables);
          expect(compiled.json.errors, compiled.about).toBeUndefined();
          expect(compiled.text).toBe(interpreted.text);
          expect(compiled.json.data.category.name).toBe(name);
        }
      }),
      { numRuns: Number(process.env.PROPERTY_RUNS ?? cases(8, 100)) },
    );
  });
});

describe('operations of a document', () => {
  const kit = useGateway(sqlite);
  const run = (operationName: unknown, query: string) =>
    send(kit.gateway, 'POST /graphql', { body: { query, operationName } });
  const TWO = 'query A { a: __typename } mutation B { b: __typename }';

  it.each([
    [undefined, 'Must provide operation name if query contains multiple operations.'],
    [null, 'Must provide operation name if query contains multiple operations.'],
    ['', 'Must provide operation name if query contains multiple operations.'],
    ['C', 'Unknown operation named "C".'],
    ['toString', 'Unknown operation named "toString".'],
  ])('refuses operationName %j: %s', async (name, message) => {
    expectQueryRefusal(await run(name, TWO), 'GRAPHQL_VALIDATION_FAILED', message);
  });

  it('runs the named operation, or the only one', async () => {
    expect(dataOf(await run('A', TWO))).toEqual({ a: 'Query' });
    expect(dataOf(await run('B', TWO))).toEqual({ b: 'Mutation' });
    for (const name of ['A', undefined, null, ''])
      expect(dataOf(await run(name, 'query A { a: __typename }'))).toEqual({ a: 'Query' });
  });

  it('never shares a plan between combinations of the variables of @skip and @include', async () => {
    const text = `query ($all: Boolean!, $few: Boolean!) {
      a: pet(id: 1) @include(if: $all) { id }
      b: pets(first: 100) @skip(if: $few) { nodes { id category { __typename } } totalCount }
      rateLimit { cost }
    }`;
    const pet = { a: null };
    const pets = { b: { nodes: [], totalCount: 0 } };
    const [both, none] = [
      [true, false],
      [false, true],
    ] as const;
    const [onlyPet, onlyPets] = [
      [true, true],
      [false, false],
    ] as const;
    for (const order of [
      [onlyPet, onlyPets, both, none],
      [none, both, onlyPets, onlyPet],
      [both, onlyPet, none, onlyPets],
    ]) {
      for (const [all, few] of order) {
        const cost = Number(all) + Number(!few);
        const sent = await query(kit.gateway, text, { all, few });
        expect(dataOf(sent), sent.about).toEqual({
          ...(all && pet),
          ...(!few && pets),
          rateLimit: { cost },
        });
      }
    }
  });
});

describe('internal operations', () => {
  it('refuses an invalid operation when it is prepared', () => {
    const reported: unknown[] = [];
    const operations = new Operations(schema, (error) => reported.push(error));
    for (const text of ['{', '{ nothing }', '{ pet(id: 1, x: 2) { id } }'])
      expect(() => operations.prepareInternal(text), text).toThrow(OperationRefused);
    expect(operations.prepareInternal('query ($id: ID!) { pet(id: $id) { id } }')).toBeInstanceOf(Function);
    expect(reported).toEqual([]);
  });
});
