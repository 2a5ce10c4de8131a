import { afterEach, describe, expect, it, vi } from 'vitest';
import { AppError, ERRORS, type ErrorCode, unavailable } from '../src/errors.ts';
import type { Store } from '../src/store/store.ts';
import { TestGateway } from './kit/gateway.ts';
import { fill, makeWorld, query, type Sent, send, sqlite, useGateway } from './kit/petstore.ts';

type Call = Parameters<typeof send>[2];
type Ask = (gateway: TestGateway, call: Call) => Promise<Sent>;
interface Row {
  code: ErrorCode;
  name: string;
  rest: Ask;
  graphql: Ask;
  /** The message differs, because it is about something that differs between the interfaces. */
  ownWords?: true;
  prepare?: (gateway: TestGateway) => Promise<Call>;
  store?: (store: Store) => Store;
}

const rest =
  (request: string, body?: string | Buffer, call: Call = {}): Ask =>
  (gateway, more) =>
    send(gateway, request, { body, ...call, ...more, headers: { ...call?.headers, ...more?.headers } });
const graphql =
  (text: string, variables?: Record<string, unknown>, call: Call = {}): Ask =>
  (gateway, more) =>
    query(gateway, text, variables, { ...call, ...more, headers: { ...call?.headers, ...more?.headers } });

const MISSING = '9223372036854775806';
const CREATE_PET = 'mutation ($input: NewPet!) { createPet(input: $input) { id } }';
const CREATE_ORDER = 'mutation ($input: NewOrder!) { createOrder(input: $input) { id } }';

/** The store with one method replaced. */
const failing =
  (names: RegExp, fault: () => never) =>
  (store: Store): Store =>
    new Proxy(store, {
      get(target, name) {
        const member = Reflect.get(target, name);
        if (name === 'peekPet') return undefined;
        if (typeof member !== 'function') return member;
        return names.test(String(name)) ? fault : member.bind(target);
      },
    });

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

