import { afterEach, describe, expect, it, vi } from 'vitest';
import { AppError, ERRORS, type ErrorCode, unavailable } from '../../src/foundation/errors.ts';
import type { Store } from '../../src/store/store.ts';
import { failing } from '../kit/failing.ts';
import { TestGateway } from '../kit/gateway.ts';
import { fill, makeWorld, query, type Sent, send, sqlite, useGateway } from '../kit/petstore.ts';

type Call = Parameters<typeof send>[2];
type SendRequest = (gateway: TestGateway, call: Call) => Promise<Sent>;
interface Row {
  code: ErrorCode;
  name: string;
  rest: SendRequest;
  graphql: SendRequest;
  /** The messages differ, because they name something that differs between the interfaces. */
  differentMessages?: true;
  prepare?: (gateway: TestGateway) => Promise<Call>;
  store?: (store: Store) => Store;
}

const rest =
  (request: string, body?: string | Buffer, call: Call = {}): SendRequest =>
  (gateway, more) =>
    send(gateway, request, { body, ...call, ...more, headers: { ...call?.headers, ...more?.headers } });
const graphql =
  (text: string, variables?: Record<string, unknown>, call: Call = {}): SendRequest =>
  (gateway, more) =>
    query(gateway, text, variables, { ...call, ...more, headers: { ...call?.headers, ...more?.headers } });

const MISSING = '9223372036854775806';
const CREATE_PET = 'mutation ($input: NewPet!) { createPet(input: $input) { id } }';
const CREATE_ORDER = 'mutation ($input: NewOrder!) { createOrder(input: $input) { id } }';

/** Replaces the methods with matching names by one that throws. */
async function spentKey(gateway: TestGateway): Promise<Call> {
  const key = await gateway.newKey('enterprise', { perMinute: 1, perDay: 10 });
  await send(gateway, '/pets', { key });
  return { key };
}

async function bannedKey(gateway: TestGateway): Promise<Call> {
  const call = await spentKey(gateway);
  for (let strike = 0; strike <= 20; strike++) await send(gateway, '/pets', call);
  return call;
}

/** Freezes the system clock for the rest of the test, because the burst guard counts per second. */
async function burstingKey(gateway: TestGateway): Promise<Call> {
  vi.useFakeTimers({ toFake: ['Date'] });
  const key = await gateway.newKey('free');
  for (let i = 0; i < 20; i++) await send(gateway, 'POST /store/orders', { key, body: '{}' });
  return { key };
}

async function usedIdempotencyKey(gateway: TestGateway): Promise<Call> {
  const headers = { 'idempotency-key': 'errors' };
  await send(gateway, 'POST /categories', { body: '{"name":"x"}', headers });
  return { headers };
}

