import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { Access } from './access/access.ts';
import { OpenStreams } from './access/open-streams.ts';
import { UsageHistory } from './access/usage-history.ts';
import type { Config } from './config.ts';
import { EventStreams } from './domains/event/streams.ts';
import { Deliveries } from './domains/webhook/deliveries.ts';
import { Targets } from './domains/webhook/targets.ts';
import { Operations } from './execution/operations.ts';
import { schema } from './execution/schema.ts';
import { TrustedDocuments } from './execution/trusted-documents.ts';
import { type Clock, systemClock } from './foundation/clock.ts';
import { andThen, attempt } from './foundation/maybe-promise.ts';
import { Authentication } from './http/authentication.ts';
import { clientAddress } from './http/client-address.ts';
import { Cors } from './http/cors.ts';
import { addRateLimitHeaders } from './http/rate-limit-headers.ts';
import { RequestContext } from './http/request-context.ts';
import { requestIdOf } from './http/request-id.ts';
import { respond } from './http/respond.ts';
import type { Headers, HttpResponse } from './http/response.ts';
import { ResponseWriter } from './http/response-writer.ts';
import type { Transport } from './http/transport.ts';
import { instrumentedStore } from './observability/instrumented-store.ts';
import type { Metrics } from './observability/metrics.ts';
import type { Tracing } from './observability/tracing.ts';
import type { Route } from './schema/route.ts';
import type { Store } from './store/store.ts';
import { transportsOf } from './transports/transports.ts';

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
  /**
   * Logs the rejection of malformed HTTP on a connection from this address. Returns the headers that every
   * response has.
   */
  headersForMalformed?: (address: string, request?: IncomingMessage) => Headers;
  /**
   * Loads what is slow to load and rarely needed. Later, there may be no file descriptor left to open it
   * with.
   */
  load?: () => Promise<void>;
  /** Ends all open streams and refuses new ones. */
  endStreams?: () => void;
  /** Stores what is only in memory, once the last request has been answered. */
  close?: () => Promise<void>;
  /** Starts delivering webhooks. */
  deliver?: () => void;
  /** Finishes the deliveries under way and leaves the others to other instances. */
  endDeliveries?: () => Promise<void>;
}

/** Creates the whole gateway as a node:http handler. */
export function createGateway(
  options: GatewayOptions,
): RequestHandler & Required<Pick<RequestHandler, 'load'>> {
  const gateway = new Gateway(options);
  return Object.assign(
    (request: IncomingMessage, response: ServerResponse) => gateway.handle(request, response),
    {
      headersForMalformed: (address: string, request?: IncomingMessage) =>
        gateway.headersForMalformed(address, request),
      load: () => gateway.load(),
      endStreams: () => gateway.endStreams(),
      close: () => gateway.close(),
      deliver: () => gateway.deliver(),
      endDeliveries: () => gateway.endDeliveries(),
    },
  );
}

class Gateway {
  readonly #log: Logger;
  readonly #proxies: number;
  readonly #metrics: Metrics | undefined;
  readonly #tracing: Tracing | undefined;
  readonly #now: () => number;
  readonly #access: Access;
  readonly #history: UsageHistory;
  readonly #trusted: TrustedDocuments;
  readonly #openStreams: OpenStreams;
  readonly #deliveries: Deliveries;
  readonly #transports: readonly Transport[];
  readonly #writer: ResponseWriter;

