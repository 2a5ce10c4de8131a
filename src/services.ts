import type { Logger } from 'pino';
import { Access } from './access/access.ts';
import { OpenStreams } from './access/open-streams.ts';
import { UsageHistory } from './access/usage-history.ts';
import { type Config, isLocalDevelopment } from './config.ts';
import { EventStreams } from './events/streams.ts';
import { type Clock, systemClock } from './foundation/instant.ts';
import { Cors } from './http/cors.ts';
import type { RequestContext } from './http/request-context.ts';
import { instrumentedStore } from './observability/instrumented-store.ts';
import type { Metrics } from './observability/metrics.ts';
import type { Tracing } from './observability/tracing.ts';
import { Operations } from './operations/operations.ts';
import { TrustedDocuments } from './operations/trusted-documents.ts';
import type { Route } from './rows/route.ts';
import { schema } from './schema.ts';
import type { Store } from './store/store.ts';
import { Deliveries } from './webhooks/deliveries.ts';
import { Targets } from './webhooks/targets.ts';

/** What a gateway is made from. */
export interface GatewayOptions {
  store: Store;
  config: Config;
  log: Logger;
  metrics?: Metrics | undefined;
  tracing?: Tracing | undefined;
  /** Replaced in tests. */
  clock?: Clock;
  /** The REST operations. Tests pass their own. */
  routes?: readonly Route[];
}

/** Everything that outlives a request, built once a process. */
export function createServices({ clock = systemClock, ...options }: GatewayOptions) {
  const { config, log, metrics, tracing } = options;
  const report = (error: unknown, requestId?: string): void => log.error({ err: error, requestId }, 'error');
  const store = metrics ? instrumentedStore(options.store, metrics) : options.store;
  const history = new UsageHistory(store, report);
  const access = new Access({
    ...{ clock, history, isProduction: config.NODE_ENV === 'production' },
    storeOf: (caller: RequestContext) => tracing?.traced(caller, store) ?? store,
  });
  const openStreams = new OpenStreams((key) => access.principalOf(key, store));
  const streams = new EventStreams({ store, openStreams, report });
  const deliveries = new Deliveries({
    ...{ store, clock, log, report, feed: streams.feed },
    targets: new Targets(config.WEBHOOK_ALLOW, isLocalDevelopment(config)),
    sessionOf: (apiKeyId) => access.sessionOf(apiKeyId, store),
  });
  const trusted = new TrustedDocuments({
    ...{ store, clock, report },
    onUntrusted: (apiKey, document) => {
      metrics?.untrustedDocument(apiKey);
      log.warn({ apiKey, document }, 'untrusted document');
    },
  });
  metrics?.watchStreams(streams);
  metrics?.watchDeliveries(deliveries);
  return {
    ...options,
    ...{ clock, report, store, schema, access, history, openStreams, streams, deliveries, trusted },
    operations: new Operations(schema, report, {
      introspection: config.INTROSPECTION,
      receivers: deliveries,
    }),
    cors: new Cors(config.CORS_ORIGIN),
  };
}
