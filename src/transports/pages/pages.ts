import { lexicographicSortSchema, parse, print, printSchema } from 'graphql';
import { publicBase, publicPath } from '../../config.ts';
import { AppError } from '../../foundation/errors.ts';
import type { MaybePromise } from '../../foundation/turns.ts';
import { clientScheme, type RequestContext, rootOf } from '../../http/request-context.ts';
import { errorResponse, type Headers, type HttpResponse, MethodNotAllowed } from '../../http/response.ts';
import { GRAPHQL_PATH, type Transport } from '../../http/transport.ts';
import { openApiJson } from '../../openapi/description.ts';
import { postmanJson } from '../../openapi/postman.ts';
import { bodyExample } from '../../openapi/schemas.ts';
import { hasOwnVariables, type Route } from '../../rest-routes/route.ts';
import type { TransportServices } from '../transport-services.ts';
import { FILE_ROOTS, fileResponse, guides, hasFile, render } from './files.ts';
import { textPage } from './text-page.ts';

/**
 * The sources that pages may run or load content from (CSP level 3). Scripts set inline styles, and styles contain data
 * URLs.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "worker-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The headers that isolate a page. */
const ISOLATION: Headers = Object.entries({
  'Content-Security-Policy': POLICY,
  'Referrer-Policy': 'no-referrer',
  'X-Frame-Options': 'DENY',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
}).flat();

/** The headers of every page. Pages are private, because some paths also serve data to programs with a key. */
const HTML_HEADERS: Headers = [
  'Cache-Control',
  'private, no-cache',
  'Vary',
  'Accept, Accept-Encoding, X-API-Key, Authorization',
  ...ISOLATION,
];

const METHODS = 'GET, HEAD, OPTIONS';

type Page = (context: RequestContext) => MaybePromise<HttpResponse>;

/** The page at a path. */
interface Entry {
  page: Page;
  /** Selects the requests that get the page; by default all, with methods other than GET and HEAD refused. */
  isFor?: ((context: RequestContext) => boolean) | undefined;
}

const FILE: Entry = { page: fileResponse };

/** Everything that is served without a key and free of charge. */
export class Pages implements Transport {
  readonly name = 'page';
  readonly errorResponse = errorResponse;
  readonly #entries = new Map<string, Entry>();
  readonly #errorPage: (error: AppError) => string;
  /** Called on the first request for a guide. */
  readonly #addGuides: () => void;

