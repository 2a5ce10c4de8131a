import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { api } from '../../src/api.ts';
import { readConfig } from '../../src/config.ts';
import { AppError, ERRORS, eventsGone, unavailable } from '../../src/foundation/errors.ts';
import { blockersOf } from '../../src/foundation/record.ts';
import { parseIdempotencyKey } from '../../src/http/idempotency-key.ts';
import { openApiJson } from '../../src/openapi/description.ts';
import { errorsOf } from '../../src/openapi/error-responses.ts';
import { bodyExample } from '../../src/openapi/schemas.ts';
import {
  acceptsIdempotencyKey,
  hasOwnVariables,
  type ServedRoute,
  echoedFields,
} from '../../src/rest-routes/route.ts';
import type { Store } from '../../src/store/store.ts';
import { type Call, TestGateway } from '../kit/gateway.ts';
import { Description } from '../kit/openapi.ts';
import { type Sent, send, sqlite, useGateway } from '../kit/petstore.ts';
import { create, holdOff, toBody, valuesOf } from '../kit/records.ts';

const generate = (environment: Record<string, string> = {}, indent = 0) =>
  openApiJson(api, readConfig(environment), { indent });
const description = new Description(generate());
const { document } = description;
const OPERATIONS = [...api.routes, ...api.streamRoutes];

const routeOf = (operationId: string): ServedRoute =>
  OPERATIONS.find((route) => route.operationId === operationId)!;

describe('the OpenAPI description', () => {
  it('is valid OpenAPI 3.0', async () => {
    const validator = new Validator();
    const { valid, errors } = await validator.validate(JSON.parse(generate()));
    expect(errors ?? []).toEqual([]);
    expect(valid).toBe(true);
    expect(validator.version).toBe('3.0');
    expect(document.openapi).toBe('3.0.3');
    expect(document.info.version).toBe('1.0.0');
  });

  it('states deprecation, sunset date and stability, and which operation has no try-it panel', () => {
    const valuesOf = (extension: string) =>
      Object.fromEntries(
        description
          .operations()
          .filter(({ operation }) => operation[extension] !== undefined)
          .map(({ operationId, operation }) => [operationId, operation[extension]]),
      );
    expect(valuesOf('deprecated')).toEqual({ getPet: true });
    expect(valuesOf('x-deprecated-reason')).toEqual({ getPet: 'Use `pet(id:)` of the GraphQL API instead.' });
    expect(valuesOf('x-sunset')).toEqual({ getPet: '2027-06-30' });
    expect(valuesOf('x-explorer-enabled')).toEqual({ listOrders: false });
    expect(valuesOf('x-stability')).toEqual(
      Object.fromEntries(OPERATIONS.map(({ operationId, stability }) => [operationId, stability])),
    );
  });

  it('has a schema for each type of event, told apart by the type, and no scheme called like a schema', () => {
    const { schemas, securitySchemes } = document.components;
    for (const union of ['Event', 'DeliveredEvent']) {
      const { mapping, propertyName } = schemas[union].discriminator;
      const refs = Object.entries<string>(mapping).map(([type, $ref]) => {
        const { properties, required } = schemas[$ref.split('/').at(-1)!];
        expect([propertyName, properties.type.enum, required]).toEqual([
          'type',
          [type],
          ['id', 'type', 'time', 'data'],
        ]);
        return { $ref };
      });
      expect(schemas[union].oneOf).toEqual(refs);
      const test = union === 'Event' ? [] : ['webhook.test'];
      expect(Object.keys(mapping)).toEqual([...schemas.EventType.enum, ...test]);
    }
    expect(schemas.PetDeletedEvent.properties.data).toEqual({ $ref: '#/components/schemas/Deleted' });
    const names = Object.keys(schemas).map((name) => name.toLowerCase());
    for (const name of Object.keys(securitySchemes)) expect(names).not.toContain(name.toLowerCase());
  });

  it('has the fields of the specification, and requires those that it requires', () => {
    const propertiesOf = (name: string) => Object.keys(document.components.schemas[name].properties);
    const required = (name: string) => document.components.schemas[name].required;
    expect(propertiesOf('Pet')).toEqual(expect.arrayContaining(['id', 'name', 'categoryId', 'status']));
    expect(propertiesOf('NewPet')).toEqual(expect.arrayContaining(['name', 'categoryId', 'status']));
    expect(required('NewPet')).toEqual(['name', 'categoryId']);
    expect(propertiesOf('NewCategory')).toEqual(expect.arrayContaining(['name', 'description']));
    expect(required('NewCategory')).toEqual(['name']);
    expect(propertiesOf('Order')).toEqual(
      expect.arrayContaining(['id', 'petId', 'quantity', 'shipDate', 'complete']),
    );
    expect(required('Order')).toBeUndefined();
    expect(required('InventoryItem')).toEqual(['petId', 'quantity', 'status']);
    expect(propertiesOf('InventoryUpdate')).toEqual(expect.arrayContaining(['quantity']));
    expect(required('InventoryUpdate')).toEqual(['quantity']);
    // A stored order always has them; a new one may omit them.
    expect(required('StoredOrder')).toEqual(['id', 'complete']);
    expect(propertiesOf('Error')).toEqual(expect.arrayContaining(['code', 'message', 'status']));
    expect(required('Error')).toEqual(['code', 'message', 'status']);
    expect(document.components.schemas.Pets).toMatchObject({ type: 'array' });
    // A double cannot hold the largest id exactly, so it must be written digit by digit.
    expect(generate()).toContain('"maximum":9223372036854775807}');
  });
});

