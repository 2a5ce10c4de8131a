import { GraphQLList } from 'graphql';
import { describe, expect, it } from 'vitest';
import { IdScalar, textIssues } from '../../src/schema/arguments.ts';
import { dataOf, expectQueryRefusal, query, sqlite, useGateway } from '../kit/petstore.ts';

it('names malformed ids in lists by their place', () => {
  expect(textIssues(new GraphQLList(IdScalar), ['1', 'x', null], 'v').map(({ path }) => path)).toEqual([
    'v.1',
  ]);
});

describe('variables', () => {
  const kit = useGateway(sqlite);
  const NODES = 'query ($ids: [ID!]!) { nodes(nodeIds: $ids) { nodeId } }';
  const PETS = 'query ($filter: PetFilter) { pets(filter: $filter) { totalCount } }';
  const ID = 'must be an integer from 1 to 9223372036854775807';

  it.each<[text: string, variables: Record<string, unknown>, fields: [path: string, message: string][]]>([
    // Fields of an input object are named as over REST, list items by their variable.
    [
      PETS,
      { filter: { status: ['sold', 'gone'], categoryId: 1.5 } },
      [
        ['categoryId', ID],
        ['status.1', 'Value "gone" does not exist in "PetStatus" enum (known: available, pending, sold)'],
      ],
    ],
    [PETS, { filter: { status: ['sold'], categoryId: 'x' } }, [['categoryId', ID]]],
    [
      PETS,
      { filter: { status: [1.5] } },
      [['status.0', 'Enum "PetStatus" cannot represent non-string value: 1.5']],
    ],
    [NODES, { ids: ['x', true] }, [['ids.1', ID]]],
    // The first 20, over all variables.
    [
      'query ($a: [PetStatus!], $b: [PetStatus!]) { a: pets(filter: {status: $a}) { totalCount } b: pets(filter: {status: $b}) { totalCount } }',
      { a: Array(15).fill(1), b: Array(15).fill(1) },
      Array.from({ length: 20 }, (_, n) => [
        n < 15 ? `a.${n}` : `b.${n - 15}`,
        'Enum "PetStatus" cannot represent non-string value: 1',
      ]),
    ],
    ['query ($a: ID!) { pet(id: $a) { id } }', { a: true }, [['a', ID]]],
    // What only the use of a variable tells.
    ['query ($a: ID!) { pet(id: $a) { id } }', { a: 'x' }, [['id', ID]]],
    [NODES, { ids: null }, [['ids', 'must not be null']]],
    [NODES, {}, [['ids', 'is required: a variable of type [ID!]!']]],
    ['query ($id: ID = 1) { pet(id: $id) { id } }', { id: null }, [['id', 'must not be null']]],
    // All faults of an input together, wherever it is written.
    ...[
      [
        'mutation ($input: NewPet!) { createPet(input: $input) { id } }',
        { input: { name: '', categoryId: 0 } },
      ],
      ['mutation { createPet(input: {name: "", categoryId: 0}) { id } }', {}],
      ['mutation ($n: String!) { createPet(input: {name: $n, categoryId: 0}) { id } }', { n: '' }],
      ['mutation ($i: NewPet! = {name: "", categoryId: "x"}) { createPet(input: $i) { id } }', {}],
    ].map(([text, variables]): [string, Record<string, unknown>, [string, string][]] => [
      text as string,
      variables as Record<string, unknown>,
      [
        ['name', 'must have 1 to 200 characters'],
        ['categoryId', ID],
      ],
    ]),
  ])('refuses %s with %j and reports the path of each issue', async (text, variables, fields) => {
    const sent = await query(kit.gateway, text, variables);
    expectQueryRefusal(
      sent,
      'VALIDATION_FAILED',
      `${fields.map(([path, message]) => `${path}: ${message}`).join('; ')}.`,
    );
    expect(sent.json.errors[0].extensions.fields, sent.about).toEqual(
      fields.map(([path, message]) => ({ path, message })),
    );
  });

  it('accepts null or no value for a nullable variable with a default', async () => {
    const text =
      'query ($n: Int = 1, $f: PetFilter = {status: sold}) { pets(first: $n, filter: $f) { totalCount } }';
    for (const variables of [{}, { n: null }, { n: null, f: null }])
      expect(dataOf(await query(kit.gateway, text, variables))).toEqual({ pets: { totalCount: 0 } });
  });
});
