import { executeSync, getIntrospectionQuery, parse } from 'graphql';
import { describe, expect, it } from 'vitest';
import { api } from '../../src/api.ts';
import type { Context } from '../../src/schema/context.ts';
import { Operations } from '../../src/graphql/operations.ts';
import { dataOf, makeWorld, query, sqlite, useGateway } from '../kit/petstore.ts';

const { schema } = api;

const TYPE = 'fragment T on __Type { kind name ofType { kind name ofType { kind name ofType { name } } } }';

/** The data of an operation that queries only the schema, so that none of our resolvers is called. */
const dataFrom = async (operations: Operations, text: string, variables: Record<string, unknown> = {}) => {
  const prepared = operations.prepare({ query: text, variables });
  return JSON.parse(prepared.stringify(await prepared.execute({} as Context))).data;
};

const expectedOf = (text: string, variables: Record<string, unknown> = {}) =>
  JSON.parse(JSON.stringify(executeSync({ schema, document: parse(text), variableValues: variables }).data));

/** The number of fields in a result, on all levels. */
function fieldsIn(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + fieldsIn(item), 0);
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((sum, field) => sum + 1 + fieldsIn(field), 0);
}

describe('introspection', () => {
  it.each<[text: string, ...variables: Record<string, unknown>[]]>([
    ['{ __typename }'],
    [`{ __type(name: "Pet") { ...T fields { name description args { name } type { ...T } } } } ${TYPE}`],
    [`{ __type(name: "NewPet") { inputFields { name defaultValue type { ...T } } } } ${TYPE}`],
    ['{ __type(name: "PetStatus") { enumValues { name isDeprecated deprecationReason } fields { name } } }'],
    ['query ($n: String!) { __type(name: $n) { name kind } }', { n: 'Pet' }, { n: 'Order' }, { n: 'x' }],
    [
      'query ($s: Boolean!) { __type(name: "Pet") { name @skip(if: $s) kind } }',
      { s: true },
      { s: false },
      { s: true },
    ],
    [
      'query ($d: Boolean) { __type(name: "Pet") { fields(includeDeprecated: $d) { name } } }',
      {},
      { d: true },
    ],
    [getIntrospectionQuery({ oneOf: true, inputValueDeprecation: true })],
  ])('returns the same data as graphql-js on every use of $0', async (text, ...variables) => {
    const operations = new Operations(schema, () => {});
    for (let time = 0; time < 3; time++)
      for (const values of variables.length > 0 ? variables : [{}])
        expect(await dataFrom(operations, text, values), JSON.stringify(values)).toEqual(
          expectedOf(text, values),
        );
  });

  it('allows 10,000 fields, counting objects each time they appear, and no more', async () => {
    const operations = new Operations(schema, () => {});
    const text = (count: number) =>
      `{ __schema { types { fields { type { ${Array.from({ length: count }, (_, i) => `n${i}: name`).join(' ')} } } } } }`;
    let most = 1;
    while (fieldsIn(expectedOf(text(most + 1))) <= 10_000) most++;
    expect(fieldsIn(await dataFrom(operations, text(most)))).toBeGreaterThan(9_000);
    expect(() => operations.prepare({ query: text(most + 1) })).toThrow(
      'The operation requests more than 10,000 fields of the schema.',
    );
  });
});

describe('introspection alongside records', () => {
  const kit = useGateway(sqlite);

  it('returns the schema and records in one response', async () => {
    const { P } = await makeWorld(kit);
    const text = `{ __schema { queryType { name } } pet(id: ${P}) { name } __typename }`;
    for (let time = 0; time < 3; time++)
      expect(dataOf(await query(kit.gateway, text))).toEqual({
        __schema: { queryType: { name: 'Query' } },
        pet: { name: 'Rex' },
        __typename: 'Query',
      });
  });
});
