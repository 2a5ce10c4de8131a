import { connect } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ROUTES } from '../../src/domains/routes.ts';
import { ERRORS } from '../../src/foundation/errors.ts';
import { anyCharacter, cases } from '../kit/cases.ts';
import { makeWorld, query, type Sent, send, sqlite, useGateway } from '../kit/petstore.ts';

/** Runs of each of two kinds of request; a third kind has a quarter as many. More than 10,000 in all in CI. */
const RUNS = Number(process.env.FUZZ_RUNS ?? cases(150, 4_500));

function expectErrorFormat(error: { code: string; message: string; status: number }, about: string): void {
  const { code } = error;
  expect(error, about).toStrictEqual({
    code,
    message: expect.any(String),
    status: ERRORS[code as keyof typeof ERRORS]?.status,
  });
  expect(error.message, about).not.toMatch(/undefined|\[object|NaN|\bat .*\.[jt]s|node_modules/);
}

/** Expects a response in a documented format, whatever was sent. */
function expectWellFormed(sent: Sent): void {
  const { status, headers, json, text, about } = sent;
  expect(status, about).toBeLessThan(500);
  // An HTML page: / or GET /graphql in a browser.
  if (status === 304 || headers['content-type']?.startsWith('text/html')) return;
  expect(headers['x-ratelimit-limit'], about).toBeDefined();
  expect(headers['x-request-id'], about).toBeDefined();
  if (status === 204 || text === '') return;
  expect(json, about).toBeDefined();
  if (json.errors) {
    for (const { message, extensions } of json.errors) {
      const { fields, ...others } = extensions;
      expectErrorFormat({ message, ...others }, about);
      expect(fields !== undefined, about).toBe(extensions.code === 'VALIDATION_FAILED');
      for (const field of fields ?? [])
        expect(field, about).toEqual({ path: expect.any(String), message: expect.any(String) });
    }
    if (status !== 200) expect(json, about).not.toHaveProperty('data');
  } else if (status >= 400) {
    expectErrorFormat(json, about);
    expect(json.status, about).toBe(status);
  }
}

const LARGEST = '9223372036854775807';
const oneOf = (words: string) => fc.constantFrom(...words.split(' '));
const number = oneOf(
  `0 1 2 -1 1.0 1e3 1E400 ${LARGEST} 9223372036854775808 -0 0.1 2147483648 9007199254740993`,
);
const text = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 12 }),
  oneOf(` available 1 2026-01-31T09:30:00Z \u0000 \ud800 __proto__ ${'x'.repeat(300)}`),
);
const key = oneOf(
  'id name categoryId status description petId quantity shipDate complete query variables input __proto__ constructor toString ',
);

/** Arbitrary JSON text, mostly close to valid input. */
const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    number,
    text.map((value) => JSON.stringify(value)),
    fc.constantFrom('null', 'true', 'false', '[]', '{}'),
    fc.array(tie('json'), { maxLength: 3 }).map((items) => `[${items}]`),
    fc
      .array(fc.tuple(key, tie('json')), { maxLength: 5 })
      .map((fields) => `{${fields.map(([name, value]) => `${JSON.stringify(name)}:${value}`)}}`),
  ),
}));
const nearlyValidBody = fc
  .array(
    fc.oneof(
      fc.tuple(
        fc.constant('name'),
        fc.oneof({ weight: 3, arbitrary: fc.constant('"x"') }, { weight: 1, arbitrary: json }),
      ),
      fc.tuple(fc.constantFrom('categoryId', 'petId', 'id', 'quantity'), fc.oneof(number, json)),
      fc.tuple(fc.constant('status'), fc.oneof(fc.constantFrom('"sold"', 'null'), json)),
      fc.tuple(fc.constant('shipDate'), fc.oneof(fc.constant('"2026-01-31T09:30:00Z"'), json)),
      fc.tuple(key, json),
    ),
    { maxLength: 5 },
  )
  .map((fields) => `{${fields.map(([name, value]) => `${JSON.stringify(name)}:${value}`)}}`);
const body = fc.oneof(
  { weight: 4, arbitrary: nearlyValidBody },
  { weight: 3, arbitrary: json },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(nearlyValidBody, fc.nat())
      .map(([whole, at]) => whole.slice(0, at % (whole.length + 1))),
  },
);

