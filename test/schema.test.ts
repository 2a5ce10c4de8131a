import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { AppError, ERRORS, type ErrorCode } from '../src/foundation/errors.ts';
import { withCalls } from '../src/observability/instrumented-store.ts';
import { pairsOf } from './kit/cases.ts';
import { TestGateway } from './kit/gateway.ts';
import {
  dataOf,
  expectQueryRefusal,
  fill,
  makeWorld,
  onAnyEngine,
  PET_FIELDS,
  query,
  sqlite,
  useGateway,
  type World,
} from './kit/petstore.ts';

const LARGEST = '9223372036854775807';
const MISSING = '9223372036854775806';
const ID_RULE = `must be an integer from 1 to ${LARGEST}`;

// That operations do the same as those of REST, with the same messages, is shown by domains/agreement.test.ts.

/** Mutations, each above its data. `$C` and the like are ids of makeWorld. Ids are returned as strings. */
const MUTATIONS = pairsOf(`
createCategory(input: {name: " Birds "}) { name description pets { totalCount } }
  {"name":"Birds","description":null,"pets":{"totalCount":0}}
createPet(input: {name: "Tom", categoryId: "$E", status: null}) { status category { id name } inventory { quantity } orders { totalCount } }
  {"status":"available","category":{"id":"$E","name":"Fish"},"inventory":{"quantity":0},"orders":{"totalCount":0}}
createOrder(input: {id: null, petId: null, quantity: null, shipDate: null, complete: null}) { petId complete pet { id } }
  {"petId":null,"complete":false,"pet":null}
createOrder(input: {petId: $P, quantity: 1, shipDate: "2026-01-31T09:30:00.5+02:00", complete: true}) { petId quantity shipDate complete pet { name } }
  {"petId":"$P","quantity":1,"shipDate":"2026-01-31T07:30:00.500Z","complete":true,"pet":{"name":"Rex"}}
updatePet(id: $P, input: {name: " Max ", status: pending, categoryId: $E}) { name status category { id } inventory { quantity status } }
  {"name":"Max","status":"pending","category":{"id":"$E"},"inventory":{"quantity":5,"status":"pending"}}
updateInventory(petId: $P, input: {quantity: 0}) { petId quantity status pet { name inventory { quantity } } }
  {"petId":"$P","quantity":0,"status":"sold","pet":{"name":"Rex","inventory":{"quantity":0}}}
deleteCategory(id: "$E")
  "$E"
`);

/** Mutations, each above the code and the message of its error. */
const refusalsOf = (text: string) =>
  pairsOf(text).map(([operation, outcome]) => {
    const [, code, message] = /^(\w+) (.*)$/.exec(outcome) as unknown as [string, ErrorCode, string];
    return [operation, code, message] as const;
  });

const REFUSALS = refusalsOf(`
updateOrder(id: ${MISSING}, input: {petId: ${MISSING}}) { id }
  NOT_FOUND There is no order ${MISSING}.
createPet(input: {name: "x", categoryId: ${MISSING}}) { id }
  UNKNOWN_REFERENCE categoryId: there is no category ${MISSING}.
deletePet(id: $P)
  CONFLICT Pet $P cannot be deleted because it still has incomplete orders.
`);

/** Arguments that break a rule, which is known before anything runs. */
const INVALID = refusalsOf(`
updatePet(id: $P, input: {name: null, categoryId: null, status: null}) { id }
  VALIDATION_FAILED name: must be a string; categoryId: ${ID_RULE}; status: must be one of available, pending, sold.
updateInventory(petId: $P, input: {quantity: -1}) { petId }
  VALIDATION_FAILED quantity: must be an integer from 0 to 2147483647.
`);

