import { distance } from 'fastest-levenshtein';
import FindMyWay from 'find-my-way';
import type { Config } from '../../config.ts';
import { GRAPHQL_PATH, MCP_PATH } from '../../http/paths.ts';
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
  readonly #templates: Set<string>;

  constructor({ MCP, METRICS }: Pick<Config, 'MCP' | 'METRICS'>) {
    const switched = [...(MCP ? [MCP_PATH] : []), ...(METRICS ? ['/metrics'] : [])];
    this.#templates = new Set([...OTHERS, ...switched]);
  }

  /** @param basePath of all paths */
  add(basePath: string, operation: RestOperation): void {
    const { method, path } = operation.row;
    this.#templates.add(basePath + path);
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
  /** Paths that may be meant by one where nothing is, as OpenAPI writes them: at most two, the nearest first. */
  near(path: string): readonly string[] {
    if (path.length > MAX_GUESSED_LENGTH) return [];
    const given = segmentsOf(path);
    const ranked = [...this.#templates]
      .map((template) => {
        const known = segmentsOf(template);
        const shared = given.filter((segment) => known.some((other) => isNear(segment, other))).length;
        return { template, nearness: shared / Math.max(given.length, known.length) };
      })
      .sort((a, b) => b.nearness - a.nearness);
    const least = Math.max(0.3, ranked[0]!.nearness * 0.7);
    return ranked
      .filter(({ nearness }) => nearness > least)
      .slice(0, 2)
      .map(({ template }) => template);
  }
}

/** What else there always is that clients may mistype. */
const OTHERS = [GRAPHQL_PATH, '/docs', '/openapi.json', '/health/ready'];

/** Longer paths are not compared with those that there are. */
const MAX_GUESSED_LENGTH = 100;

const segmentsOf = (path: string): string[] => path.split('/').filter((segment) => segment !== '');

/** Whether a segment is probably meant to be one of a template. */
const isNear = (given: string, known: string): boolean =>
  known.startsWith('{')
    ? /^\d+$/.test(given)
    : distance(given.toLowerCase(), known) <= Math.max(1, Math.floor(known.length / 3));
