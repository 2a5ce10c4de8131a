import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Span } from '@opentelemetry/api';
import type { Principal } from '../access/api-keys.ts';
import type { Decision, WindowView } from '../access/limiter.ts';
import type { Session } from '../access/session.ts';

/** Response headers, flat: name, value, name, value …, as node writes them fastest. */
export type Headers = (string | number)[];

/** One request with what is found out about it on the way, and the one place that answers it. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly startedAt = performance.now();
  readonly method: string;
  /** The path as it came, without the query. */
  readonly path: string;
  /** Without its `?`. */
  readonly query: string;
  /** Of the key that was accepted. */
  session: Session | undefined;
  /** The window to show where no key's budget is involved. */
  guardWindow: WindowView | undefined;
  /** For the log and the metrics. */
  transport: 'rest' | 'graphql' | 'page' = 'rest';
  operation: string | undefined;
  /** The path of the matched operation, with its parameter's name. */
  route: string | undefined;
  /** Of the request, where traces are taken. */
  span: Span | undefined;
  /** The methods that the path answers, where another one was used. */
  allow: string | undefined;
  /** Headers that every answer of the matched operation has. */
  operationHeaders: Headers | undefined;
  /** Whether the matched operation is deprecated. */
  deprecated = false;
  /** Whether its body is being read, or was. */
  isBodyRead = false;
  /** Set by idempotent calls that were answered from an earlier one. */
  replayed = false;
  status = 0;

  constructor(request: IncomingMessage, response: ServerResponse, requestId: string) {
    this.request = request;
    this.response = response;
    this.requestId = requestId;
    this.method = request.method ?? 'GET';
    const url = originForm(request.url ?? '/');
    const question = url.indexOf('?');
    this.path = question < 0 ? url : url.slice(0, question);
    this.query = question < 0 ? '' : url.slice(question + 1);
  }

  /** Whose key was accepted. */
  get principal(): Principal | undefined {
    return this.session?.principal;
  }

  /** The last word of the limiter. */
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

  /** A header that clients send once; a repeated one counts as its first value. */
  header(name: string): string | undefined {
    const value = this.request.headers[name];
    return typeof value === 'string' ? value : value?.[0];
  }
}

/** Proxies may send the absolute form of the target, which a server must take (RFC 9112 section 3.2.2). */
const originForm = (target: string): string =>
  target.startsWith('/')
    ? target
    : target.replace(/^https?:\/\/[^/?]*(?=[/?]|$)/i, '').replace(/^(?!\/)/, '/');