describe('the schema', () => {
  const kit = useGateway(sqlite);

  it('equals the committed schema.graphql when introspected', async () => {
    const { getIntrospectionQuery, buildClientSchema, lexicographicSortSchema, printSchema } =
      await import('graphql');
    const committed = await readFile('schema/schema.graphql', 'utf8');
    for (let time = 0; time < 3; time++) {
      const sent = await query(kit.gateway, getIntrospectionQuery({ specifiedByUrl: true }));
      const schema = buildClientSchema(dataOf(sent));
      expect(`${printSchema(lexicographicSortSchema(schema))}\n`).toBe(committed);
    }
  });
});

onAnyEngine('GraphQL operations', (kit) => {
  /** The records that refused mutations leave as they are. */
  let refusing: World | undefined;

  it.each(MUTATIONS)('returns the data of the mutation %s', async (operation, data) => {
    const world = await makeWorld(kit);
    const sent = await query(kit.gateway, `mutation { result: ${fill(operation, world)} }`);
    expect(JSON.stringify(dataOf(sent).result), sent.about).toBe(fill(data, world));
  });

  it.each(REFUSALS)('fails %s with %s', async (operation, code, message) => {
    refusing ??= await makeWorld(kit);
    const world = refusing;
    const sent = await query(kit.gateway, `mutation { result: ${fill(operation, world)} }`);
    // The operation ran, so the HTTP status is 200.
    expect(sent.status, sent.about).toBe(200);
    expect(sent.json, sent.about).toEqual({
      errors: [
        {
          message: fill(message, world),
          locations: [{ line: 1, column: 12 }],
          path: ['result'],
          extensions: { code, status: ERRORS[code].status },
        },
      ],
      data: null,
    });
  });

  it.each(INVALID)('refuses %s with %s before anything runs', async (operation, code, message) => {
    refusing ??= await makeWorld(kit);
    const world = refusing;
    const other = `other: createCategory(input: {name: "Never"}) { id }`;
    const sent = await query(kit.gateway, `mutation { ${other} result: ${fill(operation, world)} }`);
    expectQueryRefusal(sent, code, fill(message, world));
    const { categories } = dataOf(await query(kit.gateway, '{ categories(last: 1) { nodes { name } } }'));
    expect(categories.nodes).toEqual([{ name: 'Fish' }]);
  });

  it('accepts ids as strings and integers without rounding, in literals and variables', async () => {
    const { gateway } = kit;
    for (const id of [LARGEST, '9007199254740993']) {
      const created = await query(gateway, 'mutation ($id: ID) { createOrder(input: {id: $id}) { id } }', {
        id: BigInt(id),
      });
      expect(dataOf(created), created.about).toEqual({ createOrder: { id } });
      for (const [text, variables] of [
        [`{ order(id: ${id}) { id } }`],
        [`{ order(id: "${id}") { id } }`],
        ['query ($id: ID!) { order(id: $id) { id } }', { id }],
        ['query ($id: ID!) { order(id: $id) { id } }', { id: BigInt(id) }],
        [`query ($id: ID! = ${id}) { order(id: $id) { id } }`, {}],
      ] as const) {
        const sent = await query(gateway, text, variables);
        expect(dataOf(sent), sent.about).toEqual({ order: { id } });
      }
      const page = await query(
        gateway,
        'query ($after: String) { orders(after: $after, first: 1) { nodes { id } } }',
        { after: String(BigInt(id) - 1n) },
      );
      expect(dataOf(page).orders.nodes, page.about).toEqual([{ id }]);
      expect(dataOf(await query(gateway, `mutation { deleteOrder(id: ${id}) }`)).deleteOrder).toBe(id);
    }
  });

  it('returns the data of a query alongside the errors of failed fields', async () => {
    const { P } = await makeWorld(kit);
    const failing = withCalls(kit.gateway.store, (name, call) =>
      name === 'pets.pagesByParent'
        ? () => {
            throw new AppError('CONFLICT', 'cannot be read');
          }
        : call,
    );
    const gateway = await TestGateway.start(failing);
    for (let time = 0; time < 2; time++) {
      const sent = await query(
        gateway,
        `{ pet(id: ${P}) { name } order(id: 1) { id } category(id: 1) { pets { nodes { id } } } }`,
      );
      expect(sent.status, sent.about).toBe(200);
      expect(sent.json.data.pet, sent.about).toEqual({ name: 'Rex' });
      expect(sent.json.data.category, sent.about).toBeNull();
      expect(sent.json.errors, sent.about).toHaveLength(1);
    }
    await gateway.close();
  });
});

