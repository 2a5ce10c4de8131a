import {
  buildSchema,
  type GraphQLObjectType,
  getIntrospectionQuery,
  type OperationDefinitionNode,
  parse,
} from 'graphql';
import { describe, expect, it } from 'vitest';
import { api } from '../../src/api.ts';
import { Operations } from '../../src/graphql/operations.ts';
import { measuresOf, priceOf } from '../../src/graphql/price.ts';
import { OperationRefused } from '../../src/graphql/result.ts';
import { select } from '../../src/graphql/selection.ts';

const { schema } = api;

const operations = new Operations(schema, () => {});

/** The same field under `count` aliases. */
const aliases = (count: number, field: string): string =>
  Array.from({ length: count }, (_, i) => `a${i}: ${field}`).join(' ');

const cost = (query: string, variables: Record<string, unknown> = {}): number =>
  operations.prepare({ query, variables }).price;

/** Why a query is refused. */
function refusalOf(query: string) {
  try {
    return cost(query);
  } catch (error) {
    if (!(error instanceof OperationRefused)) throw error;
    return error.errors[0]?.extensions;
  }
}

const TOO_COMPLEX = { code: 'QUERY_TOO_COMPLEX', status: 400 };

/** In each line a price and a query, perhaps with variables. */
const PRICES = `
1 { pet(id: 1) { name } }
6 { categories(first: 50) { nodes { pets(first: 10) { nodes { id } } } } }
6 { categories(last: 50) { edges { node { pets(last: 10) { nodes { id } } } } } }
2 { pet(id: 1) { category { pets(first: 100) { nodes { orders(first: 1) { nodes { id } } } } } } }
0 { rateLimit { plan } }
1 { __schema { types { name } } }
3 { a: pet(id: 1) { id } b: pet(id: 2) { id } pets { nodes { id } } }
2 { pets(first: 100) { nodes { id } edges { node { id } } totalCount } }
1 mutation { createCategory(input: {name: "x"}) { pets(first: 100) { nodes { id } } } }
2 mutation { a: deletePet(id: 1) b: deletePet(id: 2) }
26 query($n: Int) { categories(first: $n) { nodes { pets(first: $n) { nodes { id } } } } } | {"n":50}
0 { pet(id: 1) @skip(if: true) { id } }
# By weight, or by both.
1 { pets(first: 100) { nodes { ${aliases(25, 'id')} } } }
2 { pets(first: 100) { nodes { ${aliases(26, 'id')} } } }
10 { pets(first: 100) { nodes { ${aliases(125, 'name')} } } }
8 { categories(first: 100) { nodes { ${aliases(10, 'description')} } } }
# A one-to-one object weighs 1 plus its selection, at any depth.
1 { pets(first: 100) { nodes { inventory { pet { inventory { pet { inventory { pet { id } } } } } } } } }
1 { pets(first: 100) { nodes { ${aliases(5, 'inventory { pet { inventory { pet { id } } } }')} } } }
2 { pets(first: 100) { nodes { ${aliases(6, 'inventory { pet { inventory { pet { id } } } }')} } } }
# Wrappers weigh nothing, but their contents do.
2 { pets(first: 100) { edges { ${aliases(25, 'cursor')} } pageInfo { hasNextPage } totalCount } }
# The nodes and edges of one page both count.
2 { pets(first: 60) { nodes { id } edges { cursor } } }
1 { pets(first: 100) { totalCount } }
# Fragments are expanded at each spread, and equal keys are merged.
1 { pets(first: 100) { nodes { ...F ...F } } } fragment F on Pet { ${aliases(25, 'id')} }
4 { a: pets { nodes { ...F } } b: pets { nodes { ...F } } } fragment F on Pet { ${aliases(126, 'id')} }
3 query ($ids: [ID!]!) { nodes(nodeIds: $ids) { ... on Category { pets(first: 50) { nodes { id } } } } } | {"ids":["a","b","c","d","e"]}
# The most expensive type of a node counts.
6 { node(nodeId: "x") { ... on Pet { id } ... on Category { pets(first: 100) { nodes { orders: category { pets(first: 5) { totalCount } } } } } } }
0 { ${aliases(100, '__typename')} }
1 { ${aliases(101, '__typename')} }
0 { ${aliases(33, 'rateLimit { plan minute { limit } }')} __typename }
2 { a: __schema { types { name } } b: __schema { types { name } } __typename }
# Introspection costs 1 unit per root field, whatever its entries, and takes none of the free weight.
3 { __schema { ${aliases(101, 'directives { name }')} } __type(name: "Pet") { ${aliases(101, 'fields { name }')} } pet(id: 1) { id } ${aliases(100, '__typename')} }
# A page counts once, whether or not its items are selected.
11 { categories(first: 100) { nodes { pets(first: 10) { totalCount } } } }
5 query ($n: Int) { categories(first: $n) { nodes { pets(last: $n) { totalCount } } } } | {"n":null}
2 { nodes(nodeIds: "x") { ... on Category { pets(first: 100) { totalCount } } } }
2 query ($n: [ID!]!) { nodes(nodeIds: $n) { ... on Category { pets(first: 100) { totalCount } } } } | {"n":["x"]}
2 subscription { events { id pet { id category { pets(first: 2) { nodes { id } } } } } }
`
  .split('\n')
  .flatMap((line): [units: number, text: string, variables: Record<string, unknown>][] => {
    const [, units, text, variables = '{}'] = /^(\d+) (.*?)(?: \| (.*))?$/.exec(line) ?? [];
    return text === undefined ? [] : [[Number(units), text, JSON.parse(variables)]];
  });

