import {
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  type OperationTypeNode,
} from 'graphql';
import { encodeCursor } from '../../src/foundation/cursor.ts';
import type { RawRequest } from './attacks.ts';

/** A pseudo-random choice that a seed repeats. */
export class Draw {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 to below 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  of<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.next() * choices.length)]!;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }
}

const times = <T>(count: number, each: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => each(n));
const LENGTHS = [1, 2, 20, 32, 33, 100, 1_000, 1_900, 8_000];
const TEXTS = [
  '',
  'a',
  '0',
  '1',
  'é'.repeat(100),
  '😀'.repeat(400),
  'x'.repeat(3_000),
  'UGV0OjE',
  'petstore',
];
/** Places in lists of several orders. */
const CURSORS = [
  ...['1', '50', '9223372036854775807'],
  ...['name', '-name'].map((sort) => encodeCursor(sort, { id: '9', value: '1'.padEnd(200, 'p') })),
  ...['-id', 'quantity', 'shipDate'].map((sort) => encodeCursor(sort, { id: '9', value: null })),
];
const NUMBERS = [0, 1, 2, 10, 20, 50, 99, 100, 101, 2_147_483_647];

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
const MEDIA_TYPES = [
  ...['*/*', 'application/json', 'application/json;IEEE754Compatible=true', 'application/x-ndjson'],
  ...['text/event-stream', 'multipart/mixed', 'application/graphql-response+json'],
];

/** JSON Schema as OpenAPI 3.0 has it. */
// biome-ignore lint/suspicious/noExplicitAny: any schema
type JsonSchema = any;

/** Draws requests from everything that the OpenAPI description and the GraphQL schema allow, and from what they refuse. */
export class RequestGenerator {
  readonly #schema: GraphQLSchema;
  readonly #openapi: JsonSchema;
  readonly #headers: readonly string[];
  #draw = new Draw(0);
  /** Tokens left for the document. */
  #tokens = 0;
  #names = 0;
  #isSubscription = false;
  #variables: { definition: string; name: string; value: unknown }[] = [];

