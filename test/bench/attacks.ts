import { getIntrospectionQuery } from 'graphql';
import { PET_STATUSES } from '../../src/domains/pet/pet.ts';

/** A request that is meant to cost more than it pays for. `n` makes each of them another one, where that is dearer. */
export interface Attack {
  name: string;
  /** `/graphql` if missing. */
  path?: string;
  headers?: Readonly<Record<string, string>>;
  /** What is sent as JSON: mostly the parameters of one GraphQL request. */
  parameters: (n: number) => unknown;
}

const names = (count: number, field: string | ((i: number) => string)): string =>
  Array.from({ length: count }, (_, i) => `a${i}:${typeof field === 'string' ? field : field(i)}`).join(' ');
const longNames = (count: number, field: string): string =>
  Array.from({ length: count }, (_, i) => `${'k'.repeat(96)}${i}:${field}`).join(' ');
const fragments = (count: number, on: string, selection: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => `fragment F${i} on ${on} { ${selection(i)} }`).join(' ');
const spreads = (count: number): string => Array.from({ length: count }, (_, i) => `...F${i}`).join(' ');
const wrong = (count: number): string[] => Array.from({ length: count }, (_, i) => i.toString(36));

/** A document that nobody has sent before: it is parsed, validated, weighed and interpreted. */
const fresh = (name: string, query: string, variables?: unknown): Attack => ({
  name,
  parameters: (n) => ({ query: `${query} #${n}`, variables }),
});
/** One that is sent again and again: it is compiled, if that is thought to pay. */
const repeated = (name: string, query: string): Attack => ({ name, parameters: () => ({ query }) });

const STATUSES = 'query ($s: [PetStatus!]) { pets(filter: {status: $s}) { nodes { id } } }';
const FULL_INTROSPECTION = getIntrospectionQuery({
  specifiedByUrl: true,
  directiveIsRepeatable: true,
  schemaDescription: true,
  inputValueDeprecation: true,
});
const NESTED = (first: number) =>
  `{ categories(first: ${first}) { nodes { pets(first: ${Math.floor(4_900 / first)}) { nodes { ${names(24, 'id')} } } } } }`;
const KEYS = `{ categories(first: 20) { nodes { pets(first: 20) { nodes { ${longNames(300, 'id')} } } } } }`;
const DESCRIPTIONS = `{ categories(first: 100) { nodes { ${names(62, 'description')} } } }`;

/** Answers of that kind are written by Yoga. */
const MULTIPART = { accept: 'multipart/mixed' };

