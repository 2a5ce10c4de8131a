import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { Access } from './access/access.ts';
import { apiKeyFrom } from './access/api-keys.ts';
import { OpenStreams } from './access/open-streams.ts';
import { FAILURE_COST, type Session } from './access/session.ts';
import type { Config } from './config.ts';
import { EventStreams } from './domains/event/streams.ts';
import { Operations } from './execution/operations.ts';
import { schema } from './execution/schema.ts';
import { type Clock, systemClock } from './foundation/clock.ts';
import { AppError, asAppError, ReportedError } from './foundation/errors.ts';
import { andThen, attempt, type MaybePromise } from './foundation/maybe-promise.ts';
import { mustCloseConnection, respondAndClose } from './http/body.ts';
import { addCachingHeaders } from './http/caching-headers.ts';
import { clientAddress } from './http/client-address.ts';
import { Cors } from './http/cors.ts';
import { Exchange, type Headers } from './http/exchange.ts';
import { GRAPHQL_PATH } from './http/paths.ts';
import { addRateLimitHeaders } from './http/rate-limit-headers.ts';
import { errorResponse, type HttpResponse } from './http/response.ts';
import { instrumentedStore } from './observability/instrumented-store.ts';
import type { Metrics } from './observability/metrics.ts';
import type { Tracing } from './observability/tracing.ts';
import type { Route } from './schema/route.ts';
import type { Store } from './store/store.ts';
import { EventsHandler } from './transports/events/events.ts';
import { COST_PATH, GraphQLHandler, graphqlErrorResponse } from './transports/graphql/graphql.ts';
import { type Page, Pages } from './transports/pages/pages.ts';
import { Exports } from './transports/rest/export.ts';
import { RestHandler } from './transports/rest/rest.ts';

export interface GatewayOptions {
  store: Store;
  config: Config;
  log: Logger;
  metrics?: Metrics | undefined;
  tracing?: Tracing | undefined;
  /** Filled in on the pages for trying things out; development only. */
  developmentKey?: string | undefined;
  /** Replaced in tests. */
  clock?: Clock;
  /** The REST operations. Tests pass their own. */
  routes?: readonly Route[];
}

export interface RequestHandler {
  (request: IncomingMessage, response: ServerResponse): void;
  /** Headers for rejecting malformed HTTP on a connection from this address. */
  limitHeaders?: (address: string) => Headers;
  /**
   * Loads what is slow to load and rarely needed. Later, there may be no file descriptor left to open it
   * with.
   */
  load?: () => Promise<void>;
  /** Ends all open streams and refuses new ones. */
  endStreams?: () => void;
}

