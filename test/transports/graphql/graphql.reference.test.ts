import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import fc from 'fast-check';
import {
  type GraphQLArgument,
  type GraphQLInputType,
  type GraphQLInterfaceType,
  type GraphQLObjectType,
  getIntrospectionQuery,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
} from 'graphql';
import { stringify } from 'lossless-json';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Access } from '../../../src/access/access.ts';
import type { Principal } from '../../../src/access/api-keys.ts';
import { Limiter } from '../../../src/access/limiter.ts';
import { OpenStreams } from '../../../src/access/open-streams.ts';
import { Session } from '../../../src/access/session.ts';
import { SlidingWindow } from '../../../src/access/sliding-window.ts';
import { UsageHistory } from '../../../src/access/usage-history.ts';
import { Category } from '../../../src/domains/category/category.ts';
import { EventStreams } from '../../../src/domains/event/streams.ts';
import { Order } from '../../../src/domains/order/order.ts';
import { Pet } from '../../../src/domains/pet/pet.ts';
import {
  type OperationRequest,
  Operations,
  type PreparedOperation,
} from '../../../src/execution/operations.ts';
import { schema } from '../../../src/execution/schema.ts';
import { TrustedDocuments } from '../../../src/execution/trusted-documents.ts';
import { systemClock } from '../../../src/foundation/clock.ts';
import { AppError } from '../../../src/foundation/errors.ts';
import { Authentication } from '../../../src/http/authentication.ts';
import { RequestContext } from '../../../src/http/request-context.ts';
import type { HttpResponse } from '../../../src/http/response.ts';
import type { Store } from '../../../src/store/store.ts';
import { GraphQLTransport } from '../../../src/transports/graphql/graphql.ts';
import { cases } from '../../kit/cases.ts';
import { sqlite } from '../../kit/petstore.ts';
import type { OpenedStore } from '../../kit/stores.ts';

/**
 * Compares the common path (a POST with JSON, compiled from the second use on) with Yoga and the interpreter of
 * graphql-js. Each side has its own store with the same content, so that mutations can be compared too.
 */

interface Request {
  method?: string;
  url?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
}

const NOW = Date.parse('2026-11-21T12:00:00Z');
const principal: Principal = {
  id: 'key',
  name: 'test',
  plan: 'enterprise',
  limits: { perMinute: 1_000_000_000, perDay: 1_000_000_000 },
};

/** Executes with graphql-js and serializes results with JSON.stringify. */
class Interpreted extends Operations {
  override prepare(request: OperationRequest): PreparedOperation {
    const prepared = super.prepare(request);
    return { ...prepared, execute: prepared.interpret, stringify: (result) => JSON.stringify(result) };
  }
}

/** The whole body, streamed or not. */
async function bodyOf({ body, stream }: HttpResponse): Promise<string> {
  if (!stream) return String(body);
  const sink = new PassThrough();
  const [text] = await Promise.all([textOf(sink), stream(sink as unknown as ServerResponse)]);
  return text;
}