  constructor({ config, store, metrics, api, routes, readiness }: TransportServices) {
    const { REST_BASE_PATH: basePath, GRAPHIQL: graphiql, INTROSPECTION: introspection, MCP: mcp } = config;
    const { PUBLIC_URL } = config;
    const mount = publicPath(config);
    const keyOf = (context: RequestContext) =>
      PUBLIC_URL === undefined ? originOf(context, config.TRUST_PROXY) + mount : publicBase(config);
    const add = (path: string, page: Page, isFor?: Entry['isFor']) =>
      this.#entries.set(path, { page, isFor });
    add('/health/live', () => json({ status: 'live' }));
    add('/health/ready', async () => {
      if (readiness.isStopping)
        throw new AppError('UNAVAILABLE', 'The server is stopping.', { retryAfter: 1 });
      await store.ping();
      return json({ status: 'ready' });
    });
    if (metrics && config.METRICS) {
      const { contentType } = metrics;
      add('/metrics', async () => ({ status: 200, headers: [], body: await metrics.text(), contentType }));
    }
    const openApi = () => openApiJson(api, config, { routes });
    add('/openapi.json', textPage({ contentType: 'application/json', text: openApi }));
    const postman = (address: string) => postmanJson(openApi(), address + basePath);
    add('/postman.json', textPage({ contentType: 'application/json', text: postman, keyOf }));
    // Requested by browsers on pages without an icon link.
    add('/favicon.ico', redirectTo('/favicon.svg'));
    if (introspection) {
      const text = () => `${printSchema(lexicographicSortSchema(api.schema))}\n`;
      add('/schema.graphql', textPage({ contentType: 'text/plain; charset=utf-8', text }));
    }
    const addPage = (
      path: string,
      template: string,
      data: (address: string) => object = () => ({}),
      isFor?: Entry['isFor'],
    ) => {
      const page = textPage({
        contentType: 'text/html; charset=utf-8',
        text: (address) => {
          const shared = { mount, path, basePath, graphiql, introspection, mcp };
          return mounted(render(template, { ...shared, ...data(address) }), mount);
        },
        headers: HTML_HEADERS,
        ...(path === '/' && { keyOf }),
      });
      // Scripts of other origins must not read pages that use the reader's key.
      add(path, async (context) => ({ ...(await page(context)), sameOriginOnly: true }), isFor);
      if (path !== '/') add(`${path}/`, redirectTo(path), isRead);
    };
    this.#errorPage = ({ status, code, message }) =>
      mounted(
        render('error', {
          mount,
          path: '',
          graphiql,
          code,
          message,
          title: `${status} ${process.getBuiltinModule('node:http').STATUS_CODES[status]}`,
        }),
        mount,
      );
    const landing = (address: string) => ({ address, guides: guides(), metrics: metrics && config.METRICS });
    addPage('/', 'landing', landing, (context) => !isRead(context) || isNavigation(context));
    addPage('/docs', 'docs', () => ({
      tags: operationsByTag([...routes, ...api.streamRoutes], graphiql && introspection),
    }));
    addPage('/console', 'console');
    if (graphiql) addPage(GRAPHQL_PATH, 'graphiql', undefined, isNavigation);
    this.#addGuides = () => {
      addPage('/guides', 'guides', () => ({ guides: guides() }));
      add('/guides/search.json', textPage({ contentType: 'application/json', text: searchIndex }));
      for (const shown of guides()) {
        const html = introspection ? shown.html : withoutSchema(shown.html);
        addPage(`/guides/${shown.slug}`, 'guides', () => ({ guides: guides(), shown, html }));
      }
    };
  }

  /** An error page with links onward, for people who typed or followed an address; undefined for programs. */
  errorPage(error: AppError, { headers }: RequestContext): HttpResponse | undefined {
    const isReader = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
    if (!isReader) return undefined;
    const page = { body: this.#errorPage(error), contentType: 'text/html; charset=utf-8' };
    const response = errorResponse(error);
    return { ...response, ...page, headers: [...response.headers, ...ISOLATION], sameOriginOnly: true };
  }

  get roots(): readonly string[] {
    return [...FILE_ROOTS, '/guides', ...this.#entries.keys()].map(rootOf);
  }

  match(context: RequestContext): boolean {
    return this.#find(context) !== undefined;
  }

  admit(context: RequestContext): void {
    // Names of files change with every release.
    context.operation = hasFile(context.path) ? 'asset' : context.path;
    context.route = context.path;
  }

  handle(context: RequestContext): MaybePromise<HttpResponse> {
    const { method, path } = context;
    if (isRead(context)) return this.#find(context)!(context);
    if (method === 'OPTIONS') return { status: 204, headers: ['Allow', METHODS] };
    throw new MethodNotAllowed(method, path, METHODS);
  }

  #find(context: RequestContext): Page | undefined {
    const { path } = context;
    if (path.startsWith('/guides') && !this.#entries.has('/guides')) this.#addGuides();
    const entry = this.#entries.get(path) ?? (hasFile(path) ? FILE : undefined);
    return entry?.isFor?.(context) === false ? undefined : entry?.page;
  }
}

/** The texts of all guides and sections, by path. */
const searchIndex = (): string =>
  JSON.stringify(
    Object.fromEntries(
      guides().flatMap(({ slug, text, headings }) => [
        [`/guides/${slug}`, text],
        ...headings.map((heading) => [`/guides/${slug}#${heading.id}`, heading.text]),
      ]),
    ),
  );

const json = (value: unknown): HttpResponse => ({
  status: 200,
  headers: ['Cache-Control', 'no-store'],
  body: JSON.stringify(value),
});

/** Puts a mount path before the links and scripts of a page. */
const mounted = (html: string, path: string): string =>
  path === '' ? html : html.replaceAll(/(?<=\s(?:href|src)=")(?=\/(?!\/))/g, path);

/** Replaces links to the schema by their text. */
const withoutSchema = (html: string): string =>
  html.replaceAll(/<a href="\/schema\.graphql">(.*?)<\/a>/g, '$1');

/** A redirect to a page, with the query. */
const redirectTo =
  (path: string): Page =>
  ({ query }) => ({
    status: 308,
    headers: ['Location', query === '' ? path : `${path}?${query}`],
  });

const isRead = ({ method }: RequestContext): boolean => method === 'GET' || method === 'HEAD';

/** True if a browser is navigating. Programs that send GraphQL by GET request JSON. */
const isNavigation = (context: RequestContext): boolean =>
  isRead(context) && context.headers.accept?.includes('text/html') === true;

/** The browser's origin, or localhost if that is unsafe to paste into a shell. */
function originOf({ headers }: RequestContext, proxies: number): string {
  const { host = '' } = headers;
  return `${clientScheme(headers, proxies)}://${/^[\w.:[\]-]+$/.test(host) ? host : 'localhost'}`;
}

/**
 * The operations by tag, for the plain list that is shown without scripts and until the reference has loaded.
 *
 * @param graphiql true to link to GraphiQL
 */
function operationsByTag(operations: readonly Route[], graphiql: boolean) {
  const listed = operations.map((operation) => {
    const { stability, query = [], deprecation } = operation;
    const marks = [...(stability === 'stable' ? [] : [stability]), ...(deprecation ? ['deprecated'] : [])];
    return {
      ...operation,
      marks: marks.length > 0 ? ` (${marks.join(', ')})` : '',
      query: query.map(({ name }) => name),
      link: graphiql && graphiqlLink(operation),
    };
  });
  const tags = new Set(operations.map(({ tag }) => tag));
  return [...tags].map((name) => ({ name, operations: listed.filter(({ tag }) => tag === name) }));
}

/** A link to the GraphQL operation of a REST operation, with example variables. */
function graphiqlLink(route: Route): string {
  const { document, pathParameter, pathValue, query = [], body, shape } = route;
  const variables: Record<string, unknown> =
    pathParameter === undefined ? {} : { [pathParameter]: pathValue?.example ?? '1' };
  for (const { name, required, schema } of query)
    if (required) variables[name] = [(schema.enum as string[])[0]];
  if (body && shape) {
    const example = bodyExample(shape, body);
    Object.assign(variables, hasOwnVariables(route) ? example : { input: example });
  }
  const isEmpty = Object.keys(variables).length === 0;
  const parameters = {
    query: `${print(parse(document))}\n`,
    ...(!isEmpty && { variables: `${JSON.stringify(variables, null, 2)}\n` }),
  };
  return `/graphql?${new URLSearchParams(parameters)}`;
}
