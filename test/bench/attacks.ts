import { getIntrospectionQuery } from 'graphql';
import { PetStatus } from '../../src/domains/pet/pet.ts';
import { encodeCursor } from '../../src/foundation/cursor.ts';
import { aliases } from './harness.ts';

/** A request designed to cost more than it is charged. */
export interface Attack {
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

const longNames = (count: number, field: string): string =>
  Array.from({ length: count }, (_, i) => `${'k'.repeat(96)}${i}:${field}`).join(' ');
const fragments = (count: number, on: string, selection: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => `fragment F${i} on ${on} { ${selection(i)} }`).join(' ');
const spreads = (count: number): string => Array.from({ length: count }, (_, i) => `...F${i}`).join(' ');
const distinctTexts = (count: number): string[] => Array.from({ length: count }, (_, i) => i.toString(36));

/** A document that differs every time, so that it is parsed, validated, assigned a cost and interpreted. */
const unique = (query: string, variables?: unknown): Attack => ({
  parameters: (n) => ({ query: `${query} #${n}`, variables }),
});
/** The same document every time, so that it may be compiled. */
const repeated = (query: string): Attack => ({ parameters: () => ({ query }) });
/** Ten documents in one request, each of which differs every time. */
const batch = (query: string): Attack => ({
  parameters: (n) => Array.from({ length: 10 }, (_, i) => ({ query: `${query} #${n} ${i}` })),
});

const STATUSES = 'query ($s: [PetStatus!]) { pets(filter: {status: $s}) { nodes { id } } }';
const byName = (n: number) => `pets(first: 1, filter: {name: "${n}"})`;
const FULL_INTROSPECTION = getIntrospectionQuery({
  specifiedByUrl: true,
  directiveIsRepeatable: true,
  schemaDescription: true,
  inputValueDeprecation: true,
});
const NESTED = (first: number) =>
  `{ categories(first: ${first}) { nodes { pets(first: ${Math.floor(4_900 / first)}) { nodes { ${aliases(24, 'id')} } } } } }`;
const KEYS = `{ categories(first: 20) { nodes { pets(first: 20) { nodes { ${longNames(300, 'id')} } } } } }`;
const DESCRIPTIONS = `{ categories(first: 100) { nodes { ${aliases(62, 'description')} } } }`;

/** Responses with this media type are written by Yoga. */
const MULTIPART = { accept: 'multipart/mixed' };

/** The most expensive requests found of each kind, by name. A text is a document for {@link unique}. */
const KNOWN: Readonly<Record<string, string | Attack>> = {
  '1 unit of cheap fields, unique': `{ pets(first: 100) { nodes { ${aliases(25, 'status')} } } }`,
  '1 unit of cheap fields, repeated': repeated(`{ pets(first: 100) { nodes { ${aliases(25, 'status')} } } }`),
  'one record with 600 names': `{ pet(id: 1) { ${aliases(600, 'name')} } }`,
  'one record with 280 names, compiled': repeated(`{ pet(id: 1) { ${aliases(280, 'name')} } }`),
  descriptions: `{ categories(first: 100) { nodes { description } } }`,
  'circular one-to-one relations': `{ pets(first: 100) { nodes { ${aliases(6, 'inventory { pet { inventory { pet { id } } } }')} } } }`,
  'categories of pets': `{ pets(first: 100) { nodes { ${aliases(12, 'category { id }')} } } }`,
  '100 pages of one entry': `{ category(id: 1) { ${aliases(100, (i) => `pets(first: 1, after: "${i}") { nodes { id } }`)} } }`,
  'counts for 50 records':
    '{ pets(first: 50) { nodes { orders(first: 1) { totalCount pageInfo { hasNextPage hasPreviousPage } } } } }',
  'page information in both directions':
    '{ pets(first: 50) { nodes { orders(first: 1, after: "0") { pageInfo { hasNextPage hasPreviousPage } } } } }',
  'nodes and edges':
    '{ pets(first: 50) { nodes { id name } edges { cursor node { id name } } pageInfo { endCursor } totalCount } }',
  'nodes of all types': `{ nodes(nodeIds: [${Array.from({ length: 100 }, (_, i) => `"${Buffer.from(`Pet:${i + 1}`).toString('base64url')}"`)}]) { nodeId ... on Pet { name category { id } } } }`,
  '50 units at three levels':
    '{ categories(first: 10) { nodes { pets(first: 40) { nodes { name orders(first: 11) { nodes { id quantity shipDate } } } } } } }',
  '50 units of cheap fields': NESTED(50),
  '50 units of cheap fields, repeated': repeated(NESTED(50)),
  '50 units of long response keys': KEYS,
  '50 units of descriptions': DESCRIPTIONS,
  'a batch of 10 × 50 units of descriptions': batch(DESCRIPTIONS),
  'introspection, repeated': repeated(FULL_INTROSPECTION),
  'introspection, unique': FULL_INTROSPECTION,
  'introspection with another field': FULL_INTROSPECTION.replace(
    '__schema',
    '__typename pet(id: 1) { id } __schema',
  ),
  'the most introspection allowed': `{ __schema { types { ${aliases(40, 'description')} fields { name description } } } }`,
  'too much introspection': `{ __schema { types { ${'interfaces { possibleTypes { '.repeat(7)} name ${'} }'.repeat(7)} } } }`,
  '2,000 tokens, refused': `{ pet(id: 1) { ${'id '.repeat(1_980)} } }`,
  'too many tokens': `{ pet(id: 1) { ${'id '.repeat(30_000)} } }`,
  'the same field 200 times, at two levels': `{ ${aliases(1, 'pet(id: 1)')} { ${'category { id } '.repeat(200)} } }`,
  'the most pairs of fields to merge': `{ pet(id: 1) { ${'category { id name } '.repeat(120)} } }`,
  'arguments to compare when merging': `{ ${'pets(first: 1, after: "0", filter: {status: [sold, pending], categoryId: 1}) { nodes { id } } '.repeat(60)} }`,
  '180 fragments side by side': `{ pet(id: 1) { ${spreads(180)} } } ${fragments(180, 'Pet', (i) => `a${i}:id`)}`,
  '180 nested fragments': `{ pet(id: 1) { ...F0 } } ${fragments(180, 'Pet', (i) => (i < 179 ? `id ...F${i + 1}` : 'id'))}`,
  '90 operations that share fragments': `${Array.from({ length: 90 }, (_, i) => `query Q${i} { pet(id: 1) { ...F0 } }`).join(' ')} ${fragments(60, 'Pet', (i) => (i < 59 ? `a${i}:id ...F${i + 1}` : 'id'))}`,
  '80 operations that share variables': `${Array.from({ length: 80 }, (_, i) => `query Q${i}($v: ID!) { ...F0 }`).join(' ')} fragment F0 on Query { ${aliases(80, 'pet(id: $v) { id }')} }`,
  '300 variables': `query (${Array.from({ length: 300 }, (_, i) => `$v${i}: Int`).join(' ')}) { pet(id: 1) { id } }`,
  'unknown fields': `{ pet(id: 1) { ${aliases(600, 'nome')} } }`,
  '80 levels deep': `{ pet(id: 1) { ${'inventory { pet { '.repeat(40)} id ${'} }'.repeat(40)} } }`,
  '16,000 invalid enum values': unique(STATUSES, { s: distinctTexts(16_000) }),
  '19,000 nulls': unique(STATUSES, { s: new Array(19_000).fill(null) }),
  '8,500 valid enum values': unique(STATUSES, {
    s: Array.from({ length: 8_500 }, (_, i) => PetStatus.values[i % 3]),
  }),
  '9,000 unknown fields in an input': unique('query ($f: PetFilter) { pets(filter: $f) { nodes { id } } }', {
    f: Object.fromEntries(distinctTexts(9_000).map((name) => [`x${name}`, 1])),
  }),
  '9,000 unknown fields in a new pet': unique('mutation ($p: NewPet!) { createPet(input: $p) { id } }', {
    p: Object.fromEntries(distinctTexts(9_000).map((name) => [`x${name}`, 1])),
  }),
  '14,000 nodeIds': unique('query ($i: [ID!]!) { nodes(nodeIds: $i) { nodeId } }', {
    i: distinctTexts(14_000),
  }),
  '14,000 nodeIds of the wrong type': unique('query ($i: [ID!]!) { nodes(nodeIds: $i) { nodeId } }', {
    i: Array.from({ length: 14_000 }, (_, i) => i + 0.5),
  }),
  '7,000 unknown fields in a new pet, over REST': {
    path: '/pets',
    parameters: (n) => Object.fromEntries(distinctTexts(7_000).map((name) => [`x${name}_${n}`, 1])),
  },
  '8,000 unknown arguments of a tool': {
    path: '/mcp',
    parameters: () => ({
      ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
      params: {
        name: 'listPets',
        arguments: Object.fromEntries(distinctTexts(8_000).map((name) => [`x${name}`, 1])),
      },
    }),
  },
  '30,000 lists in a new pet with an Idempotency-Key': {
    path: '/pets',
    headers: { 'idempotency-key': 'lists' },
    parameters: () => ({ name: Array(30_000).fill([]) }),
  },
  'texts that are used twice': {
    parameters: (n) => ({
      query: `{ category(id: 1) { ${aliases(10, (i) => `pets(first: 1, after: "${i}") { nodes { ${aliases(9, 'category { id name }')} } }`)} } } #${n >> 1}`,
    }),
  },
  ...Object.fromEntries(
    (
      [
        [1, 1, 1],
        [49, 99, 80],
      ] as const
    ).flatMap(([units, counts, lists]) => [
      [
        `${units} units of counts by the beginning of a name`,
        `{ categories(first: 49) { nodes { ${aliases(counts, (n) => `${byName(n)} { totalCount }`)} } } }`,
      ],
      [
        `${units} units of lists without an index for their order`,
        `{ categories(first: 49) { nodes { ${aliases(lists, (n) => `${byName(n)} { nodes { id } }`)} } } }`,
      ],
    ]),
  ),
  'a mutation with 4,600 lists and their counts below it': `mutation { ${aliases(2, (m) => `updateCategory(id: ${m + 1}, input: {}) { pets(first: 100) { nodes { ${aliases(23, (n) => `orders(first: 1, after: "${n}") { totalCount pageInfo { hasPreviousPage } }`)} } } }`)} }`,
  'a mutation with 4,802 lists below it': `mutation { ${aliases(2, (m) => `updateCategory(id: ${m + 1}, input: {}) { pets(first: 49) { nodes { ${aliases(49, (n) => `orders(first: 1, after: "${n}") { nodes { id } }`)} } } }`)} }`,
  'a mutation with 4,802 lists in another order below it': `mutation { ${aliases(2, (m) => `updateCategory(id: ${m + 1}, input: {}) { ...F }`)} } fragment F on Category { pets(first: 49) { nodes { ${aliases(49, (n) => `orders(first: 1, sort: shipDate_asc, after: "${encodeCursor('shipDate', { id: `${n + 1}`, value: '2020-01-01T00:00:00Z' })}") { nodes { id } }`)} } } }`,
  'events of a type that is rare': { path: '/events?type=order.deleted' },
  'events of a type that never comes': { path: '/events?type=webhook.test' },
  'a stream of events of a type that is rare, from the first': {
    path: '/events/stream?type=order.deleted&after=0',
  },
  'a type of events 1,500 times': { path: `/events?${'type=pet.created&'.repeat(1_000)}` },
  ...Object.fromEntries(
    ['accept', 'accept-encoding', 'content-type', 'if-none-match'].flatMap((header): [string, Attack][] => [
      [`14,000 commas in ${header}`, { path: '/pets/1', headers: { [header]: ','.repeat(14_000) } }],
      [
        `14,000 semicolons in ${header}, without a key`,
        { path: '/graphql?query={__typename}', headers: { [header]: ';'.repeat(14_000) }, key: 'none' },
      ],
    ]),
  ),
  'a batch of mutations with descriptions of the pets of a category': batch(
    `mutation { updatePet(id: 1, input: {}) { category { pets(first: 100) { nodes { category { description } } } } } }`,
  ),
  '360 invalid page sizes below a page': `{ pets(first: 2) { nodes { ${aliases(360, 'orders(first: 0) { totalCount }')} } } }`,
  '1,900 literals below 50 categories': `{ categories(first: 50) { nodes { pets(first: 1, filter: {status: [${'sold '.repeat(1_900)}]}) { totalCount } } } }`,
  'a name of 90 kB': `query ${'n'.repeat(90_000)} { __typename }`,
  'an alias of 90 kB': `{ ${'n'.repeat(90_000)}: __typename }`,
  'a skipped subscription': 'subscription { events @skip(if: true) { id } }',
  'prices of a batch of 10 documents of 9,000 fields': {
    path: '/graphql/cost',
    ...batch(`{ pet(id: 1) { ${'id '.repeat(2_800)} } }`),
  },
  'the same batch to run, of a banned key': {
    key: 'banned',
    ...batch(`{ pet(id: 1) { ${'id '.repeat(2_800)} } }`),
  },
  'any request of a banned key': { path: '/pets?limit=100', key: 'banned' },
  'any request without a key': { path: '/pets?limit=100', key: 'none' },
  'a target of 14,000 characters': { path: `/pets?${'a='.repeat(7_000)}` },
  '4,000 encoded characters in a target, without a key': {
    path: `/pets/${'%F0%9F%98%80'.repeat(1_000)}`,
    key: 'none',
  },
  'free names': `{ ${aliases(100, '__typename')} }`,
  'free names, written by Yoga': { ...unique(`{ ${aliases(100, '__typename')} }`), headers: MULTIPART },
  'the free rateLimit field': `{ rateLimit { ${aliases(99, 'plan')} } }`,
  'free long names': `{ ${Array.from({ length: 100 }, (_, i) => `${'k'.repeat(97)}${i}: __typename`).join(' ')} }`,
  'free skipped fields': `{ __typename pet(id: 1) @skip(if: true) { ${aliases(110, 'id')} } }`,
  'free skipped fields with arguments': `query ($s: Boolean = true) { __typename ${aliases(17, 'pets(filter: {status: [sold, pending], categoryId: 1}) @skip(if: $s) { nodes { id } }')} }`,
  'free variables': unique(
    '{ __typename }',
    Object.fromEntries(distinctTexts(1_000).map((name) => [name, 1])),
  ),
  'free fractions': unique('{ __typename }', { a: new Array(2_700).fill(1.5) }),
  'many free variables': unique(
    '{ __typename }',
    Object.fromEntries(distinctTexts(9_000).map((name) => [`x${name}`, 1])),
  ),
  'a batch of 10 free operations': batch(
    `{ __typename pet(id: 1) @skip(if: true) { ${aliases(110, 'id')} } }`,
  ),
  'a batch of 10 refused operations': batch(`{ ${aliases(600, '__typeName')} }`),
};

export const ATTACKS: readonly (readonly [name: string, Attack])[] = Object.entries(KNOWN).map(
  ([name, attack]) => [name, typeof attack === 'string' ? unique(attack) : attack],
);