class Side {
  readonly reported: unknown[] = [];
  readonly #store: Store;
  readonly #transport: GraphQLTransport;
  #requests = 0;
  /**
   * Shared because creating them takes longer than a request. Each request comes one second after the previous
   * one, so that the guards refuse none.
   */
  readonly #counters = {
    limiter: new Limiter(),
    window: new SlidingWindow({ now: () => NOW, monotonic: () => 1_000 * this.#requests }),
    history: new UsageHistory({ addUsage() {}, usageDays: () => [] }, () => {}),
  };

  constructor(store: Store, alwaysYoga: boolean) {
    this.#store = store;
    const report = (error: unknown) => this.reported.push(error);
    const operations = alwaysYoga ? new Interpreted(schema, report) : new Operations(schema, report);
    const streams = new EventStreams({ store, openStreams: new OpenStreams(() => principal), report });
    const authentication = new Authentication(new Access(systemClock, this.#counters.history), store);
    const trusted = new TrustedDocuments({ store, clock: systemClock, onUntrusted() {}, report });
    this.#transport = new GraphQLTransport({ operations, trusted, streams, authentication, alwaysYoga });
  }

  /** Returns what a client sees of the response, and the cost. */
  async call({ method = 'POST', url = '/graphql', headers = {}, body = '' }: Request) {
    this.#requests += 1;
    const request = Object.assign(Readable.from(body.length > 0 ? [Buffer.from(body)] : []), {
      method,
      url,
      headers: { 'content-type': 'application/json', ...headers },
      // HTTP/1.0, for which disconnects are not detected: there is no socket.
      httpVersionMinor: 0,
    });
    const context = new RequestContext(
      request as unknown as IncomingMessage,
      {} as ServerResponse,
      'test',
      '',
    );
    context.transport = this.#transport;
    const session = new Session({
      principal,
      store: this.#store,
      counters: this.#counters,
      now: () => NOW,
    });
    context.session = session;
    const response = await this.#transport.handle(context).catch((error: unknown) => {
      if (error instanceof AppError) return this.#transport.errorResponse(error, context);
      throw error;
    });
    const contentType = response.contentType?.replace(/\s/g, '');
    return {
      status: response.status,
      contentType,
      // Event ids contain the id of the log, which differs between the stores.
      body: (await bodyOf(response)).replace(/"[0-9a-f]{8}-(\d+)"/g, '"log-$1"'),
      headers: response.headers,
      etag: response.etag,
      cost: session.units,
      operation: context.operationName,
    };
  }
}

const opened: OpenedStore[] = [];
let common: Side;
let reference: Side;

beforeAll(async () => {
  const sides = [];
  for (const alwaysYoga of [false, true]) {
    const current = await sqlite.open(() => NOW);
    opened.push(current);
    const { store } = current;
    for (let c = 1; c <= 3; c++)
      await store.table(Category).insert({ name: `C${c}`, ...(c === 1 && { description: 'First' }) });
    for (let p = 1; p <= 6; p++)
      await store.table(Pet).insert({
        name: `P${p}`,
        categoryId: String((p % 2) + 1),
        status: p % 2 === 0 ? 'sold' : 'available',
      });
    for (let o = 1; o <= 4; o++)
      await store
        .table(Order)
        .insert({ petId: String(o), ...(o === 2 && { quantity: 3 }), complete: o === 1 });
    await store.table(Order).insert({ complete: false });
    sides.push(new Side(store, alwaysYoga));
  }
  [common, reference] = sides as [Side, Side];
});
afterAll(async () => {
  for (const current of opened) await current.close();
});

/**
 * Sends the request to both sides three times. The common path interprets the first one and runs compiled code
 * after that.
 */
async function expectSame(request: Request, expectBody = expectSameText): Promise<void> {
  for (let time = 1; time <= 3; time++) {
    for (const { reported } of [common, reference]) reported.length = 0;
    const expected = await reference.call(request);
    const actual = await common.call(request);
    const about = `${JSON.stringify(request).slice(0, 3_000)}\ntime ${time}\nYoga → ${expected.status} ${expected.body.slice(0, 2_000)}`;
    if (actual.body !== expected.body) expectBody(actual.body, expected.body, about);
    expect({ ...actual, body: '' }, about).toEqual({ ...expected, body: '' });
    expect([common.reported, reference.reported], about).toEqual([[], []]);
  }
}

const expectSameText = (actual: string, expected: string, about: string): void =>
  expect(actual, about).toBe(expected);

/**
 * If several fields below the same null fail, graphql-js reports those that failed before it was done, which
 * depends on timing. So each null needs an error on both sides, but not the same one. A field that both sides
 * report must have failed alike.
 */
function expectSameNulls(actual: string, expected: string, about: string): void {
  expect(withNullPositions(actual), about).toEqual(withNullPositions(expected));
  const [ours, theirs] = [errorsByPath(actual), errorsByPath(expected)];
  for (const [path, errors] of ours) if (theirs.has(path)) expect(errors, about).toEqual(theirs.get(path));
}

interface ReportedError {
  path?: (string | number)[];
}

function errorsByPath(body: string): Map<string, ReportedError[]> {
  const errors = new Map<string, ReportedError[]>();
  for (const error of (JSON.parse(body).errors ?? []) as ReportedError[]) {
    const path = (error.path ?? []).join('.');
    errors.set(path, [...(errors.get(path) ?? []), error]);
  }
  return errors;
}

function withNullPositions(body: string): unknown {
  const { data, errors, ...others } = JSON.parse(body);
  const positions = errors?.map(({ path = [] }: ReportedError) => {
    let value = data;
    const isNull = path.findIndex((part) => {
      value = value?.[part];
      return value === null || value === undefined;
    });
    return (data === null ? [] : path.slice(0, isNull + 1)).join('.');
  });
  return { data, positions: [...new Set(positions)].sort(), ...others };
}

const post = (
  query: string,
  variables?: Record<string, unknown>,
  headers: Record<string, string> = {},
): Request => ({
  headers,
  body: stringify({ query, variables }) as string,
});

const OPERATIONS: readonly (readonly [query: string, variables?: Record<string, unknown>])[] = [
  ['{ __typename }'],
  [
    '{ pet(id: 1) { id name status categoryId category { id name description } inventory { petId quantity status pet { id } } } }',
  ],
  ['{ pet(id: 99) { id } category(id: 3) { description pets { nodes { id } } } }'],
  [
    'query ($a: ID!, $b: Boolean!) { pet(id: $a) { id name @include(if: $b) status @skip(if: $b) } }',
    { a: 1, b: true },
  ],
  [
    'query ($a: ID!, $b: Boolean!) { pet(id: $a) { id name @include(if: $b) status @skip(if: $b) } }',
    { a: '2', b: false },
  ],
  ['query ($b: Boolean!) { pet(id: 1) @include(if: $b) { id } }', { b: false }],
  [
    'query ($b: Boolean!) { ...F @skip(if: $b) ... on Query @include(if: $b) { x: pet(id: 1) { id } } } fragment F on Query { y: pet(id: 2) { id } }',
    { b: true },
  ],
  ['query ($b: Boolean!) { pet(id: 1) { id } ... @include(if: $b) { pet(id: 1) { name } } }', { b: true }],
  ['query ($b: Boolean!) { pet(id: 1) { id @skip(if: $b) id @include(if: $b) } }', { b: true }],
  ['query ($b: Boolean = true) { pet(id: 1) { id @skip(if: $b) name } }'],
  ['query ($b: Boolean = true) { pet(id: 1) { id @skip(if: $b) name } }', { b: false }],
  ['query ($b: Boolean = true) { pet(id: 1) { id @skip(if: $b) name } }', { b: null }],
  [
    '{ pet(id: 1) { ...A ...B } } fragment A on Pet { id category { id } } fragment B on Pet { name category { name ...C } } fragment C on Category { pets(first: 1) { nodes { __typename id } } }',
  ],
  [
    '{ pets(first: 2) { edges { cursor node { id orders(first: 1) { nodes { id shipDate quantity pet { name } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } totalCount } } } totalCount } }',
  ],
  [
    '{ pets(last: 2, before: "4") { nodes { id } pageInfo { hasNextPage hasPreviousPage } } category(id: 1) { pets(last: 1, before: "5") { pageInfo { hasNextPage hasPreviousPage } } } }',
  ],
  ['{ a: pets(first: 0) { nodes { id } } }'],
  ['{ pet(id: 1) { id } a: pets(first: 0) { nodes { id } } }'],
  ['{ category(id: 1) { name pets(first: 0) { nodes { id } } } pet(id: 1) { id } }'],
  ['{ categories { nodes { id pets(first: 0) { nodes { id } } } } }'],
  [
    '{ a: category(id: 1) { pets(first: 0) { nodes { id } } } b: category(id: 2) { pets(last: 0) { nodes { id } } } }',
  ],
  [
    '{ order(id: 1) { pet { orders(after: "x") { nodes { id } } } } b: order(id: 2) { pet { orders(first: 101) { nodes { id } } } } }',
  ],
  [
    'query ($f: Int, $a: String, $s: [PetStatus!]) { pets(first: $f, after: $a, filter: {status: $s}) { nodes { id status } } }',
    {},
  ],
  [
    'query ($f: Int, $a: String, $s: [PetStatus!]) { pets(first: $f, after: $a, filter: {status: $s}) { nodes { id status } } }',
    { f: 2, a: '1', s: ['sold'] },
  ],
  [
    'query ($f: Int, $a: String, $s: [PetStatus!]) { pets(first: $f, after: $a, filter: {status: $s}) { nodes { id status } } }',
    { f: null, a: null, s: 'sold' },
  ],
  [
    'query ($f: Int, $a: String, $s: [PetStatus!]) { pets(first: $f, after: $a, filter: {status: $s}) { nodes { id status } } }',
    { f: 1.5, a: 7, s: ['gone', null] },
  ],
  ['query ($f: PetFilter) { pets(filter: $f) { nodes { id } } }', { f: { status: [], categoryId: null } }],
  ['query ($f: PetFilter) { pets(filter: $f) { nodes { id } } }', { f: { status: 'sold', x: 1 } }],
  ['query ($f: PetFilter = {status: sold}) { pets(filter: $f) { nodes { id } } }', {}],
  ['query ($id: ID = 2) { orders(filter: {petId: $id}) { nodes { id } } }', {}],
  ['query ($id: ID!) { order(id: $id) { id } }', { id: 9223372036854775807n }],
  ['query ($id: ID!) { order(id: $id) { id } }', { id: 9223372036854775808n }],
  ['query ($id: ID!) { order(id: $id) { id } }', { id: 1, unused: 'x' }],
  [
    '{ __schema { queryType { name } } __type(name: "Pet") { name kind fields { name type { kind ofType { name } } } } }',
  ],
  ['{ __type(name: "Nothing") { name } }'],
  // Yoga would refuse its depth if it validated the document itself.
  ['{ __type(name: "Pet") { fields { type { fields { type { fields { name } } } } } } }'],
  [getIntrospectionQuery({ specifiedByUrl: true, schemaDescription: true })],
  ['{ rateLimit { cost plan minute { limit remaining resetAt } day { limit } } pet(id: 1) { id } }'],
  [
    'mutation { a: createPet(input: {name: " A ", categoryId: 1}) { id name status inventory { quantity } } b: createCategory(input: {name: "B"}) { id description } }',
  ],
  ['mutation { a: createPet(input: {name: "", categoryId: 1}) { id } }'],
  [
    'mutation { a: updatePet(id: 1, input: {name: "A"}) { name } b: deletePet(id: 2) c: updatePet(id: 1, input: {name: "C"}) { name category { name } } }',
  ],
  [
    'mutation { a: updatePet(id: 1, input: {name: "X"}) { name } b: updatePet(id: 1, input: {name: "Y"}) { name category { pets(first: 1) { nodes { name } } } } c: deleteOrder(id: 99) }',
  ],
  [
    'mutation ($i: NewOrder!) { createOrder(input: $i) { id petId quantity shipDate complete pet { name } } }',
    { i: { petId: 3, shipDate: '2026-01-31T09:30:00.5+01:00' } },
  ],
  ['mutation ($i: NewOrder!) { createOrder(input: $i) { id } }', { i: { quantity: 0, shipDate: 'x' } }],
  [
    'mutation ($q: Int, $d: DateTime, $p: ID) { createOrder(input: {quantity: $q, shipDate: $d, petId: $p}) { quantity shipDate petId complete } }',
    { q: 2, d: '2026-01-31T09:30:00+01:00' },
  ],
  ['mutation ($q: Int!) { updateInventory(petId: 1, input: {quantity: $q}) { quantity } }', { q: -1 }],
  ['mutation ($n: String) { updateCategory(id: 1, input: {description: $n}) { description } }', {}],
  [
    'mutation ($i: CategoryPatch!) { updateCategory(id: 1, input: $i) { name description } }',
    { i: { name: 'x' } },
  ],
  ['mutation ($n: String) { updateCategory(id: 1, input: {description: $n}) { description } }', { n: null }],
  ['mutation ($n: String) { updateCategory(id: 1, input: {description: $n}) { description } }', { n: 'x' }],
  ['mutation { __typename }'],
  [
    '{ __proto__: pet(id: 1) { __proto__: name constructor: id toString: status } hasOwnProperty: __typename }',
  ],
  [
    'query ($__proto__: PetFilter) { pets(filter: $__proto__) { nodes { id } } }',
    JSON.parse('{"__proto__":{"status":"sold"}}'),
  ],
  [
    'query ($toString: Int, $constructor: ID!) { pets(first: $toString, filter: {categoryId: $constructor}) { nodes { id } } }',
    { constructor: '1' },
  ],
  ['query ($id: ID = 1) { pet(id: $id) { id } }', { id: null }],
  ['query ($id: ID = 1) { pet(id: $id) { id } }', {}],
  ['query ($s: PetStatus = sold) { pets(filter: {status: [$s]}) { nodes { id } } }', { s: null }],
  ['mutation ($c: ID = 1) { createPet(input: {name: "x", categoryId: $c}) { categoryId } }', { c: null }],
  ['query ($f: Int = 1) { pets(first: $f) { nodes { id } } }', { f: null }],
  ['{'],
  [''],
  ['{ nothing }'],
  ['{ a: nothing b: nothing pet { id } }'],
  ['query A { __typename } query B { __typename }'],
  ['{ pets(first: 100) { nodes { category { pets(first: 100) { nodes { id } } } } } }'],
  ['subscription { x }'],
];

const ACCEPTS = [
  undefined,
  '*/*',
  'application/json',
  'application/graphql-response+json',
  'application/graphql-response+json, application/json;q=0.5',
  'application/json, application/graphql-response+json',
  'text/html, */*;q=0.1',
  'application/*',
  'application/graphql-response+json;charset=utf-8',
  'text/html',
  'APPLICATION/JSON',
];

describe('the common path', () => {
  it.each(
    OPERATIONS.map(
      ([query, variables]) => [query.slice(0, 150).replace(/\s+/g, ' '), query, variables] as const,
    ),
  )('responds as Yoga does to %s', async (_, query, variables) => {
    await expectSame(post(query, variables));
  });

  it.each(ACCEPTS)('responds as Yoga does under Accept: %s', async (accept) => {
    const headers: Record<string, string> = accept === undefined ? {} : { accept };
    for (const [query, variables] of OPERATIONS.slice(0, 4))
      await expectSame(post(query, variables, headers));
    for (const query of [
      '{',
      '{ nothing }',
      '{ pets(first: 0) { nodes { id } } }',
      '{ pet(id: "x") { id } }',
    ])
      await expectSame(post(query, undefined, headers));
    await expectSame({ headers, body: '[{"query":"{ __typename }"},{"query":"{"}]' });
    await expectSame({ headers, body: '{' });
  });

  it.each([
    '',
    '{',
    'null',
    '7',
    '"x"',
    '[]',
    '[7]',
    '[[]]',
    '{}',
    '{"query":7}',
    '{"query":null}',
    '{"variables":{}}',
    '{"query":"{ __typename }","variables":7}',
    '{"query":"{ __typename }","variables":"{}"}',
    '{"query":"{ __typename }","variables":[]}',
    '{"query":"{ __typename }","variables":null,"operationName":null,"extensions":null}',
    '{"query":"{ __typename }","operationName":7}',
    '{"query":"{ __typename }","operationName":""}',
    '{"query":"{ __typename }","operationName":"A"}',
    '{"query":"query A { a: __typename } query B { b: __typename }","operationName":"B"}',
    '{"query":"query A { a: __typename }","operationName":"A"}',
    '{"query":"{ __typename }","extensions":7}',
    '{"query":"{ __typename }","extensions":{"x":1}}',
    '{"query":"{ __typename }","x":1}',
    '{"query":"{ __typename }","query":"{ a: __typename }"}',
    '[{"query":"{ __typename }"}]',
    '[{"query":"{ __typename }"},{"query":"{ pet(id: 1) { id } }"},{"query":"{ nothing }"},{"query":"{"}]',
    '[{"query":"{"}]',
    '[{"query":"{ __typename }"},7]',
    '[{"query":"{ __typename }"},{"query":"query ($id: ID!) { pet(id: $id) { id } }","variables":{"id":0}}]',
    '[{"query":"mutation { a: updatePet(id: 1, input: {name: \\"A\\"}) { name } }"},{"query":"mutation { a: updatePet(id: 1, input: {name: \\"B\\"}) { name } }"}]',
    `[${Array.from({ length: 10 }, () => '{"query":"{ __typename }"}').join()}]`,
    `[${Array.from({ length: 11 }, () => '{"query":"{ __typename }"}').join()}]`,
    '\ufeff{"query":"{ __typename }"}',
  ])('responds as Yoga does to the body %s', async (body) => {
    await expectSame({ body });
  });

  it.each([
    'application/json; charset=utf-8',
    'application/graphql+json',
    'Application/JSON',
    'text/plain',
    'application/json; charset=latin1',
    'multipart/form-data; boundary=x',
  ])('responds as Yoga does to Content-Type: %s', async (contentType) => {
    await expectSame(post('{ pet(id: 1) { name } }', undefined, { 'content-type': contentType }));
  });

  const numRuns = Number(process.env.FUZZ_RUNS ?? cases(20, 300));

  it('responds as Yoga does to random queries', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(operationOf('query', 5), async (request) => {
        await expectSame(post(request.query, request.variables), expectSameNulls);
      }),
      { numRuns },
    );
  });

