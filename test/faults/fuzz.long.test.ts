import fc from 'fast-check';
import { expect, it } from 'vitest';
import { api } from '../../src/api.ts';
import { type AppError, ERRORS } from '../../src/foundation/errors.ts';
import { anyCharacter, cases } from '../kit/cases.ts';
import { makeWorld, query, type Sent, send, sqlite, useGateway } from '../kit/petstore.ts';

/** Runs of each kind of request. More than 10,000 in all in CI. */
const RUNS = Number(process.env.FUZZ_RUNS ?? cases(150, 5_000));

function expectErrorFormat({ code, message, status }: ReturnType<AppError['toPublic']>, about: string): void {
  expect(status, about).toBe(ERRORS[code]?.status);
  expect(message, about).not.toMatch(/undefined|\[object|NaN|\bat .*\.[jt]s|node_modules/);
}

/** True if a request such as `POST /pets/..` is one of the start page. */
const isOfStartPage = (line: string): boolean =>
  new URL(`http://localhost${line.slice(line.indexOf(' ') + 1)}`).pathname === '/';

/** Expects a response in a documented format, whatever was sent. */
function expectWellFormed({ status, headers, json, text, about }: Sent, line: string): void {
  expect(status, about).toBeLessThan(500);
  // An HTML page: / or GET /graphql in a browser.
  if (status === 304 || headers['content-type']?.startsWith('text/html')) return;
  // Methods of the start page need no key, so they count against no limit.
  const needsKey = !isOfStartPage(line) || (status !== 204 && status !== 405);
  if (needsKey) expect(headers['x-ratelimit-limit'], about).toBeDefined();
  expect(headers['x-request-id'], about).toBeDefined();
  if (status === 204 || text === '') return;
  expect(json, about).toBeDefined();
  if (json.errors) {
    for (const { message, extensions } of json.errors) {
      expectErrorFormat({ message, ...extensions }, about);
      expect(extensions.fields !== undefined, about).toBe(extensions.code === 'VALIDATION_FAILED');
    }
    if (status !== 200) expect(json, about).not.toHaveProperty('data');
  } else if (status >= 400) {
    expectErrorFormat(json, about);
    expect(Object.keys(json), about).toEqual(['code', 'message', 'status']);
    expect(json.status, about).toBe(status);
  }
}

const oneOf = (words: string) => fc.constantFrom(...words.split(' '));
const number = oneOf(
  '0 1 2 -1 1.0 1e3 1E400 9223372036854775807 9223372036854775808 -0 0.1 2147483648 9007199254740993',
);
const text = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 12 }),
  oneOf(` available 1 2026-01-31T09:30:00Z \u0000 \ud800 __proto__ ${'x'.repeat(300)}`),
);
const key = oneOf(
  'id name categoryId status description petId quantity shipDate complete query variables input __proto__ constructor ',
);

/** Arbitrary JSON text, mostly close to valid input. */
const { json, object } = fc.letrec<{ json: string; object: string }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    number,
    text.map((value) => JSON.stringify(value)),
    fc.constantFrom('null', 'true', '"sold"', '"2026-01-31T09:30:00Z"', '[]'),
    fc.array(tie('json'), { maxLength: 3 }).map((items) => `[${items}]`),
    tie('object'),
  ),
  object: fc
    .array(fc.tuple(key, tie('json')), { maxLength: 5 })
    .map((fields) => `{${fields.map(([name, value]) => `${JSON.stringify(name)}:${value}`)}}`),
}));
const body = fc.oneof(
  { weight: 4, arbitrary: object },
  { weight: 2, arbitrary: json },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)) },
  {
    weight: 1,
    arbitrary: fc.tuple(object, fc.nat()).map(([whole, at]) => whole.slice(0, at % (whole.length + 1))),
  },
);

const encodeSafely = (value: string): string => encodeURIComponent(value.replace(/\p{Cs}/gu, ''));
const segment = fc.oneof(number, text.map(encodeSafely), oneOf('% %zz %ff .. %2e%2e %2F :petId * %00'));
const path = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .tuple(fc.constantFrom(...api.routes), fc.array(segment, { minLength: 2, maxLength: 2 }))
      .map(([route, values]) => route.path.replace(/\{\w+\}/g, () => values.pop()!)),
  },
  { weight: 1, arbitrary: fc.array(segment, { maxLength: 4 }).map((parts) => `/${parts.join('/')}`) },
);
const parameter = fc
  .tuple(
    oneOf('status categoryId petId complete limit after query variables x  __proto__'),
    fc.oneof(number, oneOf('sold true % %c3%28 + = & {__typename}'), text.map(encodeSafely)),
  )
  .map((parts) => parts.join('='));
