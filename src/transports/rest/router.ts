import FindMyWay from 'find-my-way';
import type { Method } from '../../schema/route.ts';

/** The destination of a path, or the methods it supports instead. */
export type Match<T> =
  | { destination: T; parameters: Readonly<Record<string, string | undefined>> }
  | { destination?: undefined; allow: string };

const METHODS: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** No id is this long. Beyond the router's own limit it would respond 404 where 400 is right. */
const MAX_SEGMENT_LENGTH = 16_000;

/** Finds destinations by method and path. HEAD is routed like GET. */
export class Router<T> {
  readonly #paths = FindMyWay({ maxParamLength: MAX_SEGMENT_LENGTH });

  /** @param path as OpenAPI writes it, `/pets/{petId}` */
  add(method: Method, path: string, destination: T): void {
    this.#paths.on(method, path.replace(/\{(\w+)\}/g, ':$1'), () => {}, destination);
  }

  /** @returns null if nothing is at this path */
  find(method: string, path: string): Match<T> | null {
    // The router would match an empty segment as a parameter.
    if (path.endsWith('/') || path.includes('//')) return null;
    const route = this.#paths.find((method === 'HEAD' ? 'GET' : method) as Method, path);
    if (route) return { destination: route.store as T, parameters: route.params };
    const allowed = METHODS.filter((candidate) => this.#paths.find(candidate, path)).flatMap((candidate) =>
      candidate === 'GET' ? ['GET', 'HEAD'] : [candidate],
    );
    return allowed.length === 0 ? null : { allow: [...allowed, 'OPTIONS'].join(', ') };
  }
}
