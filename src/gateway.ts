import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { Access } from './access/access.ts';
import { andThen, attempt } from './foundation/maybe-promise.ts';
import { addRateLimitHeaders } from './http/rate-limit-headers.ts';
import { clientAddress, RequestContext, requestIdOf } from './http/request-context.ts';
import { respond } from './http/respond.ts';
import type { Headers, HttpResponse } from './http/response.ts';
import { ResponseWriter } from './http/response-writer.ts';
import type { Transport } from './http/transport.ts';
import type { Metrics } from './observability/metrics.ts';
import type { Tracing } from './observability/tracing.ts';
import { createServices, type GatewayOptions } from './services.ts';
import { transportsOf } from './transports/transports.ts';

export interface RequestHandler {
  (request: IncomingMessage, response: ServerResponse): void;
  /**
   * Logs the rejection of malformed HTTP on a connection from this address. Returns the headers that every
   * response has.
   */
  headersForMalformed?: (address: string, request?: IncomingMessage) => Headers;
}

/** A whole gateway as a node:http handler. */
export interface Gateway extends RequestHandler {
  /** Loads what is slow to load and rarely needed. Later, there may be no file descriptor left to open it with. */
  load(): Promise<void>;
  /** Starts delivering webhooks. */
  deliver(): void;
  /** Finishes the deliveries under way and leaves the others to other instances. */
  endDeliveries(): Promise<void>;
  /** Ends all open streams and refuses new ones. */
  endStreams(): void;
  /** Stores what is only in memory, once the last request has been answered. */
  close(): Promise<void>;
}

export function createGateway(options: GatewayOptions): Gateway {
  const services = createServices(options);
  const { openStreams, deliveries, history, trusted } = services;
  const transports = transportsOf(services);
  const requests = new Requests(services, transports);
  return Object.assign(
    (request: IncomingMessage, response: ServerResponse) => requests.handle(request, response),
    {
      headersForMalformed: (address: string, request?: IncomingMessage) =>
        requests.headersForMalformed(address, request),
      load: async () => {
        for (const transport of transports) await transport.load?.();
      },
      deliver: () => deliveries.start(),
      endDeliveries: () => deliveries.stop(),
      endStreams: () => openStreams.stop(),
      close: async () => {
        await Promise.all([history.close(), trusted.close()]);
      },
    },
  );
}

/** Finds the transport of each request, sends what it answers, and records both. */
class Requests {
  readonly #log: Logger;
  readonly #proxies: number;
  readonly #metrics: Metrics | undefined;
  readonly #tracing: Tracing | undefined;
  readonly #now: () => number;
  readonly #access: Access;
  readonly #report: (error: unknown, requestId?: string) => void;
  readonly #transports: readonly Transport[];
  readonly #writer: ResponseWriter;

  constructor(services: ReturnType<typeof createServices>, transports: readonly Transport[]) {
    const { config, log, metrics, tracing, clock, access, report, cors } = services;
    this.#log = log;
    this.#proxies = config.TRUST_PROXY;
    this.#metrics = metrics;
    this.#tracing = tracing;
    this.#now = clock.now;
    this.#access = access;
    this.#report = report;
    this.#transports = transports;
    this.#writer = new ResponseWriter({
      cors,
      now: clock.now,
      onStreamEnd: (context, fields) => this.#logStream(context, fields),
      onStreamError: ({ requestId }, error) => report(error, requestId),
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
}
