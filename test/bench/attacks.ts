import { getIntrospectionQuery } from 'graphql';
import { PetStatus } from '../../src/domains/pet/pet.ts';
import { encodeCursor } from '../../src/foundation/cursor.ts';

/** An HTTP request. */
export interface RawRequest {
  method: string;
  path: string;
  headers?: Readonly<Record<string, string>>;
  body?: string;
}

/** A request designed to cost more than it is charged. */
export interface Attack {
  name: string;
  /** Defaults to `/graphql`. */
  path?: string;
  headers?: Readonly<Record<string, string>>;
  /** Whose it is: by default a key with a budget, otherwise none or one that is banned. */
  key?: 'none' | 'banned';
  /**
   * The JSON body, usually the parameters of one GraphQL request. `n` differs for each request, so that an attack can make
   * every one unique. Without them it is a GET.
   */
  parameters?: (n: number) => unknown;
}

const names = (count: number, field: string | ((i: number) => string)): string =>
  Array.from({ length: count }, (_, i) => `a${i}:${typeof field === 'string' ? field : field(i)}`).join(' ');
const longNames = (count: number, field: string): string =>
  Array.from({ length: count }, (_, i) => `${'k'.repeat(96)}${i}:${field}`).join(' ');
const fragments = (count: number, on: string, selection: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => `fragment F${i} on ${on} { ${selection(i)} }`).join(' ');
const spreads = (count: number): string => Array.from({ length: count }, (_, i) => `...F${i}`).join(' ');
const distinctTexts = (count: number): string[] => Array.from({ length: count }, (_, i) => i.toString(36));

/** A document that differs every time, so that it is parsed, validated, assigned a cost and interpreted. */
const unique = (name: string, query: string, variables?: unknown): Attack => ({
  name,
  parameters: (n) => ({ query: `${query} #${n}`, variables }),
});
/** The same document every time, so that it may be compiled. */
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

/** Responses with this media type are written by Yoga. */
const MULTIPART = { accept: 'multipart/mixed' };