/** Creates the whole gateway as a node:http handler. */
export function createGateway(
  options: GatewayOptions,
): RequestHandler & Required<Pick<RequestHandler, 'load'>> {
  const gateway = new Gateway(options);
  return Object.assign(
    (request: IncomingMessage, response: ServerResponse) => gateway.handle(request, response),
    {
      limitHeaders: (address: string) => gateway.limitHeaders(address),
      load: () => gateway.load(),
      endStreams: () => gateway.endStreams(),
    },
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
  readonly #access: Access;
  readonly #openStreams: OpenStreams;
  readonly #streams: EventStreams;
  readonly #rest: RestHandler;
  readonly #graphql: GraphQLHandler;

  constructor(options: GatewayOptions) {
    const { config, log, metrics, tracing, developmentKey, clock = systemClock } = options;
    const store = metrics ? instrumentedStore(options.store, metrics) : options.store;
    this.#store = store;
    this.#config = config;
    this.#log = log;
    this.#metrics = metrics;
    this.#tracing = tracing;
    this.#now = clock.now;
    this.#cors = new Cors(config.CORS_ORIGIN);
    this.#pages = new Pages({ store, config, metrics, schema, routes: options.routes, developmentKey });
    this.#access = new Access(clock);
    const operations = new Operations(schema, (error, requestId) => this.#reportError(error, requestId), {
      introspection: config.INTROSPECTION,
    });
    const lifecycle = {
      deprecationDate: config.DEPRECATION_DATE,
      sunsetDate: config.SUNSET_DATE,
      sunsetEnforced: config.SUNSET_ENFORCED,
    };
    this.#openStreams = new OpenStreams((key) =>
      andThen(this.#access.authenticate(key, store), (session) => session !== null),
    );
    this.#streams = new EventStreams({
      store,
      openStreams: this.#openStreams,
      report: (error, requestId) => this.#reportError(error, requestId),
    });
    metrics?.watchStreams(this.#streams);
    const events = new EventsHandler(this.#streams);
    this.#rest = new RestHandler(operations, config.REST_BASE_PATH, lifecycle, {
      ...(options.routes && { routes: options.routes }),
      openStream: (exchange, session, selection) => events.open(exchange, session, selection),
      exports: new Exports(this.#openStreams, (error, requestId) => this.#reportError(error, requestId)),
    });
    this.#graphql = new GraphQLHandler(operations, this.#streams);
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    const exchange = new Exchange(request, response, requestIdOf(request));
    this.#tracing?.begin(exchange);
    void attempt(
      () => andThen(this.#respond(exchange), (response) => this.#send(exchange, response)),
      (error) => this.#send(exchange, this.#errorResponse(exchange, error)),
    );
  }

  /** @see RequestHandler.load */
  load(): Promise<void> {
    return this.#graphql.load();
  }

  /** @see RequestHandler.endStreams */
  endStreams(): void {
    this.#openStreams.stop();
  }

  /** @see RequestHandler.limitHeaders */
  limitHeaders(address: string): Headers {
    const headers: Headers = [];
    addRateLimitHeaders(headers, { guardWindow: this.#access.addressWindow(address) }, this.#now());
    return headers;
  }

  /**
   * The path of every request: free pages first, then authentication, then the transport, which charges for
   * what it runs.
   */
  #respond(exchange: Exchange): MaybePromise<HttpResponse> {
    if (this.#cors.isPreflight(exchange)) {
      exchange.transport = 'page';
      return { status: 204, headers: this.#cors.preflightHeaders(exchange) };
    }
    const page = this.#pages.find(exchange);
    if (page) return this.#page(exchange, page);
    if (exchange.path === GRAPHQL_PATH || exchange.path === COST_PATH) {
      exchange.transport = 'graphql';
      exchange.route = exchange.path;
    }
    return andThen(this.#authenticate(exchange), (session) => {
      exchange.session = session;
      const handler = exchange.transport === 'graphql' ? this.#graphql : this.#rest;
      return andThen(session.begin(handler.expectedCost(exchange)), () =>
        attempt(
          () => handler.handle(exchange, session),
          (error) => this.#chargeFailure(session, error),
        ),
      );
    });
  }

  #page(exchange: Exchange, page: Page): MaybePromise<HttpResponse> {
    exchange.transport = 'page';
    exchange.operation = exchange.path;
    exchange.route = exchange.path;
    if (exchange.method === 'GET' || exchange.method === 'HEAD') return page(exchange);
    exchange.allow = 'GET, HEAD, OPTIONS';
    if (exchange.method === 'OPTIONS') return { status: 204, headers: ['Allow', exchange.allow] };
    throw new AppError('METHOD_NOT_ALLOWED', `This page supports GET, not ${exchange.method}.`);
  }

  /** @throws UNAUTHENTICATED, RATE_LIMITED or UNAVAILABLE, with the window of the address */
  #authenticate(exchange: Exchange): MaybePromise<Session> {
    const found = attempt(
      () => this.#access.authenticate(apiKeyFrom(exchange.headers), this.#storeOf(exchange)),
      (error) => {
        exchange.guardWindow = this.#access.addressWindow(this.#addressOf(exchange));
        throw error;
      },
    );
    return andThen(found, (session) => {
      if (session) return session;
      const address = this.#addressOf(exchange);
      const refusal = this.#access.unauthenticatedError(address);
      exchange.guardWindow = this.#access.addressWindow(address);
      throw refusal;
    });
  }

  /**
   * A request that fails before its cost is known is charged too. If the budget is exhausted, that error
   * takes precedence.
   */
  #chargeFailure(session: Session, error: unknown): MaybePromise<never> {
    if (session.decision) throw error;
    return andThen(session.charge(FAILURE_COST), () => {
      throw error;
    });
  }

  #addressOf({ request }: Exchange): string {
    return clientAddress(request, this.#config.TRUST_PROXY);
  }

  /** The store, traced if the request is. */
  #storeOf(exchange: Exchange): Store {
    return this.#tracing ? this.#tracing.traced(exchange, this.#store) : this.#store;
  }

  #errorResponse(exchange: Exchange, error: unknown): HttpResponse {
    const known = asAppError(error);
    if (known.status >= 500 && !(error instanceof ReportedError))
      this.#reportError(error, exchange.requestId);
    return exchange.transport === 'graphql'
      ? graphqlErrorResponse(known, exchange)
      : errorResponse(known, exchange);
  }

  #send(
    exchange: Exchange,
    { status, headers, body = '', contentType, stream, sameOriginOnly }: HttpResponse,
  ): void {
    const { request, response, method } = exchange;
    exchange.status = status;
    if (response.headersSent) return;
    if (response.destroyed) {
      this.#record(exchange, { aborted: true });
      // The writer notices the closed connection and releases its resources.
      if (stream) void this.#stream(exchange, stream);
      return;
    }
    const all: Headers = ['X-Request-Id', exchange.requestId, 'X-Content-Type-Options', 'nosniff'];
    if (status !== 204 && status !== 304) {
      all.push('Content-Type', contentType ?? 'application/json');
      if (!stream) all.push('Content-Length', Buffer.byteLength(body));
    }
    addRateLimitHeaders(all, exchange, this.#now());
    if (exchange.transport !== 'page') addCachingHeaders(all, exchange);
    if (!sameOriginOnly) this.#cors.addHeaders(all, exchange.headers.origin);
    if (exchange.operationHeaders && exchange.session?.isAdmitted) all.push(...exchange.operationHeaders);
    if (exchange.replayed) all.push('Idempotency-Replayed', 'true');
    if (headers.length > 0) all.push(...headers);
    const content = method === 'HEAD' || body.length === 0 ? undefined : body;
    const isLast = mustCloseConnection(exchange);
    if (isLast) all.push('Connection', 'close');
    response.writeHead(status, all as never);
    if (stream && method !== 'HEAD') void this.#stream(exchange, stream);
    else if (isLast) respondAndClose(request, response, content);
    else response.end(content);
    this.#record(exchange);
  }

  async #stream(exchange: Exchange, stream: NonNullable<HttpResponse['stream']>): Promise<void> {
    const { requestId, operation, response, principal, startedAt } = exchange;
    response.flushHeaders();
    try {
      const end = await stream(response);
      const ms = Math.round(performance.now() - startedAt);
      this.#log.info(
        { requestId, operation, units: exchange.units, apiKey: principal?.id, ms, ...end },
        'stream ended',
      );
    } catch (error) {
      this.#reportError(error, requestId);
      response.destroy();
    }
  }

  /** @param more `aborted`: the client disconnected before the response */
  #record(exchange: Exchange, more?: { aborted: true }): void {
    const milliseconds = performance.now() - exchange.startedAt;
    this.#metrics?.observe(exchange, milliseconds);
    this.#tracing?.end(exchange);
    const { requestId, method, path, transport, operation, status, units, principal, span } = exchange;
    this.#log.info(
      {
        requestId,
        method,
        path,
        transport,
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

  #reportError(error: unknown, requestId?: string): void {
    this.#log.error({ err: error, requestId }, 'error');
  }
}

/** The caller's request id if it is safe to log, else a new one. */
function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
}
