import {
  type Attributes,
  type DiagLogger,
  DiagLogLevel,
  diag,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { type Config, VERSION } from '../config.ts';
import { ERRORS, isRefusal } from '../foundation/errors.ts';
import { clientScheme, type RequestContext } from '../http/request-context.ts';
import { COST_PATH, GRAPHQL_PATH } from '../http/transport.ts';
import type { Store } from '../store/store.ts';
import { watched, withCalls } from './instrumented-store.ts';
import { shownPath } from './log.ts';

const NAME = 'petstore-graphql-gateway';
/** How long an unresponsive collector may delay the exit, in milliseconds. */
const FLUSH_TIMEOUT = 2_000;

/**
 * OpenTelemetry traces over OTLP/HTTP. Each request has a span, which is a child of the caller's (W3C Trace Context)
 * and has a child for each store call. Names and attributes follow the semantic conventions for HTTP servers and
 * database clients. OpenTelemetry's packages read endpoint and sampling from the standard variables.
 */
export class Tracing {
  readonly #provider: NodeTracerProvider;
  readonly #tracer;
  readonly #proxies: number;

  private constructor(provider: NodeTracerProvider, proxies: number) {
    this.#provider = provider;
    this.#proxies = proxies;
    this.#tracer = provider.getTracer(NAME);
  }

  /** @param log receives export failures */
  static async start(config: Config, log: Pick<DiagLogger, 'warn' | 'error'>): Promise<Tracing> {
    const protocol = config.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? config.OTEL_EXPORTER_OTLP_PROTOCOL;
    const { default: exporter } = await (protocol === 'http/json'
      ? import('@opentelemetry/exporter-trace-otlp-http')
      : import('@opentelemetry/exporter-trace-otlp-proto'));
    diag.setLogger({ ...log, info() {}, debug() {}, verbose() {} }, { logLevel: DiagLogLevel.WARN });
    const provider = new NodeTracerProvider({
      resource: defaultResource()
        .merge(resourceFromAttributes({ 'service.name': NAME, 'service.version': VERSION }))
        .merge(detectResources({ detectors: [envDetector] })),
      spanProcessors: [new BatchSpanProcessor(new exporter.OTLPTraceExporter())],
    });
    provider.register({ contextManager: null });
    return new Tracing(provider, config.TRUST_PROXY);
  }

  /** Starts the span of a request. */
  begin(context: RequestContext): void {
    const { method, path, query, request, requestId, headers } = context;
    const { localAddress, localPort } = request.socket;
    context.span = this.#tracer.startSpan(
      method,
      {
        kind: SpanKind.SERVER,
        attributes: {
          'http.request.method': method,
          'url.path': shownPath(path),
          // The query of GraphQL over GET has its variables, which are private.
          'url.query': query === '' || isGraphQL(path) ? undefined : shownPath(query),
          'url.scheme': clientScheme(headers, this.#proxies),
          'client.address': context.address,
          'user_agent.original': headers['user-agent'] && shownPath(headers['user-agent']),
          'server.address': headers.host?.replace(/:\d*$/, '') ?? localAddress,
          'server.port': localPort,
          'network.protocol.version': request.httpVersion,
          'petstore.request_id': requestId,
        },
      },
      propagation.extract(ROOT_CONTEXT, headers),
    );
  }

  /** Ends the span of a request with its outcome. */
  end(context: RequestContext): void {
    const { span, method, route, operation, operationName, operationType, status, session } = context;
    if (!span) return;
    if (route !== undefined) span.updateName(`${method} ${route}`);
    // Undefined attributes are left out.
    span.setAttributes({
      'http.response.status_code': status,
      'http.route': route,
      'petstore.operation': operation,
      'petstore.units': session?.units ?? 0,
      'petstore.api_key.id': session?.principal.id,
      'graphql.operation.name': operationName,
      'graphql.operation.type': operationType,
      'error.type': context.errorCodes[0],
    });
    // A client's mistake is not a failure of the server; a field of a 200 may be.
    if (context.errorCodes.some((code) => ERRORS[code].status >= 500))
      span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  }

  /**
   * Wraps the store for one request, so that each call gets a child span. Returns the store itself if the request is
   * not sampled, which then costs next to nothing. An AsyncLocalStorage would slow down every request by a quarter.
   */
  traced({ span }: RequestContext, store: Store): Store {
    if (!span?.isRecording()) return store;
    const parent = trace.setSpan(ROOT_CONTEXT, span);
    return withCalls(store, (name, call) => {
      const options = { kind: SpanKind.CLIENT, attributes: attributesOf(store.engine, name) };
      const begin = () => this.#tracer.startSpan(name, options, parent);
      return watched(call, begin, end);
    });
  }

  /** Flushes pending spans, within FLUSH_TIMEOUT. */
  async close(): Promise<void> {
    const timeout = new Promise<void>((resolve) => setTimeout(resolve, FLUSH_TIMEOUT).unref());
    await Promise.race([this.#provider.shutdown().catch(() => {}), timeout]);
  }
}

const isGraphQL = (path: string): boolean => path === GRAPHQL_PATH || path === COST_PATH;

/** The attributes of a call, such as `charge` or `pets.page`: a table is a collection of the same name in MongoDB. */
function attributesOf(engine: string, name: string): Attributes {
  const dot = name.indexOf('.');
  return {
    'db.system.name': engine,
    'db.operation.name': name,
    ...(dot > 0 && { 'db.collection.name': name.slice(0, dot) }),
  };
}

/** Ends a span. Records only the code of an error, since database messages may contain data. */
function end(span: Span, error?: unknown): void {
  if (error !== undefined && !isRefusal(error)) {
    const type = (error as { code?: unknown }).code;
    span.setAttribute('error.type', typeof type === 'string' ? type : 'INTERNAL');
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}