  it('responds as Yoga does to random mutations', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(operationOf('mutation', 3), async (request) => {
        await expectSame(post(request.query, request.variables), expectSameNulls);
      }),
      // After the first difference the stores may differ too, so there is nothing to shrink.
      { numRuns: Math.ceil(numRuns / 3), endOnFailure: true },
    );
  });
});

/** Variables for generated operations, some with invalid values. */
const VARIABLES: Record<string, [type: string, values: fc.Arbitrary<unknown>]> = {
  id: ['ID!', fc.constantFrom<unknown>('1', 2, 9, '0')],
  node: ['ID!', fc.constantFrom<unknown>('UGV0OjI', 'Q2F0ZWdvcnk6MQ', 'T3JkZXI6NA', 'y')],
  size: ['Int', fc.constantFrom<unknown>(1, 2, null, 0, 101)],
  cursor: ['String', fc.constantFrom<unknown>('1', '3', null, 'x')],
  statuses: ['[PetStatus!]', fc.constantFrom<unknown>(['sold'], 'available', [], null)],
  yes: ['Boolean! = true', fc.boolean()],
  text: ['String', fc.constantFrom<unknown>('T', '', null)],
  quantity: ['Int', fc.constantFrom<unknown>(1, 3, null, 0)],
  patch: [
    'CategoryPatch!',
    fc.constantFrom<unknown>({}, { name: 'V' }, { description: null }, { description: 'W' }, { name: null }),
  ],
  newOrder: [
    'NewOrder!',
    fc.constantFrom<unknown>({}, { petId: '1' }, { quantity: 1, complete: null }, { petId: 99 }, { x: 1 }),
  ],
};

