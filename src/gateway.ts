import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { printSchema } from 'graphql';
import { Access } from './access/access.ts';
import { OpenStreams } from './access/open-streams.ts';
import { RequestLog } from './access/request-log.ts';
import { OTHER, UsageHistory } from './access/usage-history.ts';
import { type Config, publicBase } from './config.ts';
import type { Api } from './domains/create-api.ts';
import { EventStreams } from './events/streams.ts';
import { AppError, asAppError, cut, isUnreported } from './foundation/errors.ts';
import { type Clock, systemClock } from './foundation/instant.ts';
import { withoutInput, wordsOf } from './foundation/masking.ts';
import type { MaybePromise } from './foundation/turns.ts';
import { Cors } from './http/cors.ts';
import { clientAddress, RequestContext, requestIdOf, unmount } from './http/request-context.ts';
import type { Headers, HttpResponse } from './http/response.ts';
import { addRateLimitHeaders, ResponseWriter } from './http/response-writer.ts';
import { COST_PATH, type Transport } from './http/transport.ts';
import { instrumentedStore } from './observability/instrumented-store.ts';
import type { GatewayLog } from './observability/log.ts';
import type { Metrics } from './observability/metrics.ts';
import type { Tracing } from './observability/tracing.ts';
import { NamedDocuments } from './graphql/named-documents.ts';
import { Operations } from './graphql/operations.ts';
import type { ServedRoute } from './rest-routes/route.ts';
import type { RequestHandler } from './server.ts';
import { MAX_TEXT } from './store/request-chunks.ts';
import type { Store } from './store/store.ts';
import { transportsOf } from './transports/transports.ts';

/** A public DNS name: not one of a single machine, a cluster or a local network (RFC 6761, RFC 6762). */
const PUBLIC_HOST = /^([\w-]+\.)+(?!local|internal|test|invalid)[a-z]{2,63}(:\d+)?$/i;

/** The parts of a gateway. */
export interface GatewayOptions {
  /** The API to serve. */
  api: Api;
  store: Store;
  config: Config;
  log: GatewayLog;
  metrics?: Metrics | undefined;
  tracing?: Tracing | undefined;
  /** Another clock, for tests. */
  clock?: Clock;
  /** Other REST operations, for tests. */
  routes?: readonly ServedRoute[];
}

/** Builds everything that outlives a request, once per process. */
function createServices({ clock = systemClock, ...options }: GatewayOptions) {
  const { api, routes = api.routes, config, log, metrics, tracing } = options;
  const report = (error: unknown, requestId?: string): void => log.error({ err: error, requestId }, 'error');
  const store = metrics ? instrumentedStore(options.store, metrics) : options.store;
  const history = new UsageHistory(store, report);
  const requestLog = new RequestLog({ store, now: clock.now, report, isKept: config.REQUEST_LOG });
  const access = new Access({
    clock,
    history,
    requestLog,
    isProduction: config.NODE_ENV === 'production',
    storeOf: (caller: RequestContext) => tracing?.traced(caller, store) ?? store,
  });
  const openStreams = new OpenStreams((key) => access.principalOf(key, store));
  const streams = new EventStreams(store, api.eventTypes, openStreams, report);
  const sessionOf = (apiKeyId: string) => access.sessionOf(apiKeyId, store);
  const { feed } = streams;
  const { eventTypes } = api;
  const features = api.features.flatMap(
    (feature) => feature.start?.({ config, store, clock, log, report, feed, eventTypes, sessionOf }) ?? [],
  );
  const documents = new NamedDocuments({
    store,
    clock,
    report,
    onUntrusted: (apiKey, document) => {
      metrics?.untrustedDocument(apiKey);
      log.warn({ apiKey, document }, 'untrusted document');
    },
  });
  metrics?.watchStreams(streams);
  for (const metric of features.flatMap(({ metrics = [] }) => metrics)) metrics?.show(metric);
  return {
    ...options,
    clock,
    routes,
    report,
    store,
    access,
    history,
    requestLog,
    openStreams,
    streams,
    features,
    documents,
    operations: new Operations(api.schema, report, {
      introspection: config.INTROSPECTION,
      context: Object.assign({}, ...features.map(({ context }) => context)),
    }),
    cors: new Cors(config.CORS_ORIGIN),
    readiness: { isStopping: false },
  };
}

type Services = ReturnType<typeof createServices>;