  /** @param openapi the OpenAPI document, whose operations, parameters, headers and bodies are drawn on */
  constructor(schema: GraphQLSchema, openapi: JsonSchema) {
    this.#schema = schema;
    this.#openapi = openapi;
    const described = Object.values<JsonSchema>(openapi.components.parameters ?? {});
    const own = described.filter((one) => one.in === 'header').map((one) => one.name.toLowerCase());
    this.#headers = [
      ...new Set([
        ...own,
        'accept',
        'accept-encoding',
        'accept-language',
        'content-type',
        'content-encoding',
      ]),
      ...['origin', 'user-agent', 'traceparent', 'x-request-id', 'x-ratelimit-extension', 'prefer', 'cookie'],
      ...['range', 'last-event-id', 'if-modified-since', 'forwarded', 'sec-fetch-dest', 'accept-charset'],
      ...['mcp-protocol-version', 'mcp-method', 'mcp-name', 'access-control-request-headers', 'baggage'],
    ];
  }

  /** The request of a seed. */
  request(seed: number): RawRequest {
    this.#draw = new Draw(seed);
    const kind = this.#draw.next();
    const made = kind < 0.55 ? this.#graphql() : kind < 0.9 ? this.#rest() : this.#mcp();
    return { ...made, headers: { ...this.#someHeaders(), ...made.headers } };
  }

  #someHeaders(): Record<string, string> {
    const count = this.#draw.of([0, 0, 0, 1, 2, 8]);
    return Object.fromEntries(
      times(count, () => {
        const name = this.#draw.of(this.#headers);
        return [name, this.#headerValue(name)];
      }).filter(([name]) => name !== 'x-api-key'),
    );
  }

  #headerValue(name: string): string {
    const draw = this.#draw;
    if (name === 'x-ratelimit-extension') return 'on';
    const member = name.startsWith('if-') ? '"tag"' : draw.of([...MEDIA_TYPES, 'gzip', 'a;q=0.5', 'x']);
    const separator = draw.of([', ', ',', ';', ';a=b,']);
    return times(draw.of([1, 1, 2, 31, 32, 33, 1_000, 3_000]), () => member)
      .join(separator)
      .slice(0, 14_000);
  }

  #graphql(): RawRequest {
    const draw = this.#draw;
    const one = () => ({
      ...this.#operation(),
      ...(draw.chance(0.1) && { extensions: { persistedQuery: { version: 1, sha256Hash: '0'.repeat(64) } } }),
      ...(draw.chance(0.05) && { documentId: draw.of(['0'.repeat(64), ...TEXTS]) }),
      ...(draw.chance(0.05) && { operationName: draw.of(['Q', ...TEXTS]) }),
    });
    const batch = draw.chance(0.15);
    const parameters = batch ? times(draw.of([2, 5, 10]), one) : one();
    const way = draw.of(['POST', 'POST', 'POST', 'GET', 'QUERY', 'cost', 'multipart']);
    if (way === 'GET' && !Array.isArray(parameters)) {
      const query = new URLSearchParams({
        query: parameters.query,
        variables: JSON.stringify(parameters.variables),
      });
      if (query.toString().length < 15_000) return { method: 'GET', path: `/graphql?${query}` };
    }
    return {
      method: way === 'QUERY' ? 'QUERY' : 'POST',
      path: way === 'cost' ? '/graphql/cost' : '/graphql',
      body: JSON.stringify(parameters),
      headers: {
        'content-type': 'application/json',
        ...(way === 'multipart' && { accept: 'multipart/mixed' }),
        ...(this.#isSubscription && { accept: 'text/event-stream' }),
      },
    };
  }

  /** A call of a tool with the arguments of its REST operation, or another method of the protocol. */
  #mcp(): RawRequest {
    const draw = this.#draw;
    const [[, methods]] = [draw.of(Object.entries<JsonSchema>(this.#openapi.paths))];
    const {
      operationId,
      parameters = [],
      requestBody,
    } = methods[draw.of(METHODS.filter((one) => methods[one]))];
    const body = requestBody && Object.values<JsonSchema>(this.#resolved(requestBody).content)[0].schema;
    const given = [...(methods.parameters ?? []), ...parameters]
      .map((one) => this.#resolved(one))
      .filter((one) => one.in === 'path' || (one.in === 'query' && draw.chance(0.5)));
    const tools = [
      { name: 'graphql', arguments: this.#operation() },
      { name: 'schema', arguments: {} },
      {
        name: operationId,
        arguments: {
          ...Object.fromEntries(given.map(({ name, schema }) => [name, this.#json(schema)])),
          ...((body && this.#json(body)) as object | undefined),
        },
      },
    ];
    const method = draw.of([
      ...times(6, () => 'tools/call'),
      'tools/list',
      'initialize',
      'ping',
      'server/discover',
    ]);
    const params = method === 'tools/call' ? draw.of([...tools, ...tools.slice(2), ...tools.slice(2)]) : {};
    return {
      method: 'POST',
      path: '/mcp',
      body: JSON.stringify({ jsonrpc: '2.0', id: draw.of([1, ...TEXTS]), method, params }),
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    };
  }

  #operation(): { query: string; variables: Record<string, unknown> } {
    const draw = this.#draw;
    this.#tokens = draw.of([20, 100, 400, 400, 1_900, 1_900, 3_000]);
    this.#names = 0;
    this.#variables = [];
    const kind = draw.of([
      ...times(16, () => 'query' as const),
      'mutation',
      'mutation',
      'mutation',
      'subscription',
    ]);
    this.#isSubscription = kind === 'subscription';
    const root = this.#schema.getRootType(kind as OperationTypeNode)!;
    const free = draw.chance(0.25);
    const body = this.#selection(root, draw.of([1, 2, 4, 8]), free);
    const definitions = this.#variables.map(({ definition }) => definition).join(' ');
    const name = draw.of(['', 'Q', 'n'.repeat(100)]);
    const head = definitions || name ? `${kind} ${name || 'Q'} ${definitions && `(${definitions})`}` : kind;
    const comment = draw.chance(0.05) ? '#\n'.repeat(draw.of([10, 140, 1_500])) : '';
    return {
      query: `${comment}${head} ${body}`,
      variables: Object.fromEntries(this.#variables.map((one) => [one.name, one.value])),
    };
  }

  /** @param free only what has no price */
  #selection(type: GraphQLObjectType, depth: number, free = false): string {
    const draw = this.#draw;
    const all = Object.values(type.getFields());
    const fitting = free
      ? all.filter(({ extensions }) => extensions.free)
      : all.filter(({ type }) => depth > 0 || isLeafType(getNamedType(type)));
    const parts: string[] = [];
    const most = draw.of([1, 2, 5, 60, 600]);
    const favourite = fitting.length > 0 && draw.chance(0.6) ? draw.of(fitting) : undefined;
    for (let n = 0; n < most && this.#tokens > 0; n++) {
      const field = favourite ?? (fitting.length > 0 ? draw.of(fitting) : undefined);
      this.#tokens -= 3;
      if (!field || draw.chance(0.03)) parts.push(`${this.#alias()}__typename`);
      else parts.push(`${this.#alias()}${this.#field(field, depth)}`);
    }
    return `{ ${parts.length > 0 ? parts.join(' ') : '__typename'} }`;
  }

  #alias(): string {
    return `${'k'.repeat(this.#draw.of([1, 1, 1, 96]))}${this.#names++}:`;
  }

  #field({ name, args, type }: GraphQLField<unknown, unknown>, depth: number): string {
    const draw = this.#draw;
    const given = args.filter(({ type }) => isNonNullType(type) || draw.chance(0.4));
    const values = given.map((argument) => `${argument.name}: ${this.#argument(argument.type)}`);
    const directive = draw.chance(0.05)
      ? draw.of([' @skip(if: true)', ' @include(if: true)', ' @skip(if: false)'])
      : '';
    const named = getNamedType(type);
    const possible = isAbstractType(named) ? this.#schema.getPossibleTypes(named) : [];
    this.#tokens -= 4 * given.length + (isLeafType(named) ? 0 : 2);
    const below = isLeafType(named)
      ? ''
      : isAbstractType(named)
        ? `{ ${possible.map((one) => `... on ${one.name} ${this.#selection(one, depth - 1)}`).join(' ')} }`
        : this.#selection(named as GraphQLObjectType, depth - 1);
    return `${name}${values.length > 0 ? `(${values.join(', ')})` : ''}${directive} ${below}`;
  }

  #argument(type: GraphQLInputType): string {
    if (this.#draw.chance(0.7) || this.#variables.length > 40) return literal(this.#value(type, true));
    const name = `v${this.#variables.length}`;
    this.#variables.push({ name, definition: `$${name}: ${type}`, value: this.#value(type, false) });
    this.#tokens -= 4;
    return `$${name}`;
  }

  #value(type: GraphQLInputType, isLiteral: boolean): unknown {
    const draw = this.#draw;
    if (isNonNullType(type)) return this.#value(type.ofType, isLiteral);
    if (draw.chance(0.02)) return null;
    if (isListType(type)) {
      const length = draw.of(LENGTHS);
      const items = times(Math.min(length, isLiteral ? Math.max(1, this.#tokens) : length), () =>
        this.#value(type.ofType, isLiteral),
      );
      if (isLiteral) this.#tokens -= items.length;
      return items;
    }
    if (isInputObjectType(type)) {
      const fields = Object.values(type.getFields()).filter(
        (field) => isNonNullType(field.type) || draw.chance(0.6),
      );
      return Object.fromEntries(fields.map((field) => [field.name, this.#value(field.type, isLiteral)]));
    }
    if (isEnumType(type)) return new EnumValue(draw.of(type.getValues()).name);
    if (type.name === 'Int') return draw.chance(0.7) ? draw.of([1, 10, 50, 100]) : draw.of(NUMBERS);
    if (type.name === 'Boolean') return draw.chance(0.5);
    if (type.name === 'ID')
      return draw.chance(0.8) ? String(1 + Math.floor(draw.next() * 100)) : draw.of([...TEXTS, ...CURSORS]);
    if (type.name === 'Date') return draw.of(['2026-11-22', '2026-08-25', 'never']);
    if (type.name === 'DateTime') return draw.of(['2026-01-31T09:30:00Z', 'never']);
    return draw.of([...TEXTS, ...CURSORS]);
  }

  #rest(): RawRequest {
    const draw = this.#draw;
    const [path, methods] = draw.of(Object.entries<JsonSchema>(this.#openapi.paths));
    const method = draw.of(METHODS.filter((one) => methods[one]));
    const { parameters = [], requestBody } = methods[method];
    const all = [...(methods.parameters ?? []), ...parameters].map((one) => this.#resolved(one));
    const query = all
      .filter((one) => one.in === 'query' && draw.chance(0.5))
      .flatMap(({ name, schema }) => {
        const { items } = this.#resolved(schema);
        const count = items ? draw.of([1, 2, 3, 30]) : 1;
        return times(count, () => `${name}=${encodeURIComponent(String(this.#json(items ?? schema)))}`);
      });
    const filled = path.replace(/\{\w+\}/g, () =>
      String(draw.of([1, 2, 50, '9223372036854775807', 'x', '1'.repeat(2_000)])),
    );
    const target = `${filled}${query.length > 0 ? `?${query.join('&')}` : ''}`.slice(0, 14_000);
    const accept = draw.chance(0.3) && { headers: { accept: draw.of(MEDIA_TYPES) } };
    if (!requestBody) return { method: method.toUpperCase(), path: target, ...accept };
    const [[type, { schema }]] = Object.entries<JsonSchema>(this.#resolved(requestBody).content) as [
      [string, JsonSchema],
    ];
    const body = this.#json(schema) as Record<string, unknown>;
    if (draw.chance(0.2)) for (let n = draw.of(LENGTHS); n > 0; n--) body[`x${n}`] = n;
    return {
      method: method.toUpperCase(),
      path: target,
      body: JSON.stringify(body),
      headers: { 'content-type': type },
    };
  }

  #resolved(schema: JsonSchema): JsonSchema {
    const { $ref } = schema ?? {};
    if ($ref === undefined) return schema ?? {};
    const [, ...steps] = $ref.split('/');
    return this.#resolved(steps.reduce((node: JsonSchema, step: string) => node[step], this.#openapi));
  }

  #json(given: JsonSchema): unknown {
    const draw = this.#draw;
    const schema = this.#resolved(given);
    if (schema.allOf) return Object.assign({}, ...schema.allOf.map((one: JsonSchema) => this.#json(one)));
    if (schema.oneOf) return this.#json(draw.of(schema.oneOf));
    if (schema.enum) return draw.of(schema.enum);
    if (schema.type === 'array') return times(draw.of(LENGTHS), () => this.#json(schema.items));
    if (schema.type === 'object')
      return Object.fromEntries(
        Object.entries(schema.properties ?? {}).map(([name, one]) => [name, this.#json(one)]),
      );
    if (schema.type === 'integer') return draw.of([1, 2, 50, ...NUMBERS, schema.maximum ?? 1]);
    if (schema.type === 'boolean') return draw.chance(0.5);
    if (schema.format === 'date-time') return '2026-01-31T09:30:00Z';
    return draw.of([...TEXTS, ...CURSORS, 'd'.repeat(schema.maxLength ?? 10)]);
  }
}

class EnumValue {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  toJSON(): string {
    return this.name;
  }
}

/** A value as GraphQL writes it. */
function literal(value: unknown): string {
  if (value instanceof EnumValue) return value.name;
  if (Array.isArray(value)) return `[${value.map(literal).join(' ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([name, part]) => `${name}: ${literal(part)}`)
    .join(' ')}}`;
}
