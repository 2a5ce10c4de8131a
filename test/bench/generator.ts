import { createHash } from 'node:crypto';
import {
  type GraphQLArgument,
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
import { STREAM_TYPE } from '../../src/transports/graphql/response.ts';
import type { Attack } from './attacks.ts';
import type { RawRequest } from './harness.ts';

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
/** A byte or more each in memory and in UTF-8, the last of which folds to 18. */
const CHARACTERS = ['x', 'é', 'e\u0301', '漢', '😀', '\ufdfa'];
const FAULTY_TEXTS = ['', '0', 'x'.repeat(3_000), 'e\u0301\u0327'.repeat(10_000), '\ufdfa'.repeat(9_000)];
const FAULTY_NUMBERS = [0, 101, -1, 1.5, 2_147_483_648];
const IDS = 100;
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];
/** The default size of a list. */
const DEFAULT_SIZE = 20;

/** JSON Schema as OpenAPI 3.0 has it. */
// biome-ignore lint/suspicious/noExplicitAny: any schema
type JsonSchema = any;

/** What can only be found by asking a server. */
export interface Surroundings {
  /** Places to go on from, by the parameter that takes them and the order they belong to (`placesKey`). */
  places: ReadonlyMap<string, readonly string[]>;
  /** The names of the request headers that the server reads. */
  headers: readonly string[];
  /** The paths of pages and their files. */
  pages: readonly string[];
}

/** A drawn request, and whose it is: by default a key with a budget. */
export type DrawnRequest = RawRequest & Pick<Attack, 'key'>;

/** Where lists that have a parameter `after` go on. */
export interface Listing {
  path: string;
  /** Its orders; [undefined] if there is only one. */
  sorts: readonly (string | undefined)[];
  /** What its places are taken by. */
  after: string;
}

export const placesKey = (after: string, sort: string | undefined): string => `${after} ${sort ?? 'id'}`;

/** Follows references within an OpenAPI document. */
function resolvedIn(openapi: JsonSchema, schema: JsonSchema): JsonSchema {
  const { $ref } = schema ?? {};
  if ($ref === undefined) return schema ?? {};
  const [, ...steps] = $ref.split('/');
  return resolvedIn(
    openapi,
    steps.reduce((node: JsonSchema, step: string) => node[step], openapi),
  );
}

/** The lists of an OpenAPI document that can be continued. */
export function listingsOf(openapi: JsonSchema): Listing[] {
  return Object.entries<JsonSchema>(openapi.paths).flatMap(([path, { get, parameters = [] }]) => {
    const given: JsonSchema[] = [...parameters, ...(get?.parameters ?? [])];
    const named = (name: string) => given.find((one) => resolvedIn(openapi, one).name === name);
    const after = named('after');
    if (!after?.$ref || path.includes('{')) return [];
    const { schema } = resolvedIn(openapi, named('sort'));
    return { path, sorts: schema?.enum ?? [undefined], after: after.$ref };
  });
}

/**
 * Draws requests from everything that the OpenAPI description and the GraphQL schema allow, filled up to what their price
 * permits, and some from what is refused.
 */
export class RequestGenerator {
  readonly #schema: GraphQLSchema;
  readonly #openapi: JsonSchema;
  readonly #surroundings: Surroundings;
  readonly #listings: readonly Listing[];
  readonly #mediaTypes: readonly string[];
  /** How long texts may be, by the names of their fields. */
  readonly #lengths = new Map<string, number>();
  #draw = new Draw(0);
  /** Whether values may break their rules. */
  #isFaulty = false;
  /** The order of all lists of a request that have it. */
  #sort: string | undefined;
  #isBackward = false;
  /** What is left for the document. */
  #tokens = 0;
  #entries = 0;
  #weight = 0;
  #names = 0;
  #isSubscription = false;
  #variables: { definition: string; name: string; value: unknown }[] = [];