/** The most expensive requests that were found, of every kind. */
export const ATTACKS: readonly Attack[] = [
  fresh('1 unit of light fields, new each time', `{ pets(first: 100) { nodes { ${names(25, 'status')} } } }`),
  repeated('1 unit of light fields, repeated', `{ pets(first: 100) { nodes { ${names(25, 'status')} } } }`),
  fresh('one row of 600 names', `{ pet(id: 1) { ${names(600, 'name')} } }`),
  repeated('one row of 280 names, compiled', `{ pet(id: 1) { ${names(280, 'name')} } }`),
  fresh('descriptions', `{ categories(first: 100) { nodes { description } } }`),
  fresh(
    'one-to-one, round and round',
    `{ pets(first: 100) { nodes { ${names(6, 'inventory { pet { inventory { pet { id } } } }')} } } }`,
  ),
  fresh('categories of pets', `{ pets(first: 100) { nodes { ${names(12, 'category { id }')} } } }`),
  fresh(
    '100 pages of one entry',
    `{ category(id: 1) { ${names(100, (i) => `pets(first: 1, after: "${i}") { nodes { id } }`)} } }`,
  ),
  fresh(
    'counts below 50 rows',
    '{ pets(first: 50) { nodes { orders(first: 1) { totalCount pageInfo { hasNextPage hasPreviousPage } } } } }',
  ),
  fresh(
    'page information to both sides',
    '{ pets(first: 50) { nodes { orders(first: 1, after: "0") { pageInfo { hasNextPage hasPreviousPage } } } } }',
  ),
  fresh(
    'nodes and edges',
    '{ pets(first: 50) { nodes { id name } edges { cursor node { id name } } pageInfo { endCursor } totalCount } }',
  ),
  fresh(
    'nodes of all types',
    `{ nodes(nodeIds: [${Array.from({ length: 100 }, (_, i) => `"${Buffer.from(`Pet:${i + 1}`).toString('base64url')}"`)}]) { nodeId ... on Pet { name category { id } } } }`,
  ),
  fresh(
    '50 units at three levels',
    '{ categories(first: 10) { nodes { pets(first: 40) { nodes { name orders(first: 11) { nodes { id quantity shipDate } } } } } } }',
  ),
  fresh('50 units of light fields', NESTED(50)),
  repeated('50 units of light fields, repeated', NESTED(50)),
  fresh('50 units of long response keys', KEYS),
  fresh('50 units of descriptions', DESCRIPTIONS),
  {
    name: 'a batch of 10 × 50 units of descriptions',
    parameters: (n) => Array.from({ length: 10 }, (_, i) => ({ query: `${DESCRIPTIONS} #${n} ${i}` })),
  },
  repeated('introspection, repeated', FULL_INTROSPECTION),
  fresh('introspection, new each time', FULL_INTROSPECTION),
  fresh(
    'introspection with something else',
    FULL_INTROSPECTION.replace('__schema', '__typename pet(id: 1) { id } __schema'),
  ),
  fresh(
    'as much introspection as is allowed',
    `{ __schema { types { ${names(40, 'description')} fields { name description } } } }`,
  ),
  fresh(
    'too much introspection',
    `{ __schema { types { ${'interfaces { possibleTypes { '.repeat(7)} name ${'} }'.repeat(7)} } } }`,
  ),
  fresh('2,000 tokens that are refused', `{ pet(id: 1) { ${'id '.repeat(1_980)} } }`),
  fresh('too many tokens', `{ pet(id: 1) { ${'id '.repeat(30_000)} } }`),
  fresh(
    'the same field 200 times, at two levels',
    `{ ${names(1, 'pet(id: 1)')} { ${'category { id } '.repeat(200)} } }`,
  ),
  fresh(
    'as many pairs to compare as are allowed',
    `{ pet(id: 1) { ${'category { id name } '.repeat(120)} } }`,
  ),
  fresh(
    'arguments to compare',
    `{ ${'pets(first: 1, after: "0", filter: {status: [sold, pending], categoryId: 1}) { nodes { id } } '.repeat(60)} }`,
  ),
  fresh(
    '180 fragments side by side',
    `{ pet(id: 1) { ${spreads(180)} } } ${fragments(180, 'Pet', (i) => `a${i}:id`)}`,
  ),
  fresh(
    '180 fragments one in another',
    `{ pet(id: 1) { ...F0 } } ${fragments(180, 'Pet', (i) => (i < 179 ? `id ...F${i + 1}` : 'id'))}`,
  ),
  fresh(
    '100 operations that share fragments',
    `${Array.from({ length: 90 }, (_, i) => `query Q${i} { pet(id: 1) { ...F0 } }`).join(' ')} ${fragments(60, 'Pet', (i) => (i < 59 ? `a${i}:id ...F${i + 1}` : 'id'))}`,
  ),
  fresh(
    '100 operations that share variables',
    `${Array.from({ length: 80 }, (_, i) => `query Q${i}($v: ID!) { ...F0 }`).join(' ')} fragment F0 on Query { ${names(80, 'pet(id: $v) { id }')} }`,
  ),
  fresh(
    '300 variables',
    `query (${Array.from({ length: 300 }, (_, i) => `$v${i}: Int`).join(' ')}) { pet(id: 1) { id } }`,
  ),
  fresh('unknown fields', `{ pet(id: 1) { ${names(600, 'nome')} } }`),
  fresh('50 deep', `{ pet(id: 1) { ${'inventory { pet { '.repeat(40)} id ${'} }'.repeat(40)} } }`),
  fresh('24,000 wrong values of an enum', STATUSES, { s: wrong(16_000) }),
  fresh('49,000 nulls', STATUSES, { s: new Array(19_000).fill(null) }),
  fresh('11,000 right values of an enum', STATUSES, {
    s: Array.from({ length: 8_500 }, (_, i) => PET_STATUSES[i % 3]),
  }),
  fresh('8,000 unknown fields of an input', 'query ($f: PetFilter) { pets(filter: $f) { nodes { id } } }', {
    f: Object.fromEntries(wrong(9_000).map((name) => [`x${name}`, 1])),
  }),
  fresh('8,000 unknown fields of a new pet', 'mutation ($p: NewPet!) { createPet(input: $p) { id } }', {
    p: Object.fromEntries(wrong(9_000).map((name) => [`x${name}`, 1])),
  }),
  fresh('20,000 nodeIds', 'query ($i: [ID!]!) { nodes(nodeIds: $i) { nodeId } }', { i: wrong(14_000) }),
  fresh('20,000 nodeIds of a wrong kind', 'query ($i: [ID!]!) { nodes(nodeIds: $i) { nodeId } }', {
    i: Array.from({ length: 14_000 }, (_, i) => i + 0.5),
  }),
  {
    name: 'a new pet with 7,000 unknown fields, by REST',
    path: '/pets',
    parameters: (n) => Object.fromEntries(wrong(7_000).map((name) => [`x${name}_${n}`, 1])),
  },
  fresh('names for nothing', `{ ${names(100, '__typename')} }`),
  { ...fresh('names for nothing, by Yoga', `{ ${names(100, '__typename')} }`), headers: MULTIPART },
  fresh('the budget for nothing', `{ rateLimit { ${names(99, 'plan')} } }`),
  fresh(
    'long names for nothing',
    `{ ${Array.from({ length: 100 }, (_, i) => `${'k'.repeat(97)}${i}: __typename`).join(' ')} }`,
  ),
  fresh('skipped for nothing', `{ __typename pet(id: 1) @skip(if: true) { ${names(110, 'id')} } }`),
  fresh(
    'skipped for nothing, with arguments',
    `query ($s: Boolean = true) { __typename ${names(17, 'pets(filter: {status: [sold, pending], categoryId: 1}) @skip(if: $s) { nodes { id } }')} }`,
  ),
  fresh('variables for nothing', '{ __typename }', Object.fromEntries(wrong(1_000).map((name) => [name, 1]))),
  fresh('fractions for nothing', '{ __typename }', { a: new Array(2_700).fill(1.5) }),
  fresh(
    'many variables for nothing',
    '{ __typename }',
    Object.fromEntries(wrong(9_000).map((name) => [`x${name}`, 1])),
  ),
  {
    name: 'a batch of 10 × nothing',
    parameters: (n) =>
      Array.from({ length: 10 }, (_, i) => ({
        query: `{ __typename pet(id: 1) @skip(if: true) { ${names(110, 'id')} } } #${n} ${i}`,
      })),
  },
  {
    name: 'a batch of 10 refusals',
    parameters: (n) =>
      Array.from({ length: 10 }, (_, i) => ({ query: `{ ${names(600, '__typeName')} } #${n} ${i}` })),
  },
];
