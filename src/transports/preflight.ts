import type { Cors } from '../http/cors.ts';
import type { RequestContext } from '../http/request-context.ts';
import { errorResponse, type HttpResponse } from '../http/response.ts';
import type { Transport } from '../http/transport.ts';

/** Answers the preflight requests of browsers on every path, without a key and free of charge. */
export class Preflight implements Transport {
  readonly name = 'page';
  readonly errorResponse = errorResponse;
  readonly #cors: Cors;

  constructor(cors: Cors) {
    this.#cors = cors;
  }

  matches({ method, headers }: RequestContext): boolean {
    return (
      method === 'OPTIONS' &&
      headers.origin !== undefined &&
      headers['access-control-request-method'] !== undefined
    );
  }

  admit(): void {}

  handle(context: RequestContext): HttpResponse {
    return { status: 204, headers: this.#cors.preflightHeaders(context) };
  }
}
