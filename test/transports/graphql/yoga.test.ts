import { getIntrospectionQuery, Lexer } from 'graphql';
import { stringify } from 'lossless-json';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { TestGateway } from '../../kit/gateway.ts';
import { fill, makeWorld, type Sent, send, sqlite, useGateway, type World } from '../../kit/petstore.ts';

/**
 * Compares a plain POST, which bypasses Yoga and runs compiled code from the second use on, with what Yoga responds
 * to the same request as QUERY or, for mutations, as `multipart/mixed`. What the answers hold is compared with a
 * model (test/execution/model.test.ts).
 */

const kit = useGateway(sqlite);
let world: World;
beforeAll(async () => {
  world = await makeWorld(kit);
});

const JSON_TYPE = { 'content-type': 'application/json', 'x-ratelimit-extension': 'on' };

/** What a client sees, apart from what differs from request to request. */
const seen = ({ status, headers, text }: Sent) => ({
  status,
  contentType: headers['content-type'],
  text: text.replace(/"remaining":\d+/g, ''),
});

/** Sends the same request three times in both ways. */
async function expectSame(body: string | Buffer, headers: Record<string, string> = {}): Promise<void> {
  for (let time = 1; time <= 3; time++) {
    const call = { body, headers: { ...JSON_TYPE, ...headers } };
    const [plain, yoga] = [
      await send(kit.gateway, 'POST /graphql', call),
      await send(kit.gateway, 'QUERY /graphql', call),
    ];
    expect(seen(plain), yoga.about).toEqual(seen(yoga));
  }
}

const post = (query: string, variables?: object): string =>
  stringify({ query: fill(query, world), variables }) as string;

const OPERATIONS: [query: string, variables?: Record<string, unknown>][] = [
  ['{ __typename }'],
  ['{ pet(id: $P) { id name status categoryId category { id name description } inventory { quantity } } }'],
  [
    '{ pets(first: 2) { edges { cursor node { id orders(first: 1) { nodes { shipDate quantity } totalCount } } } } }',
  ],
  ['query ($b: Boolean!) { pet(id: 1) @include(if: $b) { id } }', { b: false }],
  ['{ pet(id: 99) { id } a: pets(first: 0) { nodes { id } } }'],
  ['query ($s: [PetStatus!], $f: Int) { pets(first: $f, filter: {status: $s}) { nodes { id } } }', { f: 2 }],
  ['query ($f: Int, $a: String) { pets(first: $f, after: $a) { nodes { id } } }', { f: 1.5, a: 7 }],
  ['query ($id: ID!) { order(id: $id) { id } }', { id: 9223372036854775807n }],
  ['query ($id: ID!) { order(id: $id) { id } }', { id: 9223372036854775808n }],
  ['query ($__proto__: PetFilter) { pets(filter: $__proto__) { nodes { id } } }'],
  ['{ events(after: "x") { nodes { id } } }'],
  // Yoga would refuse its depth if it validated the document itself.
  ['{ __type(name: "Pet") { fields { type { fields { type { fields { name } } } } } } }'],
  [getIntrospectionQuery({ specifiedByUrl: true, schemaDescription: true })],
  ['{ rateLimit { cost plan minute { limit } day { limit } } pet(id: $P) { id } }'],
  ['{'],
  [''],
  ['{ a: nothing b: nothing pet { id } }'],
  ['query A { __typename } query B { __typename }'],
  ['{ pets(first: 100) { nodes { category { pets(first: 100) { nodes { id } } } } } }'],
];

const ACCEPTS = [
  undefined,
  '*/*',
  'application/json',
  'application/graphql-response+json',
  'application/graphql-response+json, application/json;q=0.5',
  'text/html, */*;q=0.1',
  'application/*',
  'application/graphql-response+json;charset=utf-8',
  'text/html',
  'APPLICATION/JSON',
];

