import { hash } from 'node:crypto';
import { AppError, cut } from '../foundation/errors.ts';

/** Response headers as a flat list of names and values, which Node writes fastest. */
export type Headers = (string | number)[];

/** A response before the gateway adds the common headers. */
export interface HttpResponse {
  status: number;
  headers: Headers;
  /** Empty by default. */
  body?: string | Buffer;
  /** `application/json` by default. Not sent with 204 and 304. */
  contentType?: string;
  /** The entity tag of the body. A read whose If-None-Match names it gets 304 instead. */
  etag?: string;
  /** A body of unknown length; null in the response to HEAD. */
  stream?: StreamedBody | null;
  /** True if the body is produced while it is sent, so proxies must not buffer or store it. */
  live?: boolean;
  /** True to leave out the CORS headers, so that only pages of this origin can read the response. */
  sameOriginOnly?: boolean;
}

/** A body that is produced as fast as the client reads. */
export interface StreamedBody {
  /** The pieces of the body. Returns fields for its log entry. */
  pieces: AsyncGenerator<string | Uint8Array, Record<string, unknown>>;
  /** Aborted with the error that ends it early. The rest, which is short, then doesn't wait for the client. */
  ending: AbortController;
}

/** The error for a method that the path does not support. */
export class MethodNotAllowed extends AppError {
  readonly allow: string;

  /** @param allow the supported methods, as in the Allow header */
  constructor(method: string, path: string, allow: string) {
    super('METHOD_NOT_ALLOWED', `${cut(path)} supports ${allow}, not ${method}.`);
    this.allow = allow;
  }
}

/** Renders an error as the specification's Error object. */
export const errorResponse = (error: AppError): HttpResponse => ({
  status: error.status,
  headers: errorHeaders(error),
  body: JSON.stringify(error.toPublic()),
});

/** The headers of an error response, over any transport. @param methods the value of Allow, unless the error has it */
export function errorHeaders(error: AppError, methods?: string): Headers {
  const headers: Headers = [];
  if (error.retryAfter !== undefined) headers.push('Retry-After', error.retryAfter);
  if (error.code === 'UNAUTHENTICATED') headers.push('WWW-Authenticate', 'Bearer realm="petstore"');
  if (error.code === 'METHOD_NOT_ALLOWED')
    headers.push('Allow', error instanceof MethodNotAllowed ? error.allow : methods!);
  return headers;
}

/** A strong entity tag (RFC 9110 section 8.8.3): the same on every instance, and collisions cannot be crafted. */
export const etagOf = (body: string | Buffer): string => `"${hash('sha256', body, 'base64url')}"`;

const TAG = /(?:W\/)?"[^"]*"|^\s*\*\s*$/g;

/**
 * True if If-Match or If-None-Match names an entity tag; `*` names any. Compressing proxies change tags: nginx, HAProxy
 * and Varnish to `W/"…"`, Apache and Caddy to `"…-gzip"`. The content is the same and our own tags have no such form,
 * so changed tags match for both headers.
 */
export const namesTag = (header: string, etag: string): boolean =>
  header.match(TAG)?.some((tag) => tag === etag || tag.trim() === '*' || originalOf(tag) === etag) ?? false;

const originalOf = (tag: string): string => tag.replace(/^W\//, '').replace(/-(?:gzip|br|zstd)"$/, '"');