/** The most expensive requests found of each kind. */
export const ATTACKS: readonly Attack[] = [
  unique('1 unit of cheap fields, unique', `{ pets(first: 100) { nodes { ${names(25, 'status')} } } }`),
  repeated('1 unit of cheap fields, repeated', `{ pets(first: 100) { nodes { ${names(25, 'status')} } } }`),
  unique('one record with 600 names', `{ pet(id: 1) { ${names(600, 'name')} } }`),
  repeated('one record with 280 names, compiled', `{ pet(id: 1) { ${names(280, 'name')} } }`),
  unique('descriptions', `{ categories(first: 100) { nodes { description } } }`),
  unique(
    'circular one-to-one relations',
    `{ pets(first: 100) { nodes { ${names(6, 'inventory { pet { inventory { pet { id } } } }')} } } }`,
  ),
  unique('categories of pets', `{ pets(first: 100) { nodes { ${names(12, 'category { id }')} } } }`),
  unique(
    '100 pages of one entry',
    `{ category(id: 1) { ${names(100, (i) => `pets(first: 1, after: "${i}") { nodes { id } }`)} } }`,
  ),
  unique(
    'counts for 50 records',
    '{ pets(first: 50) { nodes { orders(first: 1) { totalCount pageInfo { hasNextPage hasPreviousPage } } } } }',
  ),
  unique(
    'page information in both directions',
    '{ pets(first: 50) { nodes { orders(first: 1, after: "0") { pageInfo { hasNextPage hasPreviousPage } } } } }',
  ),
  unique(
    'nodes and edges',
    '{ pets(first: 50) { nodes { id name } edges { cursor node { id name } } pageInfo { endCursor } totalCount } }',
  ),
  unique(
    'nodes of all types',
    `{ nodes(nodeIds: [${Array.from({ length: 100 }, (_, i) => `"${Buffer.from(`Pet:${i + 1}`).toString('base64url')}"`)}]) { nodeId ... on Pet { name category { id } } } }`,
  ),
  unique(
    '50 units at three levels',
    '{ categories(first: 10) { nodes { pets(first: 40) { nodes { name orders(first: 11) { nodes { id quantity shipDate } } } } } } }',
  ),
  unique('50 units of cheap fields', NESTED(50)),
  repeated('50 units of cheap fields, repeated', NESTED(50)),
  unique('50 units of long response keys', KEYS),
  unique('50 units of descriptions', DESCRIPTIONS),
  {
    name: 'a batch of 10 × 50 units of descriptions',
    parameters: (n) => Array.from({ length: 10 }, (_, i) => ({ query: `${DESCRIPTIONS} #${n} ${i}` })),
  },
  repeated('introspection, repeated', FULL_INTROSPECTION),
  unique('introspection, unique', FULL_INTROSPECTION),
  unique(
    'introspection with another field',
    FULL_INTROSPECTION.replace('__schema', '__typename pet(id: 1) { id } __schema'),
  ),
  unique(
    'the most introspection allowed',
    `{ __schema { types { ${names(40, 'description')} fields { name description } } } }`,
  ),
  unique(
    'too much introspection',
    `{ __schema { types { ${'interfaces { possibleTypes { '.repeat(7)} name ${'} }'.repeat(7)} } } }`,
  ),
  unique('2,000 tokens, refused', `{ pet(id: 1) { ${'id '.repeat(1_980)} } }`),
  unique('too many tokens', `{ pet(id: 1) { ${'id '.repeat(30_000)} } }`),
  unique(
    'the same field 200 times, at two levels',
    `{ ${names(1, 'pet(id: 1)')} { ${'category { id } '.repeat(200)} } }`,
  ),
  unique('the most pairs of fields to merge', `{ pet(id: 1) { ${'category { id name } '.repeat(120)} } }`),
  unique(
    'arguments to compare when merging',
    `{ ${'pets(first: 1, after: "0", filter: {status: [sold, pending], categoryId: 1}) { nodes { id } } '.repeat(60)} }`,
  ),
  unique(
    '180 fragments side by side',
    `{ pet(id: 1) { ${spreads(180)} } } ${fragments(180, 'Pet', (i) => `a${i}:id`)}`,
  ),
  unique(
    '180 nested fragments',
    `{ pet(id: 1) { ...F0 } } ${fragments(180, 'Pet', (i) => (i < 179 ? `id ...F${i + 1}` : 'id'))}`,
  ),
  unique(
    '90 operations that share fragments',
    `${Array.from({ length: 90 }, (_, i) => `query Q${i} { pet(id: 1) { ...F0 } }`).join(' ')} ${fragments(60, 'Pet', (i) => (i < 59 ? `a${i}:id ...F${i + 1}` : 'id'))}`,
  ),
  unique(
    '80 operations that share variables',
    `${Array.from({ length: 80 }, (_, i) => `query Q${i}($v: ID!) { ...F0 }`).join(' ')} fragment F0 on Query { ${names(80, 'pet(id: $v) { id }')} }`,
  ),
  unique(
    '300 variables',
    `query (${Array.from({ length: 300 }, (_, i) => `$v${i}: Int`).join(' ')}) { pet(id: 1) { id } }`,
  ),
  unique('unknown fields', `{ pet(id: 1) { ${names(600, 'nome')} } }`),
  unique('80 levels deep', `{ pet(id: 1) { ${'inventory { pet { '.repeat(40)} id ${'} }'.repeat(40)} } }`),
  unique('16,000 invalid enum values', STATUSES, { s: distinctTexts(16_000) }),
  unique('19,000 nulls', STATUSES, { s: new Array(19_000).fill(null) }),
  unique('8,500 valid enum values', STATUSES, {
    s: Array.from({ length: 8_500 }, (_, i) => PetStatus.values[i % 3]),
  }),
  unique('9,000 unknown fields in an input', 'query ($f: PetFilter) { pets(filter: $f) { nodes { id } } }', {
    f: Object.fromEntries(distinctTexts(9_000).map((name) => [`x${name}`, 1])),
  }),
  unique('9,000 unknown fields in a new pet', 'mutation ($p: NewPet!) { createPet(input: $p) { id } }', {
    p: Object.fromEntries(distinctTexts(9_000).map((name) => [`x${name}`, 1])),
  }),
  unique('14,000 nodeIds', 'query ($i: [ID!]!) { nodes(nodeIds: $i) { nodeId } }', {
    i: distinctTexts(14_000),
  }),
  unique('14,000 nodeIds of the wrong type', 'query ($i: [ID!]!) { nodes(nodeIds: $i) { nodeId } }', {
    i: Array.from({ length: 14_000 }, (_, i) => i + 0.5),
  }),
  {
    name: '7,000 unknown fields in a new pet, over REST',
    path: '/pets',
    parameters: (n) => Object.fromEntries(distinctTexts(7_000).map((name) => [`x${name}_${n}`, 1])),
  },
  ...[0, 1].map((i) =>
    unique(
      `${i === 0 ? 1 : 49} units of counts by the beginning of a name`,
      `{ categories(first: 49) { nodes { ${names(i === 0 ? 1 : 99, (n) => `pets(first: 1, filter: {name: "${n}"}) { totalCount }`)} } } }`,
    ),
  ),
  ...[0, 1].map((i) =>
    unique(
      `${i === 0 ? 1 : 49} units of lists without an index for their order`,
      `{ categories(first: 49) { nodes { ${names(i === 0 ? 1 : 80, (n) => `pets(first: 1, filter: {name: "${n}"}) { nodes { id } }`)} } } }`,
    ),
  ),
  unique(
    'a mutation with 4,600 lists and their counts below it',
    `mutation { ${names(2, (m) => `updateCategory(id: ${m + 1}, input: {}) { pets(first: 100) { nodes { ${names(23, (n) => `orders(first: 1, after: "${n}") { totalCount pageInfo { hasPreviousPage } }`)} } } }`)} }`,
  ),
  unique(
    'a mutation with 4,802 lists below it',
    `mutation { ${names(2, (m) => `updateCategory(id: ${m + 1}, input: {}) { pets(first: 49) { nodes { ${names(49, (n) => `orders(first: 1, after: "${n}") { nodes { id } }`)} } } }`)} }`,
  ),
  unique(
    'a mutation with 4,802 lists in another order below it',
    `mutation { ${names(2, (m) => `updateCategory(id: ${m + 1}, input: {}) { ...F }`)} } fragment F on Category { pets(first: 49) { nodes { ${names(49, (n) => `orders(first: 1, sort: shipDate_asc, after: "${encodeCursor('shipDate', { id: `${n + 1}`, value: '2020-01-01T00:00:00Z' })}") { nodes { id } }`)} } } }`,
  ),
  ...['order.deleted', 'webhook.test'].map((type) => ({
    name: `events of a type that is rare: ${type}`,
    path: `/events?type=${type}`,
  })),
  {
    name: 'a stream of events of a type that is rare, from the first',
    path: '/events/stream?type=order.deleted&after=0',
  },
  { name: 'a type of events 1,500 times', path: `/events?${'type=pet.created&'.repeat(1_000)}` },
  ...['accept', 'accept-encoding', 'content-type', 'if-none-match'].flatMap((header) => [
    { name: `14,000 commas in ${header}`, path: '/pets/1', headers: { [header]: ','.repeat(14_000) } },
    {
      name: `14,000 semicolons in ${header}, without a key`,
      path: '/graphql?query={__typename}',
      headers: { [header]: ';'.repeat(14_000) },
      key: 'none' as const,
    },
  ]),
  {
    name: 'a batch of mutations with descriptions of the pets of a category',
    parameters: (n) =>
      Array.from({ length: 10 }, (_, i) => ({
        query: `mutation { updatePet(id: 1, input: {}) { category { pets(first: 100) { nodes { category { description } } } } } } #${n} ${i}`,
      })),
  },
  unique(
    '360 invalid page sizes below a page',
    `{ pets(first: 2) { nodes { ${names(360, 'orders(first: 0) { totalCount }')} } } }`,
  ),
  unique(
    '1,900 literals below 50 categories',
    `{ categories(first: 50) { nodes { pets(first: 1, filter: {status: [${'sold '.repeat(1_900)}]}) { totalCount } } } }`,
  ),
  unique('a name of 90 kB', `query ${'n'.repeat(90_000)} { __typename }`),
  unique('an alias of 90 kB', `{ ${'n'.repeat(90_000)}: __typename }`),
  unique('a skipped subscription', 'subscription { events @skip(if: true) { id } }'),
  {
    name: 'prices of a batch of 10 documents of 9,000 fields',
    path: '/graphql/cost',
    parameters: (n) =>
      Array.from({ length: 10 }, (_, i) => ({
        query: `{ pet(id: 1) { ${'id '.repeat(2_800)} } } #${n} ${i}`,
      })),
  },
  {
    name: 'the same batch to run, of a banned key',
    key: 'banned',
    parameters: (n) =>
      Array.from({ length: 10 }, (_, i) => ({
        query: `{ pet(id: 1) { ${'id '.repeat(2_800)} } } #${n} ${i}`,
      })),
  },
  { name: 'any request of a banned key', path: '/pets?limit=100', key: 'banned' },
  { name: 'any request without a key', path: '/pets?limit=100', key: 'none' },
  { name: 'a target of 14,000 characters', path: `/pets?${'a='.repeat(7_000)}` },
  {
    name: '4,000 encoded characters in a target, without a key',
    path: `/pets/${'%F0%9F%98%80'.repeat(1_000)}`,
    key: 'none',
  },
  unique('free names', `{ ${names(100, '__typename')} }`),
  { ...unique('free names, written by Yoga', `{ ${names(100, '__typename')} }`), headers: MULTIPART },
  unique('the free rateLimit field', `{ rateLimit { ${names(99, 'plan')} } }`),
  unique(
    'free long names',
    `{ ${Array.from({ length: 100 }, (_, i) => `${'k'.repeat(97)}${i}: __typename`).join(' ')} }`,
  ),
  unique('free skipped fields', `{ __typename pet(id: 1) @skip(if: true) { ${names(110, 'id')} } }`),
  unique(
    'free skipped fields with arguments',
    `query ($s: Boolean = true) { __typename ${names(17, 'pets(filter: {status: [sold, pending], categoryId: 1}) @skip(if: $s) { nodes { id } }')} }`,
  ),
  unique(
    'free variables',
    '{ __typename }',
    Object.fromEntries(distinctTexts(1_000).map((name) => [name, 1])),
  ),
  unique('free fractions', '{ __typename }', { a: new Array(2_700).fill(1.5) }),
  unique(
    'many free variables',
    '{ __typename }',
    Object.fromEntries(distinctTexts(9_000).map((name) => [`x${name}`, 1])),
  ),
  {
    name: 'a batch of 10 free operations',
    parameters: (n) =>
      Array.from({ length: 10 }, (_, i) => ({
        query: `{ __typename pet(id: 1) @skip(if: true) { ${names(110, 'id')} } } #${n} ${i}`,
      })),
  },
  {
    name: 'a batch of 10 refused operations',
    parameters: (n) =>
      Array.from({ length: 10 }, (_, i) => ({ query: `{ ${names(600, '__typeName')} } #${n} ${i}` })),
  },
];