describe('a plain POST', () => {
  it.each<(typeof OPERATIONS)[number]>(OPERATIONS)(
    'responds as Yoga does to %s',
    async (query, variables) => {
      await expectSame(post(query, variables));
    },
  );

  it.each(ACCEPTS)('responds as Yoga does under Accept: %s', async (accept) => {
    const headers: Record<string, string> = accept === undefined ? {} : { accept };
    for (const query of [
      '{ pet(id: $P) { name } }',
      '{',
      '{ nothing }',
      '{ pets(first: 0) { nodes { id } } }',
    ])
      await expectSame(post(query), headers);
    await expectSame('[{"query":"{ __typename }"},{"query":"{"}]', headers);
    await expectSame('{', headers);
  });

  it.each([
    '',
    '{',
    'null',
    '7',
    '[]',
    '[7]',
    '[[]]',
    '{}',
    '{"query":7}',
    '{"query":"{ __typename }","variables":"{}"}',
    '{"query":"{ __typename }","variables":null,"operationName":null,"extensions":null}',
    '{"query":"{ __typename }","operationName":7}',
    '{"query":"{ __typename }","operationName":""}',
    '{"query":"query A { a: __typename } query B { b: __typename }","operationName":"B"}',
    '{"query":"{ __typename }","operationName":"A"}',
    '{"query":"{ __typename }","extensions":7}',
    '{"query":"{ __typename }","query":"{ a: __typename }"}',
    '[{"query":"{ __typename }"}]',
    '[{"query":"{ __typename }"},{"query":"{ pet(id: 1) { id } }"},{"query":"{ nothing }"},{"query":"{"}]',
    '[{"query":"{"}]',
    '[{"query":"{ __typename }"},{"query":"query ($id: ID!) { pet(id: $id) { id } }","variables":{"id":0}}]',
    `[${Array.from({ length: 10 }, () => '{"query":"{ __typename }"}').join()}]`,
    `[${Array.from({ length: 11 }, () => '{"query":"{ __typename }"}').join()}]`,
    '\ufeff{"query":"{ __typename }"}',
  ])('responds as Yoga does to the body %s', async (body) => {
    await expectSame(body);
  });

  it.each([
    'application/json; charset=utf-8',
    'application/graphql+json',
    'Application/JSON',
    'text/plain',
    'application/json; charset=latin1',
    'multipart/form-data; boundary=x',
  ])('responds as Yoga does to Content-Type: %s', async (contentType) => {
    await expectSame(post('{ pet(id: $P) { name } }'), { 'content-type': contentType });
  });

  it.each([
    'mutation { a: updatePet(id: $P, input: {name: "A"}) { name } b: updatePet(id: $P, input: {name: "B"}) { name category { name } } }',
    'mutation { a: updatePet(id: $P, input: {name: "C"}) { name } b: deleteOrder(id: 99) }',
    'mutation { updatePet(id: $P, input: {name: ""}) { id } }',
  ])('writes as Yoga does by %s', async (mutation) => {
    const sent = [];
    for (const accept of ['application/json', 'multipart/mixed']) {
      const call = { body: post(mutation), headers: { 'content-type': 'application/json', accept } };
      sent.push(await send(kit.gateway, 'POST /graphql', call));
    }
    const [plain, yoga] = sent as [Sent, Sent];
    expect(yoga.status, yoga.about).toBe(plain.status);
    expect(yoga.text, plain.about).toContain(plain.text);
  });

  it('leaves nothing to the log of Yoga, which would have variables where DEBUG is set', async () => {
    vi.stubEnv('DEBUG', '1');
    const debug = vi.spyOn(console, 'debug').mockReturnValue();
    const gateway = await TestGateway.start(kit.gateway.store, {}, kit.clock);
    await send(gateway, 'QUERY /graphql', { body: post('{ __typename }'), headers: JSON_TYPE });
    await gateway.close();
    expect(debug).not.toHaveBeenCalled();
    vi.unstubAllEnvs();
    debug.mockRestore();
  });

  it('is read once, as it is by Yoga', async () => {
    const advance = vi.spyOn(Lexer.prototype, 'advance');
    const tokens = [];
    for (const method of ['POST', 'QUERY']) {
      advance.mockClear();
      await send(kit.gateway, `${method} /graphql`, {
        body: post(`{ as${method}: __typename }`),
        headers: JSON_TYPE,
      });
      tokens.push(advance.mock.calls.length);
    }
    advance.mockRestore();
    expect(tokens[0]).toBeGreaterThan(0);
    expect(tokens[1]).toBe(tokens[0]);
  });
});
