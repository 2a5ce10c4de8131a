import type { ServerResponse } from 'node:http';
import type { AppError } from '../errors.ts';
import type { Exchange, Headers } from './exchange.ts';

/** A complete answer; the gateway adds the headers that all answers have. */
export interface HttpResponse {
  status: number;
  headers: Headers;
  body: string | Buffer;
  /** `application/json` if missing; without a body it is not sent. */
  contentType?: string;
  /** Writes the body, after the head: for answers without an end that is known. @returns what the log is told at the end */
  stream?: (response: ServerResponse) => Promise<Record<string, unknown>>;
  /** Whether scripts of other origins must not read it, whatever CORS allows them else. */
  sameOriginOnly?: boolean;
}

/** An error as the specification's Error object. */
export const errorResponse = (error: AppError, exchange: Exchange): HttpResponse => ({
  status: error.status,
  headers: errorHeaders(error, exchange),
  body: JSON.stringify(error.toPublic()),
});

/** The headers that go with an error, over REST and GraphQL alike. */
export function errorHeaders(error: AppError, exchange: Exchange): Headers {
  const headers: Headers = [];
  if (error.retryAfter !== undefined) headers.push('Retry-After', error.retryAfter);
  if (error.code === 'UNAUTHENTICATED') headers.push('WWW-Authenticate', 'Bearer realm="petstore"');
  if (error.code === 'METHOD_NOT_ALLOWED' && exchange.allow !== undefined)
    headers.push('Allow', exchange.allow);
  return headers;
}
