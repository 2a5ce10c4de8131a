import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Span } from '@opentelemetry/api';
import type { Principal } from '../access/api-keys.ts';
import type { Decision, WindowView } from '../access/limiter.ts';
import type { Session } from '../access/session.ts';

/** Response headers as a flat list of names and values, the format Node writes fastest. */
export type Headers = (string | number)[];

/** One request, its response, and everything learned about it along the way. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly startedAt = performance.now();
  readonly method: string;
  /** The path as received, without the query. */
  readonly path: string;
  /** Without its `?`. */
  readonly query: string;
  /** Set once the key is accepted. */
  session: Session | undefined;
  /** The per-address window, shown when no key's budget applies. */
  guardWindow: WindowView | undefined;
  /** For the log and the metrics. */
  transport: 'rest' | 'graphql' | 'page' = 'rest';
  operation: string | undefined;
  /** The path template of the matched operation. */
  route: string | undefined;
  /** Set when the request is traced. */
  span: Span | undefined;
  /** The methods that the path supports. */
  allow: string | undefined;
  /** Headers on every response of the matched operation. */
  operationHeaders: Headers | undefined;
  /** Whether the matched operation is deprecated. */
  deprecated = false;
  /** Whether the body is being read or has been. */
  isBodyRead = false;
  /** Whether the response replays an earlier idempotent call. */
  replayed = false;
  status = 0;

  constructor(request: IncomingMessage, response: ServerResponse, requestId: string) {
    this.request = request;
    this.response = response;
    this.requestId = requestId;
    this.method = request.method ?? 'GET';
    const url = originForm(request.url ?? '/');
    const queryStart = url.indexOf('?');
    this.path = queryStart < 0 ? url : url.slice(0, queryStart);
    this.query = queryStart < 0 ? '' : url.slice(queryStart + 1);
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

  /** A header that clients send once. If it is repeated, the first value counts. */
  header(name: string): string | undefined {
    const value = this.request.headers[name];
    return typeof value === 'string' ? value : value?.[0];
  }
}

/** Proxies may send the absolute form of the target, which a server must accept (RFC 9112 section 3.2.2). */
const originForm = (target: string): string =>
  target.startsWith('/')
    ? target
    : target.replace(/^https?:\/\/[^/?]*(?=[/?]|$)/i, '').replace(/^(?!\/)/, '/');
