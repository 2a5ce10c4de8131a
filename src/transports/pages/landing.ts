import { GRAPHQL_PATH, MCP_PATH } from '../../http/paths.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { guideLinks } from './guides.ts';
import { escapeHtml } from './html.ts';
import { CONSOLE_PATH, DOCS_PATH, GUIDES_PATH, OPENAPI_PATH, SDL_PATH } from './paths.ts';

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
  { "id": 1, "name": "Rex", "categoryId": 1, "status": "available" },
  { "id": 2, "name": "Bella", "categoryId": 1, "status": "pending" }
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
          inventory {
            quantity
          }
        }
      }
    }
  }
}`,
  answer: `{
  "data": {
    "categories": {
      "nodes": [
        {
          "name": "Dogs",
          "pets": {
            "nodes": [
              { "name": "Rex", "status": "available", "inventory": { "quantity": 3 } },
              { "name": "Bella", "status": "pending", "inventory": { "quantity": 1 } }
            ]
          }
        },
        {
          "name": "Cats",
          "pets": {
            "nodes": [
              { "name": "Mimi", "status": "available", "inventory": { "quantity": 2 } },
              { "name": "Tom", "status": "available", "inventory": { "quantity": 5 } }
            ]
          }
        }
      ]
    }
  }
}`,
};

/** The landing page: one nested answer with what it takes from a budget, the first call, and where to find what. */
export function landingBody(options: LandingOptions): string {
  const { basePath, graphiql, mcp, metrics, introspection, origin } = options;
  const link = (path: string, text: string, more = '') =>
    `<a href="${escapeHtml(path)}"${more}>${escapeHtml(text)}</a>`;
  const code = (id: string, text: string) =>
    `<pre id="${id}" tabindex="0"><code>${escapeHtml(text)}</code></pre>`;
  const copy = (id: string, label: string) =>
    `<button type="button" data-copy="${id}" aria-label="Copy ${label}">Copy</button>`;
  const curl = `curl -H 'X-API-Key: YOUR_KEY' \\
  '${origin}${basePath}/pets?limit=2'`;
  const rows: ([where: string, what: string] | false)[] = [
    [link(DOCS_PATH, DOCS_PATH), 'REST API reference, which sends requests'],
    [
      graphiql ? link(GRAPHQL_PATH, GRAPHQL_PATH) : escapeHtml(GRAPHQL_PATH),
      `GraphQL over HTTP${graphiql ? '; GraphiQL in a browser' : ''}`,
    ],
    [link(CONSOLE_PATH, CONSOLE_PATH), 'What your key may do, has used and receives'],
    mcp && [escapeHtml(MCP_PATH), 'The same operations for agents (Model Context Protocol)'],
    [escapeHtml(`${basePath}/pets`), 'Pets over REST; also categories, store/orders and store/inventory'],
    [
      link(OPENAPI_PATH, OPENAPI_PATH, ' download="petstore-openapi.json"'),
      'OpenAPI 3.0.3 description (download)',
    ],
    introspection && [
      link(SDL_PATH, SDL_PATH, ' download="petstore.graphql"'),
      'GraphQL schema in SDL (download)',
    ],
    [link('/health/ready', '/health/ready'), 'Readiness: whether the database is available'],
    [link('/health/live', '/health/live'), 'Liveness: whether the process is running'],
    metrics && [link('/metrics', '/metrics'), 'Prometheus metrics'],
  ];
  const toGraphiql = `${GRAPHQL_PATH}?${new URLSearchParams({ query: `${EXAMPLE.query}\n` })}`;
  const budget = (
    id: string,
    name: string,
    text: string,
  ) => `<div class="budget"><span class="label">${name}</span>
<span class="detail" id="${id}-text">${text}</span>
<div class="track ticks"><div class="bar" id="${id}-bar"></div></div></div>`;
  return `<main id="main" class="landing" tabindex="-1">
<section class="hero">
<h1>One request.<br>Every pet, order and&nbsp;shelf.</h1>
<div>
<p class="lead">The Petstore over REST and GraphQL: one key, one budget, the same data and the same errors. Exact 64-bit
ids, safe retries, every change as an event.</p>
<p class="actions">${graphiql ? link(toGraphiql, 'Open GraphiQL', ' class="button"') : ''}
${link(`${DOCS_PATH}#tag/Store/createOrder`, 'Order a pet over REST', ' class="button quiet"')}</p>
</div>
</section>
<section class="demo" aria-label="Nested data in one request">
<div class="panes">
<div class="code"><h2>Query</h2>${code('query', EXAMPLE.query)}${copy('query', 'the query')}</div>
<div><h2>Answer</h2>${code('answer', EXAMPLE.answer)}</div>
</div>
<div class="budgets">
${budget('graphql', 'GraphQL', '1 request, 1 unit')}
${budget('rest', 'REST', '7 requests, 7 units')}
<p class="actions"><button type="button" id="run">Run it</button>
<span id="ran" role="status">A Free key has 60 units a minute.</span></p>
</div>
</section>
<section class="pair">
<div>
<h2>Your first call</h2>
<p>Enter your key above, or open the link that the start of a development server prints. It is kept until you close this
tab, and the copied command has it.</p>
<div class="code">${code('first-curl', curl)}${copy('first-curl', 'the command')}</div>
${code('first-answer', FIRST_ANSWER)}
</div>
<div>
<h2>And then</h2>
<ul class="next">
<li>${link(`${GUIDES_PATH}/tasks`, 'Page, retry, follow changes, cache')}: what most clients do, as recipes.</li>
<li>${link(CONSOLE_PATH, 'Watch your key')}: its budget, its usage and every event as it happens.</li>
<li>${link(`${GUIDES_PATH}/webhooks`, 'Receive webhooks')}: signed, in order, at least once.</li>
<li>${link(`${GUIDES_PATH}/interface`, 'What you can rely on')}: values, limits, errors and prices.</li>
</ul>
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
</main>
<footer class="footer"><nav aria-label="All guides"><h2>Guides</h2><ul>
${guideLinks()}
</ul></nav></footer>`;
}

/** The origin used by the browser, or localhost if that is unsafe to paste into a shell. */
export function originOf(context: RequestContext, proxies: number): string {
  const host = context.headers.host ?? '';
  const isSecure =
    proxies > 0 && String(context.headers['x-forwarded-proto']).split(',')[0]!.trim() === 'https';
  return `${isSecure ? 'https' : 'http'}://${/^[\w.:[\]-]+$/.test(host) ? host : 'localhost'}`;
}
