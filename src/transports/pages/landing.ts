import { GRAPHQL_PATH, MCP_PATH } from '../../http/paths.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { escapeHtml } from './html.ts';
import { CONSOLE_PATH, DOCS_PATH, OPENAPI_PATH, SDL_PATH } from './paths.ts';

export interface LandingOptions {
  basePath: string;
  graphiql: boolean;
  /** Whether agents are served. */
  mcp: boolean;
  metrics: boolean;
  /** Whether the schema is public. */
  introspection: boolean;
  /** The origin used by the browser. */
  origin: string;
}

/** What the sample data answers to the first call. */
const FIRST_ANSWER = `[
  { "id": 1, "name": "Rex",
    "categoryId": 1, "status": "available" },
  { "id": 2, "name": "Bella",
    "categoryId": 1, "status": "pending" }
]`;

/** Nested data in one request, and what the sample data answers. */
const EXAMPLE = {
  query: `{
  categories(first: 2) {
    nodes {
      name
      pets(first: 2) {
        nodes {
          name
          status
          inventory { quantity }
        }
      }
    }
  }
}`,
  answer: `{
  "categories": {
    "nodes": [
      {
        "name": "Dogs",
        "pets": {
          "nodes": [
            {
              "name": "Rex",
              "status": "available",
              "inventory": { "quantity": 3 }
            },
            {
              "name": "Bella",
              "status": "pending",
              "inventory": { "quantity": 1 }
            }
          ]
        }
      },
      …
    ]
  }
}`,
};

/** The landing page for browsers: the first call, what this is in three live examples, and where to find what. */
export function landingBody(options: LandingOptions): string {
  const { basePath, graphiql, mcp, metrics, introspection, origin } = options;
  const link = (path: string, text: string, more = '') =>
    `<a href="${escapeHtml(path)}"${more}>${escapeHtml(text)}</a>`;
  const code = (id: string, text: string, label: string) =>
    `<div class="code"><pre id="${id}" tabindex="0"><code>${escapeHtml(text)}</code></pre>
<button type="button" data-copy="${id}" aria-label="Copy ${label}">Copy</button></div>`;
  const curl = `curl -H 'X-API-Key: YOUR_KEY' \\
  '${origin}${basePath}/pets?limit=2'`;
  const rows: ([where: string, what: string] | false)[] = [
    [link(DOCS_PATH, DOCS_PATH), 'REST API reference, which sends requests'],
    [
      graphiql ? link(GRAPHQL_PATH, GRAPHQL_PATH) : escapeHtml(GRAPHQL_PATH),
      graphiql
        ? 'GraphQL API: GraphiQL in a browser, GraphQL over HTTP for programs'
        : 'GraphQL API: GraphQL over HTTP',
    ],
    [link(CONSOLE_PATH, CONSOLE_PATH), 'What your key may do, has used and receives'],
    mcp && [escapeHtml(MCP_PATH), 'The same operations for agents, over the Model Context Protocol'],
    [escapeHtml(`${basePath}/pets`), 'Pets over REST; also categories, store/orders and store/inventory'],
    [
      link(OPENAPI_PATH, OPENAPI_PATH, ' download="petstore-openapi.json"'),
      'OpenAPI 3.0.3 description of the REST API (download)',
    ],
    introspection && [
      link(SDL_PATH, SDL_PATH, ' download="petstore.graphql"'),
      'GraphQL schema in SDL (download)',
    ],
    [link('/health/ready', '/health/ready'), 'Readiness: whether the database is available'],
    [link('/health/live', '/health/live'), 'Liveness: whether the process is running'],
    metrics && [link('/metrics', '/metrics'), 'Prometheus metrics'],
  ];
  const open = [
    ...(graphiql ? [link(`${GRAPHQL_PATH}#example=nested`, 'Open GraphiQL', ' class="button"')] : []),
    link(`${DOCS_PATH}#tag/Store/createOrder`, 'Order a pet in the REST docs', ' class="button quiet"'),
  ];
  return `<main id="main" class="landing" tabindex="-1" data-base="${escapeHtml(basePath)}">
<section class="hero">
<div>
<h1>Pets, orders and stock over REST and GraphQL</h1>
<p class="lead">One API key, one budget, the same data and the same errors on both interfaces. Exact 64-bit ids, safe
retries, and every change as an event.</p>
<p class="actions">${open.join('\n')}</p>
</div>
<div class="card first">
<h2>Your first call</h2>
<p>Enter your key above, or open the link that the start of a development server prints. It is kept until you close this
tab, and the copied command has it.</p>
${code('first-curl', curl, 'the command')}
<h3>Answer</h3>
<pre id="first-answer" tabindex="0"><code>${escapeHtml(FIRST_ANSWER)}</code></pre>
<p class="note">Keys are sent as <code>X-API-Key: KEY</code> or <code>Authorization: Bearer KEY</code>, never in the URL.</p>
</div>
</section>
<section>
<h2>Nested data in one request</h2>
<p>At most one command to the database a level, however wide the answer is, and a price that is known beforehand.</p>
<div class="pair">
<div><h3>Query</h3>${code('query', EXAMPLE.query, 'the query')}</div>
<div><h3>Answer</h3><pre id="answer" tabindex="0"><code>${escapeHtml(EXAMPLE.answer)}</code></pre></div>
</div>
<p class="actions"><button type="button" id="run">Run it</button> <span id="ran" role="status"></span></p>
</section>
<section class="pair">
<div>
<h2>Every change as it happens</h2>
<p>A log of all writes: server-sent events over REST, a subscription over GraphQL, and they resume where they were cut off.</p>
<div id="live"></div>
</div>
<div>
<h2>One budget for both</h2>
<p>A REST call is one unit. A GraphQL operation costs what it can return, so an alias or a batch buys nothing that REST
would not.</p>
<div id="gauges"></div>
<p class="note" id="gauges-note"></p>
</div>
</section>
<section>
<h2>Endpoints</h2>
<dl>
${rows
  .filter((row) => row !== false)
  .map(([where, what]) => `<dt>${where}</dt>\n<dd>${escapeHtml(what)}</dd>`)
  .join('\n')}
</dl>
</section>
</main>`;
}

/** The origin used by the browser, or localhost if that is unsafe to paste into a shell. */
export function originOf(context: RequestContext, proxies: number): string {
  const host = context.headers.host ?? '';
  const isSecure =
    proxies > 0 && String(context.headers['x-forwarded-proto']).split(',')[0]!.trim() === 'https';
  return `${isSecure ? 'https' : 'http'}://${/^[\w.:[\]-]+$/.test(host) ? host : 'localhost'}`;
}
