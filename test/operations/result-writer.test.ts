import { buildSchema, type OperationDefinitionNode, parse } from 'graphql';
import { expect, it } from 'vitest';
import { jsonOf } from '../../src/kit/json-writer.ts';
import { resultWriter } from '../../src/operations/plan.ts';
import { select } from '../../src/operations/selection.ts';

const animals = buildSchema(`
  scalar Any
  enum Mood { CALM, WILD }
  interface Animal { name: String!, friend: Friend }
  type Cat implements Animal { name: String!, friend: Friend, mood: Mood }
  type Dog implements Animal { name: String!, friend: Friend, weight: Float }
  type Friend { name: String, age: Int, tags: [[String]!], any: Any }
  type Query { animals: [Animal], cats: [Cat!]!, friend: Friend, ok: Boolean! }
`);

const write = (query: string, data: object) => {
  const ast = parse(query);
  const node = ast.definitions[0] as OperationDefinitionNode;
  const document = { text: query, ast, operations: new Map() };
  const { selection } = select(animals, { document, node }, {});
  return jsonOf(resultWriter(selection), { data });
};

const cases: [query: string, data: object][] = [
  ['{ ok o: ok }', { ok: true, o: false }],
  ['{ cats { name mood } }', { cats: [{ name: 'Tom "T" Ö \u2028', mood: 'CALM' }] }],
  ['{ cats { name } }', { cats: [] }],
  ['{ animals { name } }', { animals: null }],
  ['{ cats { friend { name } } }', { cats: [{ friend: null }, { friend: { name: null } }] }],
  [
    '{ friend { age tags any } }',
    { friend: { age: -3, tags: [['a', null], []], any: { b: [1.5, { c: '' }] } } },
  ],
  ['{ cats { name @skip(if: true) } }', { cats: [{}] }],
  [
    '{ animals { ... on Cat { friend { name } } ... on Dog { friend { age } weight } } }',
    { animals: [{ friend: { name: 'Tom' } }, { friend: { age: 3 }, weight: 0.5 }] },
  ],
  ['{ animals { ... on Cat { mood } } }', { animals: [{ mood: null }, {}] }],
];
it.each(cases)('writes the result of %s', (query, data) => {
  expect(write(query, data)).toBe(JSON.stringify({ data }));
});
