import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Span } from '@opentelemetry/api';
import type { Principal } from '../access/api-keys.ts';
import type { Decision, WindowView } from '../access/limiter.ts';
import type { Session } from '../access/session.ts';
import type { ErrorCode } from '../foundation/errors.ts';
import { findLongList } from './list-headers.ts';
import type { Headers } from './response.ts';

/** What is common to the requests of one transport. */
export interface TransportDescription {
  /** For the log and the metrics. */
  readonly name: string;
  /**
   * The request headers that select its responses to reads, as in Vary. Those responses are marked as private
   * to the key. Absent if its responses say so themselves.
   */
  readonly vary?: string;
}

/** One request, its response, and everything learned about it along the way. */
export class RequestContext {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly startedAt = performance.now();
  readonly method: string;
  /** The path as received, without the query. */
  readonly path: string;
  /** Without its `?`. */
  readonly query: string;
  /** A list header that has too many members, for which the request is refused. It is not to be parsed. */
  readonly longList: string | undefined;
  /** Set by the gateway to the one that matches. */
  transport: TransportDescription | undefined;
  /** Set by authentication once the key is accepted. */
  session: Session | undefined;
  /** Set by authentication: the per-address window, shown when no key's budget applies. */
  guardWindow: WindowView | undefined;
  /** Set by the transport: what is called, from a bounded set, for the log, metrics and traces. */
  operation: string | undefined;
  /** Set by the transport: the name that the client gave the operation, if it did. */
  operationName: string | undefined;
  /** Set by the transport: `query`, `mutation` or `subscription`, if it knows such types. */
  operationType: string | undefined;
  /** The codes of the errors in the response, each once. */
  readonly errorCodes: ErrorCode[] = [];
  /** Set by the transport: the path template of the operation. */
  route: string | undefined;
  /** Set by the transport if the operation is deprecated: the headers on each of its responses. */
  deprecation: Headers | undefined;
  /** Whether the response replays an earlier idempotent call. */
  replayed = false;
  /** Set when the request is traced. */
  span: Span | undefined;
  /** Set when the response is sent. */
  status = 0;

  constructor(request: IncomingMessage, response: ServerResponse, requestId: string) {
    this.request = request;
    this.response = response;
    this.requestId = requestId;
    this.method = request.method ?? 'GET';
    this.longList = findLongList(request.headers);
    const url = originForm(request.url ?? '/');
    const queryStart = url.indexOf('?');
    this.path = queryStart < 0 ? url : url.slice(0, queryStart);
    this.query = queryStart < 0 ? '' : url.slice(queryStart + 1);
  }

  /** Whether the method only reads a representation, which caches may keep (RFC 9110, RFC 10008). */
  get isRead(): boolean {
    const { method } = this;
    return method === 'GET' || method === 'HEAD' || method === 'QUERY';
  }

  get principal(): Principal | undefined {
    return this.session?.principal;
  }

  /** The limiter's latest decision. */
  get decision(): Decision | undefined {
    return this.session?.decision;
  }

  /** Units charged. */
  get units(): number {
    return this.session?.units ?? 0;
  }

  get headers(): IncomingHttpHeaders {
    return this.request.headers;
  }

  /** Notes the error in the response, for the log, metrics and traces. */
  addError(code: ErrorCode): void {
    if (!this.errorCodes.includes(code)) this.errorCodes.push(code);
  }

  /** The Accept header, as if absent if it is too long. */
  get accept(): string | undefined {
    return this.longList === undefined ? this.request.headers.accept : undefined;
  }

  /** A header that clients send once. If it is repeated, the first value counts. */
  header(name: string): string | undefined {
    const value = this.request.headers[name];
    return typeof value === 'string' ? value : value?.[0];
  }
}

/** The caller's request id if it is safe to log, else a new one. */
export function requestIdOf(request?: IncomingMessage): string {
  const given = request?.headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
}

/**
 * The client's address. Each of the `proxies` trusted proxies appends the address it saw to X-Forwarded-For, so the
 * outermost one's entry counts. Entries further left are unverified client input.
 */
export function clientAddress({ headers, socket }: IncomingMessage, proxies: number): string {
  const peer = socket.remoteAddress ?? '';
  if (proxies === 0) return peer;
  const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',');
  const hops = forwarded.map((hop) => hop.trim()).filter((hop) => hop !== '');
  return hops.at(-Math.min(proxies, hops.length)) ?? peer;
}

/** Proxies may send the absolute form of the target, which a server must accept (RFC 9112 section 3.2.2). */
const originForm = (target: string): string =>
  target.startsWith('/')
    ? target
    : target.replace(/^https?:\/\/[^/?]*(?=[/?]|$)/i, '').replace(/^(?!\/)/, '/');
