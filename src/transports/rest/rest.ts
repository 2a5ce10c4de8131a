import { distance } from 'fastest-levenshtein';
import FindMyWay from 'find-my-way';
import type { Access } from '../../access/access.ts';
import type { UsageSubject } from '../../access/session.ts';
import type { Config } from '../../config.ts';
import { AppError, cut } from '../../foundation/errors.ts';
import { andThen, type MaybePromise } from '../../foundation/turns.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { errorResponse, type HttpResponse, MethodNotAllowed } from '../../http/response.ts';
import { GRAPHQL_PATH, MCP_PATH, type Transport } from '../../http/transport.ts';
import type { Method } from '../../rest-routes/route.ts';
import { ROUTE_PRICE } from '../prepared-route.ts';
import type { TransportServices } from '../transport-services.ts';
import { DocumentHandler } from './document-handler.ts';
import type { PathParameters, RestHandler } from './rest-handler.ts';
import { StreamHandler } from './stream-handler.ts';

/** The usage subject of requests without an operation. */
const UNKNOWN: UsageSubject = { transport: 'rest', rootFields: [] };

/** REST: finds the route of a request and lets it respond. Matches every request. */
export class RestTransport implements Transport {
  readonly name = 'rest';
  readonly vary = 'Accept, X-API-Key, Authorization';
  readonly errorResponse: Transport['errorResponse'];
  readonly #access: Access;
  readonly #mount: string;
  readonly #basePath: string;
  readonly #router: Router;

  /** @param errorPage returns the page to show instead of an Error if a person navigates in a browser */
  constructor(
    services: TransportServices,
    errorPage: (error: AppError, context: RequestContext) => HttpResponse | undefined,
  ) {
    this.errorResponse = (error, context) => {
      const { method, path } = context;
      // A client that mistypes an address needs the right one, not a key.
      const isMistyped = error.code === 'UNAUTHENTICATED' && this.#router.find(method, path) === null;
      const shown = isMistyped ? this.#notFound(path) : error;
      return errorPage(shown, context) ?? errorResponse(error);
    };
    const { access, api, config, routes } = services;
    this.#access = access;
    this.#mount = config.BASE_PATH;
    this.#basePath = config.REST_BASE_PATH;
    this.#router = new Router(config);
    for (const route of routes) this.#router.add(new DocumentHandler(route, services));
    for (const route of api.streamRoutes) this.#router.add(new StreamHandler(route, services));
  }

  admit(context: RequestContext): MaybePromise<void> {
    const { method, path } = context;
    const subject = () => this.#router.find(method, path)?.operation?.subject ?? UNKNOWN;
    return this.#access.admit(context, 'charged', subject);
  }

  handle(context: RequestContext): MaybePromise<HttpResponse> {
    const { method, path } = context;
    const session = context.session!;
    const match = this.#router.find(method, path);
    if (!match) throw this.#notFound(path);
    const { operation } = match;
    if (!operation) {
      const { allow } = match;
      if (method !== 'OPTIONS') throw new MethodNotAllowed(method, path, allow);
      return andThen(session.charge(ROUTE_PRICE), () => ({ status: 204, headers: ['Allow', allow] }));
    }
    const { route, deprecation } = operation;
    context.operation = route.operationId;
    context.route = this.#basePath + route.path;
    context.deprecation = deprecation;
    return operation.handle(context, session, match.parameters);
  }

  #notFound(path: string): AppError {
    return pathNotFound(this.#mount, path, this.#router.near(path));
  }
}

/**
 * @param mount the path that the gateway is mounted at
 * @param path an unknown path, or one with broken percent-encoding
 * @param near similar paths
 */
function pathNotFound(mount: string, path: string, near: readonly string[]): AppError {
  try {
    decodeURIComponent(path);
  } catch {
    return new AppError('BAD_REQUEST', 'The path is not valid percent-encoded UTF-8.');
  }
  const guess = near.length > 0 ? ` Did you mean ${near.map((each) => mount + each).join(' or ')}?` : '';
  return new AppError(
    'NOT_FOUND',
    `There is no ${mount}${cut(path)}.${guess} All paths are listed at ${mount}/docs.`,
  );
}

/** The operation at a path, or the methods that the path supports instead. */
type Match =
  { operation: RestHandler; parameters: PathParameters } | { operation?: undefined; allow: string };

const METHODS: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** Longer than any id. Beyond the router's default, paths would get 404 where 400 is right. */
const MAX_SEGMENT_LENGTH = 16_000;

/** Finds operations by method and path. HEAD is routed like GET. */
class Router {
  readonly #paths = FindMyWay({ maxParamLength: MAX_SEGMENT_LENGTH });
  readonly #templates: Set<string>;
  readonly #basePath: string;

  constructor({ MCP, METRICS, REST_BASE_PATH }: Config) {
    this.#basePath = REST_BASE_PATH;
    this.#templates = new Set([...OTHERS, ...(MCP ? [MCP_PATH] : []), ...(METRICS ? ['/metrics'] : [])]);
  }

  add(operation: RestHandler): void {
    const path = this.#basePath + operation.route.path;
    this.#templates.add(path);
    this.#paths.on(operation.route.method, path.replace(/\{(\w+)\}/g, ':$1'), () => {}, operation);
  }

  /** @returns null if nothing is at this path */
  find(method: string, path: string): Match | null {
    // The router would match an empty segment as a parameter.
    if (path.endsWith('/') || path.includes('//')) return null;
    const route = this.#at((method === 'HEAD' ? 'GET' : method) as Method, path);
    if (route) return { operation: route.store as RestHandler, parameters: route.params };
    const allowed = METHODS.filter((candidate) => this.#at(candidate, path)).flatMap((candidate) =>
      candidate === 'GET' ? ['GET', 'HEAD'] : [candidate],
    );
    return allowed.length === 0 ? null : { allow: [...allowed, 'OPTIONS'].join(', ') };
  }

  /** The route at a path. For other methods, a path such as `/pets/counts` does not match `/pets/{petId}`. */
  #at(method: Method, path: string) {
    const route = this.#paths.find(method, path);
    const isOther = this.#templates.has(path) && Object.keys(route?.params ?? {}).length > 0;
    return isOther ? null : route;
  }

  /** The templates most similar to an unknown path, as in OpenAPI: at most two, the nearest first. */
  near(path: string): readonly string[] {
    if (path.length > MAX_GUESSED_LENGTH) return [];
    const segments = segmentsOf(path);
    const ranked = [...this.#templates]
      .map((template) => {
        const expected = segmentsOf(template);
        const shared = segments.filter((segment) => expected.some((other) => isNear(segment, other))).length;
        return { template, nearness: shared / Math.max(segments.length, expected.length) };
      })
      .sort((a, b) => b.nearness - a.nearness);
    const least = Math.max(0.3, ranked[0]!.nearness * 0.7);
    return ranked
      .filter(({ nearness }) => nearness > least)
      .slice(0, 2)
      .map(({ template }) => template);
  }
}

/** Other paths that always exist and may be mistyped. */
const OTHERS = [GRAPHQL_PATH, '/docs', '/openapi.json', '/health/live', '/health/ready'];

/** The maximum length of a path that is compared with existing ones. */
const MAX_GUESSED_LENGTH = 100;

const segmentsOf = (path: string): string[] => path.split('/').filter((segment) => segment !== '');

/** True if a segment is similar to that of a template. */
const isNear = (segment: string, expected: string): boolean =>
  expected.startsWith('{')
    ? /^\d+$/.test(segment)
    : distance(segment.toLowerCase(), expected) <= Math.max(1, Math.floor(expected.length / 3));
