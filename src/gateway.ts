import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { AddressGuard } from './access/address-guard.ts';
import { Authenticator, keyOf } from './access/api-keys.ts';
import { createBurstGuard } from './access/burst-guard.ts';
import { FREE_PER_SECOND, FreeGuard } from './access/free-guard.ts';
import { charge, type Verdict } from './access/limiter.ts';
import { PLANS } from './access/plans.ts';
import type { Config } from './config.ts';
import type { Route } from './domains/route.ts';
import { COST_PATH, GRAPHQL_PATH, GraphQLDoor, graphqlErrorAnswer } from './doors/graphql/graphql.ts';
import { type Page, Pages } from './doors/pages/pages.ts';
import { checkSunset, type Lifecycle } from './doors/rest/lifecycle.ts';
import { type Match, preconditionOf, Rest } from './doors/rest/rest.ts';
import { AppError } from './errors.ts';
import { shownBudget } from './graphql/budget.ts';
import type { BurstGuard, Context, Idempotency, Principal, RateLimitView } from './graphql/context.ts';
import { Loaders } from './graphql/loaders.ts';
import { Operations } from './graphql/operations.ts';
import { INTERNAL_MESSAGE } from './graphql/refusal.ts';
import { schema } from './graphql/schema.ts';
import { type Answer, errorAnswer } from './http/answer.ts';
import { addCachingHeaders } from './http/caching-headers.ts';
import { clientAddress } from './http/client-address.ts';
import { Cors } from './http/cors.ts';
import { Exchange, type Headers } from './http/exchange.ts';
import { parseIdempotencyKey } from './http/idempotency-key.ts';
import { addRateLimitHeaders } from './http/rate-limit-headers.ts';
import { measuredStore } from './observability/measured-store.ts';
import type { Metrics } from './observability/metrics.ts';
import type { Tracing } from './observability/tracing.ts';
import type { MaybePromise, Store } from './store/store.ts';

export interface GatewayOptions {
  store: Store;
  config: Config;
  log: Logger;
  metrics?: Metrics | undefined;
  tracing?: Tracing | undefined;
  /** Filled in on the pages where people try things out; for development starts only. */
  developmentKey?: string | undefined;
  /** Milliseconds since 1970; tests give a clock of their own. */
  now?: () => number;
  /** The REST operations; tests give a table of their own. */
  routes?: readonly Route[];
}

export interface RequestHandler {
  (request: IncomingMessage, response: ServerResponse): void;
  /** The headers for a refusal of what is no HTTP, on a connection from this address. */
  limitHeaders?: (address: string) => Headers;
}

/**
 * The whole gateway as one handler of node:http. The order of everything is that of contract section 4 and can be
 * read off `#enter`: free pages, key, ban and limit, path and method, then the door.
 */
export function createGateway(options: GatewayOptions): RequestHandler {
  const gateway = new Gateway(options);
  return Object.assign(
    (request: IncomingMessage, response: ServerResponse) => gateway.handle(request, response),
    { limitHeaders: (address: string) => gateway.limitHeaders(address) },
  );
}

class Gateway {
  readonly #store: Store;
  readonly #config: Config;
  readonly #log: Logger;
  readonly #metrics: Metrics | undefined;
  readonly #tracing: Tracing | undefined;
  readonly #now: () => number;
  readonly #cors: Cors;
  readonly #pages: Pages;
  readonly #authenticator: Authenticator;
  readonly #addressGuard: AddressGuard;
  readonly #guardBurst: BurstGuard;
  readonly #freeGuard: FreeGuard;
  readonly #rest: Rest;
  readonly #graphql: GraphQLDoor;
  readonly #lifecycle: Lifecycle;