const BOTH: readonly Row[] = [
  {
    code: 'BAD_REQUEST',
    name: 'broken JSON',
    rest: rest('POST /pets', '{'),
    graphql: rest('POST /graphql', '{'),
  },
  {
    code: 'BAD_REQUEST',
    name: 'invalid UTF-8',
    rest: rest('POST /pets', Buffer.from([0x22, 0xff, 0x22])),
    graphql: rest('POST /graphql', Buffer.from([0x22, 0xff, 0x22])),
  },
  {
    code: 'BAD_REQUEST',
    name: 'a body that is not an object',
    differentMessages: true,
    rest: rest('POST /pets', '7'),
    graphql: rest('POST /graphql', '7'),
  },
  {
    code: 'VALIDATION_FAILED',
    name: 'missing fields',
    rest: rest('POST /pets', '{}'),
    graphql: graphql(CREATE_PET, { input: {} }),
  },
  {
    code: 'VALIDATION_FAILED',
    name: 'invalid fields',
    rest: rest('POST /pets', '{"name":" ","categoryId":0,"status":"gone","age":1}'),
    graphql: graphql(CREATE_PET, { input: { name: ' ', categoryId: 0, status: 'gone', age: 1 } }),
  },
  {
    code: 'VALIDATION_FAILED',
    name: 'invalid fields in a literal',
    rest: rest('POST /store/orders', '{"quantity":0}'),
    graphql: graphql('mutation { createOrder(input: {quantity: 0}) { id } }'),
  },
  {
    code: 'VALIDATION_FAILED',
    name: 'an invalid date',
    rest: rest('POST /store/orders', '{"shipDate":"x"}'),
    graphql: graphql(CREATE_ORDER, { input: { shipDate: 'x' } }),
  },
  {
    code: 'VALIDATION_FAILED',
    name: 'null for a required field',
    rest: rest('PATCH /categories/$C', '{"name":null}'),
    graphql: graphql('mutation { updateCategory(id: $C, input: {name: null}) { id } }'),
  },
  {
    code: 'VALIDATION_FAILED',
    name: 'an invalid id',
    rest: rest('GET /store/inventory/0'),
    graphql: graphql('{ inventoryItem(petId: 0) { petId } }'),
  },
  {
    code: 'VALIDATION_FAILED',
    name: 'an invalid id in a variable',
    rest: rest('GET /store/inventory/x'),
    graphql: graphql('query ($petId: ID!) { inventoryItem(petId: $petId) { petId } }', { petId: 'x' }),
  },
  {
    code: 'VALIDATION_FAILED',
    name: 'an invalid filter',
    rest: rest('GET /pets?categoryId=0'),
    graphql: graphql('{ pets(filter: {categoryId: 0}) { totalCount } }'),
  },
  {
    code: 'VALIDATION_FAILED',
    name: 'an invalid page size',
    differentMessages: true,
    rest: rest('GET /pets?limit=101'),
    graphql: graphql('{ pets(first: 101) { totalCount } }'),
  },
  {
    code: 'VALIDATION_FAILED',
    name: 'an invalid Idempotency-Key',
    rest: rest('POST /store/orders', '{}', { headers: { 'idempotency-key': 'a b' } }),
    graphql: graphql(CREATE_ORDER, { input: {} }, { headers: { 'idempotency-key': 'a b' } }),
  },
  {
    code: 'UNAUTHENTICATED',
    name: 'a missing key',
    rest: rest('GET /pets', undefined, { key: null }),
    graphql: graphql('{ pets { totalCount } }', undefined, { key: null }),
  },
  {
    code: 'UNAUTHENTICATED',
    name: 'an unknown key',
    rest: rest('GET /pets', undefined, { key: 'x' }),
    graphql: graphql('{ pets { totalCount } }', undefined, { key: 'x' }),
  },
  {
    code: 'API_KEY_BANNED',
    name: 'a banned key',
    prepare: bannedKey,
    rest: rest('GET /pets'),
    graphql: graphql('{ pets { totalCount } }'),
  },
  {
    code: 'FORBIDDEN',
    name: 'a missing scope',
    prepare: async (gateway) => ({ key: await gateway.restrictedKey({ scopes: ['orders:write'] }) }),
    rest: rest('GET /pets'),
    graphql: graphql('{ pets { totalCount } }'),
  },
  {
    code: 'NOT_FOUND',
    name: 'a missing pet',
    rest: rest(`DELETE /pets/${MISSING}`),
    graphql: graphql(`mutation { deletePet(id: ${MISSING}) }`),
  },
  {
    code: 'METHOD_NOT_ALLOWED',
    name: 'an unsupported method',
    differentMessages: true,
    rest: rest('PUT /pets'),
    graphql: rest('PUT /graphql'),
  },
  {
    code: 'NOT_ACCEPTABLE',
    name: 'Accept: text/html',
    differentMessages: true,
    rest: rest('GET /pets', undefined, { headers: { accept: 'text/html' } }),
    graphql: graphql('{ pets { totalCount } }', undefined, { headers: { accept: 'text/html' } }),
  },
  {
    code: 'PAYLOAD_TOO_LARGE',
    name: 'an oversized body',
    rest: rest('POST /pets', 'x'.repeat(100_001)),
    graphql: rest('POST /graphql', 'x'.repeat(100_001)),
  },
  {
    code: 'UNSUPPORTED_MEDIA_TYPE',
    name: 'Content-Type: text/plain',
    differentMessages: true,
    rest: rest('POST /pets', '{}', { headers: { 'content-type': 'text/plain' } }),
    graphql: rest('POST /graphql', '{}', { headers: { 'content-type': 'text/plain' } }),
  },
  {
    code: 'CONFLICT',
    name: 'a pet on order',
    rest: rest('DELETE /pets/$P'),
    graphql: graphql('mutation { deletePet(id: $P) }'),
  },
  {
    code: 'CONFLICT',
    name: 'an order id that is taken',
    rest: rest('POST /store/orders', '{"id":$O}'),
    graphql: graphql('mutation { createOrder(input: {id: $O}) { id } }'),
  },
  {
    code: 'UNKNOWN_REFERENCE',
    name: 'an unknown category',
    rest: rest('POST /pets', `{"name":"x","categoryId":${MISSING}}`),
    graphql: graphql(CREATE_PET, { input: { name: 'x', categoryId: MISSING } }),
  },
  {
    code: 'IDEMPOTENCY_KEY_REUSED',
    name: 'the same Idempotency-Key with another payload',
    prepare: usedIdempotencyKey,
    rest: rest('POST /categories', '{"name":"y"}'),
    graphql: graphql('mutation { createCategory(input: {name: "y"}) { id } }'),
  },
  {
    code: 'RATE_LIMITED',
    name: 'an exhausted plan limit',
    prepare: spentKey,
    rest: rest('GET /pets'),
    graphql: graphql('{ pets { totalCount } }'),
  },
  {
    code: 'RATE_LIMITED',
    name: 'a burst of mutations',
    prepare: burstingKey,
    rest: rest('POST /store/orders', '{}'),
    graphql: graphql(CREATE_ORDER, { input: {} }),
  },
  {
    code: 'INTERNAL',
    name: 'an unexpected error',
    store: (store) =>
      failing(store, /^pets\.byIds$/, () => {
        throw new Error('secret');
      }),
    rest: rest('GET /pets/1'),
    graphql: graphql('{ pet(id: 1) { id } }'),
  },
  {
    code: 'UNAVAILABLE',
    name: 'an unreachable database in a resolver',
    store: (store) =>
      failing(store, /^pets\.byIds$/, () => {
        throw unavailable();
      }),
    rest: rest('GET /pets/1'),
    graphql: graphql('{ pet(id: 1) { id } }'),
  },
  {
    code: 'UNAVAILABLE',
    name: 'an unreachable database while charging',
    store: (store) =>
      failing(store, /^charge$/, () => {
        throw unavailable();
      }),
    rest: rest('GET /pets/1'),
    graphql: graphql('{ pet(id: 1) { id } }'),
  },
];

