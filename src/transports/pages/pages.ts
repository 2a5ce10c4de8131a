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
import { Bundle } from './bundle.ts';
import { consoleBody } from './console.ts';
import { docsBody } from './docs.ts';
import { FIRST_EXAMPLE } from './explorer/graphiql/first-example.ts';
import { guideBody, guidePath, guides } from './guides.ts';
import { escapeHtml, HTML_HEADERS, HTML_TYPE, type HtmlPageOptions, htmlPage } from './html.ts';
import { landingBody, originOf } from './landing.ts';
import { openApiPage } from './openapi.ts';
import { CONSOLE_PATH, DOCS_PATH, GUIDES_PATH, ICON_PATH, OPENAPI_PATH, SDL_PATH } from './paths.ts';
import { TextPage } from './text-page.ts';

/**
 * @param introspection whether there is a schema to link to
 * @param script shows the operation that the editor will open with
 */
const graphiqlBody = (introspection: boolean, script: string) => `<h1 class="unseen">GraphiQL</h1>
<main id="main" tabindex="-1"><p class="loading" id="loading" role="status">Loading the editor …</p><div id="graphiql"><pre id="plain-query">${escapeHtml(FIRST_EXAMPLE)}</pre></div></main>
<script type="module" src="${script}"></script>
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
  /** Called on the first request for one: a gateway that serves only programs has none. */
  #addGuides: (() => void) | undefined;
  readonly #file: Entry = { page: sameOrigin(() => this.#bundle.handle()) };

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
    add(OPENAPI_PATH, openApiPage(config, routes));
    // Asked for by browsers on pages without an icon link.
    add('/favicon.ico', redirectTo(ICON_PATH));
    if (INTROSPECTION) {
      const sdl = new TextPage(
        'text/plain; charset=utf-8',
        () => `${printSchema(lexicographicSortSchema(schema))}\n`,
      );
      add(SDL_PATH, (context) => sdl.handle(context));
    }

    const bundle = this.#bundle;
    const addPage = (page: HtmlPage, isFor?: Entry['isFor']) => {
      const html = new TextPage(
        HTML_TYPE,
        () => htmlPage({ ...page, bundle, graphiql: GRAPHIQL }),
        HTML_HEADERS,
      );
      add(
        page.path,
        sameOrigin((context) => html.handle(context)),
        isFor,
      );
      add(`${page.path}/`, redirectTo(page.path), isRead);
    };
    addPage({
      path: DOCS_PATH,
      name: 'docs',
      title: 'Petstore REST API',
      description: 'Every REST operation of the Petstore API, with samples and a console to try it.',
      body: () => docsBody([...routes, ...STREAMS], basePath, GRAPHIQL && INTROSPECTION),
    });
    addPage({
      path: CONSOLE_PATH,
      name: 'console',
      title: 'Petstore console',
      description: 'What an API key of the Petstore may do, what it has used, and what happens now.',
      body: () => consoleBody(basePath, MCP),
    });
    this.#addGuides = () => {
      for (const guide of [undefined, ...guides()])
        addPage({
          path: guide ? guidePath(guide) : GUIDES_PATH,
          name: 'guides',
          title: guide ? `${guide.title} · Petstore` : 'Petstore guides',
          description:
            'How to use the Petstore API, run the gateway and change it: tasks, clients, webhooks, limits.',
          body: () => guideBody(guide),
        });
    };
    if (GRAPHIQL)
      addPage(
        {
          path: GRAPHQL_PATH,
          name: 'graphiql',
          title: 'Petstore GraphiQL',
          description: 'Write and run GraphQL operations on the Petstore API, with their cost as you type.',
          body: () => graphiqlBody(INTROSPECTION, bundle.page('plain-query').script),
        },
        isNavigation,
      );
    const features = {
      basePath,
      graphiql: GRAPHIQL,
      mcp: MCP,
      metrics: metrics !== undefined && config.METRICS,
      introspection: INTROSPECTION,
    };
    const landing = (context: RequestContext): HttpResponse => {
      const html = htmlPage({
        path: '/',
        name: 'landing',
        title: 'Petstore',
        description:
          'Pets, categories, orders and stock over REST and GraphQL, with one API key and one budget.',
        body: () => landingBody({ ...features, origin: originOf(context, TRUST_PROXY) }),
        bundle,
        graphiql: GRAPHIQL,
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
    return [...this.#bundle.roots, GUIDES_PATH, ...this.#entries.keys()].map(rootOf);
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
    if (path.startsWith(GUIDES_PATH)) {
      this.#addGuides?.();
      this.#addGuides = undefined;
    }
    const entry = this.#entries.get(path) ?? (this.#bundle.has(path) ? this.#file : undefined);
    return entry?.isFor?.(context) === false ? undefined : entry?.page;
  }
}

type HtmlPage = Omit<HtmlPageOptions, 'bundle' | 'graphiql'>;

const METHODS = 'GET, HEAD, OPTIONS';

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
