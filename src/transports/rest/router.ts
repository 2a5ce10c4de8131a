import FindMyWay from 'find-my-way';
import type { Method } from '../../rows/route.ts';
import type { PathParameters, RestOperation } from './operation.ts';

/** The operation at a path, or the methods that the path supports instead. */
export type Match =
  | { operation: RestOperation; parameters: PathParameters }
  | { operation?: undefined; allow: string };

const METHODS: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** No id is this long. Beyond the router's own limit it would respond 404 where 400 is right. */
const MAX_SEGMENT_LENGTH = 16_000;

/** Finds operations by method and path. HEAD is routed like GET. */
export class Router {
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
