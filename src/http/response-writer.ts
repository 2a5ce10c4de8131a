import { once } from 'node:events';
import { pipeline, Readable } from 'node:stream';
import type { Decision, WindowView } from '../access/limiter.ts';
import { CLIENT_DISCONNECTED } from '../access/open-streams.ts';
import { digitsOf } from '../foundation/id.ts';
import type { Cors } from './cors.ts';
import type { RequestContext } from './request-context.ts';
import { type Headers, type HttpResponse, namesTag, type StreamedBody } from './response.ts';

export interface ResponseWriterOptions {
  cors: Cors;
  /** The base URL of the gateway for clients, put before the paths in Location and Link. */
  base: string;
  /** Milliseconds since 1970. */
  now: () => number;
  /** Receives the log fields of a streamed body at its end. */
  onStreamEnd: (context: RequestContext, fields: Record<string, unknown>) => void;
  /** Receives errors that cut off a streamed body. */
  onStreamError: (context: RequestContext, error: unknown) => void;
}

/** Writes responses, with the headers that are common to all transports. */
export class ResponseWriter {
  readonly #options: ResponseWriterOptions;

  constructor(options: ResponseWriterOptions) {
    this.#options = options;
  }

  /** @returns true if the client was still connected */
  respond(context: RequestContext, answer: HttpResponse): boolean {
    const { request, response, method, session } = context;
    const { headers, contentType, etag, stream, live, sameOriginOnly } = answer;
    const unmodified = isUnmodified(context, answer);
    const status = unmodified ? 304 : answer.status;
    const body = unmodified ? '' : (answer.body ?? '');
    context.status = status;
    if (response.destroyed) {
      // The stream notices the closed connection and releases its resources.
      if (stream) void this.#stream(context, stream);
      return false;
    }
    const { base, cors, now } = this.#options;
    const length = Buffer.byteLength(body);
    const all: Headers = ['X-Request-Id', context.requestId, 'X-Content-Type-Options', 'nosniff'];
    if (status !== 204 && status !== 304) {
      all.push('Content-Type', contentType ?? 'application/json');
      if (stream === undefined) all.push('Content-Length', length);
    }
    addRateLimitHeaders(all, session?.decision, context.guardWindow, now());
    // Responses to reads are private to the key and may change any time (RFC 9111). Vary names the request headers that
    // select them (RFC 9110 section 12.5.5).
    const vary = context.isRead || live ? context.transport!.vary : undefined;
    if (vary !== undefined) all.push('Cache-Control', 'private, no-cache', 'Vary', vary);
    if (live) all.push('X-Accel-Buffering', 'no');
    if (etag !== undefined) all.push('ETag', etag);
    if (!sameOriginOnly) cors.addHeaders(all, context.headers.origin);
    if (context.deprecation && session?.decision?.verdict === 'passed') all.push(...context.deprecation);
    if (context.replayed) all.push('Idempotency-Replayed', 'true');
    if (headers.length > 0) all.push(...headers);
    if (base !== '') addBase(all, base);
    const content = method === 'HEAD' || body.length === 0 ? undefined : body;
    // Discards the unread rest of the body.
    if (!request.complete) request.resume();
    try {
      response.writeHead(status, all as never);
      if (stream) response.flushHeaders();
    } catch (error) {
      response.destroy();
      if (stream) void this.#stream(context, stream);
      throw error;
    }
    if (stream && method !== 'HEAD') void this.#stream(context, stream);
    else if (content === undefined) response.end();
    else if (content.length <= PIECE) {
      // `end` alone hands the socket a second, empty chunk, which takes 9 µs.
      response.cork();
      // ASCII, which most bodies are, is written fastest as Latin-1.
      response.write(content, length === body.length ? 'latin1' : 'utf8');
      response.uncork();
      response.end();
    }
    // Stops if the client disconnects.
    else pipeline(Readable.from(piecesOf(content)), response, () => {});
    return true;
  }

  async #stream(context: RequestContext, { pieces, ending }: StreamedBody): Promise<void> {
    const { response } = context;
    const { signal } = ending;
    const onClose = () => ending.abort(CLIENT_DISCONNECTED);
    response.once('close', onClose);
    if (response.destroyed) onClose();
    try {
      let next = await pieces.next();
      for (; !next.done; next = await pieces.next()) {
        if (response.destroyed || response.write(next.value) || signal.aborted) continue;
        await once(response, 'drain', { signal }).catch(() => {});
      }
      response.end();
      this.#options.onStreamEnd(context, next.value);
    } catch (error) {
      this.#options.onStreamError(context, error);
      response.destroy();
    }
  }
}

/** Puts the base before the paths of the gateway in Location and Link. */
function addBase(headers: Headers, base: string): void {
  for (let i = 0; i < headers.length; i += 2) {
    if (headers[i] === 'Location') headers[i + 1] = base + headers[i + 1];
    else if (headers[i] === 'Link') headers[i + 1] = String(headers[i + 1]).replaceAll('</', `<${base}/`);
  }
}

/** The size of the pieces that longer bodies are written in, in bytes, so that a slow reader's progress shows. */
const PIECE = 65_536;

function* piecesOf(content: string | Buffer): Generator<Buffer> {
  const body = typeof content === 'string' ? Buffer.from(content) : content;
  for (let at = 0; at < body.length; at += PIECE) yield body.subarray(at, at + PIECE);
}

/** Adds X-RateLimit-* for the tightest window, and the headers of draft-ietf-httpapi-ratelimit-headers-11 for all. */
export function addRateLimitHeaders(
  headers: Headers,
  decision: Decision | undefined,
  guardWindow: WindowView | undefined,
  now: number,
): void {
  const tightest = decision?.tightest ?? guardWindow;
  if (!tightest) return;
  const left = ({ remaining, resetAt }: WindowView): string =>
    `r=${digitsOf(remaining)};t=${Math.max(0, Math.ceil((resetAt - now) / 1000))}`;
  headers.push(
    'X-RateLimit-Limit',
    tightest.limit,
    'X-RateLimit-Remaining',
    digitsOf(tightest.remaining),
    'X-RateLimit-Reset',
    Math.ceil(tightest.resetAt / 1000),
    'RateLimit-Policy',
    decision
      ? `"minute";q=${decision.minute.limit};w=60, "day";q=${decision.day.limit};w=86400`
      : `"address";q=${tightest.limit};w=60`,
    'RateLimit',
    decision
      ? `"minute";${left(decision.minute)}, "day";${left(decision.day)}`
      : `"address";${left(tightest)}`,
  );
}

/** True if a read's If-None-Match shows that the client already has this representation. */
function isUnmodified({ isRead, headers }: RequestContext, { status, etag }: HttpResponse): boolean {
  const { 'if-none-match': header } = headers;
  return isRead && status === 200 && etag !== undefined && !!header && namesTag(header, etag);
}
