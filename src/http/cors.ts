import type { RequestContext } from './request-context.ts';
import type { Headers } from './response.ts';

const EXPOSED = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit-Policy',
  'RateLimit',
  'Retry-After',
  'ETag',
  'Link',
  'Location',
  'Allow',
  'Accept-Query',
  'WWW-Authenticate',
  'Deprecation',
  'Sunset',
  'Idempotency-Replayed',
  'X-Request-Id',
].join(', ');

/** CORS (Fetch standard): which origins may read responses. Keys travel in headers, never in cookies. */
export class Cors {
  readonly #origins: ReadonlySet<string> | null;

  /** @param origins `*` or a list of origins */
  constructor(origins: readonly string[]) {
    this.#origins = origins[0] === '*' ? null : new Set(origins);
  }

  /** Whether pages of an origin may call the gateway. */
  allows(origin: string): boolean {
    return this.#origins === null || this.#origins.has(origin);
  }

  addHeaders(headers: Headers, origin: string | undefined): void {
    if (this.#origins === null) {
      if (origin !== undefined) {
        headers.push('Access-Control-Allow-Origin', '*', 'Access-Control-Expose-Headers', EXPOSED);
      }
      return;
    }
    headers.push('Vary', 'Origin');
    if (origin !== undefined && this.#origins.has(origin)) {
      headers.push('Access-Control-Allow-Origin', origin, 'Access-Control-Expose-Headers', EXPOSED);
    }
  }

  preflightHeaders(context: RequestContext): Headers {
    return [
      'Access-Control-Allow-Methods',
      'GET, HEAD, QUERY, POST, PUT, PATCH, DELETE, OPTIONS',
      'Access-Control-Allow-Headers',
      context.headers['access-control-request-headers'] ?? 'Authorization, Content-Type, X-API-Key',
      'Access-Control-Max-Age',
      86_400,
    ];
  }
}