/** Values within, at and beyond the limits of the rules. */
const PROBES: readonly unknown[] = [
  undefined,
  null,
  true,
  false,
  0,
  1,
  -1,
  1.5,
  100,
  2147483647,
  2147483648,
  [],
  {},
  '',
  ' ',
  '\t\u3000',
  '1',
  'Rex',
  ' Rex',
  '\tRex\n',
  'Re\tx',
  'R\u0085ex',
  'R\u00adx',
  '\ufeff',
  '🐕'.repeat(200),
  '🐕'.repeat(201),
  'é'.repeat(2000),
  'é'.repeat(2001),
  `\t ${'🐕'.repeat(200)} \n`,
  ` ${'🐕'.repeat(201)} `,
  ' '.repeat(300),
  ` ${'x'.repeat(100)}  ${'x'.repeat(98)} `,
  ` ${'x'.repeat(100)}  ${'x'.repeat(99)} `,
  'available',
  'gone',
  '2026-01-31T09:30:00Z',
  '2026-01-31T09:30:00.25+02:00',
  '2026-01-31',
  '2026-02-30T09:30:00Z',
];

describe('request body schemas', () => {
  it.each(api.routes.filter(({ body }) => body).map((route) => [route.operationId, route] as const))(
    'accepts for %s exactly what the validation rules accept',
    (operationId, route) => {
      const { body } = route;
      const { operation } = description.operations().find((each) => each.operationId === operationId)!;
      const { content } = operation.requestBody;
      const { schema, example } = content['application/json'];
      // Some generators stop at a second media type, though PATCH takes two.
      expect(Object.keys(content)).toEqual(['application/json']);
      const expectAgreement = (fields: object) => {
        // As it would be sent: without undefined fields.
        const value = JSON.parse(JSON.stringify(fields));
        const accepted = body!.rules.safeParse(value).success;
        const violations = description.violations(schema, value);
        expect(violations.length === 0, `${JSON.stringify(value)}: ${violations.join()}`).toBe(accepted);
      };
      expect(description.violations(schema, example)).toEqual([]);
      expectAgreement({});
      const { properties } = description.resolve(schema);
      for (const field of [...Object.keys(properties), 'unknown'])
        for (const probe of PROBES) expectAgreement({ ...example, [field]: probe });
      // Fields that a body may only repeat are described in text, to keep them out of the types of clients.
      for (const field of echoedFields(route)) {
        expect(operation.description).toContain(`\`${field}\``);
        if (!(field in properties))
          expect(description.violations(schema, { ...example, [field]: 1 })).not.toEqual([]);
      }
      expect(JSON.stringify(description.resolve(schema))).not.toContain('"default"');
    },
  );
});