const ARGUMENTS: Record<string, fc.Arbitrary<string>> = {
  id: fc.constantFrom('1', '"2"', '3', '99', '$id'),
  petId: fc.constantFrom('1', '"2"', '99', '$id'),
  first: fc.constantFrom('1', '2', '5', '$size', '0', 'null'),
  last: fc.constantFrom('1', '2', '$size', '101'),
  after: fc.constantFrom('"1"', '"3"', '"99"', '$cursor', '"x"', 'null'),
  before: fc.constantFrom('"2"', '"5"', '$cursor'),
  from: fc.constantFrom('"2026-11-01"', '"2026-11-31"', 'null'),
  to: fc.constantFrom('"2026-11-20"', '"2020-01-01"', '7'),
  nodeId: fc.constantFrom('"UGV0OjE"', '"Q2F0ZWdvcnk6MQ"', '"T3JkZXI6Mg"', '"x"', '7', '$node'),
  nodeIds: fc.constantFrom(
    '["UGV0OjE", $node, "SW52ZW50b3J5SXRlbTox"]',
    '$node',
    '[]',
    '["UGV0OjE", "UGV0OjE"]',
  ),
  types: fc.constantFrom('[pet_created]', 'order_updated', '[]'),
  name: fc.constantFrom('"Pet"', '"PetStatus"', '"Nothing"'),
  includeDeprecated: fc.constantFrom('true', 'false', '$yes'),
  grace: fc.constantFrom('60', '-1', 'null'),
  sort: fc.constantFrom('id_asc', 'id_desc', 'null'),
  'filter CategoryFilter': fc.constantFrom('{}', '{name: "d"}', 'null'),
  'filter PetFilter': fc.constantFrom(
    '{status: sold}',
    '{status: $statuses}',
    '{categoryId: $id}',
    '{}',
    'null',
    '{status: [], categoryId: 1}',
  ),
  'filter OrderFilter': fc.constantFrom(
    '{complete: true}',
    '{complete: $yes}',
    '{petId: $id}',
    '{petId: 1, complete: false}',
  ),
  'filter InventoryFilter': fc.constantFrom('{status: $statuses}', '{status: [sold, available]}'),
  'input NewPet': fc.constantFrom(
    '{name: "N", categoryId: 1}',
    '{name: "", categoryId: $id}',
    '{name: "N", categoryId: 99, status: null}',
  ),
  'input PetPatch': fc.constantFrom('{name: "M"}', '{}', '{status: null}', '{categoryId: $id}'),
  'input NewCategory': fc.constantFrom('{name: "N"}', '{name: " "}'),
  'input CategoryPatch': fc.constantFrom(
    '{description: null}',
    '{description: $text}',
    '{name: "M"}',
    '{name: null}',
    '$patch',
  ),
  'input NewOrder': fc.constantFrom(
    '{}',
    '{petId: $id, quantity: $size}',
    '{id: 1}',
    '{shipDate: "2026-01-31T09:30:00Z"}',
  ),
  'input OrderPatch': fc.constantFrom(
    '{complete: $yes}',
    '{petId: null, quantity: $quantity}',
    '{quantity: 0}',
  ),
  // None is created, since its secret would be random.
  'input NewWebhook': fc.constantFrom('{url: "x"}', '{url: "", types: []}', '{url: $text}'),
  'input WebhookPatch': fc.constantFrom('{enabled: $yes}', '{types: []}', '{url: null}', '{after: $id}'),
  'input InventoryUpdate': fc.constantFrom('{quantity: 4}', '{quantity: -1}'),
};

