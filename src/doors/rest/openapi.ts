import { stringify } from 'lossless-json';
import type { z } from 'zod';
import type { Config } from '../../config.ts';
import { ERRORS, type ErrorCode } from '../../errors.ts';
import { LARGEST_PAGE } from '../../graphql/connection.ts';
import { PET_STATUSES } from '../../store/store.ts';
import type { Lifecycle } from './lifecycle.ts';
import { QUERY_PARAMETERS, type QueryParameter } from './parameters.ts';
import { type Body, type Method, ROUTES, type Route } from './routes.ts';
import { type Field, type FieldKind, SHAPES, type ShapeName } from './shapes.ts';

/** What differs from one installation to another. */
export interface Installation {
  /** Where the operations are served: empty, or a path without a slash at its end. */
  basePath: string;
  lifecycle: Pick<Lifecycle, 'deprecationDate' | 'sunsetDate'>;
}

export const installationOf = (config: Config): Installation => ({
  basePath: config.REST_BASE_PATH,
  lifecycle: { deprecationDate: config.DEPRECATION_DATE, sunsetDate: config.SUNSET_DATE },
});

/** A part of the description. Ids are bigints, since the largest one is no double. */
type Node = { [name: string]: unknown };

const LARGEST_INT64 = 9223372036854775807n;
const LARGEST_INT32 = 2147483647;
const JSON_TYPE = 'application/json';
const MERGE_PATCH_TYPE = 'application/merge-patch+json';

/**
 * The OpenAPI 3.0.3 description of the REST door as JSON text, made of the route table, the shapes, the rules of the
 * bodies and the error table: what isn't there can't be described, and what is there can't be forgotten.
 *
 * @param indent spaces a level, for people
 */
export function openApiJson(installation: Installation, indent?: number): string {
  return stringify(describe(installation), undefined, indent)!;
}

function describe({ basePath, lifecycle }: Installation): Node {
  const components = new Components();
  const paths: Record<string, Node> = {};
  for (const route of ROUTES) {
    paths[route.path] ??= {};
    paths[route.path]![route.method.toLowerCase()] = operation(route, lifecycle, components);
  }
  return {
    openapi: '3.0.3',
    info: {
      title: 'Petstore',
      version: '1.0.0',
      description: ABOUT,
      license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
    },
    servers: [{ url: basePath || '/', description: 'This gateway' }],
    tags: [
      { name: 'Pets', description: 'Pets and the categories they belong to.' },
      { name: 'Store', description: 'Orders and the stock of pets.' },
    ],
    security: [{ ApiKey: [] }, { BearerKey: [] }],
    paths,
    components: {
      schemas: components.sorted(components.schemas),
      parameters: components.sorted(components.parameters),
      headers: components.sorted(components.headers),
      responses: components.sorted(components.responses),
      securitySchemes: {
        ApiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'The API key as it is.' },
        BearerKey: { type: 'http', scheme: 'bearer', description: 'The API key as a bearer token.' },
      },
    },
  };
}

const ABOUT = `Pets, categories, orders and stock. The same data is served as GraphQL at \`/graphql\`, on the same budget.

- **Key**: \`X-API-Key: <key>\` or \`Authorization: Bearer <key>\`, never in a URL.
- **Limits**: every response shows the window of the plan with the smaller remainder in \`X-RateLimit-*\`, and both windows in \`RateLimit\`. A 429 says in \`Retry-After\` how many seconds to wait; keys that keep on sending meanwhile are banned for a while (403).
- **Errors** are always an Error object: \`code\` for machines, \`message\` for people, \`status\` as in the status line.
- **Retries**: a POST with an \`Idempotency-Key\` is done once, however often it is sent within 24 hours.
- **Versions**: every GET has an \`ETag\`; send it back in \`If-None-Match\` to save the body, or in \`If-Match\` to change nothing but the version you have seen.
- **Ids** are int64, exact up to 9223372036854775807. Unknown fields and query parameters are refused.`;

/** Parts that several operations refer to, collected on the way. */
class Components {
  readonly schemas: Record<string, Node> = {};
  readonly parameters: Record<string, Node> = {};
  readonly headers: Record<string, Node> = {};
  readonly responses: Record<string, Node> = {};

  constructor() {
    this.schemas.PetStatus = {
      type: 'string',
      enum: [...PET_STATUSES],
      description: 'Status of a pet.',
      example: 'available',
    };
    this.schemas.Error = errorSchema();
    for (const name of Object.keys(SHAPES) as ShapeName[]) this.#addShape(name);
  }

