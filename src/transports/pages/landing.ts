import { GRAPHQL_PATH } from '../../http/paths.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { escapeHtml } from './html.ts';
import { DOCS_PATH, OPENAPI_PATH, SDL_PATH } from './paths.ts';

export interface LandingOptions {
  basePath: string;
  graphiql: boolean;
  metrics: boolean;
  /** Whether the schema is public. */
  introspection: boolean;
  /** Shown in the examples; development only. */
  apiKey: string | undefined;
  /** The origin used by the browser. */
  origin: string;
}

/** The landing page for browsers: what this is, things to try, and where to find what. */
export function landingBody(options: LandingOptions): string {
  const { basePath, graphiql, metrics, introspection, apiKey, origin } = options;
  const link = (path: string, text: string, more = '') =>
    `<a href="${escapeHtml(path)}"${more}>${escapeHtml(text)}</a>`;
  const curl = `curl -H 'X-API-Key: ${apiKey ?? 'YOUR_KEY'}' \\
  '${origin}${basePath}/pets?limit=2'`;
  const cards: [title: string, html: string][] = [
    ['Call it from a shell', `<p>Two pets, over REST:</p>\n<pre><code>${escapeHtml(curl)}</code></pre>`],
    ...(graphiql
      ? [
          [
            'Query related data',
            `<p>Categories with their pets, stock and orders in one GraphQL request, with the cost shown as you type:</p>
<p>${link(`${GRAPHQL_PATH}#example=nested`, 'Open the query in GraphiQL')}</p>`,
          ] as [string, string],
        ]
      : []),
    [
      'Try a REST operation',
      `<p>Order a pet right from the documentation, with samples in curl, JavaScript and Python:</p>
<p>${link(`${DOCS_PATH}#tag/Store/createOrder`, 'Open createOrder in the REST docs')}</p>`,
    ],
  ];
  const rows: [where: string, what: string][] = [
    [link(DOCS_PATH, DOCS_PATH), 'REST API reference, with a console to try it'],
    [
      graphiql ? link(GRAPHQL_PATH, GRAPHQL_PATH) : escapeHtml(GRAPHQL_PATH),
      graphiql
        ? 'GraphQL API: GraphiQL in a browser, GraphQL over HTTP for programs'
        : 'GraphQL API: GraphQL over HTTP',
    ],
    [escapeHtml(`${basePath}/pets`), 'Pets over REST; also categories, store/orders and store/inventory'],
    [
      link(OPENAPI_PATH, OPENAPI_PATH, ' download="petstore-openapi.json"'),
      'OpenAPI 3.0.3 description of the REST API (download)',
    ],
    ...(introspection
      ? ([[link(SDL_PATH, SDL_PATH, ' download="petstore.graphql"'), 'GraphQL schema in SDL (download)']] as [
          string,
          string,
        ][])
      : []),
    [link('/health/ready', '/health/ready'), 'Readiness: whether the database is available'],
    [link('/health/live', '/health/live'), 'Liveness: whether the process is running'],
    ...(metrics ? ([[link('/metrics', '/metrics'), 'Prometheus metrics']] as [string, string][]) : []),
  ];
  return `<main id="main">
<h1>Petstore</h1>
<p>Pets, categories, orders and stock over REST and GraphQL, with one API key and one budget for both.</p>
<h2>Your key</h2>
<p>Every request needs an API key, sent as <code>X-API-Key: KEY</code> or <code>Authorization: Bearer KEY</code>, never in the
URL. ${
    apiKey === undefined
      ? 'The operator of this server creates keys with <code>npm run keys</code>. Enter yours above; it is kept until you close the browser.</p>'
      : `A development key has been created and filled in above:</p>\n<pre><code>${escapeHtml(apiKey)}</code></pre>`
  }
<h2>Things to try</h2>
<ul class="cards">
${cards.map(([title, html]) => `<li>\n<h3>${escapeHtml(title)}</h3>\n${html}\n</li>`).join('\n')}
</ul>
<h2>Endpoints</h2>
<dl>
${rows.map(([where, what]) => `<dt>${where}</dt>\n<dd>${escapeHtml(what)}</dd>`).join('\n')}
</dl>
</main>`;
}

/** The origin used by the browser, or localhost if that is unsafe to paste into a shell. */
export function originOf(context: RequestContext, proxies: number): string {
  const host = context.header('host') ?? '';
  const isSecure = proxies > 0 && context.header('x-forwarded-proto')?.split(',')[0]?.trim() === 'https';
  return `${isSecure ? 'https' : 'http'}://${/^[\w.:[\]-]+$/.test(host) ? host : 'localhost'}`;
}