const directive = fc.constantFrom(
  '',
  '',
  '',
  '',
  ' @include(if: $yes)',
  ' @skip(if: $yes)',
  ' @skip(if: false)',
);

/** Scalars that are not text. */
const LITERALS: Readonly<Record<string, string>> = {
  ID: '1',
  Int: '1',
  Boolean: 'true',
  Date: '"2026-01-31"',
  DateTime: '"2026-01-31T09:30:00Z"',
};

/** A value of a type of which nothing special is tried. */
function literalOf(type: GraphQLInputType): string {
  const named = getNamedType(type);
  if (isEnumType(named)) return named.getValues()[0]!.name;
  if (!isInputObjectType(named)) return LITERALS[named.name] ?? '"x"';
  return `{${Object.values(named.getFields()).map(({ name, type }) => `${name}: ${literalOf(type)}`)}}`;
}

function argumentsOf(args: readonly GraphQLArgument[]): fc.Arbitrary<string> {
  const parts = args.map((arg) => {
    const values =
      ARGUMENTS[arg.name] ??
      ARGUMENTS[`${arg.name} ${getNamedType(arg.type).name}`] ??
      fc.constantFrom(literalOf(arg.type), 'null');
    const given = values.map((value) => `${arg.name}: ${value}`);
    const isRequired = String(arg.type).endsWith('!');
    return isRequired
      ? given
      : fc.oneof({ weight: 3, arbitrary: fc.constant('') }, { weight: 1, arbitrary: given });
  });
  return fc.tuple(...parts).map((texts) => {
    const given = texts.filter(Boolean);
    return given.length > 0 ? `(${given.join(', ')})` : '';
  });
}