  constructor(options: GatewayOptions) {
    const { config, log, metrics, tracing, developmentKey, now = Date.now } = options;
    const store = metrics ? measuredStore(options.store, metrics) : options.store;
    this.#store = store;
    this.#config = config;
    this.#log = log;
    this.#metrics = metrics;
    this.#tracing = tracing;
    this.#now = now;
    this.#cors = new Cors(config.CORS_ORIGIN);
    this.#pages = new Pages({ store, config, metrics, developmentKey });
    this.#authenticator = new Authenticator(now);
    this.#addressGuard = new AddressGuard(now);
    this.#guardBurst = createBurstGuard(now);
    this.#freeGuard = new FreeGuard(now);
    const operations = new Operations(schema, (error) => this.#reportFault(error), {
      introspection: config.INTROSPECTION,
    });
    this.#lifecycle = {
      deprecationDate: config.DEPRECATION_DATE,
      sunsetDate: config.SUNSET_DATE,
      sunsetEnforced: config.SUNSET_ENFORCED,
    };
    this.#rest = new Rest(operations, config.REST_BASE_PATH, this.#lifecycle, options.routes);
    this.#graphql = new GraphQLDoor(operations);
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    const exchange = new Exchange(request, response, requestIdOf(request));
    this.#tracing?.begin(exchange);
    try {
      const answer = this.#enter(exchange);
      if (answer instanceof Promise) {
        answer.then(
          (settled) => this.#send(exchange, settled),
          (error: unknown) => this.#fail(exchange, error),
        );
      } else {
        this.#send(exchange, answer);
      }
    } catch (error) {
      this.#fail(exchange, error);
    }
  }

  /** @see RequestHandler.limitHeaders */
  limitHeaders(address: string): Headers {
    const headers: Headers = [];
    addRateLimitHeaders(headers, { guardWindow: this.#addressGuard.view(address) }, this.#now());
    return headers;
  }

  #enter(exchange: Exchange): MaybePromise<Answer> {
    if (this.#cors.isPreflight(exchange)) {
      exchange.door = 'page';
      return { status: 204, headers: this.#cors.preflightHeaders(exchange), body: '' };
    }
    const page = this.#pages.find(exchange);
    if (page) return this.#page(exchange, page);
    if (exchange.path === GRAPHQL_PATH || exchange.path === COST_PATH) {
      exchange.door = 'graphql';
      exchange.route = exchange.path;
    }
    const principal = this.#authenticate(exchange);
    return principal instanceof Promise
      ? principal.then((found) => this.#admit(exchange, found))
      : this.#admit(exchange, principal);
  }

  #page(exchange: Exchange, page: Page): MaybePromise<Answer> {
    exchange.door = 'page';
    exchange.operation = exchange.path;
    exchange.route = exchange.path;
    if (exchange.method === 'GET' || exchange.method === 'HEAD') return page(exchange);
    exchange.allow = 'GET, HEAD, OPTIONS';
    if (exchange.method === 'OPTIONS') return { status: 204, headers: ['Allow', exchange.allow], body: '' };
    throw new AppError('METHOD_NOT_ALLOWED', `This page is read with GET, not ${exchange.method}.`);
  }

  #authenticate(exchange: Exchange): MaybePromise<Principal | null> {
    const key = keyOf(exchange.headers);
    if (key === undefined) return null;
    let found: MaybePromise<Principal | null>;
    try {
      found = this.#authenticator.principalOf(this.#storeOf(exchange), key);
    } catch (error) {
      throw this.#keyUnknown(exchange, error);
    }
    if (!(found instanceof Promise)) return found;
    return found.catch((error: unknown) => {
      throw this.#keyUnknown(exchange, error);
    });
  }

  /** Where the store can't tell whose key it is, the numbers of the address are all there is to show. */
  #keyUnknown(exchange: Exchange, error: unknown): unknown {
    exchange.guardWindow = this.#addressGuard.view(this.#address(exchange));
    return error;
  }

  #admit(exchange: Exchange, principal: Principal | null): MaybePromise<Answer> {
    if (principal === null) throw this.#unauthenticated(exchange);
    exchange.principal = principal;
    if (exchange.door === 'graphql') {
      return this.#graphql.answer(exchange, {
        charge: (units) => this.#charge(exchange, principal, units),
        preview: () => this.#preview(exchange, principal),
        newContext: (index, cost) => this.#newContext(exchange, principal, index, cost),
        extensions: () => extensionsOf(exchange, principal),
      });
    }
    const charged = this.#charge(exchange, principal, 1);
    return charged instanceof Promise
      ? charged.then(() => this.#answerRest(exchange, principal))
      : this.#answerRest(exchange, principal);
  }

  #unauthenticated(exchange: Exchange): AppError {
    const address = this.#address(exchange);
    const admitted = this.#addressGuard.admit(address);
    const window = this.#addressGuard.view(address);
    exchange.guardWindow = window;
    if (admitted) {
      return new AppError(
        'UNAUTHENTICATED',
        'A valid API key is needed: X-API-Key: <key> or Authorization: Bearer <key>.',
      );
    }
    const retryAfter = Math.max(1, Math.ceil((window.resetAt - this.#now()) / 1000));
    return new AppError(
      'RATE_LIMITED',
      `Too many requests without a valid API key. Retry in ${retryAfter} s.`,
      { retryAfter },
    );
  }

  #address(exchange: Exchange): string {
    return clientAddress(exchange.request, this.#config.TRUST_PROXY);
  }

  #charge(exchange: Exchange, principal: Principal, units: number): MaybePromise<void> {
    let verdict: MaybePromise<Verdict>;
    try {
      verdict = charge(this.#storeOf(exchange), principal, units, this.#now());
    } catch (error) {
      throw this.#uncharged(exchange, principal, error);
    }
    if (!(verdict instanceof Promise)) return this.#judge(exchange, units, verdict);
    return verdict.then(
      (settled) => this.#judge(exchange, units, settled),
      (error: unknown) => {
        throw this.#uncharged(exchange, principal, error);
      },
    );
  }

  #judge(exchange: Exchange, units: number, verdict: Verdict): void {
    exchange.verdict = verdict;
    if (verdict.outcome === 'passed') {
      exchange.units = units;
      return;
    }
    const retryAfter = verdict.retryAfter!;
    if (verdict.outcome === 'banned') {
      throw new AppError(
        'API_KEY_BANNED',
        `The API key is banned for too many retries. Retry in ${retryAfter} s.`,
        { retryAfter },
      );
    }
    const { minute, day, tightest } = verdict;
    const window = tightest === day ? 'day' : 'minute';
    const advice =
      units > Math.min(minute.limit, day.limit)
        ? 'That can never pass; ask for less at once.'
        : `Retry in ${retryAfter} s.`;
    throw new AppError(
      'RATE_LIMITED',
      `The plan allows ${tightest.limit} requests a ${window}; ${tightest.remaining} are left and this one costs ${units}. ${advice}`,
      { retryAfter },
    );
  }

  /** What is left, for a request that is free. */
  async #preview(exchange: Exchange, principal: Principal): Promise<RateLimitView> {
    await this.#charge(exchange, principal, 0);
    const verdict = exchange.verdict!;
    if (!this.#freeGuard.admit(principal.id)) {
      const resetAt = this.#now() + 1_000;
      exchange.verdict = {
        ...verdict,
        outcome: 'refused',
        tightest: { limit: FREE_PER_SECOND, remaining: 0, resetAt },
      };
      throw new AppError(
        'RATE_LIMITED',
        `At most ${FREE_PER_SECOND} free requests a second are allowed. Retry in 1 s.`,
        { retryAfter: 1 },
      );
    }
    return budgetOf(principal, verdict, 0);
  }

  /** Nothing passes that can't be counted; the numbers say so. */
  #uncharged(exchange: Exchange, { limits }: Principal, error: unknown): unknown {
    const none = { limit: limits.perMinute, remaining: 0, resetAt: this.#now() + 1_000 };
    const day = { ...none, limit: limits.perDay };
    exchange.verdict = { outcome: 'refused', minute: none, day, tightest: none };
    return error;
  }

  #answerRest(exchange: Exchange, principal: Principal): MaybePromise<Answer> {
    const match = this.#rest.match(exchange.method, exchange.path);
    if (!match) throw new AppError('NOT_FOUND', `There is no ${exchange.path}.`);
    if (!match.route) return this.#answerOtherMethod(exchange, match.allow);
    const { route } = match;
    exchange.operation = route.operationId;
    exchange.route = this.#config.REST_BASE_PATH + route.path;
    if (route.deprecation) {
      exchange.deprecated = true;
      exchange.operationHeaders = match.operationHeaders;
      checkSunset(route, this.#lifecycle, this.#now());
    }
    return this.#rest.answer(exchange, match as Match & { route: typeof route }, () =>
      this.#newContext(exchange, principal, 0, 1),
    );
  }

  #answerOtherMethod(exchange: Exchange, allow: string): Answer {
    exchange.allow = allow;
    if (exchange.method === 'OPTIONS') return { status: 204, headers: ['Allow', allow], body: '' };
    throw new AppError('METHOD_NOT_ALLOWED', `${exchange.path} answers ${allow}, not ${exchange.method}.`);
  }

  /** The store, with its calls traced where the request is. */
  #storeOf(exchange: Exchange): Store {
    return this.#tracing ? this.#tracing.storeOf(exchange, this.#store) : this.#store;
  }

  #newContext(exchange: Exchange, principal: Principal, index: number, cost: number): Context {
    const store = this.#storeOf(exchange);
    return {
      principal,
      store,
      loaders: new Loaders(store),
      now: this.#now,
      guardBurst: this.#guardBurst,
      // As the request's own charge left it, which costs no read: the field is free, under any number of aliases.
      rateLimit: () => budgetOf(principal, exchange.verdict!, cost),
      precondition: exchange.door === 'rest' ? preconditionOf(exchange.header('if-match')) : undefined,
      idempotency: idempotencyOf(exchange, index),
    };
  }

  #fail(exchange: Exchange, error: unknown): void {
    let known: AppError;
    if (error instanceof AppError) {
      known = error;
      this.#showBurstWindow(exchange, error);
      if (error.status >= 500) this.#reportFault(error, exchange.requestId);
    } else {
      known = new AppError('INTERNAL', INTERNAL_MESSAGE);
      this.#reportFault(error, exchange.requestId);
    }
    this.#send(
      exchange,
      exchange.door === 'graphql' ? graphqlErrorAnswer(known, exchange) : errorAnswer(known, exchange),
    );
  }

  /** On a 429 the numbers are those of the window that refused: past the plan's, that is the burst guard's second. */
  #showBurstWindow(exchange: Exchange, { code, retryAfter }: AppError): void {
    const { verdict, principal } = exchange;
    if (code !== 'RATE_LIMITED' || !principal || verdict?.outcome !== 'passed') return;
    const limit = PLANS[principal.plan].mutationsPerSecond ?? 0;
    const tightest = { limit, remaining: 0, resetAt: this.#now() + (retryAfter ?? 1) * 1000 };
    exchange.verdict = { ...verdict, tightest };
  }

  #send(exchange: Exchange, { status, headers, body, contentType, ownOriginOnly }: Answer): void {
    const { response, method } = exchange;
    exchange.status = status;
    if (response.headersSent) return;
    if (response.destroyed) {
      this.#record(exchange, { aborted: true });
      return;
    }
    const all: Headers = ['X-Request-Id', exchange.requestId, 'X-Content-Type-Options', 'nosniff'];
    if (status !== 204 && status !== 304) {
      all.push('Content-Type', contentType ?? 'application/json', 'Content-Length', Buffer.byteLength(body));
    }
    addRateLimitHeaders(all, exchange, this.#now());
    if (exchange.door !== 'page') addCachingHeaders(all, exchange);
    if (!ownOriginOnly) this.#cors.addHeaders(all, exchange.headers.origin);
    if (exchange.operationHeaders) all.push(...exchange.operationHeaders);
    if (exchange.replayed) all.push('Idempotency-Replayed', 'true');
    if (headers.length > 0) all.push(...headers);
    response.writeHead(status, all as never);
    response.end(method === 'HEAD' || body.length === 0 ? undefined : body);
    this.#record(exchange);
  }

  /** @param more `aborted`: the client was gone before the answer */
  #record(exchange: Exchange, more?: { aborted: true }): void {
    const milliseconds = performance.now() - exchange.startedAt;
    this.#metrics?.observe(exchange, milliseconds);
    this.#tracing?.end(exchange);
    const { requestId, method, path, door, operation, status, units, principal, span } = exchange;
    this.#log.info(
      {
        requestId,
        method,
        path,
        door,
        operation,
        status,
        units,
        apiKey: principal?.id,
        ms: Math.round(milliseconds * 1000) / 1000,
        traceId: span?.spanContext().traceId,
        ...more,
      },
      'request',
    );
  }

  #reportFault(error: unknown, requestId?: string): void {
    this.#log.error({ err: error, requestId }, 'fault');
  }
}

