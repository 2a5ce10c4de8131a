import {
  type Context,
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
import type { Config } from '../config.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Store } from '../store/store.ts';
import { isStoreCall } from './instrumented-store.ts';

const NAME = 'petstore-graphql-gateway';
/** What a collector that doesn't answer may hold up the end of the process. */
const FLUSH_TIMEOUT = 2_000;

/**
 * OpenTelemetry traces by OTLP over HTTP: a span for each request, a child of the caller's (W3C Trace Context), and
 * below it one for each call of the store. Names and attributes are those of the semantic conventions for HTTP servers
 * and database clients. Where and how much to send is read from the standard variables by OpenTelemetry's packages.
 */
export class Tracing {
  readonly #provider: NodeTracerProvider;
  readonly #tracer;

  private constructor(provider: NodeTracerProvider) {
    this.#provider = provider;
    this.#tracer = provider.getTracer(NAME);
  }

  /** @param log told of what the exporter can't send */
  static async start(config: Config, log: Pick<DiagLogger, 'warn' | 'error'>): Promise<Tracing> {
    const { OTLPTraceExporter } = await (protocolOf(config) === 'http/json'
      ? import('@opentelemetry/exporter-trace-otlp-http')
      : import('@opentelemetry/exporter-trace-otlp-proto'));
    diag.setLogger({ ...log, info() {}, debug() {}, verbose() {} }, { logLevel: DiagLogLevel.WARN });
    const provider = new NodeTracerProvider({
      resource: defaultResource()
        .merge(resourceFromAttributes({ 'service.name': NAME }))
        .merge(detectResources({ detectors: [envDetector] })),
      spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
    });
    provider.register({ contextManager: null });
    return new Tracing(provider);
  }

  /** Begins the span of a request, which `end` ends. */
  begin(exchange: Exchange): void {
    const { method, path, request, requestId, headers } = exchange;
    exchange.span = this.#tracer.startSpan(
      method,
      {
        kind: SpanKind.SERVER,
        attributes: {
          'http.request.method': method,
          'url.path': path,
          'url.scheme': 'http',
          'network.protocol.version': request.httpVersion,
          'petstore.request_id': requestId,
        },
      },
      propagation.extract(ROOT_CONTEXT, headers),
    );
  }

  /** Ends the span of a request with what is known of it by now. */
  end({ span, method, route, transport, operation, status, units, principal }: Exchange): void {
    if (!span) return;
    if (route !== undefined) {
      span.updateName(`${method} ${route}`);
      span.setAttribute('http.route', route);
    }
    if (operation !== undefined) {
      span.setAttribute(transport === 'graphql' ? 'graphql.operation.name' : 'petstore.operation', operation);
    }
    span.setAttributes({ 'http.response.status_code': status, 'petstore.units': units });
    if (principal) span.setAttribute('petstore.api_key.id', principal.id);
    if (status >= 500) {
      span.setAttribute('error.type', String(status));
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    span.end();
  }

  /**
   * The store as it serves one request: each call has a span below that of the request. Where that isn't sampled it is the
   * store itself, so that an unsampled request costs next to nothing; nor is there an AsyncLocalStorage, which would cost every
   * request a quarter of its time.
   */
  traced({ span }: Exchange, store: Store): Store {
    if (!span?.isRecording()) return store;
    const parent = trace.setSpan(ROOT_CONTEXT, span);
    return new Proxy(store, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        return typeof name === 'string' && isStoreCall(name, member)
          ? (...args: unknown[]) => this.#call(parent, target.engine, name, () => member(...args))
          : member;
      },
    });
  }

  #call(parent: Context, engine: string, name: string, call: () => unknown): unknown {
    const attributes = { 'db.system.name': engine, 'db.operation.name': name };
    const span = this.#tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, parent);
    try {
      const result = call();
      if (!(result instanceof Promise)) return ended(span, result);
      return result.then(
        (settled) => ended(span, settled),
        (error) => failed(span, error),
      );
    } catch (error) {
      return failed(span, error);
    }
  }

  /** Sends what is left, for two seconds at most. */
  async close(): Promise<void> {
    const timeout = new Promise<void>((resolve) => setTimeout(resolve, FLUSH_TIMEOUT).unref());
    await Promise.race([this.#provider.shutdown().catch(() => {}), timeout]);
  }
}

const protocolOf = ({ OTEL_EXPORTER_OTLP_TRACES_PROTOCOL, OTEL_EXPORTER_OTLP_PROTOCOL }: Config) =>
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? OTEL_EXPORTER_OTLP_PROTOCOL;

function ended<T>(span: Span, result: T): T {
  span.end();
  return result;
}

/** Only the kind of the error: messages of databases may tell what was in the data. */
function failed(span: Span, error: unknown): never {
  const type = (error as { code?: unknown }).code;
  span.setAttribute('error.type', typeof type === 'string' ? type : 'INTERNAL');
  span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
  throw error;
}