/** Holds the clock of the machine until the test is over: the guard counts within one second of it. */
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
    name: 'no UTF-8',
    rest: rest('POST /pets', Buffer.from([0x22, 0xff, 0x22])),
    graphql: rest('POST /graphql', Buffer.from([0x22, 0xff, 0x22])),
  },
  {
    code: 'BAD_REQUEST',
    name: 'no object',
    ownWords: true,
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
    name: 'bad fields',
    rest: rest('POST /pets', '{"name":" ","categoryId":0,"status":"gone","age":1}'),
    graphql: graphql(CREATE_PET, { input: { name: ' ', categoryId: 0, status: 'gone', age: 1 } }),
  },
  {
    code: 'VALIDATION_FAILED',
    name: 'bad fields of literals',
    rest: rest('POST /store/orders', '{"quantity":0}'),
    graphql: graphql('mutation { createOrder(input: {quantity: 0}) { id } }'),
  },
  {
    code: 'VALIDATION_FAILED',
    name: 'a bad date',
    rest: rest('POST /store/orders', '{"shipDate":"x"}'),
    graphql: graphql(CREATE_ORDER, { input: { shipDate: 'x' } }),
  },
  {
    code: 'VALIDATION_FAILED',
    name: 'null for what is required',
    rest: rest('PATCH /categories/$C', '{"name":null}'),
    graphql: graphql('mutation { updateCategory(id: $C, input: {name: null}) { id } }'),
  },
  {
    code: 'VALIDATION_FAILED',
    name: 'a bad id',
    rest: rest('GET /store/inventory/0'),
    graphql: graphql('{ inventoryItem(petId: 0) { petId } }'),
  },
  {
    code: 'VALIDATION_FAILED',
    name: 'a bad id in a variable',
    rest: rest('GET /store/inventory/x'),
    graphql: graphql('query ($petId: ID!) { inventoryItem(petId: $petId) { petId } }', { petId: 'x' }),
  },
  {
    code: 'VALIDATION_FAILED',
    name: 'a bad filter',
    rest: rest('GET /pets?categoryId=0'),
    graphql: graphql('{ pets(filter: {categoryId: 0}) { totalCount } }'),
  },
  {
    code: 'VALIDATION_FAILED',
    name: 'a bad page size',
    ownWords: true,
    rest: rest('GET /pets?limit=101'),
    graphql: graphql('{ pets(first: 101) { totalCount } }'),
  },
  {
    code: 'VALIDATION_FAILED',
    name: 'a bad Idempotency-Key',
    rest: rest('POST /store/orders', '{}', { headers: { 'idempotency-key': 'a b' } }),
    graphql: graphql(CREATE_ORDER, { input: {} }, { headers: { 'idempotency-key': 'a b' } }),
  },
  {
    code: 'UNAUTHENTICATED',
    name: 'no key',
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
    name: 'a ban',
    prepare: bannedKey,
    rest: rest('GET /pets'),
    graphql: graphql('{ pets { totalCount } }'),
  },
  {
    code: 'NOT_FOUND',
    name: 'no such pet',
    rest: rest(`DELETE /pets/${MISSING}`),
    graphql: graphql(`mutation { deletePet(id: ${MISSING}) }`),
  },
  {
    code: 'NOT_FOUND',
    name: 'no such category',
    rest: rest(`PATCH /categories/${MISSING}`, '{"name":"x"}'),
    graphql: graphql(`mutation { updateCategory(id: ${MISSING}, input: {name: "x"}) { id } }`),
  },
  {
    code: 'NOT_FOUND',
    name: 'no such order',
    rest: rest(`DELETE /store/orders/${MISSING}`),
    graphql: graphql(`mutation { deleteOrder(id: ${MISSING}) }`),
  },
  {
    code: 'NOT_FOUND',
    name: 'no such stock',
    rest: rest(`PUT /store/inventory/${MISSING}`, '{"quantity":1}'),
    graphql: graphql(`mutation { updateInventory(petId: ${MISSING}, input: {quantity: 1}) { petId } }`),
  },
  {
    code: 'METHOD_NOT_ALLOWED',
    name: 'a wrong method',
    ownWords: true,
    rest: rest('PUT /pets'),
    graphql: rest('PUT /graphql'),
  },
  {
    code: 'NOT_ACCEPTABLE',
    name: 'HTML',
    ownWords: true,
    rest: rest('GET /pets', undefined, { headers: { accept: 'text/html' } }),
    graphql: graphql('{ pets { totalCount } }', undefined, { headers: { accept: 'text/html' } }),
  },
  {
    code: 'PAYLOAD_TOO_LARGE',
    name: 'a large body',
    rest: rest('POST /pets', 'x'.repeat(100_001)),
    graphql: rest('POST /graphql', 'x'.repeat(100_001)),
  },
  {
    code: 'UNSUPPORTED_MEDIA_TYPE',
    name: 'text',
    ownWords: true,
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
    name: 'a category in use',
    rest: rest('DELETE /categories/$C'),
    graphql: graphql('mutation { deleteCategory(id: $C) }'),
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
    code: 'UNKNOWN_REFERENCE',
    name: 'an unknown pet',
    rest: rest('PATCH /store/orders/$O', `{"petId":${MISSING}}`),
    graphql: graphql(`mutation { updateOrder(id: $O, input: {petId: ${MISSING}}) { id } }`),
  },
  {
    code: 'IDEMPOTENCY_KEY_REUSED',
    name: 'another payload',
    prepare: usedIdempotencyKey,
    rest: rest('POST /categories', '{"name":"y"}'),
    graphql: graphql('mutation { createCategory(input: {name: "y"}) { id } }'),
  },
  {
    code: 'RATE_LIMITED',
    name: 'the limit of the plan',
    prepare: spentKey,
    rest: rest('GET /pets'),
    graphql: graphql('{ pets { totalCount } }'),
  },
  {
    code: 'RATE_LIMITED',
    name: 'the burst guard',
    prepare: burstingKey,
    rest: rest('POST /store/orders', '{}'),
    graphql: graphql(CREATE_ORDER, { input: {} }),
  },
  {
    code: 'INTERNAL',
    name: 'an error of ours',
    store: failing(/^petsById$/, () => {
      throw new Error('secret');
    }),
    rest: rest('GET /pets/1'),
    graphql: graphql('{ pet(id: 1) { id } }'),
  },
  {
    code: 'UNAVAILABLE',
    name: 'the database in a resolver',
    store: failing(/^petsById$/, () => {
      throw unavailable();
    }),
    rest: rest('GET /pets/1'),
    graphql: graphql('{ pet(id: 1) { id } }'),
  },
  {
    code: 'UNAVAILABLE',
    name: 'the database on the way',
    store: failing(/^charge$/, () => {
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

describe('The error table', () => {
  const kit = useGateway(sqlite);
  kit.faultsExpected = true;

  afterEach(() => {
    vi.useRealTimers();
  });

  it('has no code that is not tested here or belongs to one interface', () => {
    const codes = new Set([...BOTH.map(({ code }) => code), ...REST_ONLY, ...GRAPHQL_ONLY]);
    expect([...codes].sort()).toEqual(Object.keys(ERRORS).sort());
  });

  it('says what status AppError has', () => {
    for (const [code, { status }] of Object.entries(ERRORS)) {
      const error = new AppError(code as ErrorCode, 'why');
      expect(error.toPublic()).toEqual({ code, message: 'why', status });
      expect(error.extensions).toEqual({ code, status });
    }
  });

  it.each(BOTH)(
    '$code is the same through both interfaces: $name',
    async ({ code, rest, graphql, ownWords, prepare, store }) => {
      const gateway = store ? await TestGateway.start(store(kit.gateway.store), {}, kit.clock) : kit.gateway;
      const world = await makeWorld(kit);
      // Ids are put into the texts on their way out.
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
      // What failed before the operation ran has its own HTTP status.
      expect(second.status, second.about).toBe('data' in second.json ? 200 : status);
      if (!ownWords) expect(error.message, first.about + second.about).toBe(first.json.message);
      if (code === 'INTERNAL') expect(first.json.message).toBe('Something went wrong on our side.');
      if (!('data' in second.json)) {
        for (const name of ['retry-after', 'www-authenticate'])
          expect(second.headers[name], second.about).toBe(first.headers[name]);
      }
    },
  );
});
