import { lexicographicSortSchema, printSchema } from 'graphql';
import { STREAMS } from '../../domains/routes.ts';
import type { MaybePromise } from '../../foundation/maybe-promise.ts';
import { coalesced } from '../../http/coalesced.ts';
import { etagOf } from '../../http/etag.ts';
import { GRAPHQL_PATH } from '../../http/paths.ts';
import { type RequestContext, rootOf } from '../../http/request-context.ts';
import { errorResponse, type HttpResponse, MethodNotAllowed } from '../../http/response.ts';
import type { Transport } from '../../http/transport.ts';
import type { TransportServices } from '../transport-services.ts';
import { Asset } from './asset.ts';
import { BUNDLE_PATH, Bundle } from './bundle.ts';
import { consoleBody } from './console.ts';
import { docsBody } from './docs.ts';
import { FIRST_EXAMPLE } from './explorer/graphiql/first-example.ts';
import { escapeHtml, HTML_HEADERS, HTML_TYPE, type HtmlPageOptions, htmlPage } from './html.ts';
import { ICONS } from './icon.ts';
import { landingBody, originOf } from './landing.ts';
import { OpenApi } from './openapi.ts';
import { restOperations } from './operations.ts';
import { CONSOLE_PATH, DOCS_PATH, OPENAPI_PATH, OPERATIONS_PATH, SDL_PATH } from './paths.ts';

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

/** What a path serves. */
interface Entry {
  page: Page;
  /** The requests that it is for; by default all, of which those other than GET and HEAD are refused. */
  isFor?: (context: RequestContext) => boolean;
}

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
  readonly #entries = new Map<string, Entry>();
  readonly #bundle = new Bundle();
  readonly #file: Entry = { page: sameOrigin((context) => this.#bundle.handle(context)) };

  constructor({ config, store, metrics, schema, routes }: TransportServices) {
    const { REST_BASE_PATH: basePath, GRAPHIQL, INTROSPECTION, MCP, TRUST_PROXY } = config;
    const add = (path: string, page: Page, isFor?: Entry['isFor']) =>
      this.#entries.set(path, { page, ...(isFor && { isFor }) });
    add('/health/live', () => json({ status: 'live' }));
    const ping = coalesced(() => store.ping(), 0);
    add('/health/ready', async () => {
      await ping();
      return json({ status: 'ready' });
    });
    if (metrics && config.METRICS) {
      const text = coalesced(async () => Buffer.from(await metrics.text()), METRICS_INTERVAL);
      const { contentType } = metrics;
      add('/metrics', async () => ({ status: 200, headers: [], body: await text(), contentType }));
    }
    const openApi = new OpenApi(config, routes);
    add(OPENAPI_PATH, (context) => openApi.handle(context));
    add(
      '/robots.txt',
      asset(TEXT_TYPE, () => ROBOTS),
    );
    if (GRAPHIQL && INTROSPECTION)
      add(
        OPERATIONS_PATH,
        asset('application/json', () => JSON.stringify(restOperations(routes, basePath))),
      );
    for (const { path, contentType, content } of ICONS) add(path, sameOrigin(asset(contentType, content)));
    if (INTROSPECTION)
      add(
        SDL_PATH,
        asset(TEXT_TYPE, () => `${printSchema(lexicographicSortSchema(schema))}\n`),
      );

    const render = (page: HtmlPage) => htmlPage({ ...page, bundle: this.#bundle, graphiql: GRAPHIQL });
    const addPage = (
      path: string,
      page: Omit<HtmlPage, 'path' | 'body'>,
      body: () => string,
      isFor?: Entry['isFor'],
    ) => {
      const html = new Asset({
        contentType: HTML_TYPE,
        content: () => render({ path, ...page, body: body() }),
        headers: HTML_HEADERS,
      });
      add(
        path,
        sameOrigin((context) => html.handle(context)),
        isFor,
      );
      add(`${path}/`, redirectTo(path), isRead);
    };
    addPage(
      DOCS_PATH,
      {
        title: 'Petstore REST API',
        name: 'docs',
        description: 'Every REST operation of the Petstore API, with samples and a console to try it.',
      },
      () => docsBody([...routes, ...STREAMS], basePath),
    );
    addPage(
      CONSOLE_PATH,
      {
        title: 'Petstore console',
        name: 'console',
        description: 'What an API key of the Petstore may do, what it has used, and what happens now.',
      },
      () => consoleBody(basePath, MCP),
    );
    if (GRAPHIQL)
      addPage(
        GRAPHQL_PATH,
        {
          title: 'Petstore GraphiQL',
          name: 'graphiql',
          description: 'Write and run GraphQL operations on the Petstore API, with their cost as you type.',
        },
        () => graphiqlBody(INTROSPECTION, this.#bundle.page('plain-query').script),
        isNavigation,
      );
    const landing = (context: RequestContext): HttpResponse => {
      const hasMetrics = metrics !== undefined && config.METRICS;
      const origin = originOf(context, TRUST_PROXY);
      const features = { graphiql: GRAPHIQL, mcp: MCP, metrics: hasMetrics, introspection: INTROSPECTION };
      const html = render({
        title: 'Petstore',
        name: 'landing',
        description:
          'Pets, categories, orders and stock over REST and GraphQL, with one API key and one budget.',
        path: '/',
        body: landingBody({ basePath, ...features, origin }),
      });
      // It differs between requests.
      return {
        status: 200,
        headers: [...HTML_HEADERS],
        etag: etagOf(html),
        body: html,
        contentType: HTML_TYPE,
      };
    };
    add('/', sameOrigin(landing), isNavigation);
  }

  get roots(): readonly string[] {
    return [BUNDLE_PATH, ...this.#entries.keys()].map(rootOf);
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

  #find(context: RequestContext): Page | undefined {
    const { path } = context;
    const entry = this.#entries.get(path) ?? (this.#bundle.has(path) ? this.#file : undefined);
    return entry?.isFor?.(context) === false ? undefined : entry?.page;
  }
}

type HtmlPage = Omit<HtmlPageOptions, 'bundle' | 'graphiql'>;

const TEXT_TYPE = 'text/plain; charset=utf-8';
const METHODS = 'GET, HEAD, OPTIONS';

/** Content that is the same for everyone. */
function asset(contentType: string, content: () => string | Buffer): Page {
  const made = new Asset({ contentType, content });
  return (context) => made.handle(context);
}

/** Redirects to a page, keeping the query. */
const redirectTo =
  (path: string): Page =>
  ({ query }) => ({
    status: 308,
    headers: ['Location', query === '' ? path : `${path}?${query}`],
  });

/** Keeps scripts of other origins from reading a page that its reader's key acts in. */
const sameOrigin =
  (page: Page): Page =>
  async (context) => ({ ...(await page(context)), sameOriginOnly: true });

const isRead = ({ method }: RequestContext): boolean => method === 'GET' || method === 'HEAD';

/** Whether a browser is navigating: programs that send GraphQL by GET ask for JSON. */
const isNavigation = (context: RequestContext): boolean =>
  isRead(context) && context.headers.accept?.includes('text/html') === true;