  /** @param openapi the OpenAPI document, whose operations, parameters, headers, media types and bodies are drawn on */
  constructor(schema: GraphQLSchema, openapi: JsonSchema, surroundings: Surroundings) {
    this.#schema = schema;
    this.#openapi = openapi;
    this.#surroundings = surroundings;
    this.#listings = listingsOf(openapi);
    const types = new Set(['*/*', 'multipart/mixed', 'text/html', 'application/graphql-response+json']);
    JSON.stringify(openapi, (name, value) => {
      if (name === 'content') for (const type of Object.keys(value)) types.add(type);
      if (typeof value?.maxLength === 'number') this.#lengths.set(name, value.maxLength);
      return value;
    });
    this.#mediaTypes = [...types];
  }

  /** The request of a seed. */
  request(seed: number): DrawnRequest {
    const draw = new Draw(seed);
    this.#draw = draw;
    this.#isFaulty = draw.chance(0.25);
    this.#sort = draw.of([undefined, ...this.#listings.flatMap(({ sorts }) => sorts)]);
    this.#isBackward = draw.chance(0.2);
    const kind = draw.next();
    const made =
      kind < 0.5 ? this.#graphql() : kind < 0.8 ? this.#rest() : kind < 0.92 ? this.#mcp() : this.#page();
    const key = draw.of([...times(16, () => undefined), 'none', 'banned'] as const);
    return { ...made, headers: { ...this.#someHeaders(), ...made.headers }, ...(key && { key }) };
  }

  #someHeaders(): Record<string, string> {
    const count = this.#draw.of([0, 0, 0, 1, 2, 8]);
    const drawn = times(count, () => this.#draw.of(this.#surroundings.headers));
    return Object.fromEntries(drawn.map((name) => [name, this.#headerValue(name)]));
  }

  #headerValue(name: string): string {
    const draw = this.#draw;
    const described = Object.values<JsonSchema>(this.#openapi.components.parameters).find(
      (one) => one.in === 'header' && one.name.toLowerCase() === name,
    );
    if (described && draw.chance(0.5))
      return described.schema.enum ? draw.of(described.schema.enum) : `"${'k'.repeat(draw.of([1, 255]))}"`;
    const member = name.startsWith('if-') ? '"tag"' : draw.of([...this.#mediaTypes, 'gzip', 'a;q=0.5', 'on']);
    const separator = draw.of([', ', ',', ';', ';a=b,', ' ']);
    const count = draw.of([1, 1, 2, 31, ...(this.#isFaulty ? [32, 33, 1_000, 3_000] : [])]);
    const members = times(count, () => member).join(separator);
    // So that most requests are not refused for what they accept alone.
    return (name === 'accept' && !this.#isFaulty ? `*/*, ${members}` : members).slice(0, 14_000);
  }

  /** A page or one of its files. */
  #page(): DrawnRequest {
    const draw = this.#draw;
    const query = draw.chance(0.2) ? `?${'a=b&'.repeat(draw.of([1, 3_000]))}` : '';
    return {
      method: draw.of(['GET', 'GET', 'GET', 'HEAD', 'OPTIONS', 'POST']),
      path: draw.of(this.#surroundings.pages) + query,
      headers: { accept: draw.of(['*/*', 'text/html']), 'accept-encoding': draw.of(['gzip', 'br', 'x']) },
    };
  }

  #graphql(): DrawnRequest {
    const draw = this.#draw;
    const units = draw.of([1, 1, 1, 2, 10, 50]);
    const persisted = (query: string) => ({
      version: 1,
      sha256Hash: draw.chance(0.5) ? createHash('sha256').update(query).digest('hex') : '0'.repeat(64),
    });
    const one = (share: number) => {
      const operation = this.#operation(share);
      return {
        ...(draw.chance(0.97) && operation),
        ...(draw.chance(0.1) && { extensions: { persistedQuery: persisted(operation.query) } }),
        ...(draw.chance(0.04) && { documentId: draw.of(['0'.repeat(64), 'x'.repeat(128)]) }),
        ...(draw.chance(0.05) && { operationName: draw.of(['Q', 'n'.repeat(100)]) }),
      };
    };
    const size = draw.chance(0.15) ? draw.of([2, 5, 10]) : undefined;
    const parameters = size ? times(size, () => one(Math.max(1, units / size))) : one(units);
    const way = draw.of(['POST', 'POST', 'POST', 'GET', 'QUERY', 'cost', 'multipart']);
    if (way === 'GET' && !Array.isArray(parameters)) {
      const query = new URLSearchParams(
        Object.entries(parameters).map(([name, value]) => [
          name,
          typeof value === 'string' ? value : JSON.stringify(value),
        ]),
      );
      if (query.toString().length < 15_000) return { method: 'GET', path: `/graphql?${query}` };
    }
    return {
      method: way === 'QUERY' ? 'QUERY' : 'POST',
      path: way === 'cost' ? '/graphql/cost' : '/graphql',
      body: JSON.stringify(parameters),
      headers: {
        'content-type': 'application/json',
        ...(way === 'multipart' && { accept: 'multipart/mixed' }),
        ...(this.#isSubscription && { accept: STREAM_TYPE }),
      },
    };
  }

  /** A row of the route table, with what it takes. */
  #row() {
    const [path, methods] = this.#draw.of(Object.entries<JsonSchema>(this.#openapi.paths));
    const method = this.#draw.of(METHODS.filter((one) => methods[one]));
    const { operationId, parameters = [], requestBody, responses } = methods[method];
    const all: JsonSchema[] = [...(methods.parameters ?? []), ...parameters];
    const body = requestBody && this.#resolved(requestBody);
    const types = Object.values<JsonSchema>(responses).flatMap((one) => Object.keys(one.content ?? {}));
    return { path, method: method.toUpperCase(), operationId, all, body, types };
  }

  /** Some of the parameters of a row, with their values. */
  #parameters(
    all: readonly JsonSchema[],
  ): { name: string; where: string; isMany: boolean; value: unknown }[] {
    const draw = this.#draw;
    const named = all.map((one) => ({ ref: one.$ref, ...this.#resolved(one) }));
    const sorts: string[] = this.#resolved(named.find(({ name }) => name === 'sort')?.schema).enum ?? [];
    const sort = sorts.find((one) => one === this.#sort);
    return named
      .filter((one) => one.in !== 'header' && (one.in === 'path' || draw.chance(0.5)))
      .map(({ name, in: where, schema, ref }) => {
        const { items } = this.#resolved(schema);
        const places = name === 'after' && this.#surroundings.places.get(placesKey(ref, sort));
        const value =
          name === 'sort'
            ? (sort ?? sorts[0])
            : places && !this.#isFaulty
              ? draw.of(places)
              : this.#json(items ?? schema, name);
        return { name, where, isMany: items !== undefined, value };
      });
  }

  #rest(): DrawnRequest {
    const draw = this.#draw;
    const { path, method, all, body, types } = this.#row();
    const given = this.#parameters(all);
    const query = given
      .filter(({ where }) => where === 'query')
      .flatMap(({ name, value, isMany }) =>
        times(
          isMany && this.#isFaulty ? draw.of([2, 3, 1_000]) : 1,
          () => `${name}=${encodeURIComponent(String(value))}`,
        ),
      );
    const filled = path.replace(/\{(\w+)\}/g, (_, name) =>
      encodeURIComponent(String(given.find((one) => one.name === name)?.value ?? 1)),
    );
    const target = `${filled}${query.length > 0 ? `?${query.join('&')}` : ''}`.slice(0, 14_000);
    const request = {
      method: method === 'GET' ? draw.of([...times(8, () => 'GET'), 'HEAD', 'OPTIONS']) : method,
      path: target,
      headers: draw.chance(0.4)
        ? { accept: draw.of(this.#isFaulty ? this.#mediaTypes : ['*/*', ...types]) }
        : {},
    };
    if (!body) return request;
    const [[type, { schema }]] = Object.entries<JsonSchema>(body.content) as [[string, JsonSchema]];
    const made = this.#json(schema) as Record<string, unknown>;
    if (this.#isFaulty && typeof made === 'object')
      for (let n = draw.of(LENGTHS); n > 0; n--) made[`x${n}`] = n;
    return { ...request, body: JSON.stringify(made), headers: { ...request.headers, 'content-type': type } };
  }

  /** A call of a tool with the arguments of its REST operation, or another method of the protocol. */
  #mcp(): DrawnRequest {
    const draw = this.#draw;
    const { operationId, all, body } = this.#row();
    const schema = body && Object.values<JsonSchema>(body.content)[0].schema;
    const given = this.#parameters(all).map(({ name, value }) => [
      name,
      name.endsWith('Id') ? `${value}` : value,
    ]);
    const tool = {
      name: operationId,
      arguments: { ...Object.fromEntries(given), ...((schema && this.#json(schema)) as object | undefined) },
    };
    const graphql = { name: 'graphql', arguments: this.#operation(draw.of([1, 10, 50])) };
    const params = draw.of([tool, tool, tool, graphql, { name: 'schema', arguments: {} }]);
    const methods = ['tools/list', 'initialize', 'ping', 'server/discover', 'notifications/initialized'];
    const method = draw.of([...times(10, () => 'tools/call'), ...methods]);
    const version = draw.of(['2025-06-18', '2025-11-25', '2026-07-28']);
    const meta = 'io.modelcontextprotocol/';
    const common = version >= '2026' && {
      _meta: {
        [`${meta}protocolVersion`]: version,
        [`${meta}clientInfo`]: { name: 'costs', version: '1' },
        [`${meta}clientCapabilities`]: {},
      },
    };
    return {
      method: 'POST',
      path: '/mcp',
      body: JSON.stringify({
        jsonrpc: '2.0',
        ...(!method.startsWith('notifications') && { id: 1 }),
        method,
        params: {
          ...common,
          ...(method === 'tools/call' ? params : { protocolVersion: version, capabilities: {} }),
        },
      }),
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': version,
        ...(version >= '2026' && {
          'mcp-method': method,
          ...(method === 'tools/call' && { 'mcp-name': params.name }),
        }),
      },
    };
  }

  /** An operation that returns as much as so many units permit. */
  #operation(units: number): { query: string; variables: Record<string, unknown> } {
    const draw = this.#draw;
    this.#tokens = draw.of([20, 100, 400, 400, 1_900, 1_900, ...(this.#isFaulty ? [3_000] : [])]);
    this.#entries = 100 * units;
    this.#weight = 2_500 * units;
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
    const free = draw.chance(0.15);
    const most = this.#isSubscription ? 1 : Math.min(units, draw.of([1, 2, 50]));
    const body = this.#selection(root, draw.of([1, 2, 4, 8]), 1, { free, most: free ? 100 : most });
    const definitions = this.#variables.map(({ definition }) => definition).join(' ');
    const name = draw.of(['', 'Q', 'n'.repeat(100)]);
    const head = definitions || name ? `${kind} ${name || 'Q'} ${definitions && `(${definitions})`}` : kind;
    const comment = draw.chance(0.05) ? '#\n'.repeat(draw.of([10, 140, 1_500])) : '';
    return {
      query: `${comment}${head} ${body}`,
      variables: Object.fromEntries(this.#variables.map((one) => [one.name, one.value])),
    };
  }

  /**
   * @param rows how many of this there can be
   * @param free only what has no price
   */
  #selection(
    type: GraphQLObjectType,
    depth: number,
    rows: number,
    { free = false, most = this.#draw.of([1, 2, 5, 60, 600]) } = {},
  ): string {
    const draw = this.#draw;
    const all = Object.values(type.getFields());
    const fitting = free
      ? all.filter(({ extensions }) => extensions.free)
      : all.filter(({ type }) => depth > 0 || isLeafType(getNamedType(type)));
    const parts: string[] = [];
    const favourite = fitting.length > 0 && draw.chance(0.6) ? draw.of(fitting) : undefined;
    for (let n = 0; n < most && this.#tokens > 0 && this.#weight >= rows; n++) {
      const field = favourite ?? (fitting.length > 0 ? draw.of(fitting) : undefined);
      this.#tokens -= 3;
      const made = field && draw.chance(0.97) ? this.#field(field, depth, rows) : '__typename';
      if (made !== undefined) parts.push(`${this.#alias()}${made}`);
    }
    return `{ ${parts.length > 0 ? parts.join(' ') : '__typename'} }`;
  }

  #alias(): string {
    return `${'k'.repeat(this.#draw.of([1, 1, 1, 96]))}${this.#names++}:`;
  }

  /** @returns undefined if what is left does not pay for it */
  #field(field: GraphQLField<unknown, unknown>, depth: number, rows: number): string | undefined {
    const draw = this.#draw;
    const { name, args, type, extensions } = field;
    const named = getNamedType(type);
    const isConnection = args.some((one) => one.name === 'first');
    const size = isConnection ? this.#sizeOf(rows) : 1;
    if (size === 0) return undefined;
    if (isConnection) this.#entries -= rows * (size ?? DEFAULT_SIZE);
    const maxLength = Number(extensions.maxLength ?? named.extensions.maxLength ?? 0);
    this.#weight -= rows * Math.max(1, Math.ceil(maxLength / 100));
    const values = this.#arguments(args, size);
    const directive = draw.chance(0.03)
      ? draw.of([' @skip(if: true)', ' @include(if: true)', ' @skip(if: false)'])
      : '';
    this.#tokens -= 4 * values.length + (isLeafType(named) ? 0 : 2);
    const inner = rows * (size ?? DEFAULT_SIZE);
    const possible = isAbstractType(named) ? this.#schema.getPossibleTypes(named) : [];
    const below = isLeafType(named)
      ? ''
      : isAbstractType(named)
        ? `{ ${possible.map((one) => `... on ${one.name} ${this.#selection(one, depth - 1, inner)}`).join(' ')} }`
        : this.#selection(named as GraphQLObjectType, depth - 1, inner);
    return `${name}${values.length > 0 ? `(${values.join(', ')})` : ''}${directive} ${below}`;
  }

  /** The size of a list that is still paid for: undefined stands for the default, 0 for none. */
  #sizeOf(rows: number): number | undefined {
    const most = Math.floor(this.#entries / rows);
    const size = this.#draw.of([undefined, 1, 1, 10, 50, 100]);
    return (size ?? DEFAULT_SIZE) <= most ? size : Math.max(0, Math.min(most, 100));
  }

  #arguments(args: readonly GraphQLArgument[], size: number | undefined): string[] {
    const sortType = getNamedType(args.find((one) => one.name === 'sort')?.type);
    const sorts = isEnumType(sortType) ? sortType.getValues().map((one) => one.name) : [];
    const sort = sorts.find((one) => restSort(one) === this.#sort);
    return args.flatMap(({ name, type }) => {
      const given = (value: unknown) => [`${name}: ${literal(value)}`];
      if (!this.#isFaulty) {
        const [limit, place] = this.#isBackward ? ['last', 'before'] : ['first', 'after'];
        if (name === 'first' || name === 'last')
          return name === limit && size !== undefined ? given(size) : [];
        if (name === 'sort') return sort ? given(new EnumValue(sort)) : [];
        if (name === 'after' || name === 'before') {
          const places = this.#placesFor(sort, sorts.length > 0);
          return name === place && places && this.#draw.chance(0.5) ? given(this.#draw.of(places)) : [];
        }
      }
      return isNonNullType(type) || this.#draw.chance(0.4) ? [`${name}: ${this.#argument(type, name)}`] : [];
    });
  }

  /** @param isSorted whether a list has several orders, as all have but that of events */
  #placesFor(sort: string | undefined, isSorted: boolean): readonly string[] | undefined {
    const listing = this.#listings.find(({ sorts }) => (sorts[0] !== undefined) === isSorted);
    return listing && this.#surroundings.places.get(placesKey(listing.after, sort && restSort(sort)));
  }

  #argument(type: GraphQLInputType, of: string): string {
    if (this.#draw.chance(0.7) || this.#variables.length > 40) return literal(this.#value(type, true, of));
    const name = `v${this.#variables.length}`;
    this.#variables.push({ name, definition: `$${name}: ${type}`, value: this.#value(type, false, of) });
    this.#tokens -= 4;
    return `$${name}`;
  }

  /** @param of the name of the argument or field */
  #value(type: GraphQLInputType, isLiteral: boolean, of: string): unknown {
    const draw = this.#draw;
    if (isNonNullType(type)) return this.#value(type.ofType, isLiteral, of);
    if (this.#isFaulty && draw.chance(0.02)) return null;
    if (isListType(type)) {
      const length = draw.of(this.#isFaulty ? LENGTHS : [1, 2, 3, 100]);
      const items = times(Math.min(length, isLiteral ? Math.max(1, this.#tokens) : length), () =>
        this.#value(type.ofType, isLiteral, of),
      );
      if (isLiteral) this.#tokens -= items.length;
      const isEnum = isEnumType(getNamedType(type));
      return isEnum && !this.#isFaulty ? [...new Map(items.map((one) => [`${one}`, one])).values()] : items;
    }
    if (isInputObjectType(type)) {
      const fields = Object.values(type.getFields()).filter(
        (field) => isNonNullType(field.type) || (draw.chance(0.6) && this.#agrees(field.name)),
      );
      return Object.fromEntries(
        fields.map((field) => [field.name, this.#value(field.type, isLiteral, field.name)]),
      );
    }
    if (isEnumType(type)) return new EnumValue(draw.of(type.getValues()).name);
    if (this.#isFaulty && draw.chance(0.3)) return draw.of([...FAULTY_TEXTS, ...FAULTY_NUMBERS]);
    if (type.name === 'Int') return draw.of([1, 10, 50, 100]);
    if (type.name === 'Boolean') return draw.chance(0.5);
    if (type.name === 'ID') return of.startsWith('node') ? this.#nodeId() : this.#id();
    if (type.name === 'Date') return draw.of(['2026-11-22', '2026-08-25']);
    if (type.name === 'DateTime') return '2026-01-31T09:30:00Z';
    return this.#text(of);
  }

  /** Lists of a name are in its order. */
  #agrees(filter: string): boolean {
    return filter !== 'name' || this.#sort === undefined || this.#sort.endsWith(filter);
  }

  #id = (): string => String(1 + Math.floor(this.#draw.next() * IDS));

  #nodeId(): string {
    const kind = this.#draw.of(this.#schema.getPossibleTypes(this.#schema.getType('Node') as never));
    return Buffer.from(`${kind.name}:${this.#id()}`).toString('base64url');
  }

  #text(of: string): string {
    if (of === 'url') return 'https://example.com/';
    const character = this.#draw.of(CHARACTERS);
    const most = Math.floor((this.#lengths.get(of) ?? 200) / character.length);
    return character.repeat(this.#draw.of([1, most]));
  }

  #resolved(schema: JsonSchema): JsonSchema {
    return resolvedIn(this.#openapi, schema);
  }

  /** @param of the name of the property or parameter */
  #json(given: JsonSchema, of = ''): unknown {
    const draw = this.#draw;
    const schema = this.#resolved(given);
    if (this.#isFaulty && draw.chance(0.2)) return draw.of([...FAULTY_TEXTS, ...FAULTY_NUMBERS]);
    if (schema.allOf) return Object.assign({}, ...schema.allOf.map((one: JsonSchema) => this.#json(one, of)));
    if (schema.oneOf) return this.#json(draw.of(schema.oneOf), of);
    if (schema.enum) return draw.of(schema.enum);
    if (schema.type === 'array')
      return times(draw.of(this.#isFaulty ? LENGTHS : [1, 2]), () => this.#json(schema.items, of));
    if (schema.type === 'object')
      return Object.fromEntries(
        Object.entries(schema.properties ?? {}).map(([name, one]) => [name, this.#json(one, name)]),
      );
    if (schema.type === 'integer')
      return of.endsWith('d') ? Number(this.#id()) : draw.of([1, 2, 50, Math.min(schema.maximum ?? 1, 100)]);
    if (schema.type === 'boolean') return draw.chance(0.5);
    if (schema.format === 'date-time') return '2026-01-31T09:30:00Z';
    if (schema.format === 'date' || of === 'date') return draw.of(['2026-11-22', '2026-08-25']);
    return this.#text(of);
  }
}

/** The order that REST calls `-name` is `name_desc` in GraphQL. */
const restSort = (sort: string): string => `${sort.endsWith('_desc') ? '-' : ''}${sort.replace(/_\w+$/, '')}`;

class EnumValue {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  toString(): string {
    return this.name;
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