const budgetOf = ({ plan }: Principal, { minute, day }: Verdict, cost: number): RateLimitView => ({
  cost,
  plan,
  minute,
  day,
});

/** `extensions.rateLimit` of GraphQL results, where the request asks for it. */
function extensionsOf(exchange: Exchange, principal: Principal): Record<string, unknown> | undefined {
  const { verdict, units } = exchange;
  if (!verdict || exchange.headers['x-ratelimit-extension'] !== 'on') return undefined;
  return { rateLimit: shownBudget(budgetOf(principal, verdict, units)) };
}

/** A request id that the caller chose, if it is harmless in a log, or a new one. */
function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
}

/** Over REST, POST and PATCH are made safe to repeat by the header, PUT and DELETE already are; over GraphQL every mutation. */
function idempotencyOf(exchange: Exchange, index: number): Idempotency | undefined {
  const { method, headers } = exchange;
  if (method !== 'POST' && method !== 'PATCH') return undefined;
  const key = parseIdempotencyKey(headers['idempotency-key']);
  if (key === null) return undefined;
  let calls = 0;
  return {
    nextKey: () => {
      const call = calls++;
      return index === 0 && call === 0 ? key : `${key} ${index}.${call}`;
    },
    onReplay: () => {
      exchange.replayed = true;
    },
  };
}
