import type { RequestContext } from './request-context.ts';
import { errorResponse, type Headers, type HttpResponse } from './response.ts';
import type { Transport } from './transport.ts';

const EXPOSED =
  'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit-Policy, RateLimit, Retry-After, ETag, Link, Location, Allow, Accept-Query, WWW-Authenticate, Deprecation, Sunset, Idempotency-Replayed, X-Request-Id';

/**
 * CORS (Fetch standard): the origins that may read responses. Keys are sent in headers, never in cookies. As a
 * transport, it answers preflight requests on every path, without a key and free of charge.
 */
export class Cors implements Transport {
  readonly name = 'page';
  readonly errorResponse = errorResponse;
  readonly #origins: ReadonlySet<string> | null;

  /** @param origins `*` or a list of origins */
  constructor(origins: readonly string[]) {
    this.#origins = origins[0] === '*' ? null : new Set(origins);
  }

  /** True if pages of this origin may call the gateway. */
  allows(origin: string): boolean {
    return this.#origins === null || this.#origins.has(origin);
  }

  addHeaders(headers: Headers, origin: string | undefined): void {
    if (this.#origins !== null) headers.push('Vary', 'Origin');
    if (origin === undefined || !this.allows(origin)) return;
    headers.push('Access-Control-Allow-Origin', this.#origins === null ? '*' : origin);
    headers.push('Access-Control-Expose-Headers', EXPOSED);
  }

  match({ method, headers }: RequestContext): boolean {
    return method === 'OPTIONS' && !!headers.origin && !!headers['access-control-request-method'];
  }

  admit(): void {}

  handle({ headers }: RequestContext): HttpResponse {
    const allowed = headers['access-control-request-headers'] ?? 'Authorization, Content-Type, X-API-Key';
    return {
      status: 204,
      headers: Object.entries({
        'Access-Control-Allow-Methods': 'GET, HEAD, QUERY, POST, PUT, PATCH, DELETE, OPTIONS',
        'Access-Control-Allow-Headers': allowed,
        'Access-Control-Max-Age': 86_400,
      }).flat(),
    };
  }
}
