import { executeSync, type GraphQLInterfaceType, getIntrospectionQuery, parse } from 'graphql';
import { describe, expect, it } from 'vitest';
import type { Context } from '../../src/kit/context.ts';
import { Operations } from '../../src/operations/operations.ts';
import type { OperationRefused } from '../../src/operations/refusal.ts';
import { schema } from '../../src/schema.ts';
import { dataOf, makeWorld, query, sqlite, useGateway } from '../kit/petstore.ts';

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
    ['{ a: __typename __schema { __typename a: description queryType { name } } }'],
    ['{ __schema { mutationType { name } subscriptionType { name } types { name kind } } }'],
    [`{ __type(name: "Pet") { ...T fields { name description args { name } type { ...T } } } } ${TYPE}`],
    [`{ __type(name: "NewPet") { inputFields { name defaultValue type { ...T } } } } ${TYPE}`],
    ['{ __type(name: "PetStatus") { enumValues { name isDeprecated deprecationReason } fields { name } } }'],
    ['{ __type(name: "Node") { possibleTypes { name interfaces { name } } } }'],
    ['{ __type(name: "DateTime") { specifiedByURL kind isOneOf } }'],
    ['{ a: __type(name: "Nothing") { name } b: __type(name: "Order") { name } }'],
    ['{ __schema { directives { name isRepeatable locations args { name defaultValue } } } }'],
    ['query ($n: String!) { __type(name: $n) { name kind } }', { n: 'Pet' }, { n: 'Order' }, { n: 'x' }],
    ['query ($n: String = "Pet") { __type(name: $n) { name } }', {}, { n: 'Order' }, {}],
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
    // The same object under two selections, and under one selection twice.
    ['{ a: __type(name: "Pet") { name } b: __type(name: "Pet") { kind } c: __type(name: "Pet") { name } }'],
    ['{ __schema { queryType { a: fields { name } b: fields { description } } } }'],
    [getIntrospectionQuery({ oneOf: true, inputValueDeprecation: true })],
  ])('returns the same data as graphql-js on every use of $0', async (text, ...variables) => {
    const operations = new Operations(schema, () => {});
    for (let time = 0; time < 3; time++)
      for (const values of variables.length > 0 ? variables : [{}])
        expect(await dataFrom(operations, text, values), JSON.stringify(values)).toEqual(
          expectedOf(text, values),
        );
  });

  it('allows 1.5 times as many fields as the full introspection query has', async () => {
    const full = getIntrospectionQuery({
      specifiedByUrl: true,
      directiveIsRepeatable: true,
      schemaDescription: true,
      inputValueDeprecation: true,
      oneOf: true,
    });
    const max = Math.floor(1.5 * fieldsIn(expectedOf(full)));
    const types = Object.keys(schema.getTypeMap()).length;
    // `__schema`, `types` and every name of every type count. `__typename` makes up the rest.
    const names = Math.floor((max - 2) / types);
    const rest = max - 2 - names * types;
    const queryFor = (more: number) => {
      const text = (prefix: string, count: number, field: string) =>
        Array.from({ length: count }, (_, i) => `${prefix}${i}: ${field}`).join(' ');
      return `{ __schema { types { ${text('n', names, 'name')} } ${text('r', rest + more, '__typename')} } }`;
    };
    const operations = new Operations(schema, () => {});
    expect(fieldsIn(await dataFrom(operations, queryFor(0)))).toBe(max);
    for (let time = 0; time < 3; time++) {
      let refusal: OperationRefused | undefined;
      try {
        operations.prepare({ query: queryFor(1) });
      } catch (error) {
        refusal = error as OperationRefused;
      }
      expect(refusal!.errors).toEqual([
        {
          message: `The operation requests more than ${max.toLocaleString('en-US')} fields of the schema.`,
          extensions: { code: 'QUERY_TOO_COMPLEX', status: 400 },
        },
      ]);
    }
  });

  it('counts an object each time it appears in the result', () => {
    // Alternating between possibleTypes and interfaces repeats a few objects many times.
    const types = schema.getPossibleTypes(schema.getType('Node') as GraphQLInterfaceType).length;
    const times = Math.floor(Math.log(2_000) / Math.log(types));
    const [down, up] = ['possibleTypes { interfaces { '.repeat(times), ' } }'.repeat(times)];
    const queryFor = (selection: string) => ({
      query: `{ __type(name: "Node") { ${down}${selection}${up} } }`,
    });
    const operations = new Operations(schema, () => {});
    expect(() => operations.prepare(queryFor('name'))).not.toThrow();
    const names = Array.from({ length: 40 }, (_, i) => `n${i}: name`).join(' ');
    expect(() => operations.prepare(queryFor(names))).toThrow(/fields of the schema/);
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
