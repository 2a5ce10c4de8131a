import FindMyWay from 'find-my-way';
import type { Access } from '../../access/access.ts';
import type { UsageSubject } from '../../access/session.ts';
import { STREAMS } from '../../domains/routes.ts';
import { AppError, cut } from '../../foundation/errors.ts';
import { andThen, type MaybePromise } from '../../foundation/maybe-promise.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { errorResponse, type Headers, type HttpResponse, MethodNotAllowed } from '../../http/response.ts';
import type { Transport } from '../../http/transport.ts';
import type { Method, Route } from '../../rows/route.ts';
import { type Lifecycle, refuseAfterSunset } from '../../rows/route.ts';
import { ROUTE_COST } from '../route-operation.ts';
import type { TransportServices } from '../transport-services.ts';
import { DocumentOperation } from './document-operation.ts';
import type { PathParameters, RestOperation } from './operation.ts';
import { StreamOperation } from './stream-operation.ts';

/** What has no operation. */
const UNKNOWN: UsageSubject = { transport: 'rest', operations: [] };

/** REST: finds the row of a request and answers in its way. Matches every request. */
export class RestTransport implements Transport {
  readonly name = 'rest';
  readonly vary = 'Accept, X-API-Key, Authorization';
  readonly errorResponse = errorResponse;
  readonly #access: Access;
  readonly #basePath: string;
  readonly #lifecycle: Lifecycle;
  readonly #router = new Router();

  constructor(services: TransportServices) {
    const { access, config, routes } = services;
    this.#access = access;
    this.#basePath = config.REST_BASE_PATH;
    this.#lifecycle = config;
    for (const row of routes) {
      const deprecation = deprecationHeaders(row, this.#lifecycle);
      this.#router.add(this.#basePath, new DocumentOperation(row, services, deprecation));
    }
    for (const row of STREAMS) this.#router.add(this.#basePath, new StreamOperation(row, services));
  }

  admit(context: RequestContext): MaybePromise<void> {
    return this.#access.admit(context, 'charged', () => this.#subjectOf(context));
  }

  #subjectOf({ method, path }: RequestContext): UsageSubject {
    return this.#router.find(method, path)?.operation?.subject ?? UNKNOWN;
  }

  handle(context: RequestContext): MaybePromise<HttpResponse> {
    const { method, path } = context;
    const session = context.session!;
    const match = this.#router.find(method, path);
    if (!match) throw pathNotFound(path);
    const { operation } = match;
    if (!operation) {
      const { allow } = match;
      if (method !== 'OPTIONS') throw new MethodNotAllowed(method, path, allow);
      return andThen(session.charge(ROUTE_COST), () => ({ status: 204, headers: ['Allow', allow] }));
    }
    const { row, deprecation } = operation;
    session.subject = operation.subject;
    context.operation = row.operationId;
    context.route = this.#basePath + row.path;
    if (deprecation) {
      context.deprecation = deprecation;
      refuseAfterSunset(row as Route, this.#lifecycle, session.now());
    }
    return operation.handle(context, session, match.parameters);
  }
}

/** @param path unknown, or with broken percent-encoding */
function pathNotFound(path: string): AppError {
  try {
    decodeURIComponent(path);
  } catch {
    return new AppError('BAD_REQUEST', 'The path is not valid percent-encoded UTF-8.');
  }
  return new AppError('NOT_FOUND', `There is no ${cut(path)}. All paths are listed at /docs.`);
}

/** The headers that announce the end of an operation (RFC 9745, RFC 8594). */
function deprecationHeaders(
  { tag, operationId, deprecation }: Route,
  { DEPRECATION_DATE, SUNSET_DATE }: Lifecycle,
): Headers | undefined {
  if (!deprecation) return undefined;
  return [
    'Deprecation',
    `@${Math.floor(DEPRECATION_DATE / 1000)}`,
    'Sunset',
    new Date(SUNSET_DATE).toUTCString(),
    'Link',
    `</docs#tag/${tag}/${operationId}>; rel="deprecation", <${deprecation.successor}>; rel="successor-version"`,
  ];
}

/** The operation at a path, or the methods that the path supports instead. */
type Match =
  | { operation: RestOperation; parameters: PathParameters }
  | { operation?: undefined; allow: string };

const METHODS: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** No id is this long. Beyond the router's own limit it would respond 404 where 400 is right. */
const MAX_SEGMENT_LENGTH = 16_000;

/** Finds operations by method and path. HEAD is routed like GET. */
class Router {
  readonly #paths = FindMyWay({ maxParamLength: MAX_SEGMENT_LENGTH });

  /** @param basePath of all paths */
  add(basePath: string, operation: RestOperation): void {
    const { method, path } = operation.row;
    this.#paths.on(method, basePath + path.replace(/\{(\w+)\}/g, ':$1'), () => {}, operation);
  }

  /** @returns null if nothing is at this path */
  find(method: string, path: string): Match | null {
    // The router would match an empty segment as a parameter.
    if (path.endsWith('/') || path.includes('//')) return null;
    const route = this.#paths.find((method === 'HEAD' ? 'GET' : method) as Method, path);
    if (route) return { operation: route.store as RestOperation, parameters: route.params };
    const allowed = METHODS.filter((candidate) => this.#paths.find(candidate, path)).flatMap((candidate) =>
      candidate === 'GET' ? ['GET', 'HEAD'] : [candidate],
    );
    return allowed.length === 0 ? null : { allow: [...allowed, 'OPTIONS'].join(', ') };
  }
}