const search = fc.array(parameter, { maxLength: 3 }).map((parts) => `?${parts.join('&')}`);
const headers = fc.record(
  {
    accept: oneOf('*/* application/json text/html ; , a/b;q=x application/json;q=1.5 '),
    'content-type': oneOf(
      'application/json application/merge-patch+json text/plain  ; application/json;charset=utf-7',
    ),
    'if-match': fc.constantFrom('*', '"x"', 'W/"x"', '', '"', ',', '*, *'),
    'if-none-match': fc.constantFrom('*', '"x"', '', '"'),
    'idempotency-key': fc.constantFrom('a', 'b', '', ' ', 'x'.repeat(300), '__proto__'),
    'x-request-id': fc.constantFrom('a', '', '\t', 'x'.repeat(200)),
    'content-encoding': fc.constantFrom('identity', 'gzip', ''),
    'x-forwarded-for': fc.constantFrom('1.2.3.4', 'x', ',', '::1'),
  },
  { requiredKeys: [] },
);

/** GraphQL documents assembled from random pieces; most have balanced braces. */
const piece = fc.constantFrom(
  'pets',
  'pet(id: 1)',
  'pet(id: $id)',
  'category(id: 1)',
  'categories(first: 1)',
  'orders',
  'inventory',
  'nodes',
  'id',
  'name',
  'category',
  'quantity',
  'totalCount',
  '__typename',
  '__schema',
  '...F',
  '... on Pet',
  '@skip(if: $b)',
  '@include(if: true)',
  '(first: $n)',
  'rateLimit',
  'createOrder(input: $input)',
  'createPet(input: {name: "x", categoryId: 1})',
  '$',
  '!',
  ':',
  '"',
  '"""',
  '\\u{110000}',
  '#',
  '{',
  ']',
  '\u0000',
  '🐕',
  '-',
  '1e999',
  '&',
  '|',
  'null',
  'on',
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
const document = fc
  .array(
    fc.tuple(
      fc.constantFrom(
        '',
        'mutation ',
        'subscription ',
        'query ($id: ID!) ',
        'query ($n: Int, $b: Boolean!) ',
        'mutation ($input: NewOrder!) ',
        'fragment F on Pet ',
        'query ($id: [ID!]! = [1]) ',
      ),
      selection,
    ),
    { minLength: 1, maxLength: 2 },
  )
  .map((parts) => parts.flat().join(' '));

const kit = useGateway(sqlite);

it.each<[what: string, sent: fc.Arbitrary<[line: string, headers: object, body: unknown]>]>([
  [
    'to any path',
    fc.tuple(
      fc
        .tuple(oneOf('GET HEAD POST PUT PATCH DELETE OPTIONS TRACE PROPFIND QUERY'), path, search)
        .map(([method, target, query]) => `${method} ${target}${query}`),
      headers,
      body,
    ),
  ],
  [
    'to /graphql',
    fc.tuple(
      fc.tuple(oneOf('GET POST POST POST QUERY'), search).map((parts) => parts.join(' /graphql')),
      headers.map(({ accept: _, ...others }) => ({ ...others, 'content-type': 'application/json' })),
      fc.oneof(
        fc
          .tuple(document, json)
          .map(([text, variables]) => `{"query":${JSON.stringify(text)},"variables":${variables}}`),
        body,
        json.map((item) => `[${item}]`),
      ),
    ),
  ],
])(
  'requests %s are answered in a documented format, never with 5xx',
  { timeout: 120_000 },
  async (_, sent) => {
    await makeWorld(kit);
    await fc.assert(
      fc.asyncProperty(sent, async ([line, headers, content]) => {
        const hasBody = !/^(?:GET|HEAD|TRACE)/.test(line);
        const call = { headers: headers as Record<string, string>, ...(hasBody && { body: content }) };
        expectWellFormed(await send(kit.gateway, line, call), line);
      }),
      { numRuns: RUNS },
    );
    expect((await query(kit.gateway, '{ __typename }')).json).toEqual({ data: { __typename: 'Query' } });
  },
);