const segment = fc.oneof(
  number,
  text.map(encodeURIComponentSafely),
  fc.constantFrom('%', '%zz', '%ff', '..', '%2e%2e', '%2F', ':petId', '*', '%00'),
);
const routePath = fc.constantFrom(...ROUTES.map(({ path }) => path)).chain((path) => {
  const count = path.match(/\{/g)?.length ?? 0;
  return fc
    .array(segment, { minLength: count, maxLength: count })
    .map((values) => path.replace(/\{\w+\}/g, () => values.pop()!));
});
const path = fc.oneof(
  { weight: 8, arbitrary: routePath },
  { weight: 1, arbitrary: fc.array(segment, { maxLength: 4 }).map((parts) => `/${parts.join('/')}`) },
);
const parameter = fc.tuple(
  fc.constantFrom('status', 'categoryId', 'petId', 'complete', 'limit', 'after', 'x', '', '__proto__'),
  fc.oneof(
    number,
    fc.constantFrom('sold', 'true', '%', '%c3%28', '+', '=', '&'),
    text.map(encodeURIComponentSafely),
  ),
);
const search = fc.oneof(
  { weight: 2, arbitrary: fc.constant('') },
  {
    weight: 1,
    arbitrary: fc
      .array(parameter, { maxLength: 4 })
      .map((parts) => `?${parts.map((part) => part.join('=')).join('&')}`),
  },
);
const method = oneOf('GET GET HEAD POST POST PUT PATCH PATCH DELETE OPTIONS TRACE PROPFIND');
const headers = fc.record(
  {
    accept: oneOf('*/* application/json text/html ; , a/b;q=x application/json;q=1.5 '),
    'content-type': oneOf(
      'application/json application/merge-patch+json text/plain  ; application/json;charset application/json;charset=utf-7',
    ),
    'if-match': fc.constantFrom('*', '"x"', 'W/"x"', '', '"', ',', '*, *'),
    'if-none-match': fc.constantFrom('*', '"x"', '', '"'),
    'idempotency-key': fc.constantFrom('a', 'b', '', ' ', 'x'.repeat(300), '__proto__'),
    'x-request-id': fc.constantFrom('a', '', '\t', 'x'.repeat(200), '{jndi:ldap://x}'),
    'content-encoding': fc.constantFrom('identity', 'gzip', ''),
    origin: fc.constantFrom('null', 'https://x.example', ''),
    'x-forwarded-for': fc.constantFrom('1.2.3.4', 'x', ',', '::1'),
  },
  { requiredKeys: [] },
);

function encodeURIComponentSafely(value: string): string {
  return encodeURIComponent(value.replace(/\p{Cs}/gu, ''));
}

/** GraphQL documents assembled from random pieces; most have balanced braces. */
const piece = fc.constantFrom(
  ...['pets', 'pet(id: 1)', 'pet(id: $id)', 'category(id: 1)', 'categories(first: 1)', 'orders', 'inventory'],
  ...['nodes', 'edges', 'node', 'id', 'name', 'category', 'quantity', 'pageInfo', 'hasNextPage'],
  ...['totalCount', '__typename', '__schema', '...F', '... on Pet', '@skip(if: $b)', '@include(if: true)'],
  ...['first: 1', '(first: $n)', 'rateLimit', 'createOrder(input: $input)', 'deletePet(id: 1)'],
  ...['createPet(input: {name: "x", categoryId: 1})', '$', '!', ':', '"', '"""', '\\u{110000}', '#'],
  ...['\u0000', '🐕', '-', '1e999', '&', '|', 'null', 'on'],
);
const { selection } = fc.letrec<{ selection: string }>((tie) => ({
  selection: fc
    .array(
      fc.oneof(
        { depthSize: 'medium', withCrossShrink: true },
        piece,
        fc.tuple(piece, tie('selection')).map((parts) => parts.join(' ')),
      ),
      { minLength: 1, maxLength: 4 },
    )
    .map((parts) => `{ ${parts.join(' ')} }`),
}));
const header = fc.constantFrom(
  ...['', 'query ', 'mutation ', 'subscription ', 'query ($id: ID!) ', 'query ($n: Int, $b: Boolean!) '],
  ...['mutation ($input: NewOrder!) ', 'fragment F on Pet ', 'query ($id: [ID!]! = [1]) '],
);
const document = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .array(
        fc.tuple(header, selection).map((parts) => parts.join('')),
        { minLength: 1, maxLength: 2 },
      )
      .map((parts) => parts.join(' ')),
  },
  {
    weight: 1,
    arbitrary: fc
      .array(fc.oneof(piece, fc.constantFrom('{', '}', '(', ')', '[', ']')), { maxLength: 12 })
      .map((parts) => parts.join(' ')),
  },
  { weight: 1, arbitrary: text },
);