describe('operation cost', () => {
  it.each(PRICES)('computes the cost %i of %s', (units, text, variables) => {
    expect(cost(text, variables)).toBe(units);
  });

  it.each([
    ['too much weight', `{ categories(first: 100) { nodes { ${aliases(70, 'description')} } } }`],
    ['an overlong response key', `{ ${'a'.repeat(101)}: __typename }`],
    ['more than 100 errors', `{ ${aliases(150, 'nothing')} }`],
    [
      'more introspection than common tools need',
      `{ __schema { types { ${aliases(300, 'description')} fields { name } } } }`,
    ],
  ])('refuses %s as QUERY_TOO_COMPLEX', (_what, query) => {
    for (let time = 1; time <= 3; time++) expect(refusalOf(query)).toEqual(TOO_COMPLEX);
  });

  it('refuses operations above 50 units and states their cost', () => {
    const pets = (count: number) => `{ ${aliases(count, 'pet(id: 1) { id }')} }`;
    expect(cost(pets(50))).toBe(50);
    expect(() => cost(pets(51))).toThrow(
      'The operation costs 51 units; the maximum is 50. a0 costs 1: send several operations of at most 50 units.',
    );
    const deep = 'pet(id: 1) { orders(first: 100) { nodes { pet { orders(first: 100) { totalCount } } } } }';
    expect(() => cost(`{ ${deep} }`)).toThrow('pet costs 101: ask for less in the lists below it');
    const most = (size: number) =>
      `{ categories(first: ${size}) { nodes { pets(first: 100) { totalCount } } } }`;
    expect(cost(most(49))).toBeLessThanOrEqual(50);
    const wide =
      '{ rateLimit { plan } categories(first: 100) { nodes { pets(first: 100) { totalCount } } } }';
    expect(() => cost(wide)).toThrow(
      'The operation costs 101 units; the maximum is 50. categories costs 101: first: 49 fits.',
    );
  });

  it('allows response keys of 100 characters and the full introspection query', () => {
    expect(cost(`{ ${'a'.repeat(100)}: __typename }`)).toBe(0);
    const query = getIntrospectionQuery({
      specifiedByUrl: true,
      directiveIsRepeatable: true,
      schemaDescription: true,
      inputValueDeprecation: true,
    });
    expect(cost(query)).toBe(1);
  });

  it('refuses schemas with a text or list of unknown size', () => {
    const modelOf = (fields: string) => () => measuresOf(buildSchema(`type Query { ${fields} }`));
    expect(modelOf('name: String')).toThrow('name: nothing says how long this text can be');
    expect(modelOf('sizes: [Int]')).toThrow('Query.sizes: nothing says how many entries it can have');
    expect(modelOf('sizes(first: Int): [Int] by(ids: [ID!]!): [Int]')).not.toThrow();
  });

  it('prices a list by the size that its field declares, as a number or by its arguments', () => {
    const sized = buildSchema(
      'type Query { days(count: Int): [Day!]! } type Day { names: [String!]! hits: Int! }',
    );
    const days = sized.getQueryType()!.getFields().days!;
    const names = (sized.getType('Day') as GraphQLObjectType).getFields().names!;
    Object.assign(names.extensions, { maxLength: 150 });
    expect(() => measuresOf(sized)).toThrow('Query.days: nothing says how many entries it can have');
    Object.assign(days.extensions, { maxItems: ({ count }: { count?: number }) => count ?? 7 });
    expect(() => measuresOf(sized)).toThrow('Day.names: nothing says how many entries it can have');
    Object.assign(names.extensions, { maxItems: 10 });
    const measures = measuresOf(sized);
    const price = (query: string, variables = {}) => {
      const ast = parse(query);
      const node = ast.definitions[0] as OperationDefinitionNode;
      const document = { text: query, ast, operations: new Map(), bytes: 0 };
      const { selection } = select(sized, { document, node, number: 0, booleans: [] }, variables);
      return priceOf(measures, selection, 'query', variables);
    };
    // A function may also depend on the time.
    expect(price('{ days { hits } }')).toMatchObject({ units: 1, dependsOnTime: true });
    expect(price('{ days(count: 101) { hits } }').units).toBe(2);
    expect(price('query ($n: Int) { days(count: $n) { hits } }', { n: 250 }).units).toBe(3);
    // 100 days with 10 names of weight 2 each.
    expect(price('{ days(count: 100) { names } }').units).toBe(11);
    expect(price('{ days(count: 10) { names a: names b: names c: names } }').units).toBe(5);
    expect(price(`{ days(count: 1) { ${aliases(130, 'names')} } }`).units).toBe(14);
  });

  // A list of webhooks or keys, each with its types or scopes, is dearer over GraphQL, which has no plan to bound it by.
  const DEARER = ['listWebhooks', 'listKeys'];
  it.each(api.routes.filter(({ operationId, method }) => method === 'GET' && !DEARER.includes(operationId)))(
    'charges 1 unit for the document of the REST operation $operationId',
    (route) => {
      // A day and its 100 operations are 101 entries, though a REST call is always one unit.
      const units = route.operationId === 'listUsageOfDay' ? 2 : 1;
      const { definitions } = parse(route.document);
      const { variableDefinitions } = definitions[0] as OperationDefinitionNode;
      const by = [route.operationId === 'countOrders' ? 'complete' : 'status'];
      const values: Record<string, unknown> = { limit: 100, date: '2026-11-21', by };
      const variables = Object.fromEntries(
        variableDefinitions!.map(({ variable: { name } }) => [
          name.value,
          values[name.value] ?? (name.value.endsWith('Id') ? '1' : undefined),
        ]),
      );
      expect(cost(route.document, variables)).toBe(units);
    },
  );

  it.each([
    [
      'more than 30 levels',
      `{ pet(id: 1) { ${'category { pets(first: 1) { nodes { '.repeat(11)}id${' } } }'.repeat(11)} } }`,
    ],
  ])('refuses %s as QUERY_TOO_COMPLEX', (_what, query) => {
    expect(refusalOf(query)).toEqual(TOO_COMPLEX);
  });

  it('refuses what has too many fields before it expands all of them', () => {
    const fragments = Array.from({ length: 13 }, (_, i) => {
      const next = i < 12 ? `...F${i + 1}` : 'id';
      return `fragment F${i} on Pet { a: inventory { pet { ${next} } } b: inventory { pet { ${next} } } }`;
    });
    expect(() => cost(`{ pet(id: 1) { ...F0 } } ${fragments.join(' ')}`)).toThrow(
      'The operation selects more than 10000 fields.',
    );
  });
});
