import type { Config } from '../config.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { MaybePromise, Store } from '../store/store.ts';
import type { Answer } from './answer.ts';
import type { Exchange } from './exchange.ts';

type Page = (exchange: Exchange) => MaybePromise<Answer>;

const json = (value: unknown): Answer => ({
  status: 200,
  headers: ['Cache-Control', 'no-store'],
  body: JSON.stringify(value),
});

/**
 * What is served without a key and outside the quotas (contract section 2): GET and HEAD only.
 *
 * @returns the pages by their exact path
 */
export function createPages(
  config: Config,
  store: Store,
  metrics: Metrics | undefined,
): ReadonlyMap<string, Page> {
  const pages = new Map<string, Page>();
  pages.set('/health/live', () => json({ status: 'live' }));
  pages.set('/health/ready', async () => {
    await store.ping();
    return json({ status: 'ready' });
  });
  if (metrics && config.METRICS) {
    pages.set('/metrics', async () => ({
      status: 200,
      headers: [],
      body: await metrics.text(),
      contentType: metrics.contentType,
    }));
  }
  return pages;
}