describe('the Idempotency-Key parameter', () => {
  const { schema } = description.document.components.parameters['Idempotency-Key'];

  it('accepts exactly what the gateway accepts', () => {
    const short = String.raw`a "a" "" a"b "a"b" "a\"b" "a\b" "a\\" "a\" é a\ !`.split(' ');
    const long = ['x'.repeat(255), 'x'.repeat(256), `"${'\\"'.repeat(255)}"`, `"${'x'.repeat(256)}"`];
    for (const key of ['', 'a b', '"a b"', ...short, ...long])
      expect(description.violations(schema, key).length === 0, key).toBe(parseIdempotencyKey(key) !== null);
  });
});

describe('the parameters', () => {
  const { parameters } = description.document.components;

  it.each(Object.keys(parameters))('%s is sent by importers only if it is required', (name) => {
    const { required, example, examples, schema } = parameters[name];
    // Bruno's importer sends what has an example or a default, and generators of Go send defaults.
    expect({ ...schema, ...schema.items }).not.toHaveProperty('default');
    if (!required) expect(example).toBeUndefined();
    if (examples)
      expect(examples).toEqual({ none: { summary: 'Not sent' }, sent: { value: expect.anything() } });
  });

  it.each(Object.keys(parameters))('%s has an example if its schema suggests no value', (name) => {
    const { required, example, examples, schema } = parameters[name];
    const value = required ? example : examples?.sent.value;
    if (required || schema.pattern) expect(value).toBeDefined();
    if (value !== undefined) expect(description.violations(schema, value)).toEqual([]);
  });
});

/** A request that provokes a status of an operation. */
interface Attempt extends Call {
  /** The gateway: `ended` is past the sunset date, and the store of `faulty` throws `fault`. */
  on?: 'usual' | 'ended' | 'faulty';
  query?: string;
  /** Replaces the id of an existing record. */
  id?: string;
  /** Thrown by every call to the store except those for keys and budgets. */
  fault?: Error;
  /** The key to use; by default one with practically no limits. */
  by?: 'exhausted' | 'banned' | 'webhooksOnly' | 'petsOnly' | 'elsewhere' | 'no key';
  /** A category to create first. */
  first?: Call;
  /** The values that a new record shares with another although only one may have them. */
  taken?: 'id' | 'values';
  /** The id of everything that the body refers to. */
  parents?: string;
  /** True if other records block the deletion of the record. */
  held?: boolean;
}

/** The example of a body, but for an address, which leads nowhere. */
function exampleOf({ shape, body }: ServedRoute): string {
  const example = bodyExample(shape!, body!);
  return JSON.stringify('url' in example ? { ...example, url: 'https://localhost:1/' } : example);
}

const MISSING = '9223372036854775806';
const success = ({ operationId, list, method }: ServedRoute): Attempt[] => [
  {},
  ...(list && list !== 'whole' ? [{ query: 'limit=1' }, { query: 'limit=100' }] : []),
  ...(acceptsIdempotencyKey(method) ? [{ headers: { 'idempotency-key': operationId } }] : []),
];

const isScoped = ({ scopes }: ServedRoute): boolean => scopes.length > 0;