/** A selection of fields of this type. Each response key is used once, so that fields cannot conflict. */
function selectionOf(
  type: GraphQLObjectType | GraphQLInterfaceType,
  depth: number,
  maxFields = 4,
): fc.Arbitrary<string> {
  const isComposite = (type: unknown) => isObjectType(type) || isInterfaceType(type);
  const fields = Object.values(type.getFields()).filter(
    ({ type }) => depth > 0 || !isComposite(getNamedType(type)),
  );
  const leaf = fc.constant('__typename');
  if (fields.length === 0) return fc.constant('{ __typename }');
  const field = fc.constantFrom(...fields).chain((chosen) => {
    const named = getNamedType(chosen.type);
    const below =
      isObjectType(named) || isInterfaceType(named) ? selectionOf(named, depth - 1) : fc.constant('');
    return fc
      .tuple(argumentsOf(chosen.args), directive, below)
      .map(([args, when, selection]) => `${chosen.name}${args}${when} ${selection}`);
  });
  if (isInterfaceType(type) && depth > 0) {
    const ofTypes = schema
      .getPossibleTypes(type)
      .map((possible) => selectionOf(possible, Math.min(depth - 1, 2), 2));
    return fc.tuple(...ofTypes, directive).map((parts) => {
      const when = parts.pop();
      // Each possible type has its own response keys, since equal keys would need equal types.
      const texts = schema.getPossibleTypes(type).map((possible, index) => {
        const text = (parts[index] as string).replace(/\bf(\d+):/g, `${possible.name.toLowerCase()}$1:`);
        return `... on ${possible.name}${index === 0 ? when : ''} ${text}`;
      });
      return `{ nodeId ${texts.join(' ')} }`;
    });
  }
  const selected = fc.array(fc.oneof({ weight: 8, arbitrary: field }, { weight: 1, arbitrary: leaf }), {
    minLength: 1,
    maxLength: maxFields,
  });
  return fc.tuple(selected, fc.boolean(), directive).map(([texts, wrapped, when]) => {
    const [first, ...others] = texts.map((text, index) => `f${index}: ${text}`);
    return wrapped
      ? `{ ${others.join(' ')} ... on ${type.name}${when} { ${first} } }`
      : `{ ${[first, ...others].join(' ')} }`;
  });
}

function operationOf(kind: 'query' | 'mutation', depth: number) {
  const root = kind === 'query' ? schema.getQueryType()! : schema.getMutationType()!;
  const values = fc.record(
    Object.fromEntries(
      Object.entries(VARIABLES).map(([name, [, value]]) => [name, fc.option(value, { nil: undefined })]),
    ),
  );
  return fc.tuple(selectionOf(root, depth), values).map(([selection, given]) => {
    const used = Object.entries(VARIABLES).filter(([name]) => new RegExp(`\\$${name}\\b`).test(selection));
    const definitions = used.map(([name, [type]]) => `$${name}: ${type}`);
    const query = `${kind}${definitions.length > 0 ? ` (${definitions.join(', ')})` : ''} ${selection}`;
    return { query, variables: Object.fromEntries(used.map(([name]) => [name, given[name]])) };
  });
}
