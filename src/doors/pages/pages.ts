import type { Config } from '../../config.ts';
import type { Answer } from '../../http/answer.ts';
import type { Exchange } from '../../http/exchange.ts';
import { sharedWork } from '../../http/shared-work.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { MaybePromise, Store } from '../../store/store.ts';
import { GRAPHQL_PATH } from '../graphql/graphql.ts';
import { installationOf, openApiJson } from '../rest/openapi/document.ts';
import { Asset } from './asset.ts';
import { DOCS_PATH, docsPages, OPENAPI_PATH } from './docs.ts';
import { graphiqlPage } from './graphiql.ts';
import { icons } from './icon.ts';
import { landingPage } from './landing.ts';

export type Page = (exchange: Exchange) => MaybePromise<Answer>;

export interface PagesOptions {
  config: Config;
  store: Store;
  metrics: Metrics | undefined;
  /** Filled in where people try things out; for development starts only. */
  developmentKey?: string | undefined;
}

/** How often the metrics are gathered, at most, in milliseconds: that takes longer than most requests. */
const METRICS_INTERVAL = 50;

/** Crawlers find the pages, and leave the API and what is generated alone (RFC 9309). */
const ROBOTS = `User-agent: *
Allow: /$
Allow: ${DOCS_PATH}
Disallow: /
`;

const json = (value: unknown): Answer => ({
  status: 200,
  headers: ['Cache-Control', 'no-store'],
  body: JSON.stringify(value),
});

/** What is served without a key and outside the quotas (contract section 2). */
export class Pages {
  readonly #pages = new Map<string, Page>();
  /** Pages on paths that are nothing under any other method. */
  readonly #readPages = new Map<string, Page>();
  /** Pages on paths that mean something else to programs. */
  readonly #browserPages = new Map<string, Page>();

  constructor({ config, store, metrics, developmentKey }: PagesOptions) {
    this.#pages.set('/health/live', () => json({ status: 'live' }));
    const ping = sharedWork(() => store.ping(), 0);
    this.#pages.set('/health/ready', async () => {
      await ping();
      return json({ status: 'ready' });
    });
    if (metrics && config.METRICS) {
      const text = sharedWork(() => metrics.text(), METRICS_INTERVAL);
      this.#pages.set('/metrics', async () => ({
        status: 200,
        headers: [],
        body: await text(),
        contentType: metrics.contentType,
      }));
    }
    const openApi = new Asset({
      contentType: 'application/json',
      content: () => openApiJson(installationOf(config)),
    });
    this.#pages.set(OPENAPI_PATH, (exchange) => openApi.answer(exchange));
    const robots = new Asset({ contentType: 'text/plain; charset=utf-8', content: () => ROBOTS });
    this.#pages.set('/robots.txt', (exchange) => robots.answer(exchange));
    for (const [path, asset] of [...icons(), ...docsPages(developmentKey)]) {
      this.#pages.set(
        path,
        onlyForOwnOrigin((exchange) => asset.answer(exchange)),
      );
    }
    this.#readPages.set(`${DOCS_PATH}/`, redirectTo(DOCS_PATH));
    const landing = {
      basePath: config.REST_BASE_PATH,
      graphiql: config.GRAPHIQL,
      metrics: metrics !== undefined && config.METRICS,
      apiKey: developmentKey,
      proxies: config.TRUST_PROXY,
    };
    this.#browserPages.set(
      '/',
      onlyForOwnOrigin((exchange) => landingPage(landing, exchange)),
    );
    if (config.GRAPHIQL) {
      const graphiql = graphiqlPage(developmentKey);
      this.#browserPages.set(
        GRAPHQL_PATH,
        onlyForOwnOrigin((exchange) => graphiql.answer(exchange)),
      );
      this.#readPages.set(`${GRAPHQL_PATH}/`, redirectTo(GRAPHQL_PATH));
    }
  }

  /** The page that answers a request, if one does. Those for browsers answer only where HTML is asked for. */
  find(exchange: Exchange): Page | undefined {
    const page = this.#pages.get(exchange.path);
    if (page || !isRead(exchange)) return page;
    return (
      this.#readPages.get(exchange.path) ??
      (wantsHtml(exchange) ? this.#browserPages.get(exchange.path) : undefined)
    );
  }
}

/** Leads to where a page is, with the query that came. */
const redirectTo =
  (path: string): Page =>
  ({ query }) => ({
    status: 308,
    headers: ['Location', query === '' ? path : `${path}?${query}`],
    body: '',
  });

/** A key that is filled in is nothing for scripts of other origins. */
const onlyForOwnOrigin =
  (page: Page): Page =>
  async (exchange) => ({ ...(await page(exchange)), ownOriginOnly: true });

const isRead = ({ method }: Exchange): boolean => method === 'GET' || method === 'HEAD';

/** Whether a browser shows the answer to somebody: GraphQL over GET has a query. */
const wantsHtml = ({ headers, query }: Exchange): boolean =>
  headers.accept?.includes('text/html') === true && !/(^|&)query=/.test(query);