/** The characters of a Host (RFC 9110 section 7.2). Two are joined by a comma and a space. */
const HOST = /^[\w.:~%!$&'()*+,;=[\]-]*$/;

/** The reason why a request is malformed; undefined if it isn't. */
function faultOf({ url, headers, httpVersion }: IncomingMessage): string | undefined {
  if (headers.host === undefined && httpVersion === '1.1') return 'The request has no Host header.';
  // RFC 9112 section 3.2.
  if (!HOST.test(headers.host ?? ''))
    return 'The request must have one Host header, with a name or an address.';
  // Targets have no fragment (RFC 9112 section 3.2).
  if (url?.includes('#')) return 'The target must not have a fragment.';
  if (headers.upgrade?.toLowerCase() === 'websocket')
    return 'There are no WebSockets here. Subscribe by server-sent events: POST /graphql with Accept: text/event-stream, or GET /events/stream.';
  return undefined;
}

/** A gateway: passes each request to its transport, sends the response, and records both. */
export class Gateway implements RequestHandler {
  /** For the process, which ends open streams and features before the server. */
  readonly services: Services;
  readonly #transports: readonly Transport[];
  /** The transports that may match, by the root of the path; for any other path under an empty root. */
  readonly #byRoot: ReadonlyMap<string, readonly Transport[]>;
  readonly #writer: ResponseWriter;
  /** The requests of this turn of the event loop that have their responses but are not recorded yet. */
  #unrecorded: RequestContext[] = [];
  #hasWarned = false;
  /** The words of the schema, which need no hiding in the request log. */
  #publicWords: ReadonlySet<string> | undefined;

  constructor(options: GatewayOptions) {
    this.services = createServices(options);
    const { clock, report, cors } = this.services;
    const transports = transportsOf(this.services);
    this.#transports = transports;
    this.#byRoot = new Map(
      ['', ...transports.flatMap(({ roots = [] }) => roots)].map((root) => [
        root,
        transports.filter(({ roots }) => roots === undefined || roots.includes(root)),
      ]),
    );
    this.#writer = new ResponseWriter({
      cors,
      base: publicBase(options.config),
      now: clock.now,
      onStreamEnd: (context, fields) => this.#logStream(context, fields),
      onStreamError: ({ requestId }, error) => report(error, requestId),
    });
  }

  /**
   * Loads rarely used modules before they are needed, while there are file descriptors for them: without, an import fails,
   * in Node.js 20 for the life of the process.
   */
  async load(): Promise<void> {
    for (const part of [...this.#transports, ...this.services.features]) await part.load?.();
  }

  /** Stores data that is only in memory, after the last request. */
  async close(): Promise<void> {
    const { history, requestLog, documents } = this.services;
    await Promise.all([history.close(), requestLog.close(), documents.close()]);
  }

  /** The phases of a request: match, admit, handle, respond. */
  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { config, tracing, report } = this.services;
    const { BASE_PATH } = config;
    const isBelow = BASE_PATH === '' || unmount(request, BASE_PATH);
    const address = clientAddress(request, config.TRUST_PROXY);
    if (config.TRUST_PROXY === 0 && !this.#hasWarned) this.#warnOfProxy(request.headers);
    const context = new RequestContext(request, response, requestIdOf(request), address);
    // Without a listener, a write error of a stream would end the process.
    response.on('error', report);
    try {
      tracing?.begin(context);
      const transport = isBelow ? this.#match(context) : this.#transports.at(-1)!;
      context.transport = transport;
      let isAdmitted = false;
      let answer: MaybePromise<HttpResponse>;
      try {
        this.#requireAcceptable(context, isBelow);
        const admission = transport.admit(context);
        if (admission instanceof Promise) await admission;
        isAdmitted = true;
        answer = transport.handle(context);
        if (answer instanceof Promise) answer = await answer;
      } catch (error) {
        answer = await this.#failed(transport, context, error, isAdmitted);
      }
      context.isSent = this.#writer.respond(context, answer);
      context.milliseconds = performance.now() - context.startedAt;
      tracing?.end(context);
      // Recorded together, which takes less time, and delays no other response.
      if (this.#unrecorded.push(context) === 1) process.nextTick(this.#record);
    } catch (error) {
      report(error, context.requestId);
      response.destroy();
    }
  }

  /** Warns once that a proxy is not trusted, or that pages may not show the address that clients use. */
  #warnOfProxy({ host = '', 'x-forwarded-for': forwarded }: IncomingHttpHeaders): void {
    const isPublic = this.services.config.PUBLIC_URL === undefined && PUBLIC_HOST.test(host);
    if (forwarded === undefined && !isPublic) return;
    this.#hasWarned = true;
    const message =
      forwarded === undefined
        ? `Requests arrive for ${host}, but neither PUBLIC_URL nor TRUST_PROXY is set: pages show http:// addresses.`
        : 'X-Forwarded-For arrives, but TRUST_PROXY is 0: all clients of the proxy count as one address.';
    this.services.log.warn({ message }, 'proxy');
  }

  /** The first transport that matches; the last one matches any request. */
  #match(context: RequestContext): Transport {
    const candidates = this.#byRoot.get(context.root) ?? this.#byRoot.get('')!;
    return candidates.find((transport) => !transport.match || transport.match(context))!;
  }

  /**
   * @param isBelow true if the request is below BASE_PATH, as everything served is
   * @throws BAD_REQUEST, NOT_FOUND for requests that are refused regardless of their key
   */
  #requireAcceptable(context: RequestContext, isBelow: boolean): void {
    const fault = faultOf(context.request);
    if (fault === undefined && isBelow) return;
    if (fault !== undefined) throw new AppError('BAD_REQUEST', fault);
    throw new AppError('NOT_FOUND', `Everything here is below ${this.services.config.BASE_PATH}/.`);
  }

  /** The response to a failed request. Charges it if it was admitted. */
  async #failed(
    transport: Transport,
    context: RequestContext,
    error: unknown,
    isAdmitted: boolean,
  ): Promise<HttpResponse> {
    const { session, requestId, address } = context;
    if (!isAdmitted && !session) context.guardWindow = this.services.access.addressWindow(address);
    const latest = isAdmitted && session ? await session.fail(error) : error;
    const refusal = asAppError(latest);
    if (isUnreported(latest)) this.services.report(latest, requestId);
    context.addError(refusal.code, refusal.message);
    return transport.errorResponse(refusal, context);
  }

  /** Logs malformed HTTP from an address. @returns the headers of every response */
  headersForMalformed(address: string): Headers {
    const { log, access, clock } = this.services;
    const requestId = requestIdOf();
    log.info({ requestId, status: 400 }, 'malformed request');
    const headers: Headers = ['X-Request-Id', requestId];
    addRateLimitHeaders(headers, undefined, access.addressWindow(address), clock.now());
    return headers;
  }

  /** Adds the requests that have their responses to the metrics and logs. */
  readonly #record = (): void => {
    const { log, metrics, report } = this.services;
    const contexts = this.#unrecorded;
    this.#unrecorded = [];
    for (const context of contexts)
      try {
        metrics?.observe(context);
        this.#logForKey(context);
        log.request(context);
      } catch (error) {
        report(error, context.requestId);
      }
  };

  /** Adds a request to the request log, for the holder of its key. */
  #logForKey(context: RequestContext): void {
    const { session, requestId: id, method, path, status, errorCodes, milliseconds } = context;
    if (!session) return;
    const { transport, rootFields } = session.resolvedSubject;
    const operation = rootFields[0]?.name ?? OTHER;
    // Pages that show the log and the budget read them every few seconds, which would soon fill the log.
    if (errorCodes.length === 0 && (operation === 'requests' || path === COST_PATH)) return;
    this.services.requestLog.add(session.principal, {
      id,
      transport,
      operation,
      method,
      path,
      status,
      code: errorCodes[0],
      message: this.#loggedMessage(context),
      units: session.units,
      ms: Math.round(milliseconds),
    });
  }

  /** The message of the first error, without anything that it repeats of the body, query or headers. */
  #loggedMessage({ errorMessage, query, body, headers }: RequestContext): string | undefined {
    if (errorMessage === undefined) return undefined;
    this.#publicWords ??= new Set(wordsOf(printSchema(this.services.api.schema)));
    const { 'content-type': type = '', 'content-encoding': coding = '' } = headers;
    const sent = [query, body?.toString() ?? '', type, coding];
    return withoutInput(cut(errorMessage, MAX_TEXT.message), sent, (word) => this.#publicWords!.has(word));
  }

  #logStream(context: RequestContext, fields: Record<string, unknown>): void {
    const { requestId, operation, operationName = operation, session, startedAt } = context;
    const by = { requestId, operation: operationName, apiKey: session?.principal.id };
    const ms = Math.round(performance.now() - startedAt);
    this.services.log.info({ ...by, units: session?.units ?? 0, ms, ...fields }, 'stream ended');
  }
}