  constructor(options: GatewayOptions) {
    const { config, log, metrics, tracing, clock = systemClock } = options;
    const store = metrics ? instrumentedStore(options.store, metrics) : options.store;
    const history = new UsageHistory(store, this.#report);
    this.#history = history;
    const access = new Access(clock, history);
    this.#log = log;
    this.#proxies = config.TRUST_PROXY;
    this.#metrics = metrics;
    this.#tracing = tracing;
    this.#now = clock.now;
    this.#access = access;
    const targets = new Targets(config.WEBHOOK_ALLOW);
    const operations = new Operations(schema, this.#report, {
      introspection: config.INTROSPECTION,
      receivers: {
        refusal: (url) => targets.refusal(url),
        changed: (id) => this.#deliveries.changed(id),
        test: (webhook, eventId) => this.#deliveries.test(webhook, eventId),
      },
    });
    const trusted = new TrustedDocuments({
      store,
      clock,
      onUntrusted: (apiKey, document) => {
        metrics?.untrustedDocument(apiKey);
        log.warn({ apiKey, document }, 'untrusted document');
      },
      report: this.#report,
    });
    this.#trusted = trusted;
    const openStreams = new OpenStreams((key) => access.principalOf(key, store));
    this.#openStreams = openStreams;
    const streams = new EventStreams({ store, openStreams, report: this.#report });
    metrics?.watchStreams(streams);
    this.#deliveries = new Deliveries({
      store,
      feed: streams.feed,
      targets,
      clock,
      log,
      sessionOf: (apiKeyId) => access.sessionOf(apiKeyId, store),
      report: this.#report,
    });
    metrics?.watchDeliveries(this.#deliveries);
    const storeFor = tracing ? (context: RequestContext) => tracing.traced(context, store) : () => store;
    const authentication = new Authentication(access, storeFor, config.TRUST_PROXY);
    const cors = new Cors(config.CORS_ORIGIN);
    const report = this.#report;
    this.#transports = transportsOf({
      ...options,
      ...{ store, schema, operations, trusted, streams, openStreams, authentication, cors, report },
    });
    this.#writer = new ResponseWriter({
      cors,
      now: clock.now,
      onStreamEnd: (context, fields) => this.#logStream(context, fields),
      onStreamError: ({ requestId }, error) => this.#report(error, requestId),
    });
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    const context = new RequestContext(request, response, requestIdOf(request));
    this.#tracing?.begin(context);
    const transport = this.#transportFor(context);
    context.transport = transport;
    void attempt(
      () => andThen(respond(transport, context, this.#report), (answer) => this.#send(context, answer)),
      (error) => {
        this.#report(error, context.requestId);
        response.destroy();
      },
    );
  }

  /** @see RequestHandler.load */
  async load(): Promise<void> {
    for (const transport of this.#transports) await transport.load?.();
  }

  /** @see RequestHandler.endStreams */
  endStreams(): void {
    this.#openStreams.stop();
  }

  /** @see RequestHandler.deliver */
  deliver(): void {
    this.#deliveries.start();
  }

  /** @see RequestHandler.endDeliveries */
  endDeliveries(): Promise<void> {
    return this.#deliveries.stop();
  }

  /** @see RequestHandler.close */
  async close(): Promise<void> {
    await Promise.all([this.#history.close(), this.#trusted.close()]);
  }

  /** @see RequestHandler.headersForMalformed */
  headersForMalformed(address: string, request?: IncomingMessage): Headers {
    const requestId = requestIdOf(request);
    this.#log.info({ requestId, status: 400 }, 'malformed request');
    const headers: Headers = ['X-Request-Id', requestId];
    addRateLimitHeaders(headers, { guardWindow: this.#access.addressWindow(address) }, this.#now());
    return headers;
  }

  #transportFor(context: RequestContext): Transport {
    for (const transport of this.#transports) if (transport.matches(context)) return transport;
    throw new Error(`No transport matches ${context.path}.`);
  }

  #send(context: RequestContext, answer: HttpResponse): void {
    const isSent = this.#writer.write(context, answer);
    this.#record(context, isSent);
  }

  /** @param isSent whether the client was still there for the response */
  #record(context: RequestContext, isSent: boolean): void {
    const milliseconds = performance.now() - context.startedAt;
    this.#metrics?.observe(context, milliseconds);
    this.#tracing?.end(context);
    const { requestId, method, path, operation, operationName, status, units, principal, span } = context;
    const { errorCodes } = context;
    this.#log.info(
      {
        requestId,
        method,
        path,
        transport: context.transport!.name,
        operation: operationName ?? operation,
        status,
        codes: errorCodes.length > 0 ? errorCodes : undefined,
        units,
        apiKey: principal?.id,
        client: clientAddress(context.request, this.#proxies),
        ms: Math.round(milliseconds * 1000) / 1000,
        traceId: span?.spanContext().traceId,
        aborted: isSent ? undefined : true,
      },
      'request',
    );
  }

  #logStream(context: RequestContext, fields: Record<string, unknown>): void {
    const { requestId, operation, operationName, units, principal, startedAt } = context;
    const ms = Math.round(performance.now() - startedAt);
    this.#log.info(
      { requestId, operation: operationName ?? operation, units, apiKey: principal?.id, ms, ...fields },
      'stream ended',
    );
  }

  readonly #report = (error: unknown, requestId?: string): void => {
    this.#log.error({ err: error, requestId }, 'error');
  };
}