  #addShape(name: ShapeName): void {
    const fields: Record<string, Field> = SHAPES[name];
    const required = Object.keys(fields).filter((field) => fields[field]!.required);
    const record = {
      type: 'object',
      description: SHAPE_DESCRIPTIONS[name],
      required,
      additionalProperties: false,
      properties: Object.fromEntries(
        Object.entries(fields).map(([field, { kind, description }]) => [
          field,
          described(valueSchema(field, kind, SMALLEST_QUANTITY[name]), description),
        ]),
      ),
      example: EXAMPLES[name],
    };
    // The specification's Order is also the body that creates one, in which nothing is required.
    this.schemas[RECORDS[name]] =
      name === 'Order'
        ? {
            description: 'An order as it is kept: its id and whether it is complete are always there.',
            allOf: [ref('schemas', 'Order')],
            required,
            example: EXAMPLES.Order,
          }
        : record;
    this.schemas[LISTS[name]] = {
      type: 'array',
      description: 'One page, ordered by id.',
      maxItems: LARGEST_PAGE,
      items: ref('schemas', RECORDS[name]),
    };
  }

  body(route: Route, body: Body): Node {
    const name = bodyName(route, body);
    this.schemas[name] ??= bodySchema(route, body);
    return ref('schemas', name);
  }

  parameter(name: string, parameter: Node): Node {
    this.parameters[name] ??= parameter;
    return ref('parameters', name);
  }

  header(name: HeaderName, required = true): Node {
    const key = required ? name : `Optional-${name}`;
    this.headers[key] ??= { ...(required && { required }), ...HEADERS[name] };
    return ref('headers', key);
  }

  /** The answer of one status with these codes. */
  error(codes: readonly ErrorCode[], { method, deprecated }: Route): Node {
    const { status } = ERRORS[codes[0]!];
    const replays = method === 'POST' && MAY_BE_REPLAYED.has(status);
    const lasting = deprecated && !BEFORE_THE_ROUTE.has(status);
    const name = `${codes.map(pascal).join('Or')}${replays ? 'OrReplay' : ''}${lasting ? 'OfDeprecated' : ''}`;
    const headers: Node = this.commonHeaders();
    if (codes.includes('UNAUTHENTICATED')) headers['WWW-Authenticate'] = this.header('WWW-Authenticate');
    if (status === 403 || status === 429 || status === 503)
      headers['Retry-After'] = this.header('Retry-After');
    if (status === 409 && replays) headers['Retry-After'] = this.header('Retry-After', false);
    if (replays) headers['Idempotency-Replayed'] = this.header('Idempotency-Replayed', false);
    if (lasting) Object.assign(headers, this.lifecycleHeaders(status < 500));
    this.responses[name] ??= {
      description: codes.map((code) => ERRORS[code].when).join(' '),
      headers,
      content: {
        [JSON_TYPE]: {
          schema: {
            allOf: [
              ref('schemas', 'Error'),
              {
                type: 'object',
                properties: {
                  code: { type: 'string', enum: codes },
                  status: { type: 'integer', enum: [status] },
                },
              },
            ],
          },
          examples: Object.fromEntries(
            codes.map((code) => [code, { value: { code, message: ERRORS[code].when, status } }]),
          ),
        },
      },
    };
    return ref('responses', name);
  }

  /** What every answer carries. */
  commonHeaders(): Node {
    return Object.fromEntries(COMMON_HEADERS.map((name) => [name, this.header(name)]));
  }

  /** What every answer of a deprecated operation carries, once its route is found. */
  lifecycleHeaders(required = true): Node {
    return {
      Deprecation: this.header('Deprecation', required),
      Sunset: this.header('Sunset', required),
      Link: this.header('Link', required),
    };
  }

  sorted(parts: Record<string, Node>): Record<string, Node> {
    return Object.fromEntries(Object.entries(parts).sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}

const ref = (kind: keyof Components, name: string): Node => ({ $ref: `#/components/${kind}/${name}` });

/** `NOT_FOUND` as `NotFound`. */
const pascal = (code: string): string =>
  code
    .split('_')
    .map((word) => word[0] + word.slice(1).toLowerCase())
    .join('');

/** Refused before the path is looked at (contract section 4): no header of the operation is there yet. */
const BEFORE_THE_ROUTE = new Set<number>([401, 403, 429]);
/** The outcomes that an Idempotency-Key keeps. */
const MAY_BE_REPLAYED = new Set<number>([201, 400, 409, 422]);

function operation(route: Route, lifecycle: Installation['lifecycle'], components: Components): Node {
  const { operationId, tag, summary, stability, body, deprecated, explorer } = route;
  return {
    operationId,
    tags: [tag],
    summary,
    description: descriptionOf(route, lifecycle),
    ...(deprecated && { deprecated: true, 'x-sunset': day(lifecycle.sunsetDate) }),
    'x-stability': stability,
    ...(explorer === false && { 'x-explorer-enabled': false }),
    parameters: parametersOf(route, components),
    ...(body && {
      requestBody: {
        required: true,
        content: Object.fromEntries(
          (route.method === 'PATCH' ? [JSON_TYPE, MERGE_PATCH_TYPE] : [JSON_TYPE]).map((type) => [
            type,
            { schema: components.body(route, body), example: bodyExample(route, body) },
          ]),
        ),
      },
    }),
    responses: responsesOf(route, components),
  };
}

const day = (time: number): string => new Date(time).toISOString().slice(0, 10);

const BY_METHOD: Partial<Record<Method, string>> = {
  POST: 'An `Idempotency-Key` makes the call safe to repeat.',
  PUT: 'Replaces all of it: an optional field that the body leaves out gets its default or is removed. The body may repeat the id of the path.',
  PATCH:
    'A JSON merge patch (RFC 7396): what the body leaves out stays as it is, `null` removes an optional field, `{}` changes nothing. The body may repeat the id of the path.',
};
const BY_STABILITY = {
  stable: undefined,
  beta: '**Beta**: details may still change within version 1.',
  experimental: '**Experimental**: may change or go at any time.',
};
const BY_OPERATION: Record<string, string> = {
  createPet: 'Its stock is 0 until it is set.',
  deletePet: 'Refused while an order that is not complete names the pet.',
  deleteCategory: 'Refused while a pet is in the category.',
  createOrder: 'No field is required; the id is assigned unless given. Stock stays as it is.',
};

function descriptionOf(
  { operationId, method, list, stability, deprecated }: Route,
  dates: Lifecycles,
): string {
  return [
    deprecated &&
      `**Deprecated** since ${day(dates.deprecationDate)}, ends on ${day(dates.sunsetDate)}: ask \`pet(id:)\` of the GraphQL API instead.`,
    BY_OPERATION[operationId],
    list && 'Ordered by id, ascending. Where there is a further page, `Link` with `rel="next"` leads to it.',
    BY_METHOD[method],
    BY_STABILITY[stability],
  ]
    .filter(Boolean)
    .join('\n\n');
}

type Lifecycles = Installation['lifecycle'];

function parametersOf(route: Route, components: Components): Node[] {
  const parameters: Node[] = [];
  if (route.pathParameter) {
    const name = route.pathParameter;
    parameters.push(
      components.parameter(name, {
        name,
        in: 'path',
        required: true,
        description: `Id of the ${name.slice(0, -2)}.`,
        schema: int64(),
        example: 1,
      }),
    );
  }
  for (const name of route.query ?? []) {
    const { description, schema, repeatable }: QueryParameter = QUERY_PARAMETERS[name];
    parameters.push(
      components.parameter(`query.${name}`, {
        name,
        in: 'query',
        description,
        schema: repeatable
          ? { type: 'array', minItems: 1, items: schema }
          : { ...schema, ...(schema.format === 'int64' && { maximum: LARGEST_INT64 }) },
        ...(repeatable && { style: 'form', explode: true }),
      }),
    );
  }
  const header = REQUEST_HEADERS[route.method];
  parameters.push(components.parameter(header.name as string, header));
  return parameters;
}

const IF_MATCH: Node = {
  name: 'If-Match',
  in: 'header',
  description: 'Do it only if this is the `ETag` of the resource; `*` for any version.',
  schema: { type: 'string' },
  example: '*',
};

const REQUEST_HEADERS: Record<Method, Node> = {
  GET: {
    name: 'If-None-Match',
    in: 'header',
    description: 'Send the body only if this is not its `ETag` any more.',
    schema: { type: 'string' },
  },
  POST: {
    name: 'Idempotency-Key',
    in: 'header',
    description: 'Any text that you use for this call and its repetitions only. Kept for 24 hours.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
  },
  PUT: IF_MATCH,
  PATCH: IF_MATCH,
  DELETE: IF_MATCH,
};

function responsesOf(route: Route, components: Components): Node {
  const responses: Node = { [route.status]: success(route, components) };
  if (route.method === 'GET') responses['304'] = notModified(route, components);
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of errorsOf(route)) {
    const { status } = ERRORS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  for (const [status, codes] of byStatus) responses[status] = components.error(codes, route);
  return responses;
}

/** Every error that an operation can answer with. */
export function errorsOf({ method, body, pathParameter, kind, deprecated }: Route): ErrorCode[] {
  const fields = body ? Object.keys(rulesOf(body)) : [];
  const namesOthers = fields.some((field) => field === 'categoryId' || field === 'petId');
  const possible: Partial<Record<ErrorCode, boolean | undefined>> = {
    BAD_REQUEST: true,
    VALIDATION_FAILED: true,
    UNAUTHENTICATED: true,
    API_KEY_BANNED: true,
    NOT_FOUND: pathParameter !== undefined,
    NOT_ACCEPTABLE: true,
    CONFLICT: method === 'POST' || (method === 'DELETE' && kind !== 'order'),
    GONE: deprecated,
    PRECONDITION_FAILED: method === 'PUT' || method === 'PATCH' || method === 'DELETE',
    PAYLOAD_TOO_LARGE: body !== undefined,
    UNSUPPORTED_MEDIA_TYPE: body !== undefined,
    UNKNOWN_REFERENCE: namesOthers,
    IDEMPOTENCY_KEY_REUSED: method === 'POST',
    RATE_LIMITED: true,
    INTERNAL: true,
    UNAVAILABLE: true,
  };
  return (Object.keys(ERRORS) as ErrorCode[]).filter((code) => possible[code]);
}

function success(route: Route, components: Components): Node {
  const { status, shape, list, method, deprecated } = route;
  const headers = components.commonHeaders();
  if (shape) headers.ETag = components.header('ETag');
  if (method === 'GET') headers['Cache-Control'] = components.header('Cache-Control');
  if (list) headers.Link = components.header('Link', false);
  if (status === 201) headers.Location = components.header('Location');
  if (method === 'POST') headers['Idempotency-Replayed'] = components.header('Idempotency-Replayed', false);
  if (deprecated) Object.assign(headers, components.lifecycleHeaders());
  return {
    description: { 200: 'Done.', 201: 'Created.', 204: 'Deleted.' }[status],
    headers,
    ...(shape && {
      content: {
        [JSON_TYPE]: {
          schema: ref('schemas', list ? LISTS[shape] : RECORDS[shape]),
          example: list ? [EXAMPLES[shape]] : EXAMPLES[shape],
        },
      },
    }),
    ...(status === 201 && { links: linksFrom(route) }),
  };
}

/** Where the id of something new can be used. */
function linksFrom({ path, kind }: Route): Node {
  const targets = ROUTES.filter(
    (other) =>
      other.pathParameter === `${kind}Id` && (other.path.startsWith(`${path}/{`) || other.kind === kind),
  );
  return Object.fromEntries(
    targets.map(({ operationId, pathParameter }) => [
      operationId,
      { operationId, parameters: { [pathParameter!]: '$response.body#/id' } },
    ]),
  );
}

function notModified({ list, deprecated }: Route, components: Components): Node {
  return {
    description: 'If-None-Match names the current version.',
    headers: {
      ...components.commonHeaders(),
      ETag: components.header('ETag'),
      'Cache-Control': components.header('Cache-Control'),
      ...(list && { Link: components.header('Link', false) }),
      ...(deprecated && components.lifecycleHeaders()),
    },
  };
}

const COMMON_HEADERS = [
  'X-Request-Id',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit-Policy',
  'RateLimit',
] as const;

/** Response headers, as OpenAPI describes them. */
const HEADERS = {
  'X-Request-Id': {
    description: 'Names this request, also in the log. A harmless one that you send is kept.',
    schema: { type: 'string', minLength: 1 },
    example: '4b1ff3f5-8a31-4d7c-a4bd-2f6c1f0c9a53',
  },
  'X-RateLimit-Limit': {
    description: 'Requests that the window with the smaller remainder allows; on a 429 the one that refused.',
    schema: { type: 'integer', minimum: 1 },
    example: 60,
  },
  'X-RateLimit-Remaining': {
    description: 'Requests that are left in that window.',
    schema: { type: 'integer', minimum: 0 },
    example: 59,
  },
  'X-RateLimit-Reset': {
    description: 'When that window is new again, in Unix seconds.',
    schema: { type: 'integer', format: 'int64', minimum: 0 },
    example: 1764000000,
  },
  'RateLimit-Policy': {
    description: 'The windows: quota `q` in `w` seconds (draft-ietf-httpapi-ratelimit-headers).',
    schema: { type: 'string', pattern: '^"\\w+";q=\\d+;w=\\d+(, "\\w+";q=\\d+;w=\\d+)*$' },
    example: '"minute";q=60;w=60, "day";q=1000;w=86400',
  },
  RateLimit: {
    description: 'What is left of each window: `r` requests, new in `t` seconds.',
    schema: { type: 'string', pattern: '^"\\w+";r=\\d+;t=\\d+(, "\\w+";r=\\d+;t=\\d+)*$' },
    example: '"minute";r=59;t=60, "day";r=999;t=86400',
  },
  ETag: {
    description: 'The version of what is answered.',
    schema: { type: 'string', pattern: '^"[!#-~]+"$' },
    example: '"1k-1x9q0r2c5v8e"',
  },
  'Cache-Control': {
    description: 'Keep it to yourself, and ask again before you use it.',
    schema: { type: 'string' },
    example: 'private, no-cache',
  },
  Link: {
    description:
      'Where to go on (RFC 8288): the next page of a list, or what replaces a deprecated operation.',
    schema: { type: 'string', pattern: '^<[^>]*>; rel="[a-z-]+"(, <[^>]*>; rel="[a-z-]+")*$' },
    example: '</pets?limit=20&after=20>; rel="next"',
  },
  Location: {
    description: 'The path of what was created.',
    schema: { type: 'string', pattern: '^/' },
    example: '/pets/1',
  },
  'Retry-After': {
    description: 'Whole seconds until a retry can succeed.',
    schema: { type: 'integer', minimum: 1 },
    example: 12,
  },
  'WWW-Authenticate': {
    description: 'How to authenticate (RFC 9110 section 11.6.1).',
    schema: { type: 'string' },
    example: 'Bearer realm="petstore"',
  },
  Deprecation: {
    description: 'Since when the operation is deprecated: `@` and Unix seconds (RFC 9745).',
    schema: { type: 'string', pattern: '^@\\d+$' },
    example: '@1782864000',
  },
  Sunset: {
    description: 'When the operation ends (RFC 8594).',
    schema: { type: 'string', pattern: ' GMT$' },
    example: 'Wed, 30 Jun 2027 00:00:00 GMT',
  },
  'Idempotency-Replayed': {
    description:
      'There and `true` where this is the outcome of an earlier call with the same Idempotency-Key.',
    schema: { type: 'string', enum: ['true'] },
  },
} as const satisfies Record<string, Node>;

type HeaderName = keyof typeof HEADERS;

const SHAPE_DESCRIPTIONS: Record<ShapeName, string> = {
  Pet: 'An animal of the store.',
  Category: 'A kind of animals.',
  Order: 'An order for an animal.',
  InventoryItem: 'The stock of one animal.',
};

/** The names of the schemas of what is answered. */
const RECORDS: Record<ShapeName, string> = {
  Pet: 'Pet',
  Category: 'Category',
  Order: 'StoredOrder',
  InventoryItem: 'InventoryItem',
};
const LISTS: Record<ShapeName, string> = {
  Pet: 'Pets',
  Category: 'Categories',
  Order: 'Orders',
  InventoryItem: 'InventoryItems',
};

/** The first records of the sample data. */
const EXAMPLES = {
  Pet: { id: 1, name: 'Rex', categoryId: 1, status: 'available' },
  Category: { id: 1, name: 'Dogs', description: 'Loyal, loud and always hungry' },
  Order: { id: 1, petId: 1, quantity: 1, shipDate: '2026-12-01T09:30:00Z', complete: false },
  InventoryItem: { petId: 1, quantity: 3, status: 'available' },
} as const satisfies Record<ShapeName, Node>;

const PATCH_EXAMPLES: Record<ShapeName, Node> = {
  Pet: { status: 'sold' },
  Category: { description: null },
  Order: { complete: true },
  InventoryItem: { quantity: 5 },
};

const SMALLEST_QUANTITY: Record<ShapeName, number> = { Pet: 0, Category: 0, Order: 1, InventoryItem: 0 };

/** White space that is trimmed off a name; what no text may contain; what neither trims nor breaks it. */
const SPACE = '\\t-\\r \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff';
const CONTROL = '\\u0000-\\u001f\\u007f-\\u009f';

/** The rules of texts, as far as JSON Schema can tell them; the tests hold them against `*.rules.ts`. */
const TEXTS: Record<string, Node> = {
  name: {
    type: 'string',
    minLength: 1,
    maxLength: 200,
    pattern: `^[${SPACE}]*[^${SPACE}${CONTROL}][^${CONTROL}]*[${SPACE}]*$`,
  },
  description: { type: 'string', maxLength: 2000, pattern: `^[^${CONTROL}]*$` },
};

const int64 = (): Node => ({ type: 'integer', format: 'int64', minimum: 1, maximum: LARGEST_INT64 });

function valueSchema(field: string, kind: FieldKind, smallest: number): Node {
  switch (kind) {
    case 'int64':
      return int64();
    case 'int32':
      return { type: 'integer', format: 'int32', minimum: smallest, maximum: LARGEST_INT32 };
    case 'string':
      return { ...TEXTS[field] };
    case 'date-time':
      return { type: 'string', format: 'date-time' };
    case 'boolean':
      return { type: 'boolean' };
    case 'PetStatus':
      return ref('schemas', 'PetStatus');
  }
}

/** Nothing may stand beside a `$ref` in OpenAPI 3.0. */
const described = (schema: Node, description: string, more: Node = {}): Node =>
  '$ref' in schema ? { allOf: [schema], description, ...more } : { ...schema, description, ...more };

const rulesOf = ({ rules }: Body) => (rules as unknown as z.ZodObject).shape as Record<string, z.ZodType>;

/** The names of the specification where it has one: its Order is also what creates and replaces an order. */
function bodyName({ method }: Route, { name, rules, ownId }: Body): string {
  if (name === 'NewOrder') return 'Order';
  const repeatsId = method === 'PUT' && ownId === 'id' && !('id' in rulesOf({ name, rules }));
  return repeatsId ? name.replace(/^New(.*)$/, '$1Replacement') : name;
}

const BODY_DESCRIPTIONS: Record<string, string> = {
  POST: 'What to create.',
  PUT: 'What to put in its place.',
  PATCH: 'What to change.',
};

/** A body's schema, found out by asking its rules what they take. */
function bodySchema(route: Route, body: Body): Node {
  const shape = route.shape!;
  const fields: Record<string, Field> = SHAPES[shape];
  const rules = rulesOf(body);
  const required: string[] = [];
  const properties: Node = {};
  if (body.ownId && !(body.ownId in rules)) {
    properties[body.ownId] = described(int64(), 'May repeat the id of the path; another one is refused');
  }
  for (const [name, rule] of Object.entries(rules)) {
    const { kind, description } = fields[name]!;
    const whenAbsent = rule.safeParse(undefined);
    if (!whenAbsent.success) required.push(name);
    properties[name] = described(
      valueSchema(name, kind, rule.safeParse(0).success ? 0 : 1),
      description,
      whenAbsent.data === undefined ? {} : { default: whenAbsent.data },
    );
    if (rule.safeParse(null).success) (properties[name] as Node).nullable = true;
  }
  const isOrder = bodyName(route, body) === 'Order';
  return {
    type: 'object',
    description: isOrder
      ? `${SHAPE_DESCRIPTIONS.Order} No field is required.`
      : BODY_DESCRIPTIONS[route.method],
    ...(required.length > 0 && { required }),
    additionalProperties: false,
    properties,
    example: bodyExample(route, body),
  };
}

function bodyExample(route: Route, body: Body): Node {
  const shape = route.shape!;
  if (route.method === 'PATCH') return PATCH_EXAMPLES[shape];
  const example: Node = EXAMPLES[shape];
  return Object.fromEntries(
    Object.keys(rulesOf(body))
      .filter((field) => field !== 'id' && example[field] !== undefined)
      .map((field) => [field, example[field]]),
  );
}

function errorSchema(): Node {
  const codes = (Object.keys(ERRORS) as ErrorCode[]).filter(
    (code) => code === 'METHOD_NOT_ALLOWED' || ROUTES.some((route) => errorsOf(route).includes(code)),
  );
  return {
    type: 'object',
    description: 'What went wrong.',
    required: ['code', 'message', 'status'],
    additionalProperties: false,
    properties: {
      code: { type: 'string', enum: codes, description: 'A machine-readable error code' },
      message: { type: 'string', minLength: 1, description: 'A human-readable description of the error' },
      status: { type: 'integer', format: 'int32', description: 'The HTTP status code' },
    },
    example: { code: 'NOT_FOUND', message: 'There is no pet 7.', status: 404 },
  };
}