describe('random requests', () => {
  const kit = useGateway(sqlite);

  it.each<[what: string, runs: number, sent: fc.Arbitrary<[line: string, headers: object, body: unknown]>]>([
    [
      'over REST',
      RUNS,
      fc
        .tuple(method, path, search, headers, fc.option(body, { nil: undefined }))
        .map(([verb, target, queryString, sentHeaders, content]) => [
          `${verb} ${target}${queryString}`,
          sentHeaders,
          ['GET', 'HEAD', 'TRACE'].includes(verb) ? undefined : content,
        ]),
    ],
    [
      'over GraphQL',
      RUNS,
      fc
        .tuple(document, json, headers)
        .map(([operation, variables, { accept: _accept, ...others }]) => [
          'POST /graphql',
          { ...others, 'content-type': 'application/json' },
          `{"query":${JSON.stringify(operation)},"variables":${variables}}`,
        ]),
    ],
    [
      'to any body or query string of /graphql',
      Math.ceil(RUNS / 4),
      fc
        .tuple(
          fc.oneof(
            body,
            json.map((item) => `[${item}]`),
          ),
          headers,
          search,
          fc.boolean(),
        )
        .map(([content, sentHeaders, queryString, isGet]) => [
          `${isGet ? 'GET' : 'POST'} /graphql${queryString.replace('status=', 'query=').replace('limit=', 'variables=')}`,
          sentHeaders,
          isGet ? undefined : content,
        ]),
    ],
  ])(
    'responds in a documented format, never with 5xx, %s',
    async (_what, numRuns, sent) => {
      await makeWorld(kit);
      await fc.assert(
        fc.asyncProperty(sent, async ([line, sentHeaders, content]) => {
          const call = {
            headers: sentHeaders as Record<string, string>,
            ...(content !== undefined && { body: content }),
          };
          expectWellFormed(await send(kit.gateway, line, call));
        }),
        { numRuns },
      );
      expect((await query(kit.gateway, '{ __typename }')).json).toEqual({ data: { __typename: 'Query' } });
    },
    120_000,
  );

  it('responds 4xx in the common error format to malformed HTTP', async () => {
    const { port } = new URL(kit.gateway.url);
    const exchange = (bytes: string | Buffer) =>
      new Promise<string>((resolve, reject) => {
        const socket = connect(Number(port), '127.0.0.1', () => socket.end(bytes));
        let response = '';
        socket.setEncoding('latin1').on('data', (chunk) => {
          response += chunk;
        });
        socket.on('close', () => resolve(response)).on('error', reject);
      });
    for (const bytes of [
      'nonsense\r\n\r\n',
      'GET / HTTP/9.9\r\n\r\n',
      'GET /pets HTTP/1.1\r\n\r\n',
      'GET /pets HTTP/1.1\r\nhost: x\r\ncontent-length: x\r\n\r\n',
      `GET /pets HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`,
      // What could smuggle a second request through a proxy.
      ...[
        'content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n\r\n',
        'content-length: 2\r\ncontent-length: 3\r\n\r\n{}',
        'transfer-encoding: xchunked\r\n\r\n0\r\n\r\n',
        'transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n',
      ].map((rest) => `POST /categories HTTP/1.1\r\nhost: x\r\n${rest}`),
    ]) {
      const response = await exchange(bytes);
      expect(response.match(/^HTTP\/1\.1 /gm), bytes.slice(0, 100)).toHaveLength(1);
      expect(response, bytes.slice(0, 100)).toMatch(/^HTTP\/1\.1 4\d\d /);
      const content = response.slice(response.indexOf('\r\n\r\n') + 4);
      expect(response.toLowerCase(), response).toContain('content-type: application/json');
      // These responses also have the rate-limit headers of the address.
      expect(response, response).toMatch(/^X-RateLimit-Limit: 60\r$/m);
      expect(response, response).toMatch(/^X-RateLimit-Remaining: \d+\r$/m);
      expect(response, response).toMatch(/^X-RateLimit-Reset: \d+\r$/m);
      expectErrorFormat(JSON.parse(content), response);
    }
  });
});
