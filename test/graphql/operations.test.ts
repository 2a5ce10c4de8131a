import { getIntrospectionQuery } from 'graphql';
import { describe, expect, it } from 'vitest';
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

  it.each(INTROSPECTION)('answers what asks for %s', async (_what, text) => {
    dataOf(await query(kit.gateway, text));
  });

  it('helps with typos', async () => {
    const sent = await query(kit.gateway, '{ petz { nodes { id } } }');
    expectQueryRefusal(sent, 'GRAPHQL_VALIDATION_FAILED', /Did you mean/);
  });
});

describe('INTROSPECTION=off', () => {
  const kit = useGateway(sqlite, { INTROSPECTION: 'off' });

  it.each(INTROSPECTION)('refuses what asks for %s', async (_what, text) => {
    expectQueryRefusal(await query(kit.gateway, text), 'GRAPHQL_VALIDATION_FAILED', /introspection/);
    const url = `GET /graphql?${new URLSearchParams({ query: text })}`;
    expectQueryRefusal(await send(kit.gateway, url), 'GRAPHQL_VALIDATION_FAILED', /introspection/);
  });

  it.each(TYPOS)('suggests nothing for a wrong %s', async (_what, text, variables) => {
    const sent = await query(kit.gateway, text, variables);
    expect(sent.status, sent.about).toBe(400);
    expect(sent.text, sent.about).not.toMatch(/did you mean/i);
  });

  it('leaves __typename and everything else as it is', async () => {
    expect(dataOf(await query(kit.gateway, '{ __typename pets { nodes { __typename } } }'))).toEqual({
      __typename: 'Query',
      pets: { nodes: [] },
    });
  });
});
