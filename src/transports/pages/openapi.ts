import { LRUCache } from 'lru-cache';
import type { Config } from '../../config.ts';
import type { RequestContext } from '../../http/request-context.ts';
import type { HttpResponse } from '../../http/response.ts';
import { deploymentOf, openApiJson } from '../../openapi/document.ts';
import type { Route } from '../../rows/route.ts';
import { Asset, PUBLIC } from './asset.ts';
import { originOf } from './landing.ts';

/** Origins whose description is kept compressed. Callers choose the Host header, so there may be any number. */
const MAX_ORIGINS = 8;
/** How long an origin keeps its place, in milliseconds. */
const ORIGIN_TTL = 60_000;

const CONTENT_TYPE = 'application/json';

/**
 * The OpenAPI description, with the address that it was requested at as its server: tools that import it from
 * a URL need an absolute one. It is generated once and the address inserted. Beyond a few addresses at the
 * same time it is sent uncompressed, since compressing costs more than a REST call.
 */
export class OpenApi {
  readonly #config: Config;
  readonly #routes: readonly Route[];
  readonly #assets = new LRUCache<string, Asset>({ max: MAX_ORIGINS, ttl: ORIGIN_TTL });
  #parts: readonly [before: string, after: string] | undefined;

  constructor(config: Config, routes: readonly Route[]) {
    this.#config = config;
    this.#routes = routes;
  }

  /** Responds to a GET or HEAD. */
  async handle(context: RequestContext): Promise<HttpResponse> {
    const origin = originOf(context, this.#config.TRUST_PROXY);
    const known = this.#assets.get(origin);
    if (known) return known.handle(context);
    if (this.#assets.size >= MAX_ORIGINS) this.#assets.purgeStale();
    if (this.#assets.size >= MAX_ORIGINS) {
      return { status: 200, headers: [...PUBLIC], body: this.#textFor(origin), contentType: CONTENT_TYPE };
    }
    const asset = new Asset({ contentType: CONTENT_TYPE, content: () => this.#textFor(origin) });
    this.#assets.set(origin, asset);
    return asset.handle(context);
  }

  #textFor(origin: string): string {
    this.#parts ??= this.#split();
    return this.#parts.join(origin);
  }

  #split(): [string, string] {
    const placeholder = 'http://origin.invalid';
    const deployment = { ...deploymentOf(this.#config), origin: placeholder };
    return openApiJson(deployment, undefined, this.#routes).split(placeholder) as [string, string];
  }
}
