import fc from 'fast-check';
import {
  buildSchema,
  coerceInputValue,
  type GraphQLInputType,
  GraphQLList,
  type GraphQLScalarType,
  type OperationDefinitionNode,
  parse,
  typeFromAST,
} from 'graphql';
import { describe, expect, it } from 'vitest';
import { IdScalar, idIssues } from '../../src/kit/arguments.ts';
import { namingValues } from '../../src/operations/result.ts';
import { coerceVariables } from '../../src/operations/variables.ts';
import { cases } from '../kit/cases.ts';
import { dataOf, expectQueryRefusal, query, sqlite, useGateway } from '../kit/petstore.ts';

const RUNS = { numRuns: Number(process.env.PROPERTY_RUNS ?? cases(20, 100)) };

/** Contains every kind of input type within every other. */
const schema = buildSchema(`
  enum Kind { CAT DOG }
  scalar Odd
  input Thing {
    required: Int! defaulted: Int! = 1 optional: Float kind: Kind text: String flag: Boolean id: ID odd: Odd
    things: [Thing!] grid: [[Int!]] thing: Thing
  }
  type Query { ask(things: [Thing!], thing: Thing, kinds: [Kind!], grid: [[Int!]!], odds: [Odd]): Int }
`);
(schema.getType('Odd') as GraphQLScalarType).parseValue = (value) => (value === 'none' ? undefined : value);

const TYPES = { things: '[Thing!]', thing: 'Thing', kinds: '[Kind!]', grid: '[[Int!]!]', odds: '[Odd]' };
type Argument = keyof typeof TYPES;

const typeOf = (name: Argument): GraphQLInputType => {
  const document = parse(`query ($v: ${TYPES[name]}) { ask(${name}: $v) }`);
  const { variableDefinitions } = document.definitions[0] as OperationDefinitionNode;
  return typeFromAST(schema, variableDefinitions![0]!.type as never) as unknown as GraphQLInputType;
};

/** The coerced values and the issues of graphql-js, variable by variable. */
function expectedOf(values: Partial<Record<Argument, unknown>>) {
  const issues: { path: string; message: string }[] = [];
  const coerced: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(values))
    coerced[name] = coerceInputValue(value, typeOf(name as Argument), (path, _value, { message }) => {
      const named = typeof path[0] === 'string' ? path : [name, ...path];
      issues.push({ path: named.join('.'), message: namingValues(schema, message).replace(/\.$/, '') });
    });
  return { coerced, issues };
}

function expectSame(values: Partial<Record<Argument, unknown>>): void {
  const { coerced, issues } = expectedOf(values);
  const names = Object.keys(values) as Argument[];
  const definitions = names.map((name) => `$${name}: ${TYPES[name]}`);
  const used = names.map((name) => `${name}: $${name}`);
  const document = parse(`query (${definitions.join(', ')}) { ask(${used.join(', ')}) }`);
  const node = document.definitions[0] as OperationDefinitionNode;
  const needs = { ids: new Set<string>(), neverNull: new Set<string>() };
  const coerce = () => coerceVariables(schema, node, () => needs, values, { suggest: true });
  const about = JSON.stringify(values);
  if (issues.length === 0) expect({ ...coerce() }, about).toEqual(coerced);
  else expect(coerce, about).toThrow(expect.objectContaining({ fields: issues.slice(0, 20) }));
}

const many = (count: number, value: unknown) => Array.from({ length: count }, () => value);

const thing = fc.letrec((tie) => ({
  thing: fc.record(
    {
      required: fc.constantFrom<unknown>(1, 1.5, '1', null),
      defaulted: fc.constantFrom<unknown>(1, null, true),
      optional: fc.constantFrom<unknown>(0.5, 'x', null),
      kind: fc.constantFrom<unknown>('CAT', 'cat', 7, null),
      text: fc.constantFrom<unknown>('x', 7, [], null),
      flag: fc.constantFrom<unknown>(true, 'true', null),
      id: fc.constantFrom<unknown>('a', 1, true, null),
      odd: fc.constantFrom<unknown>('none', {}, 1),
      things: fc.oneof({ maxDepth: 1 }, fc.constant(null), fc.array(tie('thing'), { maxLength: 3 })),
      grid: fc.constantFrom<unknown>(1, [1, 'x'], [[1], [null, 2.5], null, 7], 'x'),
      thing: fc.oneof({ maxDepth: 1 }, fc.constantFrom<unknown>(null, 7, []), tie('thing')),
      unknown: fc.constant(1),
      constructor: fc.constant(1),
    },
    { requiredKeys: [] },
  ),
})).thing;

describe('issues of variables', () => {
  it.each<[what: string, values: Partial<Record<Argument, unknown>>]>([
    [
      'no issues',
      { thing: { required: 1 }, kinds: ['CAT', 'DOG'], grid: [[1, 2], [3]], odds: [null, 'odd'] },
    ],
    ['a single value for a list', { kinds: 'CAT', grid: 7, things: { required: 1 } }],
    ['20 issues', { kinds: many(20, 'COW') }],
    ['21 issues', { kinds: many(21, 'COW') }],
    ['15 issues in each of two variables', { kinds: many(15, 'COW'), odds: many(15, 'none') }],
    ['25 issues in each of two variables', { kinds: many(25, 'COW'), odds: many(25, 'none') }],
    [
      'fields named like those of Object.prototype',
      { thing: { required: 1, things: many(25, { toString: 1, constructor: 1 }) } },
    ],
  ])('lists the same issues as graphql-js for %s', (_what, values) => {
    expectSame(values);
  });

  it('lists the same issues as graphql-js for arbitrary values', () => {
    const values = fc.record(
      {
        things: fc.array(thing, { maxLength: 10 }),
        thing,
        kinds: fc.array(fc.constantFrom<unknown>('CAT', 'COW', null, 7), { maxLength: 40 }),
        odds: fc.array(fc.constantFrom<unknown>('none', 1), { maxLength: 40 }),
      },
      { requiredKeys: ['kinds'] },
    );
    fc.assert(fc.property(values, expectSame), RUNS);
  });
});

it('names malformed ids in lists by their place', () => {
  expect(idIssues(new GraphQLList(IdScalar), ['1', 'x', null], 'v').map(({ path }) => path)).toEqual(['v.1']);
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
    // What a scalar refuses and what only the use of a variable tells, together.
    [
      'query ($a: ID!, $b: ID!, $c: ID!) { a: pet(id: $a) { id } b: order(id: $b) { id } c: pet(id: $c) { id } }',
      { a: 'x', b: true, c: '01' },
      [
        ['a', ID],
        ['b', ID],
        ['c', ID],
      ],
    ],
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
