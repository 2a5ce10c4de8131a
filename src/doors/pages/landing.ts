import type { Answer } from '../../http/answer.ts';
import type { Exchange } from '../../http/exchange.ts';
import { GRAPHQL_PATH } from '../graphql/graphql.ts';
import { DOCS_PATH, OPENAPI_PATH } from './docs.ts';
import { escapeHtml, HTML_TYPE, pageHeaders } from './html.ts';
import { ICON_PATH } from './icon.ts';

export interface LandingOptions {
  basePath: string;
  graphiql: boolean;
  metrics: boolean;
  /** Shown in the example; for development starts only. */
  apiKey?: string | undefined;
  /** How many proxies stand before us; without any, what they would say is the caller's own word. */
  proxies: number;
}

/** What is where, for people who open the address in a browser. */
export function landingPage(options: LandingOptions, exchange: Exchange): Answer {
  const { basePath, graphiql, metrics, apiKey, proxies } = options;
  const link = (path: string, text = path) => `<a href="${escapeHtml(path)}">${escapeHtml(text)}</a>`;
  const rows: [where: string, what: string][] = [
    [link(DOCS_PATH), 'The REST API: reference, with everything to try out'],
    [
      graphiql ? link(GRAPHQL_PATH) : escapeHtml(GRAPHQL_PATH),
      graphiql
        ? 'The GraphQL API: GraphiQL in a browser, GraphQL over HTTP for programs'
        : 'The GraphQL API: GraphQL over HTTP',
    ],
    [link(OPENAPI_PATH), 'The OpenAPI 3.0.3 description of the REST API'],
    [escapeHtml(`${basePath}/pets`), 'Pets; likewise categories, store/orders and store/inventory'],
    [link('/health/ready'), 'Whether the database answers; /health/live: whether this process does'],
    ...(metrics ? [[link('/metrics'), 'Numbers for Prometheus'] as [string, string]] : []),
  ];
  const curl = `curl -H 'X-API-Key: ${apiKey ?? 'YOUR_KEY'}' \\
  '${originOf(exchange, proxies)}${basePath}/pets?limit=2'`;
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Petstore</title>
<link rel="icon" href="${ICON_PATH}">
<style>
body { max-width: 46rem; margin: 3rem auto; padding: 0 1rem; font: 16px/1.5 sans-serif; color: #222; background: #fff; }
table { border-collapse: collapse; width: 100%; }
td { padding: .4rem 1rem .4rem 0; vertical-align: top; border-top: 1px solid #ddd; }
td:first-child { white-space: nowrap; font-family: monospace; }
pre { font-size: .9rem; padding: .8rem; overflow-x: auto; background: #f2f4f8; border-radius: 4px; }
a { color: #0f52ba; }
</style>
</head>
<body>
<h1>Petstore</h1>
<p>Pets, categories, orders and stock, as REST and as GraphQL on the same budget.</p>
<table>
${rows.map(([where, what]) => `<tr><td>${where}</td><td>${escapeHtml(what)}</td></tr>`).join('\n')}
</table>
<h2>Try it</h2>
<pre>${escapeHtml(curl)}</pre>
<p>Every call needs an API key, in <code>X-API-Key</code> or as a bearer token.${
    apiKey ? ' The one above was made for this development start.' : ''
  }</p>
</body>
</html>
`;
  return {
    status: 200,
    headers: [
      'Cache-Control',
      'no-store',
      'Vary',
      'Accept',
      ...pageHeaders(html, { 'style-src': "'unsafe-inline'", 'img-src': "'self'" }),
    ],
    body: html,
    contentType: HTML_TYPE,
  };
}

/** The address that the browser used, as far as it is harmless in a shell. */
function originOf(exchange: Exchange, proxies: number): string {
  const host = exchange.header('host') ?? '';
  const isSecure = proxies > 0 && exchange.header('x-forwarded-proto')?.split(',')[0]?.trim() === 'https';
  return `${isSecure ? 'https' : 'http'}://${/^[\w.:[\]-]+$/.test(host) ? host : 'localhost'}`;
}
