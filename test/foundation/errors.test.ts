import { afterEach, describe, expect, it, vi } from 'vitest';
import { ERRORS, type ErrorCode, unavailable } from '../../src/foundation/errors.ts';
import type { Store } from '../../src/store/store.ts';
import { failing } from '../kit/failing.ts';
import { TestGateway } from '../kit/gateway.ts';
import { query, type Sent, send, sqlite, useGateway } from '../kit/petstore.ts';

type Call = Parameters<typeof send>[2];
/** A request over both interfaces, as its differences from a plain one with a key. */
interface Options {
  call?: Call;
  prepare?: (gateway: TestGateway) => Promise<Call>;
  store?: (store: Store) => Store;
  /** The messages differ, because they name something that differs between the interfaces. */
  differentMessages?: true;
}
type Row = [code: ErrorCode, name: string, rest: string, graphql: string, options?: Options];

/** Sends `POST /pets {}`, `createPet {"name":"x"}` with its input as a variable, or a GraphQL document. */
function sendLine(gateway: TestGateway, line: string, call: Call): Promise<Sent> {
  const [, request, body] = /^([A-Z]+ \/\S*) ?(.*)$/.exec(line) ?? [];
  if (request) return send(gateway, request, { ...(body && { body }), ...call });
  const [, type, input] = /^create(\w+) (.*)$/.exec(line) ?? [];
  if (!type) return query(gateway, line, undefined, call);
  const text = `mutation ($input: New${type}!) { create${type}(input: $input) { id } }`;
  return query(gateway, text, { input: JSON.parse(input!) }, call);
}

const PETS = '{ pets { totalCount } }';

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

const throwing = (calls: RegExp, error: Error): Options => ({
  store: (store) =>
    failing(store, calls, () => {
      throw error;
    }),
});
const sent = (name: string, value: string): Options => ({ call: { headers: { [name]: value } } });
const DIFFERENT = { differentMessages: true } as const;
const large = 'x'.repeat(100_001);

const PET = '{ pet(id: 1) { id } }';
const ORDER = 'POST /store/orders {}';
const otherScope = async (gateway: TestGateway) => ({
  key: await gateway.restrictedKey({ scopes: ['orders:write'] }),
});

const BOTH: readonly Row[] = [
  ['BAD_REQUEST', 'broken JSON', 'POST /pets {', 'POST /graphql {'],
  ['BAD_REQUEST', 'no object', 'POST /pets 7', 'POST /graphql 7', DIFFERENT],
  [
    'BAD_REQUEST',
    'invalid UTF-8',
    'POST /pets',
    'POST /graphql',
    { call: { body: Buffer.from('"\xff"', 'latin1') } },
  ],
  [
    'VALIDATION_FAILED',
    'a page size',
    'GET /pets?limit=101',
    '{ pets(first: 101) { totalCount } }',
    DIFFERENT,
  ],
  ['VALIDATION_FAILED', 'an Idempotency-Key', ORDER, 'createOrder {}', sent('idempotency-key', 'a b')],
  ['UNAUTHENTICATED', 'a missing key', 'GET /pets', PETS, { call: { key: null } }],
  ['UNAUTHENTICATED', 'an unknown key', 'GET /pets', PETS, { call: { key: 'x' } }],
  ['API_KEY_BANNED', 'a banned key', 'GET /pets', PETS, { prepare: bannedKey }],
  ['FORBIDDEN', 'a missing scope', 'GET /pets', PETS, { prepare: otherScope }],
  ['METHOD_NOT_ALLOWED', 'an unsupported method', 'PUT /pets', 'PUT /graphql', DIFFERENT],
  ['NOT_ACCEPTABLE', 'HTML', 'GET /pets', PETS, { ...DIFFERENT, ...sent('accept', 'text/html') }],
  ['PAYLOAD_TOO_LARGE', 'an oversized body', 'POST /pets', 'POST /graphql', { call: { body: large } }],
  [
    'UNSUPPORTED_MEDIA_TYPE',
    'text',
    'POST /pets {}',
    'POST /graphql {}',
    { ...DIFFERENT, ...sent('content-type', 'text/plain') },
  ],
  [
    'IDEMPOTENCY_KEY_REUSED',
    'another payload',
    'POST /categories {"name":"y"}',
    'createCategory {"name":"y"}',
    { prepare: usedIdempotencyKey },
  ],
  ['RATE_LIMITED', 'an exhausted plan limit', 'GET /pets', PETS, { prepare: spentKey }],
  ['RATE_LIMITED', 'a burst of mutations', ORDER, 'createOrder {}', { prepare: burstingKey }],
  ['INTERNAL', 'an unexpected error', 'GET /pets/1', PET, throwing(/^pets\.byIds$/, new Error('secret'))],
  ['UNAVAILABLE', 'a read that fails', 'GET /pets/1', PET, throwing(/^pets\.byIds$/, unavailable())],
  ['UNAVAILABLE', 'a charge that fails', 'GET /pets/1', PET, throwing(/^charge$/, unavailable())],
];

/** Of operations of the domains, which domains/agreement.test.ts compares. */
const AGREED: ErrorCode[] = ['NOT_FOUND', 'CONFLICT', 'UNKNOWN_REFERENCE'];
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

  it('covers every code here, except those that others do', () => {
    const codes = new Set([...BOTH.map(([code]) => code), ...AGREED, ...REST_ONLY, ...GRAPHQL_ONLY]);
    expect([...codes].sort()).toEqual(Object.keys(ERRORS).sort());
  });

  it.each(BOTH)(
    'responds %s over REST and GraphQL alike: %s',
    async (code, _name, rest, graphql, { call: options, prepare, store, differentMessages } = {}) => {
      const gateway = store ? await TestGateway.start(store(kit.gateway.store), {}, kit.clock) : kit.gateway;
      const call = { ...options, ...(await prepare?.(gateway)) };
      const first = await sendLine(gateway, rest, call);
      const second = await sendLine(gateway, graphql, call);
      if (store) await gateway.close();
      const { status } = ERRORS[code];
      expect(first.json, first.about).toEqual({ code, message: expect.any(String), status });
      expect(first.status, first.about).toBe(status);
      const [error] = second.json.errors;
      const fields = code === 'VALIDATION_FAILED' && { fields: expect.any(Array) };
      expect(error.extensions, second.about).toEqual({ code, status, ...fields });
      // An error before the operation runs determines the HTTP status.
      expect(second.status, second.about).toBe('data' in second.json ? 200 : status);
      // GraphQL adds the form of a request to what is no JSON.
      if (!differentMessages) expect(error.message, first.about + second.about).toContain(first.json.message);
      if (code === 'INTERNAL') expect(first.json.message).toBe('Something went wrong on our side.');
      if (code === 'UNAVAILABLE') expect(first.headers['retry-after']).toBe('1');
      if (!('data' in second.json)) {
        for (const name of ['retry-after', 'www-authenticate'])
          expect(second.headers[name], second.about).toBe(first.headers[name]);
      }
    },
  );
});
