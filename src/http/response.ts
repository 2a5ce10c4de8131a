import { hash } from 'node:crypto';
import { AppError, cut } from '../foundation/errors.ts';

/** Response headers as a flat list of names and values, the format Node writes fastest. */
export type Headers = (string | number)[];

/** A complete response, to which the gateway adds the common headers. */
export interface HttpResponse {
  status: number;
  headers: Headers;
  /** Empty by default. */
  body?: string | Buffer;
  /** `application/json` by default. Not sent with 204 and 304. */
  contentType?: string;
  /** The entity tag of the body. A read whose If-None-Match names it is answered with 304 instead. */
  etag?: string;
  /** A body of unknown length after the head; null if the request is for the head alone. */
  stream?: StreamedBody | null;
  /** True if the body is produced while it is sent, so that no proxy may buffer or store it. */
  live?: boolean;
  /** Withholds the CORS headers, so that only pages of this origin can read the response. */
  sameOriginOnly?: boolean;
}

/** A body that is sent as fast as its client reads. */
export interface StreamedBody {
  /** Its pieces. Returns fields for the log entry at its end. */
  pieces: AsyncGenerator<string | Uint8Array, Record<string, unknown>>;
  /** Aborted with the error that ends it early. Then nothing waits for the client to read: little is left to write. */
  ending: AbortController;
}

/** Refuses a method and names those that the path supports. */
export class MethodNotAllowed extends AppError {
  readonly allow: string;

  /** @param allow as in the Allow header */
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

/** The headers of an error response, over any transport. @param methods for Allow, if the error does not know them */
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
 * True if If-Match or If-None-Match names an entity tag; `*` names any. Proxies that compress change tags, nginx,
 * HAProxy and Varnish to `W/"…"`, Apache and Caddy to `"…-gzip"`. No tag of ours is weak or ends so, and the content
 * is the same, so that one comparison does for both headers.
 */
export const namesTag = (header: string, etag: string): boolean =>
  header.match(TAG)?.some((tag) => tag === etag || tag.trim() === '*' || originalOf(tag) === etag) ?? false;

const originalOf = (tag: string): string => tag.replace(/^W\//, '').replace(/-(?:gzip|br|zstd)"$/, '"');
