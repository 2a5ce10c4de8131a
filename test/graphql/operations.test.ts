import { getIntrospectionQuery } from 'graphql';
import { describe, expect, it } from 'vitest';
import { dataOf, expectQueryRefusal, query, send, sqlite, useGateway } from '../kit/petstore.ts';

const TYPOS: [what: string, text: string, variables?: Record<string, unknown>][] = [
  ['field', '{ petz { nodes { id } } }'],
  ['argument', '{ pets(frist: 1) { nodes { id } } }'],
  ['type', 'query ($input: NewPett!) { pets { nodes { id } } }'],
  ['fragment type', '{ pets { nodes { ... on Pett { id } } } }'],
  ['input field', 'mutation { createCategory(input: {nam: "x"}) { id } }'],
  ['enum value', '{ pets(filter: {status: [solt, gone]}) { nodes { id } } }'],
  ['directive', '{ pets @skipp(if: true) { nodes { id } } }'],
  [
    'variable',
    'query ($filter: PetFilter) { pets(filter: $filter) { nodes { id } } }',
    { filter: { status: ['solt', 'gone'] } },
  ],
];
const INTROSPECTION: [what: string, text: string][] = [
  ['the whole schema', getIntrospectionQuery()],
  ['a type', '{ __type(name: "Pet") { name } }'],
  ['a type within a fragment', '{ ...F } fragment F on Query { t: __type(name: "Pet") { name } }'],
];

describe('INTROSPECTION=on', () => {
  const kit = useGateway(sqlite);

  it('suggests the right name for a typo', async () => {
    const sent = await query(kit.gateway, '{ petz { nodes { id } } }');
    expectQueryRefusal(sent, 'GRAPHQL_VALIDATION_FAILED', /Did you mean/);
  });

  it('names the values of an enum for an unknown one', async () => {
    const sent = await query(kit.gateway, '{ pets(filter: { status: [gone] }) { nodes { id } } }');
    const message = 'Value "gone" does not exist in "PetStatus" enum (known: available, pending, sold).';
    expectQueryRefusal(sent, 'GRAPHQL_VALIDATION_FAILED', message);
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
    expect(sent.text, sent.about).not.toMatch(/did you mean|known:/i);
  });

  it('still allows __typename', async () => {
    expect(dataOf(await query(kit.gateway, '{ __typename pets { nodes { __typename } } }'))).toEqual({
      __typename: 'Query',
      pets: { nodes: [] },
    });
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

  it('answers an operation of which nothing is left', async () => {
    for (let use = 1; use <= 3; use++)
      expect(dataOf(await query(kit.gateway, '{ pet(id: 1) @skip(if: true) { id } }'))).toEqual({});
  });

  it('runs the named operation, or the only one', async () => {
    expect(dataOf(await run('A', TWO))).toEqual({ a: 'Query' });
    expect(dataOf(await run('B', TWO))).toEqual({ b: 'Mutation' });
    for (const name of ['A', undefined, null, ''])
      expect(dataOf(await run(name, 'query A { a: __typename }'))).toEqual({ a: 'Query' });
  });
});
