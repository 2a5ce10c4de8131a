import { lexicographicSortSchema, printSchema } from 'graphql';
import { STREAMS } from '../../domains/routes.ts';
import type { MaybePromise } from '../../foundation/maybe-promise.ts';
import { coalesced } from '../../http/coalesced.ts';
import { etagOf } from '../../http/etag.ts';
import { isLocalRequest } from '../../http/local-request.ts';
import { GRAPHQL_PATH } from '../../http/paths.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { errorResponse, type HttpResponse, MethodNotAllowed } from '../../http/response.ts';
import type { Transport } from '../../http/transport.ts';
import type { TransportServices } from '../transport-services.ts';
import { Asset } from './asset.ts';
import { BUNDLE_PATH, Bundle } from './bundle.ts';
import { consoleBody } from './console.ts';
import { docsBody } from './docs.ts';
import { FIRST_EXAMPLE } from './explorer/graphiql/first-example.ts';
import { escapeHtml, HTML_HEADERS, HTML_TYPE, htmlPage } from './html.ts';
import { icons } from './icon.ts';
import { landingBody, originOf } from './landing.ts';
import { OpenApi } from './openapi.ts';
import { restOperations } from './operations.ts';
import { CONSOLE_PATH, DOCS_PATH, OPENAPI_PATH, OPERATIONS_PATH, PRICING_PATH, SDL_PATH } from './paths.ts';
import { pricingOf } from './pricing.ts';

/**
 * @param introspection whether there is a schema to link to
 * @param script shows the operation that the editor will open with
 */
const graphiqlBody = (introspection: boolean, script: string) => `<h1 class="unseen">GraphiQL</h1>
<main id="main" tabindex="-1"><div id="graphiql"><pre id="plain-query">${escapeHtml(FIRST_EXAMPLE)}</pre></div></main>
<script src="${script}"></script>
<noscript>GraphiQL needs JavaScript.${
  introspection ? ` Without it, read <a href="${SDL_PATH}">the schema</a>.` : ''
}</noscript>`;

type Page = (context: RequestContext) => MaybePromise<HttpResponse>;

/**
 * Minimum interval between scrapes in milliseconds, because collecting metrics takes longer than most
 * requests.
 */
const METRICS_INTERVAL = 250;

/** Crawlers may index the pages, but not the API (RFC 9309). */
const ROBOTS = `User-agent: *
Allow: /$
Allow: ${DOCS_PATH}
Allow: ${CONSOLE_PATH}
Allow: ${BUNDLE_PATH}
Disallow: /
`;

const json = (value: unknown): HttpResponse => ({
  status: 200,
  headers: ['Cache-Control', 'no-store'],
  body: JSON.stringify(value),
});

/** Everything served without a key and outside the quotas. */
export class Pages implements Transport {
  readonly name = 'page';
  readonly errorResponse = errorResponse;
  readonly #pages = new Map<string, Page>();
  /** Pages whose paths exist for GET and HEAD only. */
  readonly #readPages = new Map<string, Page>();
  /** Pages on paths that serve something else to programs. */
  readonly #browserPages = new Map<string, Page>();

  readonly #bundle = new Bundle();
  readonly #file = sameOrigin((context) => this.#bundle.handle(context));

