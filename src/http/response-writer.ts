import type { ServerResponse } from 'node:http';
import { mustCloseConnection, respondAndClose } from './body.ts';
import type { Cors } from './cors.ts';
import { isUnmodified } from './etag.ts';
import { addRateLimitHeaders } from './rate-limit-headers.ts';
import type { RequestContext } from './request-context.ts';
import type { Headers, HttpResponse } from './response.ts';
import { writeWhole } from './whole-response.ts';

export interface ResponseWriterOptions {
  cors: Cors;
  /** Milliseconds since 1970. */
  now: () => number;
  /** Receives what a streamed body reports at its end. */
  onStreamEnd: (context: RequestContext, fields: Record<string, unknown>) => void;
  /** Receives errors that cut a streamed body off. */
  onStreamError: (context: RequestContext, error: unknown) => void;
}

/** Writes responses with the headers that all of them have, over any transport. */
export class ResponseWriter {
  readonly #options: ResponseWriterOptions;

  constructor(options: ResponseWriterOptions) {
    this.#options = options;
  }

  /** @returns whether the client was still there */
  write(context: RequestContext, answer: HttpResponse): boolean {
    const { request, response, method } = context;
    const { headers, contentType, etag, stream, sameOriginOnly } = answer;
    const unmodified = isUnmodified(context, answer);
    const status = unmodified ? 304 : answer.status;
    const body = unmodified ? '' : (answer.body ?? '');
    context.status = status;
    if (response.destroyed) {
      // The stream notices the closed connection and releases its resources.
      if (stream) void this.#stream(context, stream);
      return false;
    }
    const { cors, now } = this.#options;
    const all: Headers = ['X-Request-Id', context.requestId, 'X-Content-Type-Options', 'nosniff'];
    if (status !== 204 && status !== 304) {
      all.push('Content-Type', contentType ?? 'application/json');
      if (!stream) all.push('Content-Length', Buffer.byteLength(body));
    }
    addRateLimitHeaders(all, context, now());
    addCachingHeaders(all, context, etag);
    if (!sameOriginOnly) cors.addHeaders(all, context.headers.origin);
    if (context.deprecation && context.session?.isAdmitted) all.push(...context.deprecation);
    if (context.replayed) all.push('Idempotency-Replayed', 'true');
    if (headers.length > 0) all.push(...headers);
    const content = method === 'HEAD' || body.length === 0 ? undefined : body;
    const isLast = mustCloseConnection(context);
    if (isLast) response.shouldKeepAlive = false;
    else if (!stream && writeWhole(response, status, all, content)) return true;
    response.writeHead(status, all as never);
    if (stream && method !== 'HEAD') void this.#stream(context, stream);
    else if (isLast) respondAndClose(request, response, content);
    else response.end(content);
    return true;
  }

  async #stream(context: RequestContext, stream: NonNullable<HttpResponse['stream']>): Promise<void> {
    const response: ServerResponse = context.response;
    response.flushHeaders();
    try {
      this.#options.onStreamEnd(context, await stream(response));
    } catch (error) {
      this.#options.onStreamError(context, error);
      response.destroy();
    }
  }
}

/**
 * Marks responses to reads as private to the key and subject to change (RFC 9111), and names the request headers that
 * select the response (RFC 9110 section 12.5.5).
 */
function addCachingHeaders(headers: Headers, context: RequestContext, etag: string | undefined): void {
  const vary = context.isRead ? context.transport?.vary : undefined;
  if (vary !== undefined) headers.push('Cache-Control', 'private, no-cache', 'Vary', vary);
  if (etag !== undefined) headers.push('ETag', etag);
}