const PROVOCATIONS: Record<number, (route: ServedRoute) => Attempt[]> = {
  200: success,
  201: success,
  204: success,
  304: () => [{ headers: { 'if-none-match': '*' } }],
  400: ({ body }) => [
    { query: 'unknown=1' },
    { query: '%zz' },
    ...(body ? [{ body: '{' }, { body: '{"unknown":1}' }] : []),
  ],
  401: () => [{ by: 'no key' }],
  // Without a scope, or from another network where none is needed.
  403: (route) => [
    { by: 'banned' },
    { by: !isScoped(route) ? 'elsewhere' : route.path.startsWith('/webhooks') ? 'petsOnly' : 'webhooksOnly' },
  ],
  404: () => [{ id: MISSING }],
  406: () => [{ headers: { accept: 'text/html' } }],
  409: ({ method, record, body }) => {
    return [
      // The embedded engine runs one call after the other, so the store must pretend that one is still running.
      ...(acceptsIdempotencyKey(method)
        ? [
            {
              on: 'faulty' as const,
              fault: new AppError('CONFLICT', 'Still running.', { retryAfter: 1 }),
              headers: { 'idempotency-key': 'b' },
            },
          ]
        : []),
      ...(body && record?.choosesId && method === 'POST' ? [{ taken: 'id' as const }] : []),
      ...(body && record && record.unique.length > 0 ? [{ taken: 'values' as const }] : []),
      ...(method === 'DELETE' && record && blockersOf(api.records, record).length > 0
        ? [{ held: true }]
        : []),
    ];
  },
  410: ({ errors }) => [errors?.includes('GONE') ? { on: 'faulty', fault: eventsGone() } : { on: 'ended' }],
  412: () => [{ headers: { 'if-match': '"another"' } }],
  413: () => [{ body: `{"name":"${'x'.repeat(100_000)}"}` }],
  415: () => [{ headers: { 'content-type': 'text/plain' } }],
  422: (route) => [
    ...(errorsOf(route).includes('UNKNOWN_REFERENCE') ? [{ parents: MISSING }] : []),
    ...(acceptsIdempotencyKey(route.method)
      ? [
          {
            headers: { 'idempotency-key': `${route.operationId}-again` },
            first: {
              headers: { 'idempotency-key': `${route.operationId}-again` },
              body: '{"name":"Another"}',
            },
          },
        ]
      : []),
  ],
  429: () => [{ by: 'exhausted' }],
  500: () => [{ on: 'faulty', fault: new Error('a bug') }],
  503: () => [{ on: 'faulty', fault: unavailable() }],
};