const REST_ONLY: ErrorCode[] = ['GONE', 'PRECONDITION_FAILED'];
const GRAPHQL_ONLY: ErrorCode[] = [
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'PERSISTED_QUERY_NOT_FOUND',
  'QUERY_TOO_COMPLEX',
];

describe('error codes', () => {
  const kit = useGateway(sqlite);
  kit.faultsExpected = true;

  afterEach(() => {
    vi.useRealTimers();
  });

  it('covers every code here, except those of one interface only', () => {
    const codes = new Set([...BOTH.map(({ code }) => code), ...REST_ONLY, ...GRAPHQL_ONLY]);
    expect([...codes].sort()).toEqual(Object.keys(ERRORS).sort());
  });

  it('gives AppError the status of its code in both formats', () => {
    for (const [code, { status }] of Object.entries(ERRORS)) {
      const error = new AppError(code as ErrorCode, 'why');
      expect(error.toPublic()).toEqual({ code, message: 'why', status });
      expect(error.extensions).toEqual({ code, status });
    }
  });

  it.each(BOTH)(
    'responds $code over REST and GraphQL alike: $name',
    async ({ code, rest, graphql, differentMessages, prepare, store }) => {
      const gateway = store ? await TestGateway.start(store(kit.gateway.store), {}, kit.clock) : kit.gateway;
      const world = await makeWorld(kit);
      // Fills the ids into paths and bodies as they are sent.
      const filled = new Proxy(gateway, {
        get(target, name) {
          if (name !== 'call') return Reflect.get(target, name);
          return (path: string, call: { body?: unknown }) =>
            target.call(fill(path, world), {
              ...call,
              ...(typeof call.body === 'string' && { body: fill(call.body, world) }),
            });
        },
      });
      const call = (await prepare?.(gateway)) ?? {};
      const [first, second] = [await rest(filled, call), await graphql(filled, call)];
      if (store) await gateway.close();
      const { status } = ERRORS[code];
      expect(first.json, first.about).toEqual({ code, message: expect.any(String), status });
      expect(first.status, first.about).toBe(status);
      const [error] = second.json.errors;
      const fields = code === 'VALIDATION_FAILED' && { fields: expect.any(Array) };
      expect(error.extensions, second.about).toEqual({ code, status, ...fields });
      // An error before the operation runs determines the HTTP status.
      expect(second.status, second.about).toBe('data' in second.json ? 200 : status);
      if (!differentMessages) expect(error.message, first.about + second.about).toBe(first.json.message);
      if (code === 'INTERNAL') expect(first.json.message).toBe('Something went wrong on our side.');
      if (!('data' in second.json)) {
        for (const name of ['retry-after', 'www-authenticate'])
          expect(second.headers[name], second.about).toBe(first.headers[name]);
      }
    },
  );
});