  constructor({ config, store, metrics, schema, routes, developmentKey }: TransportServices) {
    this.#pages.set('/health/live', () => json({ status: 'live' }));
    const ping = coalesced(() => store.ping(), 0);
    this.#pages.set('/health/ready', async () => {
      await ping();
      return json({ status: 'ready' });
    });
    if (metrics && config.METRICS) {
      const text = coalesced(async () => Buffer.from(await metrics.text()), METRICS_INTERVAL);
      this.#pages.set('/metrics', async () => ({
        status: 200,
        headers: [],
        body: await text(),
        contentType: metrics.contentType,
      }));
    }
    const openApi = new OpenApi(config, routes);
    this.#pages.set(OPENAPI_PATH, (context) => openApi.handle(context));
    const robots = new Asset({ contentType: 'text/plain; charset=utf-8', content: () => ROBOTS });
    this.#pages.set('/robots.txt', (context) => robots.handle(context));
    const operations = new Asset({
      contentType: 'application/json',
      content: () => JSON.stringify(restOperations(routes, config.REST_BASE_PATH)),
    });
    this.#pages.set(OPERATIONS_PATH, (context) => operations.handle(context));
    for (const [path, asset] of icons())
      this.#pages.set(
        path,
        sameOrigin((context) => asset.handle(context)),
      );
    if (config.INTROSPECTION) {
      const sdl = new Asset({
        contentType: 'text/plain; charset=utf-8',
        content: () => `${printSchema(lexicographicSortSchema(schema))}\n`,
      });
      this.#pages.set(SDL_PATH, (context) => sdl.handle(context));
      const pricing = new Asset({
        contentType: 'application/json',
        content: () => JSON.stringify(pricingOf(schema)),
      });
      this.#pages.set(PRICING_PATH, (context) => pricing.handle(context));
    }

    const keyFor = ({ request }: RequestContext) => (isLocalRequest(request) ? developmentKey : undefined);
    const common = { bundle: this.#bundle, graphiql: config.GRAPHIQL };
    const docs = htmlAssets(keyFor, (key) =>
      htmlPage({
        ...common,
        title: 'Petstore REST API',
        name: 'docs',
        path: DOCS_PATH,
        description: 'Every REST operation of the Petstore API, with samples and a console to try it.',
        body: docsBody([...routes, ...STREAMS], config.REST_BASE_PATH),
        developmentKey: key,
      }),
    );
    this.#pages.set(DOCS_PATH, sameOrigin(docs));
    this.#readPages.set(`${DOCS_PATH}/`, redirectTo(DOCS_PATH));
    const console = htmlAssets(keyFor, (key) =>
      htmlPage({
        ...common,
        title: 'Petstore console',
        description: 'What an API key of the Petstore may do, what it has used, and what happens now.',
        name: 'console',
        path: CONSOLE_PATH,
        body: consoleBody(config.REST_BASE_PATH, config.MCP),
        developmentKey: key,
      }),
    );
    this.#pages.set(CONSOLE_PATH, sameOrigin(console));
    this.#readPages.set(`${CONSOLE_PATH}/`, redirectTo(CONSOLE_PATH));
    this.#browserPages.set(
      '/',
      sameOrigin((context) => {
        const key = keyFor(context);
        return uncompressed(
          htmlPage({
            ...common,
            title: 'Petstore',
            description:
              'Pets, categories, orders and stock over REST and GraphQL, with one API key and one budget.',
            name: 'landing',
            path: '/',
            body: landingBody({
              basePath: config.REST_BASE_PATH,
              graphiql: config.GRAPHIQL,
              mcp: config.MCP,
              metrics: metrics !== undefined && config.METRICS,
              introspection: config.INTROSPECTION,
              apiKey: key,
              origin: originOf(context, config.TRUST_PROXY),
            }),
            developmentKey: key,
          }),
        );
      }),
    );
    if (!config.GRAPHIQL) return;
    const graphiql = htmlAssets(keyFor, (key) =>
      htmlPage({
        ...common,
        title: 'Petstore GraphiQL',
        description: 'Write and run GraphQL operations on the Petstore API, with their cost as you type.',
        name: 'graphiql',
        path: GRAPHQL_PATH,
        body: graphiqlBody(config.INTROSPECTION, this.#bundle.page('plain-query').script),
        developmentKey: key,
      }),
    );
    this.#browserPages.set(GRAPHQL_PATH, sameOrigin(graphiql));
    this.#readPages.set(`${GRAPHQL_PATH}/`, redirectTo(GRAPHQL_PATH));
  }

  matches(context: RequestContext): boolean {
    return this.#find(context) !== undefined;
  }

  admit(context: RequestContext): void {
    // The names of files change with every release.
    context.operation = this.#bundle.has(context.path) ? 'asset' : context.path;
    context.route = context.path;
  }

  handle(context: RequestContext): MaybePromise<HttpResponse> {
    const { method, path } = context;
    if (method === 'GET' || method === 'HEAD') return this.#find(context)!(context);
    if (method === 'OPTIONS') return { status: 204, headers: ['Allow', METHODS] };
    throw new MethodNotAllowed(method, path, METHODS);
  }

  /** Finds the page for a request. Pages for browsers match only if HTML is accepted. */
  #find(context: RequestContext): Page | undefined {
    const page = this.#pages.get(context.path) ?? (this.#bundle.has(context.path) ? this.#file : undefined);
    if (page || !isRead(context)) return page;
    return (
      this.#readPages.get(context.path) ??
      (wantsHtml(context) ? this.#browserPages.get(context.path) : undefined)
    );
  }
}

const METHODS = 'GET, HEAD, OPTIONS';

/** A page that is rendered at most twice: with the development key and without. */
function htmlAssets(
  keyFor: (context: RequestContext) => string | undefined,
  render: (developmentKey: string | undefined) => string,
): Page {
  const assets = new Map<string | undefined, Asset>();
  return (context) => {
    const key = keyFor(context);
    const asset =
      assets.get(key) ??
      new Asset({ contentType: HTML_TYPE, content: () => render(key), headers: HTML_HEADERS });
    assets.set(key, asset);
    return asset.handle(context);
  };
}

/** A page that differs between requests. */
const uncompressed = (html: string): HttpResponse => ({
  status: 200,
  headers: [...HTML_HEADERS],
  etag: etagOf(html),
  body: html,
  contentType: HTML_TYPE,
});

/** Redirects to a page, keeping the query. */
const redirectTo =
  (path: string): Page =>
  ({ query }) => ({
    status: 308,
    headers: ['Location', query === '' ? path : `${path}?${query}`],
  });

/** Keeps scripts of other origins from reading a page that may contain a key. */
const sameOrigin =
  (page: Page): Page =>
  async (context) => ({ ...(await page(context)), sameOriginOnly: true });

const isRead = ({ method }: RequestContext): boolean => method === 'GET' || method === 'HEAD';

/** Whether a browser is navigating: programs that send GraphQL by GET ask for JSON. */
const wantsHtml = ({ headers }: RequestContext): boolean => headers.accept?.includes('text/html') === true;