describe('live responses', () => {
  const usual = useGateway(sqlite);
  const gateways = {} as Record<'usual' | 'ended' | 'faulty', TestGateway>;
  const keys = {} as Record<'exhausted' | 'banned' | 'webhooksOnly' | 'petsOnly' | 'elsewhere', string>;
  let fault: Error | undefined;

  beforeAll(async () => {
    const { gateway, clock } = usual;
    gateways.usual = gateway;
    gateways.ended = await TestGateway.start(
      gateway.store,
      { SUNSET_ENFORCED: 'on', SUNSET_DATE: '2026-11-01' },
      clock,
    );
    gateways.faulty = await TestGateway.start(
      faulty(gateway.store, () => fault),
      {},
      clock,
    );
    keys.banned = await keyAfter(25);
    keys.elsewhere = await gateway.restrictedKey({ allow: ['192.0.2.0/24'] });
    keys.petsOnly = await gateway.restrictedKey({ scopes: ['pets:write'] });
    keys.webhooksOnly = await gateway.restrictedKey({ scopes: ['webhooks:read'] });
  });

  afterAll(async () => {
    await gateways.ended?.close();
    await gateways.faulty?.close();
  });

  const cases = description
    .operations()
    .flatMap(({ operationId, operation }) =>
      Object.keys(operation.responses).map((status) => [operationId, Number(status)] as const),
    )
    // Streams never end; events.test.ts compares them with their description.
    .filter(([operationId, status]) => status >= 400 || !api.streamRoutes.includes(routeOf(operationId)));

  it.each(cases)('responds to %s with %i as described', async (operationId, status) => {
    const route = routeOf(operationId);
    const attempts = PROVOCATIONS[status]?.(route) ?? [];
    expect(attempts.length, 'no request provokes this status').toBeGreaterThan(0);
    const codes = new Set<string>();
    for (const attempt of attempts) {
      const sent = await provoke(route, attempt);
      expect(sent.status, sent.about).toBe(status);
      expect(description.differences(operationId, sent), sent.about).toEqual([]);
      if (status >= 400) codes.add(sent.json.code);
    }
    // Every code described for this status must have occurred.
    if (status >= 400) {
      const described = errorsOf(route).filter((code) => ERRORS[code].status === status);
      expect([...codes].sort()).toEqual([...described].sort());
    }
  });

  it.each(api.routes.map((route) => [route.operationId, route] as const))(
    'responds to %s as described to what provokes other statuses elsewhere',
    async (operationId, route) => {
      const others = Object.entries(PROVOCATIONS).flatMap(([status, attemptsOf]) =>
        description.response(operationId, Number(status)) ? [] : attemptsOf(route),
      );
      for (const attempt of others) {
        const sent = await provoke(route, attempt);
        expect(description.differences(operationId, sent), sent.about).toEqual([]);
      }
    },
  );

  /** A key with a limit of one request a minute, after this many requests. */
  async function keyAfter(requests: number): Promise<string> {
    const key = await usual.gateway.newKey('enterprise', { perMinute: 1, perDay: 1000 });
    for (let i = 0; i < requests; i++) await usual.gateway.call('/pets', { key });
    return key;
  }

  /** Makes an attempt on a new record. */
  async function provoke(route: ServedRoute, attempt: Attempt): Promise<Sent> {
    const { store } = usual.gateway;
    const { id = await idFor(route), taken, parents, held } = attempt;
    const record = route.record;
    let { body } = attempt;
    if (route.body && body === undefined) {
      const values = record && (await valuesOf(store, record, Object.keys(route.body.rules.shape), parents));
      if (taken === 'id') values!.id = await create(store, record!);
      if (taken === 'values') await create(store, record!, values);
      body = record && !hasOwnVariables(route) ? toBody(record, values!) : exampleOf(route);
    }
    if (held) await holdOff(store, record!, id);
    if (attempt.first) await send(usual.gateway, 'POST /categories', attempt.first);
    fault = attempt.fault;
    // A new key each time, because retrying too early is a strike.
    if (attempt.by === 'exhausted') keys.exhausted = await keyAfter(1);
    const request = { ...attempt, body };
    return perform(route, request, id);
  }

  async function perform(
    route: ServedRoute,
    { on = 'usual', query, by, headers, body }: Attempt,
    id: string,
  ) {
    const path = route.path.replace(/\{(\w+)\}/, id);
    const gateway = gateways[on];
    // Rotations end the first secrets of a key.
    const usualKey =
      route.operationId === 'rotateKey' && !headers ? await usual.gateway.newKey('business') : gateway.key;
    const required = route.query?.filter(({ required }) => required) ?? [];
    const parameters = required.map(({ name, schema }) => `${name}=${(schema.enum as string[])[0]}`);
    if (query) parameters.push(query);
    return send(
      gateway,
      `${route.method} ${path}${parameters.length > 0 ? `?${parameters.join('&')}` : ''}`,
      {
        ...(headers && { headers }),
        ...(route.body && { body }),
        key: by === 'no key' ? null : by === undefined ? usualKey : keys[by],
      },
    );
  }

  /** A subject with which the operation can succeed: a record without children, or whatever else is in its path. */
  async function idFor({ kind, record, pathParameter, pathValue }: ServedRoute): Promise<string> {
    if (pathParameter === undefined) return '';
    if (record) return create(usual.gateway.store, record);
    if (!pathValue!.namesRecord) return pathValue!.example;
    // Webhooks and keys belong to their key, which has at most 20 of its own.
    if (kind === 'key') {
      const [oldest] = (await send(usual.gateway, '/keys')).json;
      if (oldest) await send(usual.gateway, `DELETE /keys/${oldest.id}`);
    }
    const creation = api.routes.find((route) => route.kind === kind && route.status === 201)!;
    return (await send(usual.gateway, `POST ${creation.path}`, { body: exampleOf(creation) })).json.id;
  }
});

/** A store that throws `fault` from every call except those for keys and budgets. */
function faulty(store: Store, fault: () => Error | AppError | undefined): Store {
  const unaffected = new Set<PropertyKey>([
    'apiKeyBySecretHash',
    'createApiKey',
    'charge',
    'usage',
    'engine',
  ]);
  return new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...parameters: unknown[]) => {
        const thrown = unaffected.has(name) ? undefined : fault();
        if (thrown) throw thrown;
        return value.apply(target, parameters);
      };
    },
  });
}