describe('validation before execution', () => {
  const kit = useGateway(sqlite);
  const NEW_PET = 'mutation ($input: NewPet!) { createPet(input: $input) { id } }';
  const NEW_ORDER = 'mutation ($input: NewOrder!) { createOrder(input: $input) { id } }';
  const PET = 'query ($id: ID!) { pet(id: $id) { id } }';

  it.each<[text: string, variables: Record<string, unknown> | undefined, message: string]>([
    [PET, {}, 'id: is required: a variable of type ID!.'],
    [PET, undefined, 'id: is required: a variable of type ID!.'],
    [PET, { id: null }, 'id: must not be null.'],
    ...[
      '',
      '0',
      '-1',
      '+1',
      '01',
      '1.0',
      '1e3',
      ' 1',
      '9223372036854775808',
      'abc',
      '１',
      0,
      -1,
      1.5,
      true,
      [1],
      {},
    ].map((id): [string, Record<string, unknown>, string] => [PET, { id }, `id: ${ID_RULE}.`]),
    [NEW_PET, { input: {} }, 'name: is required; categoryId: is required.'],
    [
      NEW_PET,
      { input: { name: 7, categoryId: 0, status: 'gone', colour: 1 } },
      `name: must be a string; categoryId: ${ID_RULE}; status: must be one of available, pending, sold; colour: is not a known field (known: ${PET_FIELDS}).`,
    ],
    [
      NEW_ORDER,
      { input: { id: 0, petId: 'x', quantity: 2147483648, shipDate: 'tomorrow', complete: 1 } },
      `id: ${ID_RULE}; petId: ${ID_RULE}; quantity: must be an integer from 1 to 2147483647; shipDate: must be an RFC 3339 date-time such as 2026-01-31T09:30:00Z; complete: must be true or false.`,
    ],
    [
      NEW_ORDER,
      { input: { shipDate: ['2026-01-31T09:30:00Z'] } },
      'shipDate: must be an RFC 3339 date-time such as 2026-01-31T09:30:00Z.',
    ],
    [NEW_PET, { input: 'x' }, 'input: must be an object.'],
    [NEW_PET, { input: [] }, 'input: must be an object.'],
    [
      'query ($statuses: [PetStatus!]) { pets(filter: { status: $statuses }) { nodes { id } } }',
      { statuses: ['sold', 'gone', 7] },
      'statuses.1: Value "gone" does not exist in "PetStatus" enum (known: available, pending, sold); statuses.2: Enum "PetStatus" cannot represent non-string value: 7.',
    ],
  ])('refuses %s with %j as VALIDATION_FAILED', async (text, variables, message) => {
    const sent = await query(kit.gateway, text, variables);
    expectQueryRefusal(sent, 'VALIDATION_FAILED', message);
    expect(sent.json.errors, sent.about).toHaveLength(1);
  });

  it.each([
    ['{ pet(id: 0) { id } }', `id: ${ID_RULE}.`],
    ['{ pet(id: "01") { id } }', `id: ${ID_RULE}.`],
    ['{ pet(id: 9223372036854775808) { id } }', `id: ${ID_RULE}.`],
    ['{ pet(id: 1.0) { id } }', `id: ${ID_RULE}.`],
    ['{ inventoryItem(petId: -1) { petId } }', `petId: ${ID_RULE}.`],
    ['{ pets(filter: {categoryId: "x"}) { totalCount } }', `categoryId: ${ID_RULE}.`],
    ['query ($id: ID = 0) { orders(filter: {petId: $id}) { totalCount } }', `petId: ${ID_RULE}.`],
    [
      'mutation { createOrder(input: {shipDate: "x"}) { id } }',
      'shipDate: must be an RFC 3339 date-time such as 2026-01-31T09:30:00Z.',
    ],
    [
      'mutation { createOrder(input: {shipDate: 7}) { id } }',
      'shipDate: must be an RFC 3339 date-time such as 2026-01-31T09:30:00Z.',
    ],
  ])('refuses %s as VALIDATION_FAILED', async (text, message) => {
    expectQueryRefusal(await query(kit.gateway, text), 'VALIDATION_FAILED', message);
  });

  it.each(
    Object.entries({
      GRAPHQL_PARSE_FAILED: [
        '{',
        '',
        '# nothing',
        '{ pet(id: 01) { id } }',
        '{ '.repeat(150),
        '{ '.repeat(2_000),
      ],
      GRAPHQL_VALIDATION_FAILED: [
        '{ nothing }',
        '{ pet { id } }',
        '{ pet(id: 1) }',
        '{ pet(id: null) { id } }',
        '{ pet(id: true) { id } }',
        '{ pets(first: "1") { totalCount } }',
        '{ pets(filter: {status: SOLD}) { totalCount } }',
        '{ pets(filter: {status: "sold"}) { totalCount } }',
        'mutation { createPet(input: {name: "x"}) { id } }',
        'mutation { createPet(input: {name: "x", categoryId: 1, colour: 1}) { id } }',
        'subscription { x }',
        'query A { __typename } query B { __typename }',
        'query A { __typename } query A { __typename }',
        'fragment F on Pet { id }',
        '{ ...F } fragment F on Query { ...F }',
        'type Pet { id: ID }',
        'query ($x: Nothing) { __typename }',
        'query ($id: String!) { pet(id: $id) { id } }',
        `{ pets(filter: ${'['.repeat(150)}${']'.repeat(150)}) { totalCount } }`,
        `{ pet(id: 1) { ${'... { '.repeat(150)} nothing ${'}'.repeat(150)} } }`,
      ],
      QUERY_TOO_COMPLEX: [
        '{ pets(first: 100) { nodes { category { pets(first: 100) { nodes { id } } } } } }',
        `{ ${'a '.repeat(6_000)} }`,
        `{ ${Array.from({ length: 51 }, (_, i) => `p${i}: pet(id: 1) { id }`).join(' ')} }`,
        `{ pet(id: 1) { ${'category { pets(first: 1) { nodes { '.repeat(12)}id${' } } }'.repeat(12)} } }`,
        `{ pet(id: 1) ${'{ category { pets '.repeat(30_000).slice(0, 90_000)}`,
        `{ pets(filter: ${'['.repeat(2_400)}${']'.repeat(2_400)}) { totalCount } }`,
      ],
    }).flatMap(([code, texts]) => texts.map((text) => [text.slice(0, 60), code as ErrorCode, text] as const)),
  )('refuses %j as %s', async (_, code, text) => {
    // The second use caches the refusal, so only the third returns it from the cache.
    for (let time = 0; time < 3; time++) expectQueryRefusal(await query(kit.gateway, text), code);
  });

  it('refuses integers outside the id range in variables', async () => {
    for (const id of [9223372036854775808n, -9223372036854775808n, 10n ** 30n]) {
      expectQueryRefusal(await query(kit.gateway, PET, { id }), 'VALIDATION_FAILED', `id: ${ID_RULE}.`);
    }
  });

  it('resolves a chain of 241 fragments', async () => {
    const links = Array.from({ length: 240 }, (_, i) => `fragment F${i} on Query { ...F${i + 1} }`);
    const text = `{ ...F0 } ${links.join(' ')} fragment F240 on Query { __typename }`;
    for (let time = 0; time < 3; time++) {
      expect(dataOf(await query(kit.gateway, text))).toEqual({ __typename: 'Query' });
    }
  });
});
