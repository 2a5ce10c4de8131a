import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Span } from '@opentelemetry/api';
import type { WindowView } from '../access/limiter.ts';
import type { Session } from '../access/session.ts';
import type { ErrorCode } from '../foundation/errors.ts';
import type { Headers } from './response.ts';

/** A request, its response, and everything learned about it along the way. */
export class RequestContext {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly headers: IncomingHttpHeaders;
  readonly requestId: string;
  /** The client's address. */
  readonly address: string;
  readonly startedAt = performance.now();
  readonly method: string;
  /** The path as received, without the query. */
  readonly path: string;
  /** The first segment of the path, `/graphql` of `/graphql/cost`. */
  readonly root: string;
  /** Without its `?`. */
  readonly query: string;
  /** True if the method only reads, so that caches may keep the response (RFC 9110, RFC 10008). */
  readonly isRead: boolean;
  /** The Accept header. */
  readonly accept: string | undefined;
  /** As sent: `X-API-Key: <key>` or `Authorization: Bearer <key>` (RFC 6750 section 2.1). */
  readonly apiKey: string | undefined;
  /** Set by the gateway: the transport that matches. */
  transport: { readonly name: string; readonly vary?: string } | undefined;
  /** Set by admission once the key is accepted. */
  session: Session | undefined;
  /** Set by admission: the per-address window, shown when no key's budget applies. */
  guardWindow: WindowView | undefined;
  /** Set once read. */
  body: Buffer | undefined;
  /** Set by the transport: the operation's name, from a bounded set, for the log, metrics and traces. */
  operation: string | undefined;
  /** Set by the transport: the client's name for the operation, if any. */
  operationName: string | undefined;
  /** Set by GraphQL transports: `query`, `mutation` or `subscription`. */
  operationType: string | undefined;
  /** The codes of the errors in the response, each once. */
  readonly errorCodes: ErrorCode[] = [];
  /** The message of the first error in the response. */
  errorMessage: string | undefined;
  /** Set by the transport: the path template of the operation. */
  route: string | undefined;
  /** Set by the transport if the operation is deprecated: headers for each of its responses. */
  deprecation: Headers | undefined;
  /** True if the response replays an earlier idempotent call. */
  replayed = false;
  /** Set if the request is traced. */
  span: Span | undefined;
  /** Set when the response is sent. */
  status = 0;
  /** Set then: the time since the request began. */
  milliseconds = 0;
  /** Set then: true if the client was still connected. */
  isSent = false;

  constructor(request: IncomingMessage, response: ServerResponse, requestId: string, address: string) {
    const { headers, method = 'GET' } = request;
    this.request = request;
    this.response = response;
    this.headers = headers;
    this.requestId = requestId;
    this.address = address;
    this.method = method;
    // Node joins the values of a repeated header, so this is a string.
    const { 'x-api-key': key = '', authorization = '' } = headers as Record<string, string>;
    this.apiKey = single(key) || /^Bearer +(\S+)$/i.exec(single(authorization))?.[1];
    this.isRead = method === 'GET' || method === 'HEAD' || method === 'QUERY';
    const url = originForm(request.url ?? '/');
    const queryStart = url.indexOf('?');
    this.path = queryStart < 0 ? url : url.slice(0, queryStart);
    this.root = rootOf(this.path);
    this.query = queryStart < 0 ? '' : url.slice(queryStart + 1);
    this.accept = headers.accept;
  }

  /** Records an error of the response, for the log, metrics and traces. */
  addError(code: ErrorCode, message: string): void {
    this.errorMessage ??= message;
    if (!this.errorCodes.includes(code)) this.errorCodes.push(code);
  }
}

/** The value of a header that was sent once, or twice alike, as middleware of some clients adds it again at a retry. */
export function single(header: string): string {
  const half = header.slice(0, header.length / 2 - 1);
  return header === `${half}, ${half}` ? half : header;
}

/** The caller's request id if it is safe to log, else a new one. */
export function requestIdOf(request?: IncomingMessage): string {
  const header = request?.headers['x-request-id'];
  return typeof header === 'string' && /^[\w.:-]{1,128}$/.test(header) ? header : randomUUID();
}

/**
 * The entry for the client by the outermost of `proxies` trusted proxies. Each proxy appends to the header, so entries
 * further left are unverified client input.
 *
 * @returns undefined without proxies or entries
 */
function forwarded(header: string | string[] = [], proxies: number): string | undefined {
  if (proxies === 0) return undefined;
  const hops = [header]
    .flat()
    .join(',')
    .split(',')
    .map((hop) => hop.trim())
    .filter((hop) => hop !== '');
  return hops.at(-Math.min(proxies, hops.length));
}

/** The client's address: that of X-Forwarded-For behind proxies. */
export const clientAddress = ({ headers, socket }: IncomingMessage, proxies: number): string =>
  forwarded(headers['x-forwarded-for'], proxies) ?? socket.remoteAddress ?? '';

/** The client's scheme, from X-Forwarded-Proto: TLS ends at a proxy. */
export const clientScheme = (headers: IncomingHttpHeaders, proxies: number): 'https' | 'http' =>
  forwarded(headers['x-forwarded-proto'], proxies)?.toLowerCase() === 'https' ? 'https' : 'http';

/** @see RequestContext.root */
export function rootOf(path: string): string {
  const end = path.indexOf('/', 1);
  return end < 0 ? path : path.slice(0, end);
}

/**
 * Removes the prefix that the gateway is mounted at from the target of a request, as routers do.
 *
 * @returns false if the target is not below the prefix
 */
export function unmount(request: IncomingMessage, prefix: string): boolean {
  const target = originForm(request.url ?? '/');
  const rest = target.slice(prefix.length);
  if (!target.startsWith(prefix) || !/^(?:[/?]|$)/.test(rest)) return false;
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
  return true;
}

/** The target without scheme and host, which proxies may send and servers must accept (RFC 9112 section 3.2.2). */
const originForm = (target: string): string =>
  target.startsWith('/')
    ? target
    : target.replace(/^https?:\/\/[^/?]*(?=[/?]|$)/i, '').replace(/^(?!\/)/, '/');
