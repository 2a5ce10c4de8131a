import type { ServerResponse } from 'node:http';
import type { AppError } from '../foundation/errors.ts';
import type { Exchange, Headers } from './exchange.ts';

/** A complete response, to which the gateway adds the common headers. */
export interface HttpResponse {
  status: number;
  headers: Headers;
  /** Empty by default. */
  body?: string | Buffer;
  /** `application/json` by default. Not sent with 204 and 304. */
  contentType?: string;
  /** Writes a body of unknown length after the head. @returns fields for the log entry at its end */
  stream?: (response: ServerResponse) => Promise<Record<string, unknown>>;
  /** Withholds the CORS headers, so that only pages of this origin can read the response. */
  sameOriginOnly?: boolean;
}

/** Renders an error as the specification's Error object. */
export const errorResponse = (error: AppError, exchange: Exchange): HttpResponse => ({
  status: error.status,
  headers: errorHeaders(error, exchange),
  body: JSON.stringify(error.toPublic()),
});

/** The headers of an error response, over REST and GraphQL alike. */
export function errorHeaders(error: AppError, exchange: Exchange): Headers {
  const headers: Headers = [];
  if (error.retryAfter !== undefined) headers.push('Retry-After', error.retryAfter);
  if (error.code === 'UNAUTHENTICATED') headers.push('WWW-Authenticate', 'Bearer realm="petstore"');
  if (error.code === 'METHOD_NOT_ALLOWED' && exchange.allow !== undefined)
    headers.push('Allow', exchange.allow);
  return headers;
}
